import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Lists the channels that Live Activities follow.
struct ChannelsView: PageView {
    struct Unknown: Record {
        let app: String
        let channelID: String
        let isOurs: Bool
        let json: JSONValue
        let firstSeenAt: Moment
    }

    private static let maxRows = 100

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

    let channels: [ChannelRecord]
    let unknown: [Unknown]
    let readsAllApps: Bool
    /// How many channels of each app were read.
    let depth: Int64

    init(from database: ServiceRunner) async throws {
        let apps = try await ReadDepth.appCount(from: database)
        let depth = ReadDepth.each(of: apps)
        async let ours: [ChannelRecord] = database.values(of: Self.statement, Parameters(depth))
        async let others: [Unknown] = database.values(of: Self.unknown)
        channels = try await ours
        unknown = try await others
        readsAllApps = apps <= ReadDepth.maxApps
        self.depth = depth
    }

    private static let nothing =
        "There are no channels. A push to a channel updates all Live Activities that follow it: request one with "
        + "carillon.request_channel."

    private var precision: Amount.Precision {
        var counts: [String: Int64] = [:]
        for channel in channels { counts[channel.app, default: 0] += 1 }
        let isWhole = readsAllApps && channels.count < Self.maxRows && counts.values.allSatisfy { $0 < depth }
        return .init(isCut: !isWhole)
    }
    private var unknownPrecision: Amount.Precision { .init(isCut: unknown.count == Self.maxRows) }

    var title: String { "Channels" }
    var section: PageSection { .channels }
    var refreshInterval: Int? { 10 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        DataTable(
            precision == .exact ? "Channels" : "The first \(channels.count)",
            channels,
            orSay: Self.nothing,
            .text("App") { .app($0.app) },
            .text("Reference") { HTML($0.reference) },
            .text("State") { $0.state.mark.html($0.state.rawValue) },
            .text("Stored for offline devices") { HTML($0.storage) },
            .text("Channel id") { row in row.id.map { id in HTML(.code) { id } } ?? HTML("–") },
            .text("Created") { $0.createdAt?.html ?? HTML("–") },
            .text("Last error") { HTML($0.error ?? "–") }
        ).html
        if !unknown.isEmpty {
            DataTable(
                (unknownPrecision == .exact ? "Unknown channels" : "The first \(unknown.count) unknown channels")
                    + ": they exist only at Apple",
                unknown,
                .text("App") { .app($0.app) },
                .text("Channel id") { row in HTML(.code) { row.channelID } },
                .text("Created by") { HTML($0.isOurs ? "a worker of this database; it is removed" : "somebody else") },
                .text("First seen") { $0.firstSeenAt.html }
            ).html
        }
    }

    var json: JSONValue {
        [
            "channels": channels, "channels_precision": precision, "unknown": unknown,
            "unknown_precision": unknownPrecision,
        ]
    }
}
