import CarillonPostgres
import CarillonWeb

/// Where a page belongs, on a server for one database or several.
enum DatabasePlace: Sendable, Equatable {
    /// The only database: its pages begin at the top.
    case only
    /// The list of several.
    case list
    /// One of several, by its name.
    case one(String)

    /// The names of databases, which depend on nothing but where each is. A slash would be refused by some proxies.
    ///
    /// - Parameter databases: their connection strings.
    static func of(_ databases: [String]) -> [DatabasePlace] {
        guard databases.count > 1 else { return [.only] }
        let names = DatabaseLabel.of(databases).map { $0.replacing("/", with: ".") }
        return names.enumerated().map { place, name in
            // Labels differ, but a host and a database may have dots of their own.
            .one(names.count { $0 == name } > 1 ? "\(name)#\(place + 1)" : name)
        }
    }

    /// Where its links begin.
    var base: [String] {
        switch self {
        case .only, .list: []
        case .one(let name): ["databases", name]
        }
    }

    /// The path of a route of it.
    func path(_ path: String) -> String {
        guard case .one(let name) = self else { return path }
        return Link.top("databases", name).text + (path == "/" ? "" : path)
    }
}
