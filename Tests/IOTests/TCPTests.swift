import IO
import TestSupport
import Testing

@Suite struct TCPTests {
    @Test func `a connection carries bytes both ways`() async throws {
        try await TestLoop.with { loop in
            let (stream, continuation) = AsyncStream.makeStream(of: CInt.self)
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { continuation.yield($0.release()) }
            defer { listener.close() }
            let client = try await TCP.connect(host: "localhost", port: listener.port, timeout: .seconds(10), on: loop)
            var arrivals = stream.makeAsyncIterator()
            let server = try Socket(owning: #require(await arrivals.next()))
            #expect(try client.write(([1, 2, 3] as [UInt8]).span.bytes) == .bytes(3))
            let deadline = MonotonicInstant.now + .seconds(10)
            _ = try await loop.readiness(of: server.descriptor, for: .read, until: deadline, doing: "reading")
            var bytes = [UInt8](repeating: 0, count: 16)
            #expect(try server.read(into: &bytes) == .bytes(3))
            #expect(bytes.prefix(3) == [1, 2, 3])
        }
    }

    @Test func `a refused port is reported at once`() async throws {
        try await TestLoop.with { loop in
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { _ in }
            listener.close()
            let error = await #expect(throws: IOError.self) {
                _ = try await TCP.connect(host: "127.0.0.1", port: listener.port, timeout: .seconds(60), on: loop)
            }
            #expect(error?.code == .refused)
        }
    }
}
