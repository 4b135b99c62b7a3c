/// The routes of a server, and the refusals for requests that match no route.
struct RouteTable: Sendable {
    enum Match {
        /// With the values of the path's parameters.
        case found(Route.Handler, [String: String])
        case refused(HTTPRefusal)
    }

    private let entries: [(pattern: PathPattern, handlers: [Method: Route.Handler])]

    init(_ routes: [Route]) {
        let handlers = routes.reduce(into: [PathPattern: [Method: Route.Handler]]()) { table, route in
            table[route.pattern, default: [:]][route.method] = route.handler
        }
        entries = handlers.map { ($0, $1) }.sorted { $0.pattern.parameterCount < $1.pattern.parameterCount }
    }

    /// - Parameter path: as sent, percent-encoded.
    func match(method: String, path: String) -> Match {
        for entry in entries {
            guard let values = entry.pattern.match(path) else { continue }
            let wanted = method == "HEAD" ? "GET" : method
            if let method = Method(rawValue: wanted), let handler = entry.handlers[method] {
                return .found(handler, values)
            }
            return .refused(Self.refusal(allowing: entry.handlers))
        }
        if hasSlashTooMany(method: method, path: path) { return .found(Self.withoutSlash, [:]) }
        return .refused(.unknownPath)
    }

    /// Whether a page exists at this address without its final slash. Only GET and HEAD are checked, because nobody types the
    /// address of a form.
    private func hasSlashTooMany(method: String, path: String) -> Bool {
        guard ["GET", "HEAD"].contains(method), path.hasSuffix("/") else { return false }
        let shorter = String(path.dropLast())
        return entries.contains { $0.handlers[.get] != nil && $0.pattern.match(shorter) != nil }
    }

    private static let withoutSlash: Route.Handler = { request in
        guard let link = Link(of: request, path: request.path.dropLast()) else {
            return HTTPRefusal.longTarget(limit: Link.maxBytes).response
        }
        return Response.moved(to: link)
    }

    private static func refusal(allowing handlers: [Method: Route.Handler]) -> HTTPRefusal {
        let allowed = (handlers.keys.map(\.rawValue) + (handlers[.get] == nil ? [] : ["HEAD"])).sorted()
            .joined(separator: ", ")
        return .wrongMethod(allowed: allowed)
    }
}
