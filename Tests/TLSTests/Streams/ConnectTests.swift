import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@Suite struct ConnectTests {
    private static func connect(
        to port: UInt16,
        host: String = "localhost",
        context: TLSContext,
        handshakeTimeout: Duration = .seconds(30),
        on loop: EventLoop
    ) async -> TLSError? {
        do throws(TLSError) {
            _ = try await TLSStream.connect(
                host: host,
                port: port,
                context: context,
                connectTimeout: .seconds(30),
                handshakeTimeout: handshakeTimeout,
                on: loop
            )
            return nil
        } catch {
            return error
        }
    }

    @Test func `a client connects over TCP and exchanges bytes`() async throws {
        try await TestLoop.with { loop in
            let house = try House()
            let server = try TLSContext.server(identity: house.server, alpn: ["h2"])
            let (stream, continuation) = AsyncStream.makeStream(of: CInt.self)
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { continuation.yield($0.release()) }
            defer { listener.close() }
            let port = listener.port
            let echo = Task {
                var arrivals = stream.makeAsyncIterator()
                let descriptor = try #require(await arrivals.next())
                let deadline = MonotonicInstant.now + .seconds(30)
                var stream = try await TLSStream.accept(
                    Socket(owning: descriptor),
                    context: server,
                    timeout: .seconds(30),
                    on: loop
                )
                var bytes = [UInt8](repeating: 0, count: 1_000)
                let count = try await stream.receive(into: &bytes, until: deadline, on: loop)
                try await stream.send(Array(bytes[..<count]), until: deadline, on: loop)
                stream.closeNotify()
            }
            var client = try await TLSStream.connect(
                host: "localhost",
                port: port,
                context: .client(trust: house.trust, alpn: ["h2"]),
                connectTimeout: .seconds(30),
                handshakeTimeout: .seconds(30),
                on: loop
            )
            #expect(client.alpn == "h2")
            let deadline = MonotonicInstant.now + .seconds(30)
            try await client.send(Array("hello".utf8), until: deadline, on: loop)
            var bytes = [UInt8](repeating: 0, count: 1_000)
            let count = try await client.receive(into: &bytes, until: deadline, on: loop)
            #expect(bytes[..<count].elementsEqual("hello".utf8))
            #expect(try await client.receive(into: &bytes, until: deadline, on: loop) == 0)
            try await echo.value
        }
    }

    @Test func `a port that refuses and a name without an address have different codes`() async throws {
        try await TestLoop.with { loop in
            let context = try TLSContext.client(trust: .pem(KeyFixtures.root), alpn: ["h2"])
            let refused = await Self.connect(to: ReservedPort.choose(), context: context, on: loop)
            #expect(refused?.code == .refused)
            #expect((refused?.underlying as? IOError)?.code == .refused)
            let unresolvable = await Self.connect(to: 443, host: "no such.host", context: context, on: loop)
            #expect(unresolvable?.code == .unresolvable)
        }
    }

    @Test func `the handshake with a silent server times out`() async throws {
        try await TestLoop.with { loop in
            let context = try TLSContext.client(trust: .pem(KeyFixtures.root), alpn: ["h2"])
            let (_, continuation) = AsyncStream.makeStream(of: CInt.self)
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { continuation.yield($0.release()) }
            defer { listener.close() }
            let error = await Self.connect(
                to: listener.port,
                context: context,
                handshakeTimeout: .milliseconds(10),
                on: loop
            )
            #expect(error?.code == .timedOut)
            #expect(error?.message == "the TLS handshake with localhost took too long")
        }
    }

    @Test func `a server that closes during the handshake has a code of its own`() async throws {
        try await TestLoop.with { loop in
            let context = try TLSContext.client(trust: .pem(KeyFixtures.root), alpn: ["h2"])
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { socket in socket.resetWhenClosed() }
            defer { listener.close() }
            let error = await Self.connect(to: listener.port, context: context, on: loop)
            #expect(error?.code == .reset || error?.code == .truncated, "\(String(describing: error))")
        }
    }

    @Test func `connecting ends when its task is cancelled`() async throws {
        try await TestLoop.with { loop in
            let context = try TLSContext.client(trust: .pem(KeyFixtures.root), alpn: ["h2"])
            let (accepted, continuation) = AsyncStream.makeStream(of: CInt.self)
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { continuation.yield($0.release()) }
            defer { listener.close() }
            let port = listener.port
            let task = Task { await Self.connect(to: port, context: context, on: loop) }
            var arrivals = accepted.makeAsyncIterator()
            let peer = try Socket(owning: #require(await arrivals.next()))
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            _ = consume peer
        }
    }
}
