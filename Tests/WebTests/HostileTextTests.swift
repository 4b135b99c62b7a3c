import CarillonWeb
import TestSupport
import Testing

/// Texts that make careless comparisons slow, in the head of a request.
@Suite struct HostileTextTests {
    @Test(arguments: ["GET /%@", "GET /hello?%@", "GET /hello?a=%@"])
    func `a request with a thousand accents in a row in its address is refused`(line: String) async throws {
        try await expectRefused(line.replacing("%@", with: Self.accents))
    }

    @Test(arguments: ["Cookie: %@", "X%@: a", "Host: %@"])
    func `a request with a thousand accents in a row in its headers is refused`(header: String) async throws {
        try await expectRefused("GET /hello", headers: header.replacing("%@", with: Self.accents) + "\r\n")
    }

    private static let accents = "a" + String(repeating: "\u{301}\u{323}", count: 500)

    private func expectRefused(_ line: String, headers: String = "") async throws {
        let server = WebServer(
            host: "127.0.0.1",
            port: 0,
            routes: [Route(.get, "/hello") { _ in Response(text: "Hello!\n") }]
        )
        try server.start()
        defer { server.stop() }
        let answer = await RawHTTP.ask(server.port, line, headers: headers)
        #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains("combining characters in a row"), "\(answer)")
    }
}
