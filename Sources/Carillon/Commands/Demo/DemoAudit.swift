import CarillonText

/// Compares what PostgreSQL recorded with what the gateway received and what was enqueued.
struct DemoAudit: JSONConvertible {
    /// What PostgreSQL recorded.
    struct Recorded: Sendable {
        var sent = 0
        var failed = 0
        var expired = 0
        var failuresByReason: [String: Int] = [:]
        /// Sent at the second attempt or later.
        var retried = 0
        var reaped = 0
        var tokensLeft = 0
        var stillPending = 0
    }

    /// What the gateway answered, by token.
    struct Answered: Sendable {
        private(set) var answers: [String: [Int: Int]] = [:]

        mutating func add(_ token: String, status: Int) {
            answers[token, default: [:]][status, default: 0] += 1
        }
    }

    struct Check {
        let sentence: String
        let holds: Bool
    }

    let plan: DemoPlan
    let recorded: Recorded
    let answered: Answered

    var checks: [Check] {
        [
            Check(
                sentence:
                    "\(recorded.sent.grouped) sent and \(recorded.failed.grouped) failed are the \(plan.messages.grouped) enqueued, and "
                    + "nothing waits",
                holds: recorded.sent + recorded.failed == plan.messages && recorded.expired == 0
                    && recorded.stillPending == 0
            ),
            Check(
                sentence: "the gateway accepted each good token exactly once (\(plan.expectedSent.grouped) tokens)",
                holds: recorded.sent == plan.expectedSent && everyTokenWasSeenAsPlanned
            ),
            Check(
                sentence:
                    "each throttled push was sent a second time, and only those (\(plan.count(of: .throttled).grouped))",
                holds: recorded.retried == plan.count(of: .throttled)
            ),
            Check(
                sentence: "each refused push is in failures, under its reason (\(plan.expectedFailed.grouped))",
                holds: recorded.failuresByReason == expectedFailures
            ),
            Check(
                sentence:
                    "the dead tokens were reaped (\(plan.count(of: .dead).grouped)), and those registered again since "
                    + "were not (\(plan.count(of: .renewed).grouped))",
                holds: recorded.reaped == plan.count(of: .dead)
                    && recorded.tokensLeft == plan.messages - plan.count(of: .dead)
            ),
        ]
    }

    var holds: Bool { checks.allSatisfy(\.holds) }

    private var expectedFailures: [String: Int] {
        [
            "Unregistered": plan.count(of: .dead) + plan.count(of: .renewed),
            "BadDeviceToken": plan.count(of: .bad),
        ].filter { $0.value > 0 }
    }

    private var everyTokenWasSeenAsPlanned: Bool {
        answered.answers.count == plan.messages
            && answered.answers.allSatisfy { token, answers in
                switch DemoPlan.kind(of: token) {
                case .good: answers == [200: 1]
                case .throttled: answers == [429: 1, 200: 1]
                case .dead, .renewed: answers == [410: 1]
                case .bad: answers == [400: 1]
                case nil: false
                }
            }
    }
}

extension DemoAudit {
    /// The table of outcomes, and the result of each comparison.
    func text(for stream: TextStream) -> String {
        let failures = recorded.failuresByReason.sorted { $0.key < $1.key }.map { ("failed, \($0.key)", $0.value) }
        let outcomes =
            [("sent", recorded.sent)] + failures + (recorded.expired > 0 ? [("expired", recorded.expired)] : [])
        let sums = [("total", recorded.sent + recorded.failed + recorded.expired), ("enqueued", plan.messages)]
        let table = TextTable(outcomes + sums, .left("OUTCOME") { $0.0 }, .right("PUSHES") { $0.1.grouped })
        var text = "\n" + table.text(for: stream) + "\n"
        text += "retried: \(recorded.retried.grouped) (throttled with 429 at first, sent the second time)\n"
        text +=
            "reaped: \(recorded.reaped.grouped) dead tokens; kept: \(plan.count(of: .renewed).grouped) that were "
            + "registered again after Apple reported them dead\n\n"
        for check in checks {
            let mark = check.holds ? stream.styled("ok    ", .green) : stream.styled("WRONG ", .red)
            text += mark + check.sentence + "\n"
        }
        return text + "\n"
    }

    var json: JSONValue {
        [
            "enqueued": plan.messages, "sent": recorded.sent, "failed": recorded.failed, "expired": recorded.expired,
            "failed_by_reason": JSONValue(recorded.failuresByReason),
            "retried": recorded.retried, "reaped": recorded.reaped,
            "checks": checks.map { ["check": $0.sentence, "holds": $0.holds] as JSONValue },
        ]
    }
}
