import ApplePush
import CarillonIO
import TestSupport
import Testing

/// Gateways that violate HTTP/2, or follow it and do nothing, byte by byte over real sockets: each push ends
/// once, nothing waits for ever, and the next connection works. `HostilePeerTests` breaks every rule and floods a session, and
/// the fault board does so to a worker.
@Suite struct HostileGatewayTests {
    // MARK: Bad ends after a 200

    /// What may follow the header of a 200 on its stream.
    static let badEnds: [(name: String, bytes: @Sendable (UInt32) -> [UInt8])] = [
        ("RST_STREAM without an error", { FrameBytes.reset($0, 0) }),
        ("RST_STREAM with INTERNAL_ERROR", { FrameBytes.reset($0, 2) }),
        ("RST_STREAM with REFUSED_STREAM", { FrameBytes.reset($0, 7) }),
        ("part of a body, then RST_STREAM", { FrameBytes.data($0, [123]) + FrameBytes.reset($0, 0) }),
        ("a second final answer", { FrameBytes.headers($0, [(":status", "200")], end: true) }),
        ("trailers that do not end it", { FrameBytes.headers($0, [("a", "b")]) }),
        ("a window that overflows", { FrameBytes.windowUpdate($0, (1 << 31) - 1) }),
        ("GOAWAY with an earlier stream", { _ in FrameBytes.goAway(last: 1) }),
        ("a violation that ends the connection", { _ in FrameBytes.reset(99, 0) }),
        ("nothing", { _ in [] }),
    ]

    @Test(arguments: HostileGatewayTests.badEnds.map(\.name))
    func `a push with the header of a 200 is accepted, whatever follows, and sent once`(name: String) async throws {
        let bytes = try #require(Self.badEnds.first { $0.name == name }?.bytes)
        let requests = Guarded(0)
        try await RawGateway.withBackend {
            // Only where nothing follows is this waited for.
            $0.requestTimeout = name == "nothing" ? .seconds(1) : .seconds(60)
        } _: { line in
            try await line.greet()
            if line.number == 1 { try await line.serve(1) }
            while let stream = try await line.nextRequest() {
                requests.withLock { $0 += 1 }
                try await line.send(FrameBytes.headers(stream, [(":status", "200")]) + bytes(stream))
            }
        } test: { _, gateway, backend in
            let credential = try TestCredential.certificate()
            #expect(await backend.deliver(batch(1), to: gateway, with: credential)[0].verdict == .accepted)
            let outcome = await backend.deliver(batch(1), to: gateway, with: credential)[0]
            #expect(outcome == .accepted && requests.withLock { $0 } == 1)
        }
    }

    // MARK: GOAWAY

    @Test
    func `a GOAWAY about the certificate refuses the credential, whatever was answered before`() async throws {
        try await RawGateway.withBackend { line in
            try await line.greet()
            try await line.serve(3)
            guard let stream = try await line.nextRequest() else { return }
            try await line.send(FrameBytes.goAway(last: stream - 2, 0, #"{"reason":"BadCertificate"}"#))
            try await line.listen()
        } test: { _, gateway, backend in
            let credential = try TestCredential.certificate()
            #expect(await backend.deliver(batch(3), to: gateway, with: credential).allSatisfy { $0.status == 200 })
            let refused = await backend.deliver(batch(5), to: gateway, with: credential)
            #expect(refused.allSatisfy { $0.verdict == .safe })
            #expect(refused.connectFailure?.code == .refused)
            #expect(refused.connectFailure?.message.contains("BadCertificate") == true)
            try await eventually { backend.traffic.ends["refused"] == 1 }
        }
    }

    @Test func `a gateway that sends GOAWAY after every fifty requests soon gets no more than that`() async throws {
        let opened = Guarded<[Int: Int]>([:])
        try await RawGateway.withBackend {
            $0.connections = 2
        } _: { line in
            let number = line.number
            try await line.greet()
            var answered = 0
            while let frame = try await line.nextFrame() {
                if frame.isHeaders { opened.withLock { $0[number, default: 0] += 1 } }
                guard frame.endsStream, answered < 50 else { continue }
                answered += 1
                let answer = FrameBytes.headers(frame.stream, [(":status", "200")], end: true)
                // In one write: between two, the client may read the last answer and open more streams.
                try await line.send(answered == 50 ? answer + FrameBytes.goAway(last: frame.stream) : answer)
            }
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(1_000), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            let later = opened.withLock { $0 }.filter { $0.key > 3 }.map(\.value)
            #expect(!later.isEmpty && later.allSatisfy { $0 <= 58 }, "\(later)")
        }
    }
}
