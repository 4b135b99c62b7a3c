import ApplePush
import CarillonIO
import TestSupport
import Testing

/// Answers that arrive in two pieces, split after every byte. `NotificationReaderTests` splits what clients send.
@Suite(.timeLimit(.minutes(5))) struct SplitTests {
    /// Sends in two TLS records, which the client reads one after the other.
    private static func send(_ bytes: [UInt8], splitAfter count: Int, on line: inout RawLine) async throws {
        try await line.send(Array(bytes.prefix(count)))
        try await line.send(Array(bytes.dropFirst(count)))
    }

    @Test func `the error of a binary gateway may arrive in two pieces`() async throws {
        let split = Guarded<Int?>(nil)
        let script = GatewayScript()
        let credential = try TestCredential.certificate()
        try await RawGateway.with(alpn: []) { line in
            guard let split = split.withLock({ $0.take() }) else { return try await script.serveBinary(&line) }
            _ = try await line.nextNotification()
            guard let second = try await line.nextNotification() else { return }
            try await Self.send(second.refusal(8), splitAfter: split, on: &line)
            while try await line.next(1) != nil {}
        } test: { server, port in
            let gateway = Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM))
            for place in 0...6 {
                split.withLock { $0 = place }
                let backend = BinaryBackend(.provenByErrors)
                let outcomes = await backend.deliver(batch(3), to: gateway, with: credential)
                #expect(outcomes.map(\.verdict) == [.accepted, .rejected, .accepted], "split after \(place)")
                #expect(outcomes[1].status == 8, "split after \(place)")
                await backend.shutdown()
            }
            #expect(script.accepted == Array(repeating: 2, count: 7))
        }
    }

    @Test func `the answers of an HTTP/2 gateway may arrive in two pieces`() async throws {
        let split = Guarded(0)
        let length = Guarded(0)
        let credential = try TestCredential.certificate()
        try await RawGateway.with { line in
            try await line.greet()
            var streams: [UInt32] = []
            while streams.count < 3, let stream = try await line.nextRequest() { streams.append(stream) }
            guard streams.count == 3 else { return }
            let body = Array(#"{"reason":"Unregistered","timestamp":1700000000000}"#.utf8)
            let answers =
                FrameBytes.headers(streams[0], [(":status", "200")], end: true)
                + FrameBytes.headers(streams[1], [(":status", "410")]) + FrameBytes.data(streams[1], body, end: true)
                + FrameBytes.headers(streams[2], [(":status", "200")], end: true)
            length.withLock { $0 = answers.count }
            try await Self.send(answers, splitAfter: split.withLock { $0 }, on: &line)
            try await line.listen()
        } test: { server, port in
            let gateway = Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM))
            var place = 0
            while place <= length.withLock({ $0 }) {
                split.withLock { $0 = place }
                try await withBackend { backend in
                    let outcomes = await backend.deliver(batch(3), to: gateway, with: credential)
                    #expect(outcomes.map(\.status) == [200, 410, 200], "split after \(place)")
                    #expect(outcomes[1].timestamp == 1_700_000_000_000, "split after \(place)")
                }
                place += 1
            }
            #expect(place > 100)
        }
    }
}
