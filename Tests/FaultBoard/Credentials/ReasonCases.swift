import ApplePush
import ApplePushSimulator
import Testing

/// Each answer that Apple documents, and some others.
@Suite struct ReasonCases {
    private struct Answer {
        let prefix: String
        let status: UInt16
        let name: String
        let isRetryable: Bool
        let pauses: Bool

        var rule: String { "\(prefix)=\(status):\(name)*1" }
    }

    private static let answers: [Answer] = {
        let unknown: [(UInt16, String)] = [(400, "BadWeather"), (404, "Gone"), (429, "Slower"), (503, "Lunch")]
        let known = Reason.all.map { ($0.status, $0.reason.name ?? "") }
        return (known + unknown).enumerated().map { place, answer in
            let reason = Reason(name: answer.1) ?? .none
            let action = reason.action(status: answer.0)
            return Answer(
                prefix: "a1" + String(0x100 + place, radix: 16),
                status: answer.0,
                name: answer.1,
                isRetryable: reason.isRetryable(status: answer.0),
                pauses: [.holdCredential, .renewProviderToken, .keepProviderToken].contains(action)
            )
        }
    }()

    @Test func `A1: each reason fails or retries its own push, and no other`() async throws {
        try await Scene.with({ $0.answers = try Self.answers.map { try AnswerRule(parsing: $0.rule) } }) { scene in
            _ = try await scene.fleet.started(lease: Fleet.calm)
            #expect(Self.answers.count > 30)
            var messages: [(answer: Answer, reference: String)] = []
            for answer in Self.answers where !answer.pauses {
                let message = scene.message(prefix: answer.prefix)
                messages.append((answer, message.reference))
                try await scene.enqueue(message)
            }
            try await scene.enqueue(100)
            try await scene.drained()
            // Reasons about the credential hold the whole app for a while: therefore one by one.
            for answer in Self.answers where answer.pauses {
                let message = scene.message(prefix: answer.prefix)
                messages.append((answer, message.reference))
                try await scene.enqueue(message)
                try await scene.drained()
            }
            let audit = try await scene.finish()
            for (answer, reference) in messages {
                let failures = audit.outcomes.failures[reference]?.map { "\($0.status ?? 0) \($0.reason)" } ?? []
                #expect(failures == (answer.isRetryable ? [] : ["\(answer.status) \(answer.name)"]), "\(answer.rule)")
                #expect(audit.outcomes.results[reference]?.map(\.sent) == [answer.isRetryable ? 1 : 0])
            }
            let failed = messages.count { !$0.answer.isRetryable }
            #expect(audit.outcomes.failures.count == failed)
            let dead = Self.answers.count { $0.status == 410 }
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.feedback") == dead)
        }
    }
}
