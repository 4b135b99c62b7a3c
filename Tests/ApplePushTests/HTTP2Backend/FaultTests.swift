import ApplePush
import CarillonHTTP2
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

/// Faults of gateways and connections: each push ends exactly once, with its true outcome.
@Suite struct FaultTests {
    /// No push is delivered without a 200 of the server, and no safe push was answered.
    private func checkTruth(_ outcomes: Outcomes, _ batch: PushBatch, delivered: Set<String>, _ server: TestGateway) {
        for (index, outcome) in outcomes.enumerated() {
            let token = batch.token(of: index)
            if outcome.verdict == .accepted { #expect(delivered.contains(token)) }
            if outcome.verdict == .safe { #expect(!delivered.contains(token)) }
        }
    }

    @Test func `a GOAWAY retires the connection at once, and unprocessed pushes are sent on the next`() async throws {
        try await TestGateway.withBackend { seen in
            seen.number == 10 ? [.answer(200), .goAway(last: seen.stream)] : [.answer(200)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(200), to: gateway, with: try TestCredential.certificate())
            #expect(count(outcomes) == [.accepted: 200])
            #expect(server.connections >= 19)
            #expect(Set(server.seen.map(\.token)).count == 200)
        }
    }

    @Test func `a stream below the last of a GOAWAY may still be answered`() async throws {
        try await TestGateway.withBackend { seen in
            switch (seen.connection, seen.number) {
            case (1, 5): [.goAway(last: seen.stream), .answer(200)]
            default: [.answer(200)]
            }
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(50), to: gateway, with: try TestCredential.certificate())
            #expect(count(outcomes) == [.accepted: 50])
            #expect(server.seen.count == 50)
            #expect(server.connections == 2)
        }
    }

    @Test func `a refused stream is sent again, and reported as safe if it is always refused`() async throws {
        try await TestGateway.withBackend { seen in
            seen.token == "00000003" ? [.reset(.refusedStream)] : [.answer(200)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(10), to: gateway, with: try TestCredential.certificate())
            #expect(count(outcomes) == [.accepted: 9, .safe: 1])
            #expect(outcomes[3].verdict == .safe)
            #expect(server.seen.filter { $0.token == "00000003" }.count > 1)
            #expect(Set(server.seen.filter { $0.token == "00000003" }.map(\.id)).count == 1)
        }
    }

    @Test(arguments: [ErrorCode.internalError, .cancel, .protocolError])
    func `a stream that is reset has an unknown outcome`(code: ErrorCode) async throws {
        try await TestGateway.withBackend { seen in
            seen.token == "00000003" ? [.reset(code)] : [.answer(200)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(10), to: gateway, with: try TestCredential.certificate())
            #expect(count(outcomes) == [.accepted: 9, .unknown: 1])
            #expect(outcomes.unanswered?.message.contains("ended the request without an answer") == true)
            #expect(outcomes[3].verdict == .unknown)
            #expect(server.seen.count == 10)
        }
    }

    @Test(arguments: [true, false])
    func `a lost connection leaves pushes in flight unknown, and the others are sent on the next`(
        inGoodOrder: Bool
    ) async throws {
        try await TestGateway.withBackend(streams: 20) { seen in
            seen.connection == 1 && seen.number == 30 ? [inGoodOrder ? .close : .hangUp] : [.answer(200)]
        } test: { server, gateway, backend in
            let batch = batch(100)
            let outcomes = await backend.deliver(batch, to: gateway, with: try TestCredential.certificate())
            let counts = count(outcomes)
            #expect(counts[.accepted, default: 0] + counts[.unknown, default: 0] == 100)
            #expect((1...20).contains(counts[.unknown, default: 0]))
            #expect(server.connections == 2)
            checkTruth(outcomes, batch, delivered: Set(server.seen.map(\.token)), server)
        }
    }

    @Test func `a push that is not answered in time is unknown, and the others continue`() async throws {
        try await TestGateway.withBackend {
            $0.requestTimeout = .seconds(2)
        } _: { seen in
            seen.token == "00000003" ? [] : [.answer(200)]
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(10), to: gateway, with: try TestCredential.certificate())
            // On a busy machine others may be late too, and then their outcome is unknown as well.
            #expect(outcomes[3].verdict == .unknown && outcomes.unanswered?.code == .timedOut)
            #expect(outcomes.allSatisfy { $0.verdict == .accepted || $0.verdict == .unknown })
            #expect(outcomes.contains { $0.verdict == .accepted })
        }
    }

    @Test func `a server that becomes silent is disconnected, and waiting pushes are sent on another connection`()
        async throws
    {
        try await TestGateway.withBackend(streams: 5) {
            $0.requestTimeout = .seconds(2)
        } _: { seen in
            seen.connection == 1 && seen.number > 3 ? [] : [.answer(200)]
        } test: { server, gateway, backend in
            let batch = batch(20)
            let outcomes = await backend.deliver(batch, to: gateway, with: try TestCredential.certificate())
            let silent = Set(server.seen.filter { $0.connection == 1 && $0.number > 3 }.map(\.token))
            // On a busy machine some time out before the others, and their streams are used once more.
            #expect(silent.count >= 5)
            for (index, outcome) in outcomes.enumerated() {
                let isSilent = silent.contains(batch.token(of: index))
                #expect(outcome.verdict == .unknown || (outcome.verdict == .accepted && !isSilent))
            }
            #expect(server.connections >= 2)
        }
    }

    @Test func `a server that never answers is an error for waiting pushes`() async throws {
        try await TestGateway.withBackend(streams: 5) {
            $0.requestTimeout = .seconds(2)
        } _: { _ in
            []
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(20), to: gateway, with: try TestCredential.certificate())
            #expect(count(outcomes) == [.safe: 15, .unknown: 5])
            #expect(outcomes.connectFailure?.code == .unreachable)
        }
    }

    @Test func `a gateway that allows no streams does not block deliveries for ever`() async throws {
        try await TestGateway.accepting(streams: 0) {
            $0.totalTimeout = .milliseconds(300)
        } test: { server, gateway, backend in
            let outcomes = await backend.deliver(batch(5), to: gateway, with: try TestCredential.certificate())
            #expect(count(outcomes) == [.safe: 5])
            #expect(server.seen.isEmpty)
        }
    }

    @Test
    func `when several connections are lost repeatedly, no push is lost or reported twice`() async throws {
        let answered = Guarded<[String: Int]>([:])
        try await TestGateway.withBackend(streams: 10) { seen in
            if seen.number % 37 == 0 { return [.hangUp] }
            answered.withLock { $0[seen.token, default: 0] += 1 }
            return [.answer(200)]
        } test: { server, gateway, backend in
            let batch = batch(1000)
            let outcomes = await backend.deliver(batch, to: gateway, with: try TestCredential.certificate())
            let counts = count(outcomes)
            #expect(counts[.accepted, default: 0] + counts[.unknown, default: 0] == 1000)
            #expect(counts[.accepted, default: 0] > 600)
            checkTruth(outcomes, batch, delivered: Set(answered.withLock { $0.keys }), server)
            #expect(answered.withLock { $0.values.allSatisfy { $0 == 1 } })
        }
    }

    @Test func `a shutdown also ends pushes that the kernel did not accept`() async throws {
        // A thousand pushes have streams at the same time: 12 MB. For a peer that does not read, the kernel takes about 4 MB.
        let payload = String(repeating: "x", count: 12_000)
        try await RawGateway.withBackend { line in
            try await line.greet()
            try await line.serve(1000)
            await line.stayUntilStopped()
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            async let sending = backend.deliver(batch(3000, payload: payload), to: gateway, with: credential)
            try await eventually { backend.traffic.answerTimes.count == 1000 }
            await backend.shutdown()
            let outcomes = await sending
            let counts = count(outcomes)
            #expect(counts[.accepted] == 1000)
            // The other pushes that have had a stream are among the first 2,000.
            #expect(outcomes.prefix(2000).contains { $0.verdict == .safe })
            #expect(counts.values.reduce(0, +) == 3000)
            #expect(outcomes.unanswered?.message.contains("before the gateway answered") == true)
        }
    }
}
