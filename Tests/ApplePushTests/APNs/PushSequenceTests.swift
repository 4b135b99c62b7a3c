import ApplePush
import CarillonIO
import Testing

/// Sending to tokens that are read while they are sent.
@Suite struct PushSequenceTests {
    /// Numbers as tokens, and how many of them were read.
    private struct Tokens: AsyncSequence {
        struct ReadingFailed: Error {}

        let count: Int
        var failsAt: Int?
        let read = Counter()

        func makeAsyncIterator() -> Iterator { Iterator(tokens: self) }

        struct Iterator: AsyncIteratorProtocol {
            let tokens: Tokens
            private var next = 0

            init(tokens: Tokens) { self.tokens = tokens }

            mutating func next() async throws -> String? {
                if next == tokens.failsAt { throw ReadingFailed() }
                guard next < tokens.count else { return nil }
                tokens.read.add(1)
                defer { next += 1 }
                return PushSequenceTests.token(next)
            }
        }
    }

    private final class Counter: Sendable {
        private let value = Guarded(0)
        var count: Int { value.withLock { $0 } }
        func add(_ number: Int) { value.withLock { $0 += number } }
    }

    private static func token(_ number: Int) -> String { ApplePushTests.token(number, digits: 8) }

    private func apns(_ backend: some Backend) throws -> APNs {
        APNs(Session(backend: backend).connection(to: .sandbox, credential: try TestCredential.certificate()))
    }

    private func message() throws -> Message { try Message(tokens: [], alert: "Hello", topic: "org.example.app") }

    @Test(arguments: [0, 1, 999, 1000, 1001, 25_000])
    func `every token has its push, in the order of the tokens`(count: Int) async throws {
        let backend = RecordedBackend { $0.hasSuffix("7") ? .rejected(410, "Unregistered", timestamp: 1) : .accepted }
        var pushes: [APNs.Push] = []
        for try await push in try apns(backend).send(message(), to: Tokens(count: count)) { pushes.append(push) }
        #expect(pushes.map(\.token) == (0..<count).map(Self.token))
        #expect(pushes.allSatisfy { $0.isDead == $0.token.hasSuffix("7") && $0.isAccepted != $0.isDead })
        #expect(Set(backend.sent.map(\.id)) == Set(pushes.map(\.id)))
    }

    @Test func `tokens of a plain sequence are sent too`() async throws {
        let backend = RecordedBackend()
        var count = 0
        let tokens = (0..<2_500).lazy.map { Self.token($0) }
        for try await push in try apns(backend).send(message(), to: tokens) where push.isAccepted { count += 1 }
        #expect(count == 2_500)
    }

    @Test func `no more tokens are read ahead than were asked for`() async throws {
        let tokens = Tokens(count: 20_000)
        var taken = 0
        for try await _ in try apns(RecordedBackend()).send(message(), to: tokens, atOnce: 1_500) {
            // The push in hand is one of them.
            #expect(tokens.read.count - taken <= 2_500)
            taken += 1
        }
        #expect(taken == 20_000)
    }

    @Test func `when no connection can be made, reading stops, and each token read has its push`() async throws {
        let failure = PushError(.unreachable, "Nobody is there.")
        let backend = RecordedBackend { $0 < "00000bb8" ? .accepted : .unreachable(failure) }
        let tokens = Tokens(count: 100_000)
        var pushes: [APNs.Push] = []
        let error = await #expect(throws: PushError.self) {
            for try await push in try apns(backend).send(message(), to: tokens) { pushes.append(push) }
        }
        #expect(error?.code == .unreachable)
        #expect(pushes.filter(\.isAccepted).count == 3_000)
        #expect(pushes.count == tokens.read.count && pushes.count < 20_000)
        #expect(pushes.dropFirst(3_000).allSatisfy { $0.unsentReason?.code == .unreachable && $0.isRetryable })
    }

    @Test func `when a token cannot be read, those before it are sent, and the error follows`() async throws {
        var pushes: [APNs.Push] = []
        await #expect(throws: Tokens.ReadingFailed.self) {
            let tokens = Tokens(count: 5_000, failsAt: 2_345)
            for try await push in try apns(RecordedBackend()).send(message(), to: tokens) { pushes.append(push) }
        }
        #expect(pushes.map(\.token) == (0..<2_345).map(Self.token))
    }

    @Test func `a message that cannot be encoded is an error, and its tokens are unsent`() async throws {
        let message = try Message(tokens: [], extra: ["number": .number(.infinity)])
        var pushes: [APNs.Push] = []
        let error = await #expect(throws: PushError.self) {
            for try await push in try apns(RecordedBackend()).send(message, to: ["a1", "b2"]) { pushes.append(push) }
        }
        #expect(error?.code == .invalidMessage)
        #expect(pushes.map(\.unsentReason?.code) == [.invalidMessage, .invalidMessage])
    }

    @Test func `a cancelled task sends no more, hears what was sent, and ends with an error`() async throws {
        try await TestGateway.withBackend { _ in
            [.answer(200)]
        } test: { server, gateway, backend in
            let session = Session(backend: backend)
            let apns = APNs(session.connection(to: gateway, credential: try TestCredential.certificate()))
            let message = try self.message()
            let tokens = Tokens(count: 1_000_000)
            let task = Task {
                var pushes: [APNs.Push] = []
                do {
                    for try await push in apns.send(message, to: tokens, atOnce: 2_000) {
                        pushes.append(push)
                        if pushes.count == 1_500 { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                    Issue.record("The sequence ended without an error.")
                } catch {
                    #expect(error is CancellationError)
                }
                return pushes
            }
            let pushes = await task.value
            #expect(pushes.map(\.token) == (0..<pushes.count).map(Self.token))
            #expect(pushes.count == tokens.read.count && pushes.count < 10_000)
            let sent = Set(server.seen.map(\.token))
            for push in pushes where push.outcome.verdict == .safe { #expect(!sent.contains(push.token)) }
            for push in pushes where push.isAccepted { #expect(sent.contains(push.token)) }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `leaving the loop cancels what waits to be sent`() async throws {
        // One stream, and no answer: everything but one push waits.
        try await TestGateway.withBackend(streams: 1) {
            $0.number == 1 ? [.answer(200)] : []
        } test: { _, gateway, backend in
            let session = Session(backend: backend)
            let apns = APNs(session.connection(to: gateway, credential: try TestCredential.certificate()))
            for try await push in apns.send(try message(), to: [Self.token(0)]) { #expect(push.isAccepted) }
            let many = Task {
                for try await _ in apns.send(try message(), to: Tokens(count: 10_000)) { break }
            }
            many.cancel()
            _ = await many.result
            await session.shutdown()
        }
    }
}
