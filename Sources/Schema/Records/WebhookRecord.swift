package import CarillonPostgres
package import CarillonText

/// A row of `webhook_status`.
package struct WebhookRecord: Record {
    package enum State: String, Decodable, Sendable { case ok, failing, paused }

    private static let statement = Statement(
        "webhook_status",
        """
        SELECT w.name, w.app, w.url, w.kinds, w.state, w.events, w.lag_seconds, w.paused_reason, w.failing_since, w.attempts,
            w.next_attempt_at, w.last_error, w.accepted_at, w.allows_private, w.old_secret_until, w.created_at
        FROM carillon.webhook_status w WHERE $1::text IS NULL OR w.name = $1 ORDER BY w.name
        """
    )

    package let name: String
    package let app: String
    package let url: String
    /// Nil: all.
    package let kinds: [String]?
    package let state: State
    /// That the receiver has not accepted yet.
    package let events: Int64
    package let lagSeconds: Double?
    package let pausedReason: String?
    package let failingSince: Moment?
    package let lastError: String?
    package let acceptedAt: Moment?
    package let nextAttemptAt: Moment?
    package let json: JSONValue

    /// - Parameter name: nil for all.
    package static func all(
        named name: String? = nil,
        from database: some StatementRunner
    ) async throws -> [WebhookRecord] {
        try await database.values(of: statement, Parameters(name))
    }
}
