import ApplePush
import Testing

/// The result of a message, with the recorded backend.
@Suite struct ResultTests {
    private func send(
        _ tokens: [String],
        _ answers: [String: RecordedBackend.Answer]
    ) async throws -> (message: Message, result: APNs.Result, backend: RecordedBackend) {
        let backend = RecordedBackend { answers[$0] ?? .accepted }
        let apns = try APNs(backend)
        let message = try Message(tokens: tokens, alert: "Hello", topic: "org.example.app")
        return (message, try await apns.send(message), backend)
    }

    private struct Row: Sendable, CustomTestStringConvertible {
        let answer: RecordedBackend.Answer
        let isFailed: Bool
        let isError: Bool
        let isRetried: Bool
        var testDescription: String { "\(answer)" }
    }

    /// `ReasonMatrixTests` has the reasons that are known.
    private static let matrix: [Row] = [
        Row(answer: .accepted, isFailed: false, isError: false, isRetried: false),
        Row(answer: .rejected(410, "Unregistered"), isFailed: true, isError: false, isRetried: false),
        Row(answer: .rejected(503, "NobodyKnowsThis"), isFailed: false, isError: true, isRetried: true),
        Row(answer: .rejected(400, "NobodyKnowsThis"), isFailed: false, isError: true, isRetried: false),
        Row(answer: .safe, isFailed: false, isError: false, isRetried: true),
        Row(answer: .unknown, isFailed: false, isError: true, isRetried: true),
    ]

    @Test func `the numbers of a result's line add up`() async throws {
        let (_, result, _) = try await send(
            ["a1", "b2", "c3", "c3", "d4", "e5", "f6", "zz"],
            [
                "b2": .rejected(429, "TooManyRequests"), "c3": .rejected(410, "Unregistered"),
                "d4": .rejected(503, "ServiceUnavailable"), "e5": .safe, "f6": .unknown,
            ]
        )
        #expect(
            "\(result)"
                == "1 accepted, 3 failed (410 Unregistered, MalformedToken), "
                + "2 rejected (429 TooManyRequests, 503 ServiceUnavailable), 1 not sent (unreachable), "
                + "1 with unknown outcome (unreachable)"
        )
        #expect(result.errors.map(\.tokens) == [["b2"], ["d4"], ["f6"]])
        #expect(result.feedback.map(\.token) == ["c3"])
    }

    @Test func `a field that no header can contain is in the line`() async throws {
        let connection = Session(backend: RecordedBackend { _ in .rejected(0, "MalformedHeader") })
            .connection(to: .sandbox, credential: try TestCredential.certificate())
        let message = try Message(tokens: ["a1", "b2"], alert: "Hello", collapseID: "a\nb", topic: "org.example.app")
        let result = try await APNs(connection).send(message)
        #expect("\(result)" == "0 accepted, 2 rejected (MalformedHeader)")
    }

    @Test func `a refused credential is told apart from what a retry mends`() async throws {
        for (answer, isRefused) in [
            (RecordedBackend.Answer.rejected(403, "InvalidProviderToken"), true),
            (.rejected(403, "ExpiredProviderToken"), false), (.rejected(429, "TooManyRequests"), false),
            (.rejected(410, "Unregistered"), false), (.unknown, false),
        ] {
            let (_, result, _) = try await send(["a1", "b2"], ["b2": answer])
            #expect(result.isCredentialRefused == isRefused, "\(answer)")
        }
    }

    @Test(arguments: matrix)
    private func `each outcome is in the right part of the result`(row: Row) async throws {
        let (message, result, _) = try await send(["a1", "b2"], ["a1": row.answer])
        #expect(result.accepted == (row.isFailed || row.isError || row.isRetried ? 1 : 2))
        #expect(result.failed.keys.contains("a1") == row.isFailed)
        #expect(result.errors.isEmpty != row.isError)
        #expect(result.needsRetry == row.isRetried)
        #expect(result.retry()?.tokens == (row.isRetried ? ["a1"] : nil))
        if let retry = result.retry() {
            #expect(retry.id == message.id)
            #expect(try retry.payloadBytes() == message.payloadBytes())
        }
    }

    @Test func `a retry carries the same identity for the same token`() async throws {
        let (_, result, backend) = try await send(["a1", "b2"], ["b2": .unknown])
        let retry = try #require(result.retry())
        let apns = try APNs(backend)
        _ = try await apns.send(retry)
        let ids = backend.sent.filter { $0.token == "b2" }.map(\.id)
        #expect(ids.count == 2)
        #expect(Set(ids).count == 1)
        #expect(Set(backend.sent.map(\.id)).count == 2)
    }

    @Test func `dead tokens are in the feedback with Apple's time`() async throws {
        let (_, result, _) = try await send(
            ["a1", "b2", "c3"],
            [
                "a1": .rejected(410, "Unregistered", timestamp: 1_700_000_000_123),
                "b2": .rejected(400, "BadDeviceToken"),
                "c3": .rejected(410, "ExpiredToken"),
            ]
        )
        #expect(
            result.feedback == [
                Feedback(token: "a1", timestamp: 1_700_000_000_123), Feedback(token: "c3", timestamp: nil),
            ]
        )
        #expect(result.failed["a1"]?.timestamp == 1_700_000_000_123)
        #expect(result.failed["a1"]?.reason == "Unregistered")
        #expect(result.failed["b2"]?.status == 400)
    }

    @Test func `the longest Retry-After counts`() async throws {
        let (_, result, _) = try await send(
            ["a1", "b2"],
            [
                "a1": .rejected(429, "TooManyRequests", retryAfter: 3),
                "b2": .rejected(503, "ServiceUnavailable", retryAfter: 30),
            ]
        )
        #expect(result.retryAfter == 30)
    }

    @Test func `sending throws only if there was no connection`() async throws {
        let failure = PushError(.unreachable, "Nobody is there.")
        let error = await #expect(throws: PushError.self) { try await send(["a1"], ["a1": .unreachable(failure)]) }
        #expect(error?.message == "Nobody is there.")
        let (_, result, _) = try await send(["a1", "b2"], ["b2": .unreachable(failure)])
        #expect(result.accepted == 1 && result.unsent == ["b2"])
        #expect(result.unsentReason?.message == "Nobody is there.")
        #expect(result.retry()?.tokens == ["b2"])
    }

    @Test func `a message without tokens has an empty result`() async throws {
        let (_, result, backend) = try await send([], [:])
        #expect(result.accepted == 0 && result.unsent.isEmpty && result.unsentReason == nil)
        #expect(!result.needsRetry)
        #expect(backend.sent.isEmpty)
    }

    @Test func `the recorded backend records what was sent and returns its list of dead tokens`() async throws {
        let report = Feedback(token: "a1", timestamp: 5)
        let backend = RecordedBackend(feedback: [report])
        let connection = Session(backend: backend).newConnection(
            to: .sandbox,
            credential: try TestCredential.certificate()
        )
        let message = try Message(tokens: ["a1"], alert: "Hi", priority: 5, expiry: .at(9), collapseID: "c", topic: "t")
        _ = try await APNs(connection).send(message)
        let sent = try #require(backend.sent.first)
        #expect(sent.payload == #"{"aps":{"alert":"Hi"}}"#)
        #expect((sent.topic, sent.collapseID, sent.token) == ("t", "c", "a1"))
        #expect((sent.priority, sent.expiration) == (5, 9))
        var reports: [Feedback] = []
        for await report in try await APNs(connection).feedback() { reports.append(report) }
        #expect(reports == [report])
    }

    @Test func `a result lists every push with its identity, status and reason`() async throws {
        let (message, result, backend) = try await send(
            ["a1", "b2", "c3", "d4", "zz"],
            ["b2": .rejected(410, "Unregistered", timestamp: 7), "c3": .safe, "d4": .unknown]
        )
        #expect(result.pushes.map(\.token) == message.tokens)
        #expect(result.pushes.prefix(4).map(\.id) == backend.sent.map(\.id))
        #expect(result.pushes.map(\.status) == [200, 410, 0, 0, 0])
        #expect(result.pushes.map(\.reason) == [nil, "Unregistered", nil, nil, "MalformedToken"])
        #expect(result.pushes.map(\.isDead) == [false, true, false, false, false])
        #expect(result.pushes.map(\.isRetryable) == [false, false, true, true, false])
        #expect(result.pushes.map(\.unsentReason?.code) == [nil, nil, .unreachable, nil, nil])
        #expect(result.pushes.map(\.unknownReason?.code) == [nil, nil, nil, .unreachable, nil])
        #expect(result.unknownReason?.code == .unreachable)
        #expect((result.accepted, result.failed.count, result.unsent.count, result.unknown) == (1, 2, 1, 1))
    }

    @Test func `a result and its pushes describe themselves in a line`() async throws {
        let (_, result, _) = try await send(
            ["a1", "b2", "c3", "d4", "e5"],
            [
                "b2": .rejected(410, "Unregistered"), "c3": .safe, "d4": .unknown,
                "e5": .rejected(503, "ServiceUnavailable"),
            ]
        )
        #expect(
            "\(result)" == "1 accepted, 1 failed (410 Unregistered), 1 rejected (503 ServiceUnavailable), "
                + "1 not sent (unreachable), 1 with unknown outcome (unreachable)"
        )
        #expect(
            result.pushes.map { "\($0)" } == [
                "a1… accepted", "b2… 410 Unregistered", "c3… not sent: unreachable",
                "d4… outcome unknown: unreachable",
                "e5… 503 ServiceUnavailable",
            ]
        )
    }
}
