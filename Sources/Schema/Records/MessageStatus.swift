package import CarillonPostgres
package import CarillonText
import FoundationEssentials

/// A row of `message_status`.
package struct MessageStatus: Decodable, Sendable {
    /// The state of a message, or of one of its pushes.
    package enum State: String, CaseIterable, Decodable, Sendable {
        case scheduled, ready
        case inFlight = "in flight"
        case retrying, sent
        case partlySent = "partly sent"
        case failed, expired, cancelled
        /// The message has no device token.
        case empty
    }

    package static let columns = """
        m.id, m.app, m.reference, m.state, m.attempts, m.next_attempt_at, m.last_status, m.last_reason, m.tokens, m.sent,
            m.failed, m.expired, m.cancelled, m.waiting, m.waiting_reason, m.created_at, m.finished_at, m.may_have_arrived,
            m.outcomes::json
        """
    private static let statement = Statement(
        "message_status",
        """
        SELECT \(columns) FROM carillon.message_status(id => $1, reference => $2, app => $3) AS m ORDER BY m.id, m.app
        """
    )

    package let id: Int64
    package let app: String?
    package let reference: String?
    package let state: State
    package let attempts: Int64?
    package let nextAttemptAt: Moment?
    package let lastStatus: Int64?
    package let lastReason: String?
    package let tokens: Int64
    package let ended: EndedPushes
    package let waiting: Int
    /// Why nothing of it can be sent at the moment.
    package let waitingReason: String?
    package let createdAt: Moment?
    package let finishedAt: Moment?
    /// JSON: one object a token.
    private let outcomes: String
    /// For pushes that were not recorded as sent.
    package let mayHaveArrived: Bool
    /// With its tokens.
    package let json: JSONValue

    /// The messages with that id or that reference: of one app, or of every app.
    package static func all(
        _ id: Int64?,
        reference: String? = nil,
        of app: String?,
        from database: some StatementRunner
    ) async throws -> [MessageStatus] {
        try await database.values(of: statement, Parameters(id, reference, app))
    }

    /// The last answer that was no success.
    package var lastAnswer: String? { lastReason.map { AnswerText.write(lastStatus, $0) } }

    /// Updates of it were not sent because newer ones were due.
    package var wasSuperseded: Bool { ended.cancelled > 0 && lastReason == "Superseded" }

    /// Each token that failed or waits, and each that was sent and whose `apns-unique-id` was kept; at most 1,000.
    package var tokenOutcomes: [TokenOutcome] {
        (try? JSONDecoder().decode([TokenOutcome].self, from: Data(outcomes.utf8))) ?? []
    }

    package struct TokenOutcome: Decodable {
        package let token: String
        package let state: State
        package let status: Int64?
        package let reason: String?
        /// The `apns-unique-id`, if it was kept.
        package let uniqueID: String?

        private enum CodingKeys: String, CodingKey {
            case token, state, status, reason
            case uniqueID = "apns_unique_id"
        }

        package var wasSent: Bool { state == .sent }

        /// Empty if it was sent, or got no answer.
        package var answer: String { reason.map { AnswerText.write(status, $0) } ?? "" }
    }
}
