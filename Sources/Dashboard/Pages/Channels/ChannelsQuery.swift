import CarillonPostgres
import CarillonSchema

struct ChannelsQuery {
    static let maxRows = 100

    /// At most $1 channels of each app, the first by reference. Channels that are not ready are listed first.
    private static let statement = Statement(
        "web_channels",
        """
        SELECT \(ChannelRecord.columns)
        FROM (SELECT a.id, a.name FROM carillon.apps a ORDER BY a.name LIMIT \(ReadDepth.maxApps)) a CROSS JOIN LATERAL (
            SELECT * FROM carillon.channels c WHERE c.app_id = a.id ORDER BY c.reference \(ReadDepth.limit("$1"))) c
        ORDER BY c.state = 'ready', a.name, c.reference LIMIT \(maxRows)
        """
    )
    private static let unknown = Statement(
        "web_unknown_channels",
        """
        SELECT a.name AS app, s.channel_id, s.is_ours, s.first_seen_at
        FROM (SELECT * FROM carillon.unknown_channels s ORDER BY s.app_id, s.channel_id LIMIT \(maxRows)) s
        JOIN carillon.apps a ON a.id = s.app_id
        """
    )

    let database: ServiceRunner

    func run() async throws -> ChannelsView {
        let apps = try await ReadDepth.appCount(from: database)
        let depth = ReadDepth.each(of: apps)
        async let channels: [ChannelRecord] = database.values(of: Self.statement, Parameters(depth))
        async let unknown: [ChannelsView.Unknown] = database.values(of: Self.unknown)
        return ChannelsView(
            channels: try await channels,
            unknown: try await unknown,
            readsAllApps: apps <= ReadDepth.maxApps,
            depth: depth
        )
    }
}
