import TestSupport
import Testing

@testable import CarillonWeb

/// Bodies that would fill memory if many clients sent them at once.
@Suite struct LargeBodyTests {
    private static let busy = Response(text: "busy", status: 503)

    private static func exchange() throws -> Exchange {
        // It is never used as a connection.
        let exchange = Exchange(try #require(OpaquePointer(bitPattern: 1)), refusal: nil)
        [UInt8](repeating: 0, count: 20_000).withUnsafeBytes { exchange.append($0) }
        return exchange
    }

    @Test func `a body that has been arriving for long gives way to a new one, and holds nothing more`() throws {
        var bodies = LargeBodies(limit: 40_000)
        let all = [try Self.exchange(), try Self.exchange(), try Self.exchange(), try Self.exchange()]
        // The last is another piece of a body that is known already.
        var admitted = [0, 1, 0].map { bodies.admit(all[$0], refusing: Self.busy) }
        #expect(all[0].refusal == nil)
        admitted.append(bodies.admit(all[2], refusing: Self.busy))
        #expect(all.map { $0.refusal?.status } == [503, nil, nil, nil] && all[0].body.isEmpty)
        bodies.remove(all[1])
        admitted.append(bodies.admit(all[3], refusing: Self.busy))
        #expect(admitted.allSatisfy { $0 } && all[2].refusal == nil)
    }

    @Test func `with no room a large body is refused, and a small one is not`() async throws {
        var limits = ClientLimits()
        limits.largeBodyBytes = 0
        try await Self.post(8_192, limits) { #expect($0.hasPrefix("HTTP/1.1 201 "), "\($0)") }
        try await Self.post(8_193, limits) { answer in
            #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("Retry-After: 1\r\n"), "\(answer)")
        }
        limits.largeBodyBytes = 65_536
        try await Self.post(65_536, limits, times: 5) { #expect($0.hasPrefix("HTTP/1.1 201 "), "\($0)") }
    }

    private static func post(
        _ count: Int,
        _ limits: ClientLimits,
        times: Int = 1,
        _ check: (String) -> Void
    ) async throws {
        let echo = Route(.post, "/echo") { Response(status: 201, headers: [], body: Array($0.body.prefix(10))) }
        let server = WebServer(host: "127.0.0.1", port: 0, limits: limits, routes: [echo])
        try server.start()
        defer { server.stop() }
        let body = String(repeating: "x", count: count)
        for _ in 0..<times {
            check(
                await RawHTTP.ask(server.port, "POST /echo", headers: "Content-Length: \(count)\r\n", body: body)
            )
        }
    }
}
