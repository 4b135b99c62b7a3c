import CarillonPostgres
import CarillonSchema
import CarillonText

extension ChannelRecord {
    /// The channel with this reference or id. A reference takes precedence over the id of another channel.
    static func one(_ key: String, of app: String, on connection: PostgresConnection) async throws -> ChannelRecord {
        guard let row = try await all(key, of: app, from: connection).first else {
            throw CommandError(
                .failed,
                "The app \(app) has no channel \(key).",
                hint:
                    "'carillon channel list --app \(app.shellQuoted)' lists them, 'carillon channel create' creates one."
            )
        }
        return row
    }
}
