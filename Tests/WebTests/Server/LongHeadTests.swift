import CarillonIO
import CarillonWeb
import TestSupport
import Testing

/// Requests whose head is so long that libmicrohttpd cannot keep it, or has no room left for the response.
@Suite struct LongHeadTests {
    /// As long as the longest that a client can have made.
    private static let location = "/" + String(repeating: "l", count: 12_000)

    /// - Parameter body: gets the port, and how many requests were carried out.
    private static func with(_ body: (UInt16, _ carriedOut: () -> Int) async throws -> Void) async throws {
        let requests = Guarded(0)
        let handler: Route.Handler = { _ in
            requests.withLock { $0 += 1 }
            return Response(status: 303, headers: [("Location", location)])
        }
        let routes = [Route(.get, "/hello", handler), Route(.post, "/hello", handler)]
        var limits = ClientLimits()
        // What is not answered at once is not answered while the test runs.
        limits.idleSeconds = 600
        let server = WebServer(host: "127.0.0.1", port: 0, limits: limits, routes: routes)
        try server.start()
        defer { server.stop() }
        try await body(server.port) { requests.withLock { $0 } }
    }

    private static func query(_ parameters: Int, of text: String = "a") -> String {
        "GET /hello?" + [String](repeating: text, count: parameters).joined(separator: "&")
    }

    private static func target(_ bytes: Int) -> String {
        "GET /hello?" + String(repeating: "x", count: bytes - "/hello?".utf8.count)
    }

    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            (query(64), "303"), (query(65), "400"), (query(500), "400"), (query(2_500), "400"), (query(16_000), "400"),
            (query(2_500, of: "a=1"), "400"), (query(500, of: "name=\(String(repeating: "x", count: 50))"), "400"),
            (target(8_192), "303"), (target(8_193), "414"), (target(30_000), "414"),
        ]
    )
    func `a request with many parameters or a long address is refused at once`(line: String, status: String)
        async throws
    {
        try await Self.with { port, carriedOut in
            let answer = await RawHTTP.ask(port, line)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer.prefix(300))")
            #expect(carriedOut() == (status == "303" ? 1 : 0))
            let hints = ["400": "each once.\n", "414": "Send shorter parameters.\n", "303": "\r\n\r\n"]
            let end = try #require(hints[status])
            #expect(answer.hasSuffix(end), "\(answer.suffix(300))")
        }
    }

    @Test(arguments: [
        String(repeating: "X: y\r\n", count: 550), "X: \(String(repeating: "x", count: 33_000))\r\n",
        "Cookie: \(String(repeating: "x", count: 20_000))\r\n", "Cookie: \(String(repeating: "a;", count: 550))\r\n",
    ])
    func `a request with many headers or long ones is refused with a sentence`(headers: String) async throws {
        try await Self.with { port, carriedOut in
            let answer = await RawHTTP.ask(port, "GET /hello", headers: headers)
            #expect(answer.hasPrefix("HTTP/1.1 431 "), "\(answer.prefix(300))")
            #expect(answer.hasSuffix("Send fewer of them, or shorter ones.\n"), "\(answer.suffix(300))")
            #expect(carriedOut() == 0)
        }
    }

    /// libmicrohttpd itself refuses what is still longer, in its own words or by closing the connection.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: ["parameters", "headers", "cookies", "target", "header", "cookie", "trailers", "trailer"]
    )
    func `no request is carried out without an answer, however long its head is`(what: String) async throws {
        try await Self.with { port, carriedOut in
            var answered = 0
            for step in 1...60 {
                let (count, text) = (step * 17, String(repeating: "x", count: step * 1_000 + 17))
                let many = String(repeating: "X: y\r\n", count: count)
                let chunked = "Transfer-Encoding: chunked\r\n"
                let (line, headers, body) =
                    switch what {
                    case "parameters": (Self.query(count), "", "")
                    case "headers": ("GET /hello", many, "")
                    case "cookies": ("GET /hello", "Cookie: \(String(repeating: "a;", count: count))\r\n", "")
                    case "target": ("GET /hello?" + text, "", "")
                    case "header": ("GET /hello", "X: \(text)\r\n", "")
                    case "cookie": ("GET /hello", "Cookie: a=\(text)\r\n", "")
                    case "trailers": ("POST /hello", chunked, "0\r\n\(many)\r\n")
                    default: ("POST /hello", chunked, "0\r\nX: \(text)\r\n\r\n")
                    }
                let answer = await RawHTTP.ask(port, line, headers: headers, body: body)
                let isWhole = answer.hasPrefix("HTTP/1.1 303 ") && answer.contains(Self.location)
                answered += isWhole ? 1 : 0
                let isRefused = ["400", "414", "431"].contains { answer.hasPrefix("HTTP/1.1 \($0) ") }
                #expect(isWhole || isRefused || answer.isEmpty, "\(step): \(answer.prefix(300))")
                #expect(carriedOut() == answered, "\(step)")
            }
            #expect(answered > 0 && answered < 60)
        }
    }

    @Test(arguments: [
        ("DELETE /hello HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n\r\nx", "405")
    ])
    func `a connection serves the next request after a refusal`(request: String, status: String) async throws {
        try await Self.with { port, _ in
            let next = "GET /hello HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
            let answer = await RawHTTP.exchange(port, request + next)
            let isServed = answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("HTTP/1.1 303 ")
            #expect(isServed, "\(answer.prefix(300))")
        }
    }
}
