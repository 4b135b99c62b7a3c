import CarillonPostgres

/// What one batch of a feedback pass returns.
struct ReapBatch: Decodable, Sendable {
    enum State: String, Decodable, Sendable {
        case more
        case over
        /// Another pass is running.
        case busy
    }

    let state: State
    /// Where the next one begins.
    let next: String?
    let app: String?
    /// Rows of `feedback`.
    let handled: Int
    /// Tokens in all tables.
    let deleted: Int
    /// Why watched tables could not be reaped, each with its table.
    let faults: [String]

    private static let statement = Statement(
        "reap_batch",
        """
        SELECT b.state, b.next::text, b.of_app AS app, b.handled, b.deleted, b.faults
        FROM carillon.reap_batch($1, $2::text::carillon.reap_position) AS b
        """
    )

    static func reap(
        _ app: String?,
        from next: String?,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> ReapBatch {
        try await connection.query(statement, Parameters(app, next)) { try $0.record(0) }
    }
}
