import CarillonIO
import Glibc
import TestSupport
import Testing

/// What other tests rely on when they break connections.
@Suite struct ProxyTests {
    /// An echo behind a proxy, and a connection to it.
    private static func with(
        _ body: (_ proxy: Proxy, _ client: borrowing Socket, _ loop: EventLoop) async throws -> Void
    ) async throws {
        try await TestLoop.with { loop in
            let echo = try Listener(host: "127.0.0.1", port: 0, on: loop) { socket in
                let descriptor = socket.release()
                Task {
                    let socket = Socket(owning: descriptor)
                    while let bytes = try? await socket.some(on: loop) { try socket.send(bytes) }
                }
            }
            defer { echo.close() }
            try await Proxy.with(to: echo.port, on: loop) { proxy in
                let client = try await TCP.connect(host: "127.0.0.1", port: proxy.port, timeout: .seconds(10), on: loop)
                try await body(proxy, client, loop)
            }
        }
    }

    @Test func `forwards bytes in both directions`() async throws {
        try await Self.with { proxy, client, loop in
            try client.send("hello")
            #expect(try await client.some(on: loop) == "hello")
            #expect(await proxy.passed(.up) == 5)
            #expect(await proxy.passed(.down) == 5)
            #expect(await proxy.connections == 1)
        }
    }

    @Test func `delays what it forwards`() async throws {
        try await Self.with { proxy, client, loop in
            await proxy.delay(by: .milliseconds(50))
            let start = MonotonicInstant.now
            try client.send("hello")
            #expect(try await client.some(on: loop) == "hello")
            #expect(MonotonicInstant.now - start >= .milliseconds(100))
        }
    }

    @Test func `cuts after a number of bytes, no earlier and no later`() async throws {
        try await Self.with { proxy, client, loop in
            await proxy.cut(.down, afterBytes: 3)
            try client.send("hello")
            #expect(try await client.some(on: loop) == "hel")
            try await loop.eventually("it is cut") { await proxy.cuts == 1 }
            await #expect(throws: IOError.self) { try await client.some(on: loop) }
            let second = try await TCP.connect(host: "127.0.0.1", port: proxy.port, timeout: .seconds(10), on: loop)
            try second.send("hello")
            #expect(try await second.some(on: loop) == "hello")
        }
    }

    @Test func `a frozen proxy holds all bytes back, and continues where it stopped`() async throws {
        try await Self.with { proxy, client, loop in
            try await proxy.openBlackHole()
            try client.send("hello")
            await #expect(throws: IOError.self) { try await client.some(on: loop, within: .milliseconds(100)) }
            await proxy.closeBlackHole()
            #expect(try await client.some(on: loop) == "hello")
        }
    }

    @Test func `a proxy refuses connections, and accepts them again on the same port`() async throws {
        try await Self.with { proxy, client, loop in
            try client.send("hello")
            #expect(try await client.some(on: loop) == "hello")
            await proxy.refuse()
            await proxy.endAll(by: .close)
            #expect(try await client.some(on: loop) == nil)
            let port = await proxy.port
            let refused = await #expect(throws: IOError.self) {
                _ = try await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(10), on: loop).release()
            }
            #expect(refused?.code == .refused)
            try await proxy.admit()
            let second = try await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(10), on: loop)
            try second.send("hello")
            #expect(try await second.some(on: loop) == "hello")
        }
    }
}

extension Socket {
    fileprivate borrowing func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        let count = Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
        if count != bytes.count { throw IOError(errno: errno, doing: "sending") }
    }

    /// The next bytes that come; nil at the end.
    fileprivate borrowing func some(on loop: EventLoop, within limit: Duration = .seconds(10)) async throws -> String? {
        let deadline = MonotonicInstant.now + limit
        var buffer = [UInt8](repeating: 0, count: 1024)
        while true {
            switch try read(into: &buffer) {
            case .bytes(let count): return String(decoding: buffer[..<count], as: UTF8.self)
            case .closed: return nil
            case .wantsRead, .wantsWrite:
                _ = try await loop.readiness(of: descriptor, for: .read, until: deadline, doing: "listening")
            }
        }
    }
}
