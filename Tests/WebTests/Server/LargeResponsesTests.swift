import Synchronization
import TestSupport
import Testing

@testable import CarillonWeb

/// Responses that would fill memory if many clients did not read them.
@Suite struct LargeResponsesTests {
    @Test func `a response that has been sent for long gives way to a new one`() {
        var responses = LargeResponses(limit: 40_000)
        #expect(responses.began(on: 1, 15_000) == [])
        #expect(responses.began(on: 2, 8_192) == [], "small ones do not count")
        #expect(responses.began(on: 3, 15_000) == [])
        #expect(responses.began(on: 4, 20_000) == [1])
        responses.ended(on: 1)
        responses.ended(on: 3)
        #expect(responses.began(on: 5, 20_000) == [])
        #expect(responses.began(on: 6, 100_000) == [4, 5], "a single one may be of any size")
        #expect(responses.began(on: 7, 10_000) == [6])
    }

    @Test func `a client that does not read a large response loses its connection to one that does`() async throws {
        // More than both sockets hold.
        let size = 16 << 20
        let large = Route(.get, "/large") { _ in Response(body: [UInt8](repeating: 120, count: size)) }
        var limits = ClientLimits()
        limits.largeResponseBytes = 20 << 20
        let closed = Atomic(0)
        let server = WebServer(
            host: "127.0.0.1",
            port: 0,
            limits: limits,
            observer: { if case .slowClientClosed = $0 { closed.add(1, ordering: .sequentiallyConsistent) } },
            routes: [large]
        )
        try server.start()
        defer { server.stop() }
        let port = server.port
        try await RawHTTP.hold(port, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n") {
            for _ in 1...2 {
                #expect(await RawHTTP.ask(port, "GET /large").utf8.count > size)
                #expect(closed.load(ordering: .sequentiallyConsistent) == 1)
            }
        }
    }
}
