package import CarillonPostgres
package import CarillonText

/// A row of `channels`, with the name of its app.
package struct ChannelRecord: RowReadable, JSONConvertible {
    /// Of `carillon.channels c` and `carillon.apps a`.
    package static let columns =
        "a.name AS app, c.reference, c.channel_id, c.policy, c.state, c.last_error, c.requested_at, c.created_at"
    private static let statement = Statement(
        "channels",
        """
        SELECT \(columns) FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id
        WHERE ($1::text IS NULL OR a.name = $1) AND ($2::text IS NULL OR c.reference = $2 OR c.channel_id = $2)
        ORDER BY a.name, c.reference <> $2, c.reference
        """
    )

    package let app: String
    package let reference: String
    package let id: String?
    package let state: String
    package let error: String?
    package let requestedAt: Moment
    package let createdAt: Moment?
    package let policy: Int16
    package let json: JSONValue

    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.string(row, "app")
        reference = try rows.string(row, "reference")
        id = try rows.stringIfPresent(row, "channel_id")
        state = try rows.string(row, "state")
        error = try rows.stringIfPresent(row, "last_error")
        requestedAt = Moment(try rows.timestamp(row, "requested_at"))
        createdAt = try rows.timestampIfPresent(row, "created_at").map(Moment.init)
        policy = try rows.int16(row, "policy")
        json = try JSONValue(rows, row)
    }

    /// - Parameter key: A reference or an id; nil: all channels.
    package static func all(
        _ key: String? = nil,
        of app: String?,
        from database: some StatementRunner
    ) async throws -> [ChannelRecord] {
        try await database.values(of: statement, Parameters(app, key))
    }

    /// What Apple keeps for devices that are offline.
    package var storage: String { policy == 1 ? "the last message" : "nothing" }
}
