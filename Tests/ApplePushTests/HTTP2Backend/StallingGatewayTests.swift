import ApplePush
import CarillonIO
import TestSupport
import Testing

/// Gateways that follow the protocol and make no progress: each time limit detects one kind. The limits are long enough for the
/// connections that do make progress, on a busy machine too. `WindowTests` and `SettingsTests` have the same for a session, and
/// the fault board for a worker.
@Suite struct StallingGatewayTests {
    @Test(
        arguments: [([(3, 0)], "starved"), ([(3, 1_000), (4, 0)], "window_closed")]
            as [([(UInt16, UInt32)], String)]
    )
    func `settings that allow no pushes end the connection`(settings: [(UInt16, UInt32)], end: String) async throws {
        try await RawGateway.withBackend {
            $0.starvationTimeout = .seconds(2)
        } _: { line in
            try await line.greet(line.number > 1 ? [(3, 100)] : settings)
            try await line.serve()
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            let starved = await backend.deliver(batch(5), to: gateway, with: credential)
            #expect(starved.allSatisfy { $0.verdict == .safe })
            #expect(starved.connectFailure?.code == .unreachable)
            try await eventually { backend.traffic.ends == [end: 1] }
            #expect(await backend.deliver(batch(5), to: gateway, with: credential).allSatisfy { $0.status == 200 })
        }
    }

    @Test
    func `pushes that wait for a closed window are sent elsewhere, and those written are answered`() async throws {
        let complete = Guarded(0)
        try await RawGateway.withBackend {
            $0.starvationTimeout = .seconds(3)
        } _: { line in
            try await line.greet([(3, 100), (4, 0)])
            var answers: [UInt32] = []
            while let frame = try await line.nextFrame() {
                // The first connection opens windows for ten pushes, and answers the last of them late.
                if frame.isHeaders, line.number > 1 || frame.stream < 20 {
                    try await line.send(FrameBytes.windowUpdate(frame.stream, 1_000))
                }
                if frame.type == 3 {
                    for stream in answers { try await line.accept(stream) }
                    answers = []
                }
                guard frame.endsStream else { continue }
                complete.withLock { $0 += 1 }
                if line.number == 1, frame.stream == 19 {
                    answers.append(frame.stream)
                } else {
                    try await line.accept(frame.stream)
                }
            }
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(200), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            #expect(server.connections == 2)
            #expect(complete.withLock { $0 } == 200, "none was sent twice")
            #expect(backend.traffic.ends == ["window_closed": 1])
            #expect(backend.traffic.lateAnswers == 0)
        }
    }

    @Test func `a stream whose window does not open is abandoned alone, and its push is sent again`() async throws {
        let complete = Guarded(0)
        try await RawGateway.withBackend {
            $0.requestTimeout = .seconds(4)
        } _: { line in
            try await line.greet([(3, 100), (4, 0)])
            while let frame = try await line.nextFrame() {
                if frame.isHeaders, frame.stream != 21 {
                    try await line.send(FrameBytes.windowUpdate(frame.stream, 1_000))
                }
                guard frame.endsStream else { continue }
                complete.withLock { $0 += 1 }
                try await line.accept(frame.stream)
            }
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(100), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            #expect(complete.withLock { $0 } == 100, "none was sent twice")
            #expect(server.connections == 1 && backend.traffic.lateAnswers == 0)
        }
    }

    @Test func `a 200 whose stream does not end counts soon, and its stream is reset`() async throws {
        let resets = Guarded(0)
        try await RawGateway.withBackend {
            $0.requestTimeout = .seconds(60)
        } _: { line in
            try await line.greet()
            while let frame = try await line.nextFrame() {
                if frame.type == 3 { resets.withLock { $0 += 1 } }
                guard frame.endsStream else { continue }
                let end = frame.stream % 4 == 1
                try await line.send(FrameBytes.headers(frame.stream, [(":status", "200")], end: end))
            }
        } test: { server, gateway, backend in
            let start = MonotonicInstant.now
            let outcomes = await backend.deliver(batch(50), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            #expect(MonotonicInstant.now - start < .seconds(20))
            try await eventually { resets.withLock { $0 } == 25 }
            #expect(server.connections == 1 && backend.traffic.lateAnswers == 0)
        }
    }

    @Test func `a server that stops reading is disconnected after the write timeout`() async throws {
        try await RawGateway.withBackend {
            $0.writeTimeout = .seconds(4)
        } _: { line in
            try await line.greet([(3, 1_000), (4, 1 << 30)])
            if line.number > 1 { return try await line.serve() }
            try await line.serve(500)
            await line.stayUntilStopped()
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            // Each answer allows one more push in flight.
            #expect(await backend.deliver(batch(500), to: gateway, with: credential).allSatisfy { $0.status == 200 })
            // Several times what buffers hold.
            let batch = batch(1_000, payload: String(repeating: "x", count: 20_000))
            let outcomes = await backend.deliver(batch, to: gateway, with: credential)
            #expect(outcomes.allSatisfy { $0.verdict == .accepted || $0.verdict == .unknown })
            #expect(outcomes.count { $0.verdict == .unknown } <= 500)
            try await eventually { backend.traffic.ends["stalled"] == 1 }
            #expect(server.connections == 2)
        }
    }

    @Test
    func `after a silence one push is sent with a ping, and the others wait for the answer`() async throws {
        let opened = Guarded(0)
        try await RawGateway.withBackend {
            // Any silence is long enough.
            $0.pingAfter = .zero
            $0.pingTimeout = .seconds(15)
        } _: { line in
            try await line.greet()
            if line.number > 1 { return try await line.serveWithPongs() }
            while let frame = try await line.nextFrame() {
                if frame.isHeaders { opened.withLock { $0 += 1 } }
            }
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(50), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.count { $0.verdict == .unknown } == 1)
            #expect(outcomes.count { $0.verdict == .safe } == 49)
            try await eventually { backend.traffic.ends["silent"] == 1 }
            #expect(opened.withLock { $0 } == 1)
            let later = await backend.deliver(batch(50), to: gateway, with: try TestCredential.certificate())
            #expect(later.allSatisfy { $0.verdict == .accepted })
        }
    }

    @Test func `an old connection is replaced before it is closed, without an effect on pushes`() async throws {
        try await RawGateway.withBackend {
            $0.maximumAge = .milliseconds(50)
        } _: { line in
            try await line.greet()
            try await line.serve()
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            while server.connections < 4 {
                let outcomes = await backend.deliver(batch(100), to: gateway, with: credential)
                #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            }
            #expect((backend.traffic.ends["aged"] ?? 0) >= 2)
            #expect(Set(backend.traffic.ends.keys) == ["aged"])
        }
    }
}

extension RawLine {
    /// Answers pushes and pings.
    fileprivate mutating func serveWithPongs() async throws {
        while let frame = try await nextFrame() {
            if frame.isPing { try await send(FrameBytes.frame(6, flags: 1, stream: 0, frame.payload)) }
            if frame.endsStream { try await accept(frame.stream) }
        }
    }
}
