import ApplePush
import CarillonIO
import TestSupport
import Testing

/// Gateways that violate HTTP/2, or follow it and do nothing, byte by byte over real sockets: each push ends
/// once, nothing waits for ever, and the next connection works.
@Suite struct HostileGatewayTests {
    /// The bytes that the first connection sends to one request. Later connections answer all requests.
    private func flood(
        _ name: String,
        ending verdict: Outcome.Verdict = .unknown,
        with flood: @escaping @Sendable (UInt32) -> [UInt8]
    ) async throws {
        try await RawGateway.withBackend { line in
            try await line.greet()
            if line.number > 1 { return try await line.serve() }
            guard let stream = try await line.nextRequest() else { return }
            for _ in 0..<10_000 { try await line.send(flood(stream)) }
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            let first = await backend.deliver(batch(1), to: gateway, with: credential)
            #expect(first[0].verdict == verdict)
            try await eventually { backend.traffic.ends == [name: 1] }
            let second = await backend.deliver(batch(10), to: gateway, with: credential)
            #expect(second.allSatisfy { $0.verdict == .accepted })
            #expect(server.connections == 2)
        }
    }

    // MARK: Floods

    @Test(arguments: [
        ("PING", FrameBytes.ping(1, acknowledgement: true)),
        ("an unknown frame", FrameBytes.frame(0xbb, stream: 0, [1])),
        ("SETTINGS", FrameBytes.settings()), ("WINDOW_UPDATE", FrameBytes.windowUpdate(0, 1)),
    ])
    func `endless frames without effect end the connection`(name: String, frame: [UInt8]) async throws {
        let flood = Array(repeatElement(frame, count: 500).joined())
        try await self.flood("flooded") { _ in flood }
    }

    @Test func `endless empty pieces of a body end the connection`() async throws {
        try await flood("flooded", ending: .accepted) { stream in
            FrameBytes.headers(stream, [(":status", "200")])
                + Array(repeatElement(FrameBytes.data(stream, []), count: 2_000).joined())
        }
    }

    @Test func `endless pings end the connection`() async throws {
        try await flood("flooded") { _ in Array(repeatElement(FrameBytes.ping(7), count: 1_500).joined()) }
    }

    @Test func `endless interim answers end the connection`() async throws {
        try await flood("flooded") { FrameBytes.headers($0, [(":status", "103")]) }
    }

    @Test func `an endless header block ends the connection`() async throws {
        try await RawGateway.withBackend { line in
            try await line.greet()
            guard line.number == 1, let stream = try await line.nextRequest() else { return try await line.serve() }
            try await line.send(FrameBytes.frame(1, stream: stream, FrameBytes.block([(":status", "200")])))
            for _ in 0..<100_000 {
                try await line.send(FrameBytes.frame(9, stream: stream, FrameBytes.block([("a", "b")])))
            }
        } test: { _, gateway, backend in
            let credential = try TestCredential.certificate()
            #expect(await backend.deliver(batch(1), to: gateway, with: credential)[0].verdict == .unknown)
            #expect(await backend.deliver(batch(1), to: gateway, with: credential)[0].verdict == .accepted)
        }
    }

    @Test func `header fields that grow by compression end the connection`() async throws {
        try await flood("flooded") { stream in
            let entry = [0x40] + FrameBytes.string("x") + FrameBytes.string(String(repeating: "y", count: 4_000))
            let block = FrameBytes.block([(":status", "200")]) + entry + [UInt8](repeating: 0xbe, count: 10_000)
            return FrameBytes.frame(1, flags: 5, stream: stream, block)
        }
    }

    @Test func `too many header fields end the connection`() async throws {
        try await flood("flooded") { stream in
            FrameBytes.headers(stream, [(":status", "200")] + (0..<64).map { ("x-\($0)", "y") }, end: true)
        }
    }

    @Test func `an endless body is cut, and its status counts`() async throws {
        try await RawGateway.withBackend { line in
            try await line.greet()
            guard let stream = try await line.nextRequest() else { return }
            try await line.send(FrameBytes.headers(stream, [(":status", "400")]))
            let piece = FrameBytes.data(stream, [UInt8](repeating: 120, count: 16_384))
            for _ in 0..<3 { try await line.send(piece) }
            try await line.serve()
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            let first = await backend.deliver(batch(1), to: gateway, with: credential)
            #expect(first[0].verdict == .rejected && first[0].status == 400)
            #expect(await backend.deliver(batch(5), to: gateway, with: credential).allSatisfy { $0.status == 200 })
            #expect(server.connections == 1)
        }
    }

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

    // MARK: Violations

    static let violations: [(name: String, bytes: @Sendable (UInt32) -> [UInt8])] = [
        ("DATA on a stream never opened", { _ in FrameBytes.data(99, [1], end: true) }),
        ("DATA before HEADERS", { FrameBytes.data($0, [1], end: true) }),
        ("HEADERS on an even stream", { _ in FrameBytes.headers(2, [(":status", "200")], end: true) }),
        ("WINDOW_UPDATE of nothing", { _ in FrameBytes.windowUpdate(0, 0) }),
        ("WINDOW_UPDATE that overflows", { _ in FrameBytes.windowUpdate(0, (1 << 31) - 1) }),
        ("SETTINGS with a bad frame size", { _ in FrameBytes.settings([(5, 1)]) }),
        (
            "PUSH_PROMISE",
            { FrameBytes.frame(5, flags: 4, stream: $0, [0, 0, 0, 2] + FrameBytes.block([(":method", "GET")])) }
        ),
        ("a frame of 16,385 bytes", { FrameBytes.data($0, [UInt8](repeating: 0, count: 16_385)) }),
        ("RST_STREAM on a stream never opened", { _ in FrameBytes.reset(99, 0) }),
        ("a second GOAWAY with a higher stream", { FrameBytes.goAway(last: $0) + FrameBytes.goAway(last: 99) }),
        ("HTTP/1.1", { _ in Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8) }),
    ]

    @Test(arguments: HostileGatewayTests.violations.map(\.name))
    func `a protocol violation ends the connection, and pushes in flight are unknown`(name: String) async throws {
        let bytes = try #require(Self.violations.first { $0.name == name }?.bytes)
        try await RawGateway.withBackend { line in
            try await line.greet()
            if line.number > 1 { return try await line.serve() }
            try await line.serve(1)
            guard let stream = try await line.nextRequest() else { return }
            try await line.send(bytes(stream))
            try await line.listen()
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            #expect(await backend.deliver(batch(1), to: gateway, with: credential)[0].verdict == .accepted)
            #expect(await backend.deliver(batch(1), to: gateway, with: credential)[0].verdict == .unknown)
            #expect(await backend.deliver(batch(5), to: gateway, with: credential).allSatisfy { $0.status == 200 })
            #expect(server.connections == 2)
        }
    }

    // MARK: GOAWAY

    @Test func `a GOAWAY about the certificate refuses the credential, whatever was answered before`()
        async throws
    {
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

    @Test func `a GOAWAY in two steps loses no push`() async throws {
        try await RawGateway.withBackend { line in
            try await line.greet()
            if line.number > 1 { return try await line.serve() }
            // That many are in flight before the first answer.
            for number in 1...64 {
                guard let stream = try await line.nextRequest() else { return }
                if number == 1 { try await line.send(FrameBytes.goAway(last: (1 << 31) - 1)) }
                if number == 64 { try await line.send(FrameBytes.goAway(last: stream)) }
                try await line.send(FrameBytes.headers(stream, [(":status", "200")], end: true))
            }
            try await line.listen()
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(200), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.allSatisfy { $0.verdict == .accepted })
            #expect(server.connections == 2)
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

    @Test func `every push arrives though half of all streams are refused`() async throws {
        try await RawGateway.withBackend { line in
            try await line.greet()
            var isRefused = false
            while let stream = try await line.nextRequest() {
                isRefused.toggle()
                try await line.send(
                    isRefused
                        ? FrameBytes.reset(stream, 7) : FrameBytes.headers(stream, [(":status", "200")], end: true)
                )
            }
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(300), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.allSatisfy { $0.verdict == .accepted || $0.verdict == .safe })
            #expect(outcomes.count { $0.verdict == .accepted } > 250)
            #expect(server.connections == 1)
        }
    }
}
