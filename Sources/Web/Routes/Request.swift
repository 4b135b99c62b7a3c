import CarillonText

/// A complete request.
package struct Request: Sendable {
    /// As the client sent it, so it may be `HEAD`.
    package let method: String
    /// As the client sent it, percent-encoded and without the query.
    package let path: String
    /// Decoded.
    package let query: [(name: String, value: String)]
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// The client's address, without the port.
    package let peer: String?
    /// The values of the route's path parameters, decoded.
    package private(set) var pathParameters: [String: String] = [:]

    package init(
        method: String,
        path: String,
        query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        peer: String? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.peer = peer
    }

    package func with(_ pathParameters: [String: String]) -> Request {
        var request = self
        request.pathParameters = pathParameters
        return request
    }

    /// The first header with that name, ignoring case.
    package func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    /// Whether there is more than one header with that name, so that the first cannot be trusted.
    package func hasSeveral(_ name: String) -> Bool {
        let name = name.lowercased()
        return headers.count { $0.name.lowercased() == name } > 1
    }

    /// The type of the body as the client names it, in lowercase and without parameters.
    package var mediaType: String? { header("Content-Type").map { Self.typeAlone($0.lowercased()[...]) } }

    private static func typeAlone(_ value: Substring) -> String { String(value.prefix { $0 != ";" }).trimmed }

    /// The scheme in lowercase and the credentials of the header `Authorization`.
    package static func authorization(_ value: String?) -> (scheme: String, credentials: String)? {
        guard let words = value?.split(separator: " ", maxSplits: 1), words.count == 2 else { return nil }
        return (words[0].lowercased(), String(words[1]))
    }

    package func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// The same; nil if it is empty, as a field of a form that nobody filled in.
    package func filled(_ name: String) -> String? { parameter(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// The first cookie with that name.
    package func cookie(_ name: String) -> String? {
        for header in headers where header.name.lowercased() == "cookie" {
            for pair in header.value.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2, parts[0].drop(while: { $0 == " " }) == name { return String(parts[1]) }
            }
        }
        return nil
    }

    /// Whether the request names this machine as a browser on it would. A browser always says which name it asks.
    ///
    /// Prevents DNS rebinding. A page of another site can make a browser send requests to a server that only this machine reaches,
    /// under a host name that the site's owner has pointed at a loopback address. Such a request carries that name, and any headers
    /// that the page chooses.
    package var namesThisMachine: Bool { header("Host").map { HostName.isLocal(HostName.of($0)) } ?? true }

    /// The refusal by a server that asks for no password; nil on addresses that other machines reach, because only their network
    /// knows by which names.
    package func refusalOfName(at address: Address) -> Response? {
        guard Address.isLoopback(address.host), !namesThisMachine else { return nil }
        return Response(text: "Only requests to localhost or 127.0.0.1 are answered.\n", status: 403)
    }

    /// Whether the client prefers JSON to a page.
    package var wantsJSON: Bool {
        let types = header("Accept")?.lowercased().split(separator: ",").map(Self.typeAlone)
        guard let types else { return false }
        return types.contains("application/json") && !types.contains("text/html")
    }
}
