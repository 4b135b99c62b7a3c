import CarillonPostgres
import CarillonWeb

/// Where the pages of a database are, on a server for one database or several.
enum DatabaseMount: Sendable, Equatable {
    /// The only database: its pages are at the root.
    case only
    /// The list of several databases.
    case list
    /// One of several databases, by its name.
    case one(String)

    /// The names of databases, which depend only on their connection strings. They contain no slash, which some proxies would
    /// refuse.
    ///
    /// - Parameter databases: the connection strings.
    static func of(_ databases: [String]) -> [DatabaseMount] {
        guard databases.count > 1 else { return [.only] }
        let names = DatabaseLabel.of(databases).map { $0.replacing("/", with: ".") }
        return names.enumerated().map { index, name in
            // Labels differ, but a host or database name may itself contain a dot.
            .one(names.count { $0 == name } > 1 ? "\(name)#\(index + 1)" : name)
        }
    }

    /// The path at which its links begin.
    var base: [String] {
        switch self {
        case .only, .list: []
        case .one(let name): ["databases", name]
        }
    }

    /// The path of one of its routes.
    func path(_ path: String) -> String {
        guard case .one(let name) = self else { return path }
        return Link.top("databases", name).text + (path == "/" ? "" : path)
    }
}
