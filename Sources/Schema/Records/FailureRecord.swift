package import CarillonPostgres
package import CarillonText

/// A row of `failures`, with the name of its app.
package struct FailureRecord: Record {
    /// Of `carillon.failures f` and `carillon.apps a`.
    package static let columns = """
        f.failed_at, a.name AS app, f.message_id, f.reference, carillon.token_text(f.token) AS token, f.status, f.reason, f.attempt,
            f.apns_id::text, f.apns_unique_id::text, f.unregistered_at, f.requeued_at, f.requeued_at IS NOT NULL AS requeued,
            f.dismissed_at IS NOT NULL AS dismissed
        """

    package let failedAt: Moment
    /// Nil if it is gone.
    package let app: String?
    package let messageID: Int64
    package let reference: String?
    package let token: String
    package let status: Int64?
    package let reason: String
    package let attempt: Int64
    package let apnsID: String?
    package let apnsUniqueID: String?
    package let unregisteredAt: Moment?
    package let requeuedAt: Moment?
    package let isDismissed: Bool
    private let row: JSONValue

    package var json: JSONValue { row.with("failed_at", TimeText.milliseconds(failedAt.microseconds)) }

    package var answer: String { AnswerText.write(status, reason) }
}
