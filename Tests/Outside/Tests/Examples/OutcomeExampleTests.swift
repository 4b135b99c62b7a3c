import ApplePush
import FoundationEssentials
import Testing

/// Outcomes, retries and tests without a network.
@Suite struct OutcomeExampleTests {
    private let app = App()

    private func forget(_ token: String, unlessRegisteredAfter timestamp: Int64?) {
        app.forget(token, unlessRegisteredAfter: timestamp)
    }
    private func later(_ message: APNs.Message, after seconds: Int = 0) { app.later(message, after: seconds) }
    private func report(_ text: String) { app.report(text) }

    @Test func `a result says what to forget, report and retry`() async throws {
        let backend = RecordedBackend(feedback: [Feedback(token: "f00d", timestamp: 1_700_000_000_000)]) { token in
            switch token {
            case "c3d4": .rejected(410, "Unregistered", timestamp: 1_700_000_000_000)
            case "e5f6": .safe
            case "abcd": .unknown
            default: .accepted
            }
        }
        let session = APNs.Session(backend: backend)
        let credential = try Test.credential()
        let message = try APNs.Message(
            tokens: ["a1b2", "c3d4", "e5f6", "abcd"],
            alert: "Hello",
            topic: "org.example.app"
        )
        try await send(message, APNs(session.connection(to: .production, credential: credential)))
        #expect(app.forgotten == ["c3d4"])
        #expect(app.reports == ["OutcomeUnknown for 1 tokens"])
        #expect(app.retries == [["e5f6", "abcd"], ["e5f6"]])

        let service = APNs(session.newConnection(to: .feedback, credential: credential))
        let list = try await service.feedback()
        for await dead in list { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
        if let failure = await list.failure { report(failure.message) }

        #expect(app.forgotten == ["c3d4", "f00d"])
    }

    private func send(_ message: APNs.Message, _ apns: APNs) async throws {
        let result: APNs.Result
        do {
            result = try await apns.send(message)
        } catch {
            // Nothing was sent. The gateway cannot be reached, or the message or the credential must be fixed.
            report("\(error.code): \(error.message)")
            return error.isRetryable ? later(message) : ()
        }
        for dead in result.feedback { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
        for problem in result.errors { report("\(problem.reason) for \(problem.tokens.count) tokens") }
        if result.isCredentialRefused {
            report("the gateway refuses the credential: nothing more can be sent with it")
        } else if let retry = result.retry() {
            later(retry, after: result.retryAfter ?? 10)
        }

        var retry = message
        retry.tokens = result.unsent

        later(retry)
    }

    @Test func `a loop repeats what is worth it, and deletes dead tokens that were not registered again`() async throws
    {
        let answered = Answered()
        let backend = RecordedBackend { token in
            if token.hasPrefix("dead") { return .rejected(410, "Unregistered", timestamp: 1_700_000_000_000) }
            return token == "a1b2" || answered.isSecond(token) ? .accepted : .rejected(429, "TooManyRequests")
        }
        let session = APNs.Session(backend: backend)
        let apns = APNs(session.connection(to: .production, credential: try Test.credential()))
        let message = try APNs.Message(
            tokens: ["a1b2", "c3d4", "dead", "dead01"],
            alert: "Hello",
            topic: "org.example.app"
        )
        try await RetryingSender(apns: apns, app: app).send(message)
        #expect(app.reports == ["1 accepted"] && Set(app.forgotten) == ["dead", "dead01"])
        #expect(backend.sent.count == 5)

        let result = try await apns.send(message)
        let sentAt = Date()
        let old = Date(timeIntervalSince1970: 1_600_000_000)
        let new = Date(timeIntervalSince1970: 1_700_000_001)
        var registrations = ["dead": old, "dead01": new]

        for dead in result.feedback {
            guard let registered = registrations[dead.token] else { continue }
            if registered < dead.date ?? sentAt { registrations[dead.token] = nil }
        }

        #expect(registrations == ["dead01": new])
    }

    @Test func `code that sends pushes is tested without a gateway`() async throws {
        let credential = try Test.credential()

        let backend = RecordedBackend { token in
            token == "dead" ? .rejected(410, "Unregistered", timestamp: 1_700_000_000_000) : .accepted
        }
        let session = APNs.Session(backend: backend)
        let apns = APNs(session.connection(to: .sandbox, credential: credential))

        let message = try APNs.Message(tokens: ["beef", "dead"], alert: "Hello", topic: "org.example.app")
        let result = try await apns.send(message)

        #expect(result.accepted == 1)
        #expect(result.feedback.map(\.token) == ["dead"])
        #expect(backend.sent.map(\.payload) == Array(repeating: #"{"aps":{"alert":"Hello"}}"#, count: 2))
    }
}
