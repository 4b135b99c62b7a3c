import CarillonIO
import TestSupport
import Testing

@Suite struct ListenerTests {
    @Test func `a port in use is named, with what to do`() async throws {
        try await TestLoop.with { loop in
            let first = try Listener(host: "127.0.0.1", port: 0, on: loop) { _ in }
            defer { first.close() }
            let error = #expect(throws: IOError.self) {
                _ = try Listener(host: "127.0.0.1", port: first.port, on: loop) { _ in }
            }
            #expect(error?.code == .addressInUse)
            #expect(
                error?.message == "port \(first.port) is in use on 127.0.0.1: stop the program that listens there or "
                    + "choose another port"
            )
        }
    }

    @Test func `a closed listener's port is free at once`() async throws {
        try await TestLoop.with { loop in
            let first = try Listener(host: "127.0.0.1", port: 0, on: loop) { _ in }
            first.close()
            let second = try Listener(host: "127.0.0.1", port: first.port, on: loop) { _ in }
            #expect(second.port == first.port)
            second.close()
            second.close()
        }
    }

    @Test func `an address of another machine has a code of its own`() async throws {
        try await TestLoop.with { loop in
            let error = #expect(throws: IOError.self) {
                _ = try Listener(host: "192.0.2.1", port: 0, on: loop) { _ in }
            }
            #expect(error?.code == .addressUnavailable)
            #expect(error?.message.hasPrefix("192.0.2.1 is not an address of this machine") == true)
        }
    }

    @Test func `a loop that has ended accepts no listener`() throws {
        let loop = try EventLoop(name: "test")
        loop.stop()
        loop.join()
        let error = #expect(throws: IOError.self) { _ = try Listener(host: "127.0.0.1", port: 0, on: loop) { _ in } }
        #expect(error?.code == .cancelled)
    }

    @Test func `every one of many connections is accepted`() async throws {
        try await TestLoop.with { loop in
            let (stream, continuation) = AsyncStream.makeStream(of: CInt.self)
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { continuation.yield($0.release()) }
            defer { listener.close() }
            let port = listener.port
            await withTaskGroup { group in
                for _ in 0..<100 {
                    group.addTask {
                        _ = try? await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(60), on: loop)
                    }
                }
            }
            var count = 0
            for await descriptor in stream {
                _ = Socket(owning: descriptor)
                count += 1
                if count == 100 { break }
            }
            #expect(count == 100)
        }
    }
}
