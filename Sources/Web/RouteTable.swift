/// The routes of a server, and the responses where no route matches.
struct RouteTable: Sendable {
    enum Match {
        case found(Route.Handler)
        case refused(Response)
    }

    private let routes: [String: [Method: Route.Handler]]

    init(_ routes: [Route]) {
        var table: [String: [Method: Route.Handler]] = [:]
        for route in routes { table[route.path, default: [:]][route.method] = route.handler }
        self.routes = table
    }

    func match(method: String, path: String) -> Match {
        guard let handlers = routes[path] else {
            return .refused(Response(text: "There is nothing at this path.\n", status: 404))
        }
        let wanted = method == "HEAD" ? "GET" : method
        if let method = Method(rawValue: wanted), let handler = handlers[method] { return .found(handler) }
        let allowed = (handlers.keys.map(\.rawValue) + (handlers[.get] == nil ? [] : ["HEAD"])).sorted()
        return .refused(
            Response(
                status: 405,
                headers: [("Allow", allowed.joined(separator: ", ")), ("Content-Type", "text/plain; charset=utf-8")],
                body: Array("This path takes \(allowed.joined(separator: ", ")).\n".utf8)
            )
        )
    }
}
