import CarillonText
import CarillonWeb

/// The HTTP side of the service: which requests are calls, and who may make them.
struct PyapnsEndpoint: Sendable {
    /// pyapns answers at every path. Python's client uses /RPC2 if its URL has no path.
    private static let paths = ["/", "/RPC2"]

    /// Enough for about 10,000 notifications.
    private static let bodyBytes = 8 * 1024 * 1024

    let service: PyapnsService
    let token: AccessTokenSource?
    let log: PyapnsLog

    func server(_ host: String, _ port: UInt16) -> WebServer {
        var limits = ClientLimits()
        limits.bodyBytes = Self.bodyBytes
        // Old clients send no call again that is refused, so there is more room than one call can take.
        limits.largeBodyBytes = 2 * Self.bodyBytes
        return WebServer(
            host: host,
            port: port,
            limits: limits,
            admission: { refusal(of: $0) },
            refusing: Self.refusing,
            observer: { [log] in log.warnings.tell($0) },
            routes: Self.paths.map { path in
                Route(.post, path) { request in
                    Self.response(await service.answer(request.body))
                }
            }
        )
    }

    private static func response(_ result: Result<XMLRPCValue, XMLRPCFault>) -> Response {
        Response(headers: [("Content-Type", "text/xml; charset=utf-8")], body: XMLRPCResponse.document(result))
    }

    /// Faults instead of other responses, of which clients show only the status.
    private static let refusing: HTTPRefusal.Writing = { refusal, _ in
        switch refusal.cause {
        case .tooLarge:
            response(
                .failure(
                    XMLRPCFault(
                        .refused,
                        "A call may have at most \(bodyBytes.grouped) bytes, so nothing was enqueued: send fewer "
                            + "notifications in each call."
                    )
                )
            )
        case .stopping:
            response(
                .failure(
                    XMLRPCFault(
                        .unavailable,
                        "carillon pyapns is stopping. The call had no effect: call again in a moment."
                    )
                )
            )
        case .interrupted:
            response(.failure(XMLRPCFault(.unavailable, "carillon pyapns is stopping. \(XMLRPCFault.doubt)")))
        case .crowded: response(.failure(XMLRPCFault(.unavailable, refusal.text)))
        case .malformed, .unknownPath, .wrongMethod: refusal.response
        }
    }

    private func refusal(of request: Request) -> Response? {
        guard let (response, reason) = refused(request) else { return nil }
        log.refused(response, reason)
        return response
    }

    /// Whether a request is refused because of its headers, and why.
    private func refused(_ request: Request) -> (Response, reason: String)? {
        if let token, !token.current().admits(request.header("Authorization")) {
            let response = Response(
                status: 401,
                headers: [("WWW-Authenticate", "Basic realm=\"carillon pyapns\""), ("Content-Type", "text/plain")],
                body: Array("Give the access token as the password: http://any:TOKEN@host:port/\n".utf8)
            )
            return (response, request.header("Authorization") == nil ? "no access token" : "another access token")
        }
        // Without a token, only this machine can reach the server.
        guard token != nil || request.namesThisMachine else {
            return Self.refused(403, "Without an access token, only requests to localhost or 127.0.0.1 are answered.")
        }
        // A page in a browser on this machine can reach a server that listens only locally, but only with this header, or with a
        // content type that forms can have.
        if request.header("Origin") != nil { return Self.refused(403, "Browsers are not served.") }
        guard request.method == "POST" else { return nil }
        guard ["text/xml", "application/xml"].contains(request.mediaType) else {
            return Self.refused(415, "Send calls with the content type text/xml.")
        }
        guard (request.header("Content-Encoding") ?? "identity").lowercased() == "identity" else {
            return Self.refused(415, "Send calls without a content encoding such as gzip.")
        }
        return nil
    }

    private static func refused(_ status: Int, _ sentence: String) -> (Response, reason: String) {
        (Response(text: sentence + "\n", status: status), sentence)
    }
}
