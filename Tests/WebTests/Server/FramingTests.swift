import CarillonWeb
import TestSupport
import Testing

/// Requests that a proxy may read differently, and let another request pass as part of them.
@Suite struct FramingTests {
    private static let routes = [
        Route(.get, "/hello") { _ in Response(text: "Hello!\n") },
        Route(.post, "/echo") { request in Response(body: request.body) },
    ]
    private static let smuggled = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"

    private func exchange(_ text: String) async throws -> String {
        let server = WebServer(host: "127.0.0.1", port: 0, routes: Self.routes)
        try server.start()
        defer { server.stop() }
        return await RawHTTP.exchange(server.port, text)
    }

    private func expectRefused(_ text: String) async throws {
        let answer = try await exchange(text)
        #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
        #expect(answer.contains("\r\nConnection: close\r\n"), "\(answer)")
        #expect(!answer.contains("HTTP/1.1 200") && !answer.contains("Hello"), "\(answer)")
    }

    @Test(arguments: [
        "Content-Length: 2\r\nContent-Length: 60\r\n", "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nTransfer-Encoding : chunked\r\n", "Content-Length: 2\r\nTransfer-Encoding\t: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n", "Transfer-Encoding: chunked \r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: xchunked\r\n",
    ])
    func `a request whose length is uncertain is refused, and nothing after it is read`(headers: String) async throws {
        let body = "2\r\nab\r\n0\r\n\r\n" + Self.smuggled
        try await expectRefused("POST /echo HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n\(body)")
    }

    @Test(arguments: [
        "Transfer-Encoding:\r\n chunked\r\n", "Transfer-Encoding:\r\n\tchunked\r\nX: y\r\n",
        "X: y\r\n Content-Length: 9\r\n",
        "X: y\r\n \r\nZ: z\r\n", "X: y\r\n z\r\n", "X: y\r\n \r\n",
    ])
    func `a folded header is refused`(headers: String) async throws {
        try await expectRefused("GET /hello HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n" + Self.smuggled)
    }

    @Test(arguments: [
        "GET /hello HTTP/1.1\nHost: localhost\r\n\r\n", "GET /hello HTTP/1.1\r\nHost: localhost\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\n\n", "GET /hello HTTP/1.1\r\nHost: localhost\n\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: y\n\r\n",
        "GET /hello HTTP/1.0\n\n", "GET /hello HTTP/1.0\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nX: y\nContent-Length: 50\r\n\r\n",
    ])
    func `a line that ends in LF alone is refused`(head: String) async throws {
        try await expectRefused(head)
        try await expectRefused(head + Self.smuggled)
    }

    @Test(arguments: [
        "X: y\rContent-Length: 9\r\n", "X: y\0z\r\n", "X: y\r\n\0Z: z\r\n", "X\0Y: z\r\n", "X: \u{1}\r\n", "X: y\r\r\n",
        "X: \u{7f}\r\n", "X\u{b}: y\r\n", ": y\r\n",
    ])
    func `a header without a name, or with a control character, is refused`(header: String) async throws {
        try await expectRefused("GET /hello HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n" + Self.smuggled)
    }

    @Test(arguments: [
        "GET /hello\0 ", "GET /hello\0x ", "GET /hello\0?a=b ", "GET /hello?\0 ", "GET /hello?a\0 ",
        "GET /hello?a=b\0 ", "GET /hello?a=b\0&c=d ", "GET /hello?a=\0 ", "GET /hello\0HTTP/1.1\0\0x ",
        "GET /hello?a=\u{1} ", "GET /hello?a=\t ", "GET /hello?a=\u{7f} ", "GET /hello?a=\u{e4} ",
        "GET\0 /hello ", "GET\0x /hello ", "G\u{1}T /hello ", "G\u{e4}T /hello ", "GET  /hello ",
    ])
    func `a request line with a byte that is not allowed there is refused`(words: String) async throws {
        try await expectRefused("\(words)HTTP/1.1\r\nHost: localhost\r\n\r\n" + Self.smuggled)
    }

    @Test(arguments: [
        "GET /hello? ", "GET /hello?a& ", "GET /hello?a=b& ", "GET /hello?a= ", "GET /hello?a=b=c?d+e!~ ",
    ])
    func `a query of any shape is part of a plain target`(words: String) async throws {
        let answer = try await exchange("\(words)HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\nHello!\n"), "\(answer)")
    }

    @Test(arguments: ["HTTP/1.1\0", "HTTP/1.\01", "HTTP/1.1\0x", "HTTP/1.1x", "HTTP/1.\u{1}", "http/1.1", "HTTP/2.0"])
    func `a request of another version, or with more behind its version, is not served`(version: String) async throws {
        let answer = try await exchange("GET /hello \(version)\r\nHost: localhost\r\n\r\n" + Self.smuggled)
        #expect(!answer.contains("HTTP/1.1 200") && !answer.contains("Hello"), "\(answer)")
    }

    @Test(arguments: [
        "", "Host: localhost\r\nHost: localhost\r\n", "Host: localhost\r\nX: y\r\nhost: evil.example\r\n",
    ])
    func `a request without a host or with two is refused`(headers: String) async throws {
        try await expectRefused("GET /hello HTTP/1.1\r\n\(headers)\r\n" + Self.smuggled)
    }

    @Test func `a request of HTTP 1.0 needs no host, and has no chunks`() async throws {
        #expect(try await exchange("GET /hello HTTP/1.0\r\n\r\n").hasSuffix("\r\n\r\nHello!\n"))
        try await expectRefused("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + Self.smuggled)
    }

    @Test(arguments: [
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "\r\nGET /hello?a=b&c=d+e HTTP/1.1\r\nHost:localhost\r\nX:\r\nY: \t y z \t\r\nCookie: a=b; c=d\r\nConnection: close\r\n\r\n",
        "GET /hello?a HTTP/1.1\r\nConnection: close\r\nHost: \u{e4}\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hello HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n",
    ])
    func `unusual requests that can be read in one way are answered`(text: String) async throws {
        let answer = try await exchange(text)
        let count = text.ranges(of: "GET").count
        #expect(answer.ranges(of: "HTTP/1.1 200 ").count == count && answer.hasSuffix("\r\n\r\nHello!\n"), "\(answer)")
    }

    @Test func `a head that is read in several pieces is the same request`() async throws {
        let server = WebServer(host: "127.0.0.1", port: 0, routes: Self.routes)
        try server.start()
        defer { server.stop() }
        let long = "X: " + String(repeating: "y", count: 9_000) + "\r\n"
        let head = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\(long)Connection: close\r\n\(long)\r\n"
        let answer = await RawHTTP.exchange(server.port, head)
        #expect(answer.hasSuffix("\r\n\r\nHello!\n"), "\(answer)")
    }

    /// Proxies disagree about where a chunk begins whose line has an extension that ends in LF alone.
    @Test(arguments: [
        "2\r\nab\r\n0\r\n\r\n", "2;x\r\nab\r\n0\r\n\r\n", "2;\nab\r\n0\r\n\r\n", "2\r\nab\r\n0\r\nX: y\r\n\r\n",
    ])
    func `nothing is read after a chunked body`(body: String) async throws {
        let head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        let answer = try await exchange(head + body + Self.smuggled)
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\nab"), "\(answer)")
        #expect(answer.contains("\r\nConnection: close\r\n") && !answer.contains("Hello"), "\(answer)")
    }

    @Test(arguments: [
        "2;" + String(repeating: "x", count: 100_000) + "\r\nab\r\n0\r\n\r\n", "x\r\nab", "2\r\nabc\r\n0\r\n\r\n",
    ])
    func `a chunk that is not valid or has a long extension ends the connection`(body: String) async throws {
        let head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        let answer = try await exchange(head + body + Self.smuggled)
        #expect(!answer.contains(" 200 ") && answer.ranges(of: "HTTP/1.1 ").count <= 1, "\(answer)")
    }
}
