/// The routes of a server, and the responses where no route matches.
struct RouteTable: Sendable {
    enum Match {
        /// With the values of the path's parameters.
        case found(Route.Handler, [String: String])
        case refused(Response)
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
        return .refused(Response(text: "There is nothing at this path.\n", status: 404))
    }

    private static func refusal(allowing handlers: [Method: Route.Handler]) -> Response {
        let allowed = (handlers.keys.map(\.rawValue) + (handlers[.get] == nil ? [] : ["HEAD"])).sorted()
            .joined(separator: ", ")
        return Response(
            status: 405,
            headers: [("Allow", allowed), ("Content-Type", "text/plain; charset=utf-8")],
            body: Array("This path takes \(allowed).\n".utf8)
        )
    }
}
