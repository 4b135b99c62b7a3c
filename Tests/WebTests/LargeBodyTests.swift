import TestSupport
import Testing

@testable import CarillonWeb

/// Bodies that would fill memory if many clients sent them at once.
@Suite struct LargeBodyTests {
    private static func exchange() throws -> Exchange {
        // It is never used as a connection.
        Exchange(try #require(OpaquePointer(bitPattern: 1)), refusal: nil)
    }

    private static func grow(_ exchange: Exchange, by count: Int, in bodies: inout LargeBodies) {
        [UInt8](repeating: 0, count: count).withUnsafeBytes { exchange.append($0) }
        bodies.grew(exchange, by: count)
    }

    @Test func `a body that has been arriving for long gives way to a new one, and holds nothing more`() throws {
        var bodies = LargeBodies(limit: 40_000)
        let all = try (0..<4).map { _ in try Self.exchange() }
        func refused() -> [Int?] { all.map { $0.bodyRefusal?.status } }
        Self.grow(all[0], by: 5_000, in: &bodies)
        for place in [0, 1] { Self.grow(all[place], by: 15_000, in: &bodies) }
        Self.grow(all[1], by: 5_000, in: &bodies)
        #expect(refused() == [nil, nil, nil, nil])
        Self.grow(all[2], by: 20_000, in: &bodies)
        #expect(refused() == [503, nil, nil, nil] && all[0].body.isEmpty)
        // What a refused body still sends is neither kept nor counted.
        [UInt8](repeating: 0, count: 40_000).withUnsafeBytes { all[0].append($0) }
        bodies.remove(all[0])
        bodies.remove(all[1])
        Self.grow(all[3], by: 20_000, in: &bodies)
        #expect(refused() == [503, nil, nil, nil])
        Self.grow(all[3], by: 1, in: &bodies)
        #expect(refused() == [503, nil, 503, nil])
        // It is the only one.
        Self.grow(all[3], by: 20_000, in: &bodies)
        #expect(refused() == [503, nil, 503, 503] && all[3].body.isEmpty)
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
