/// The routes of a server, and the responses where no route matches.
struct RouteTable: Sendable {
    enum Match {
        /// With the values of the path's parameters.
        case found(Route.Handler, [String: String])
        case refused(Refusal)
    }

    private typealias Entry = (pattern: PathPattern, handlers: [Method: Route.Handler])

    private let entries: [Entry]

    init(_ routes: [Route]) {
        let handlers = routes.reduce(into: [PathPattern: [Method: Route.Handler]]()) { table, route in
            table[route.pattern, default: [:]][route.method] = route.handler
        }
        entries = handlers.map { ($0, $1) }.sorted { $0.pattern.parameterCount < $1.pattern.parameterCount }
    }

    /// - Parameter path: as it was sent, percent-encoded.
    func match(method: String, path: String) -> Match {
        for entry in entries {
            guard let values = entry.pattern.match(path) else { continue }
            let wanted = method == "HEAD" ? "GET" : method
            if let method = Method(rawValue: wanted), let handler = entry.handlers[method] {
                return .found(handler, values)
            }
            return .refused(Self.refusal(allowing: entry.handlers))
        }
        return .refused(.unknownPath)
    }

    private static func refusal(allowing handlers: [Method: Route.Handler]) -> Refusal {
        let allowed = (handlers.keys.map(\.rawValue) + (handlers[.get] == nil ? [] : ["HEAD"])).sorted()
            .joined(separator: ", ")
        return .wrongMethod(allowed: allowed)
    }
}
