import CarillonPostgres
import CarillonSchema

extension ChannelRecord {
    /// The channel of that reference or id. A reference comes before another channel's id.
    static func one(_ key: String, of app: String, on connection: PostgresConnection) async throws -> ChannelRecord {
        guard let row = try await all(key, of: app, from: connection).first else {
            throw CommandError(
                .failed,
                "The app \(app) has no channel \(key).",
                hint: "'carillon channel list --app \(app)' lists them, 'carillon channel create' creates one."
            )
        }
        return row
    }
}
