import CarillonText
import TestSupport
import Testing

@testable import CarillonWeb

/// What a stranger can send to a server without a password, in texts that make careless comparisons slow.
@Suite struct HostileTextTests {
    private typealias Reader = @Sendable (String) -> Void

    /// Each parser that a request reaches before its sender is known.
    private static let readers: [(name: String, read: Reader)] = [
        ("form", { _ = FormFields.read($0.utf8)?.first { $0.name == "password" } }),
        ("link", { _ = Link(sent: "/" + $0) }),
        ("query", { _ = Link(sent: "/a?" + $0) }),
        ("pattern", { _ = PathPattern("/apps/{name}/tokens").match("/" + $0) }),
        ("cookie", { if $0.isCheapToCompare { _ = request("Cookie", $0).cookie("carillon_session") } }),
        ("header", { if $0.isCheapToCompare { _ = request($0, "a").header("Host") } }),
        ("accept", { if $0.isCheapToCompare { _ = request("Accept", $0).wantsJSON } }),
        (
            "tag",
            {
                if $0.isCheapToCompare {
                    _ = request("If-None-Match", $0).header("If-None-Match")?.split(separator: ",")
                }
            }
        ),
        ("host", { if $0.isCheapToCompare { _ = HostName.isLocal(HostName.of($0)) } }),
        ("origin", { if $0.isCheapToCompare { _ = HostName.isOrigin("http://" + $0, of: $0) } }),
    ]

    private static func request(_ name: String, _ value: String) -> Request {
        Request(method: "GET", path: "/", headers: [(name, value)])
    }

    @Test(arguments: Growth.hostileTexts)
    func `no byte costs more in a long text than in a short one`(text: String) async {
        for (name, read) in Self.readers {
            let (short, long) = await Computing.run {
                (
                    Growth.secondsPerByte(of: text, bytes: 8_192, read),
                    Growth.secondsPerByte(of: text, bytes: 131_072, read)
                )
            }
            // In quadratic time it would be sixteen times as much. Below 0.1 µs it is noise.
            #expect(long < 4 * short || long < 1e-7, "\(name): \(short) and \(long) seconds a byte")
        }
    }

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
