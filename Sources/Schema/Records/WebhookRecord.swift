package import CarillonPostgres
package import CarillonText

/// A row of `webhook_status`.
package struct WebhookRecord: Record {
    /// The view decides it.
    package enum State: String, CaseIterable, Decodable, Sendable { case active, failing, paused }

    /// $1: the name of one webhook, null: all; $2: those of one app, null: all; $3: only those that are not active; $4: at most so many
    /// rows, first those that are not active, null: all, by name; $5: in how many rows its events are counted, null: all.
    private static let statement = Statement(
        "webhook_status",
        """
        SELECT w.*, d.events, d.events_precision,
            extract(epoch FROM now() - CASE WHEN isfinite(d.oldest_at) THEN d.oldest_at END)::float8 AS lag_seconds
        FROM (
            SELECT w.name, w.app, w.url, w.kinds, w.state, w.paused_at, w.paused_by, w.paused_reason, w.failing_since, w.failed_at,
                w.last_error, w.attempts, w.next_attempt_at, w.accepted_at, w.allows_private, w.old_secret_until, w.created_at
            FROM carillon.webhook_status w
            WHERE ($1::text IS NULL OR w.name = $1) AND ($2::text IS NULL OR w.app = $2) AND (NOT $3 OR w.state <> 'active')
            ORDER BY $4::int8 IS NOT NULL AND w.state = 'active', w.name LIMIT $4) w
        CROSS JOIN LATERAL carillon.untaken_depth(w.app, 'webhook:' || w.name, $5) d
        ORDER BY $4 IS NOT NULL AND w.state = 'active', w.name
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
    private let eventsPrecision: Amount.Precision
    package let lagSeconds: Double?
    package let pausedAt: Moment?
    /// Nil if a worker has paused it, because of its receiver.
    package let pausedBy: String?
    package let pausedReason: String?
    /// Nil also if it has been resumed since.
    package let failingSince: Moment?
    /// When the last attempt failed, and why; nil if it did not.
    package let failedAt: Moment?
    package let lastError: String?
    package let attempts: Int64
    package let acceptedAt: Moment?
    package let nextAttemptAt: Moment?
    package let allowsPrivate: Bool
    package let oldSecretUntil: Moment?
    package let createdAt: Moment
    package let json: JSONValue

    package var waiting: Amount { Amount(events, eventsPrecision) }

    /// - Parameters:
    ///   - name: nil for all.
    ///   - app: nil for those of all apps.
    ///   - bound: in how many rows the events of each are counted. If nil, they are counted to the end.
    package static func all(
        named name: String? = nil,
        of app: String? = nil,
        onlyInactive: Bool = false,
        maxRows: Int64? = nil,
        countingTo bound: Int64? = nil,
        from database: some StatementRunner
    ) async throws -> [WebhookRecord] {
        try await database.values(of: statement, Parameters(name, app, onlyInactive, maxRows, bound))
    }
}
