import CarillonWeb
import TestSupport
import Testing

/// An address with a slash too many at its end.
@Suite struct TrailingSlashTests {
    private static let routes = [
        Route(.get, "/") { _ in Response(text: "first") }, Route(.get, "/hello") { _ in Response(text: "hello") },
        Route(.post, "/echo") { _ in Response(text: "echo") },
        Route(.get, "/apps/{name}") { _ in Response(text: "app") },
    ]

    @Test(
        arguments: [
            ("GET /hello/", "/hello"), ("HEAD /hello/", "/hello"),
            ("GET /hello/?name=a%26b+c&name=%2F&x", "/hello?name=a%26b%20c&name=%2F&x="),
            ("GET /apps/~..%2F%2fx/", "/apps/..%2F%2Fx"), ("GET /apps/~../", "/apps/~.."),
            ("GET /apps/%0d%0aX:y/", "/apps/%0D%0AX%3Ay"), ("GET //", "/"),
            ("GET /hello//", nil), ("GET /none/", nil), ("GET //evil.example/", nil), ("GET /%5Cevil.example/", nil),
            ("GET //evil.example//", nil), ("GET /echo/", nil), ("POST /hello/", nil),
        ] as [(String, String?)]
    )
    func `an address with a slash at its end leads to the one without`(line: String, address: String?) async throws {
        let server = WebServer(host: "127.0.0.1", port: 0, routes: Self.routes)
        try server.start()
        defer { server.stop() }
        let answer = await RawHTTP.ask(server.port, line, headers: "Content-Length: 0\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 \(address == nil ? 404 : 308) "), "\(answer)")
        #expect(answer.firstMatch(of: /Location: (.*)\r\n/).map { String($0.output.1) } == address, "\(answer)")
    }

    @Test func `an address that is too long for a header of the answer leads nowhere`() async throws {
        let server = WebServer(host: "127.0.0.1", port: 0, routes: Self.routes)
        try server.start()
        defer { server.stop() }
        for (bytes, status) in [(4_096, "308"), (4_097, "414")] {
            let name = String(repeating: "x", count: bytes - "/apps/".utf8.count)
            let answer = await RawHTTP.ask(server.port, "GET /apps/\(name)/")
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer.prefix(300))")
        }
    }
}
