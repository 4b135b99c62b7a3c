import CarillonWeb

/// HTTP for the service: which requests are calls, and who may make them.
struct PyapnsEndpoint: Sendable {
    /// pyapns answers at every path. Python's client takes /RPC2 when its URL has none.
    private static let paths = ["/", "/RPC2"]

    let service: PyapnsService
    let token: AccessToken?

    func server(_ host: String, _ port: UInt16) -> WebServer {
        var limits = Limits()
        // About 10,000 notifications.
        limits.bodyBytes = 8 * 1024 * 1024
        // All clients may be behind one proxy.
        limits.connectionsPerAddress = limits.connections
        return WebServer(
            host: host,
            port: port,
            limits: limits,
            admission: { refusal(of: $0) },
            routes: Self.paths.map { path in
                Route(.post, path) { request in
                    Response(
                        headers: [("Content-Type", "text/xml; charset=utf-8")],
                        body: XMLRPCResponse.document(await service.answer(request.body))
                    )
                }
            }
        )
    }

    /// Why a request is refused, by its headers.
    private func refusal(of request: Request) -> Response? {
        if let token, !token.admits(request.header("Authorization")) {
            return Response(
                status: 401,
                headers: [("WWW-Authenticate", "Basic realm=\"carillon pyapns\""), ("Content-Type", "text/plain")],
                body: Array("Give the access token as the password: http://any:TOKEN@host:port/\n".utf8)
            )
        }
        // A page in a browser on this machine can reach a server that listens here only, but not without this header, or
        // with a type that forms cannot have.
        if request.header("Origin") != nil { return Response(text: "Browsers are not served.\n", status: 403) }
        guard request.method == "POST" else { return nil }
        let type = (request.header("Content-Type") ?? "").prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        guard ["text/xml", "application/xml"].contains(type) else {
            return Response(text: "A call has the content type text/xml.\n", status: 415)
        }
        return nil
    }
}
