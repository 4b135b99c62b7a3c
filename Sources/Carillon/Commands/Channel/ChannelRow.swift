import CarillonPostgres
import CarillonSchema
import CarillonText

/// A row of `channels`, with the name of its app.
struct ChannelRow: RowReadable, JSONConvertible {
    let app: String
    let reference: String
    let channel: String?
    let policy: Int16
    let state: String
    let error: String?
    let json: JSONValue

    private static let list = Statement(
        "channel_list",
        """
        SELECT a.name AS app, c.reference, c.channel_id, c.policy, c.state, c.last_error,
            to_char(c.requested_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS requested_at,
            to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at
        FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id
        WHERE ($1::text IS NULL OR a.name = $1) AND ($2::text IS NULL OR c.reference = $2 OR c.channel_id = $2)
        ORDER BY a.name, c.reference <> $2, c.reference
        """
    )

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.string(row, "app")
        reference = try rows.string(row, "reference")
        channel = try rows.stringIfPresent(row, "channel_id")
        policy = try rows.int16(row, "policy")
        state = try rows.string(row, "state")
        error = try rows.stringIfPresent(row, "last_error")
        json = try JSONValue(rows, row)
    }

    /// - Parameter key: A reference or an id; nil: all channels.
    static func all(_ key: String?, of app: String?, on connection: PostgresConnection) async throws -> [ChannelRow] {
        try await connection.values(of: list, Parameters(app, key))
    }

    /// The channel of that reference or id. A reference comes before another channel's id.
    static func one(_ key: String, of app: String, on connection: PostgresConnection) async throws -> ChannelRow {
        guard let row = try await all(key, of: app, on: connection).first else {
            throw CommandError(
                .failed,
                "The app \(app) has no channel \(key).",
                hint: "'carillon channel list --app \(app)' lists them, 'carillon channel create' creates one."
            )
        }
        return row
    }

    var storage: String { policy == 1 ? "the last message" : "nothing" }
}
