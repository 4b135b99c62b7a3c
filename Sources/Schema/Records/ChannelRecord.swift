package import CarillonPostgres
package import CarillonText

/// A row of `channels`, with the name of its app.
package struct ChannelRecord: Record {
    /// What has become of a channel; `unknown`: Apple has it, and nobody has recorded it.
    package enum State: String, CaseIterable, Decodable, Sendable {
        case requested, ready, failed, missing, removing, unknown
    }

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
    package let state: State
    package let error: String?
    package let createdAt: Moment?
    package let policy: Int16
    package let json: JSONValue

    private enum CodingKeys: String, CodingKey {
        case app, reference, state, createdAt, policy, json
        case id = "channel_id"
        case error = "last_error"
    }

    /// - Parameter key: A reference or an id, or nil for all channels.
    package static func all(
        _ key: String? = nil,
        of app: String?,
        from database: some StatementRunner
    ) async throws -> [ChannelRecord] {
        try await database.values(of: statement, Parameters(app, key))
    }
}
