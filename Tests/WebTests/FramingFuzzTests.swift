import CarillonIO
import CarillonWeb
import Glibc
import TestSupport
import Testing

/// What comes over a socket before it is a request.
@Suite struct FramingFuzzTests {
    private static let pieces =
        [
            "GET /hello HTTP/1.1\r\n", "POST /echo HTTP/1.1\r\n", "HEAD /hello HTTP/1.0\r\n", "GET", " ", "/", "?a=b&",
            "HTTP/1.1", "Host: localhost\r\n", "Host: localhost\r\n\r\n", "\r\n", "\r\n\r\n", "\n", "\r", ":",
            "Content-Length: 3\r\n", "Content-Length: 99999999999999999999\r\n", "Content-Length: -1\r\n",
            "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n", "0\r\n\r\n", "ffffffffffffffff\r\n",
            "Expect: 100-continue\r\n",
            "Connection: keep-alive\r\n", "Connection: close\r\n", "Cookie: a=b\r\n", "X-Forwarded-For: 10.0.0.2\r\n",
            "Authorization: Basic QQ==\r\n", "Accept: text/html\r\n", "X: y\r\n", "X: y\r\n z\r\n", "a",
            "\u{301}\u{323}",
            "\0", "%2F", "é", "\t", "X-Long: " + String(repeating: "x", count: 1_000) + "\r\n",
        ].map { Array($0.utf8) } + [[0xFF], [0x16, 0x03, 0x01]]

    private static let routes = [
        Route(.get, "/hello") { _ in Response(text: "Hello!\n") },
        Route(.post, "/echo") { Response(body: $0.body) },
    ]

    /// The processor time of the thread on which the server reads.
    private final class Reading: Sendable {
        private let clock = Guarded<clockid_t?>(nil)

        func note() {
            var id: clockid_t = 0
            if pthread_getcpuclockid(pthread_self(), &id) == 0 { clock.withLock { $0 = id } }
        }

        var seconds: Double? {
            clock.withLock { $0 }.map { id in
                var time = timespec()
                clock_gettime(id, &time)
                return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
            }
        }
    }

    @Test func `any bytes from a socket are answered or cut off, in time that grows with their number`() async throws {
        let reading = Reading()
        let server = WebServer(
            host: "127.0.0.1",
            port: 0,
            admission: { _ in
                reading.note()
                return nil
            },
            routes: Self.routes
        )
        try server.start()
        defer { server.stop() }
        let port = server.port
        func isAlive() async -> Bool { await RawHTTP.ask(port, "GET /hello").hasSuffix("\r\n\r\nHello!\n") }
        #expect(await isAlive())
        var answered = 0
        try await Fuzzing.seeds(150) { seed in
            var random = SeededGenerator(seed: seed)
            let input = Self.input(using: &random)
            let before = try #require(reading.seconds)
            let answer = await RawHTTP.send(port, input)
            let seconds = try #require(reading.seconds) - before
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1."), "seed \(seed): \(answer.prefix(200))")
            #expect(Growth.isLinear(seconds, bytes: input.count), "seed \(seed): \(seconds) s, \(input.count) bytes")
            answered += answer.isEmpty ? 0 : 1
        }
        #expect(answered > 0)
        #expect(await isAlive())
    }

    /// Mostly the beginning of a request, and sometimes one piece very often: more headers, chunks or requests than anybody sends.
    private static func input(using random: inout SeededGenerator) -> [UInt8] {
        func piece() -> [UInt8] { pieces[Int.random(in: 0..<pieces.count, using: &random)] }
        var input = Bool.random(using: &random) ? pieces[Int.random(in: 0..<3, using: &random)] + pieces[8] : []
        for _ in 0..<Int.random(in: 0...20, using: &random) { input += piece() }
        if Int.random(in: 0..<3, using: &random) == 0 {
            let unit = piece() + piece()
            while input.count < 131_072 { input += unit }
        }
        for _ in 0..<Int.random(in: 0...8, using: &random) { input += piece() }
        return input
    }
}
