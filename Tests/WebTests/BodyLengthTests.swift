import CarillonWeb
import TestSupport
import Testing

@Suite struct BodyLengthTests {
    private static let routes = [
        Route(.get, "/hello") { _ in Response(text: "Hello!\n") },
        Route(.post, "/echo") { request in Response(body: request.body) },
    ]

    /// A proxy may believe another length, and let what follows pass as part of the body.
    @Test(arguments: [
        "Content-Length: 2\r\nContent-Length: 60\r\n", "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nTransfer-Encoding : chunked\r\n", "Content-Length: 2\r\nTransfer-Encoding\t: chunked\r\n",
    ])
    func `a request with two lengths is refused, and nothing after it is read`(headers: String) async throws {
        let server = WebServer(host: "127.0.0.1", port: 0, routes: Self.routes)
        try server.start()
        defer { server.stop() }
        let answer = await TestClient.ask(
            server.port,
            "POST /echo",
            headers: headers,
            body: "2\r\nab\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
        #expect(answer.ranges(of: "HTTP/1.1 ").count == 1 && !answer.contains("Hello"), "\(answer)")
    }
}
