import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct ChannelsQuery {
    static let count = 100

    /// Of each app the first by reference, $1 at most, and of these first what is not in order.
    private static let statement = Statement(
        "web_channels",
        """
        SELECT \(ChannelRecord.columns)
        FROM (SELECT a.id, a.name FROM carillon.apps a ORDER BY a.name LIMIT \(LookDepth.apps)) a CROSS JOIN LATERAL (
            SELECT * FROM carillon.channels c WHERE c.app_id = a.id ORDER BY c.reference \(LookDepth.limit("$1"))) c
        ORDER BY c.state = 'ready', a.name, c.reference LIMIT \(count)
        """
    )
    private static let unknown = Statement(
        "web_unknown_channels",
        """
        SELECT a.name AS app, s.channel_id, s.is_ours, s.first_seen_at
        FROM (SELECT * FROM carillon.unknown_channels s ORDER BY s.app_id, s.channel_id LIMIT \(count)) s
        JOIN carillon.apps a ON a.id = s.app_id
        """
    )

    let database: WebDatabase

    func run() async throws -> ChannelsView {
        let depth = try await LookDepth.read(for: nil, from: database)
        async let channels: [ChannelRecord] = database.values(of: Self.statement, Parameters(depth))
        async let unknown: [ChannelsView.Unknown] = database.values(of: Self.unknown)
        return ChannelsView(channels: try await channels, unknown: try await unknown)
    }
}

/// The channels that Live Activities follow.
struct ChannelsView: PageView {
    struct Unknown: RowReadable, JSONConvertible {
        let app: String
        let id: String
        let isOurs: Bool
        let firstSeenAt: Moment

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            app = try rows.string(row, "app")
            id = try rows.string(row, "channel_id")
            isOurs = try rows.bool(row, "is_ours")
            firstSeenAt = Moment(try rows.timestamp(row, "first_seen_at"))
        }

        var json: JSONValue { ["app": app, "channel_id": id, "is_ours": isOurs, "first_seen_at": firstSeenAt] }
    }

    let channels: [ChannelRecord]
    let unknown: [Unknown]

    var title: String { "Channels" }
    var section: PageSection { .channels }
    var refreshInterval: Int? { 10 }

    @HTMLBuilder var content: HTML {
        if channels.isEmpty {
            HTML(.p) {
                "There are no channels. A push to a channel updates all Live Activities that follow it: request one with "
                    + "carillon.request_channel."
            }
        } else {
            DataTable(
                channels.count == ChannelsQuery.count ? "The first \(channels.count)" : "Channels",
                channels,
                .text("App") { row in HTML(.a, .href(Link("apps", row.app))) { row.app } },
                .text("Reference") { HTML($0.reference) },
                .text("State") { $0.mark.html($0.state) },
                .text("Stored for offline devices") { HTML($0.storage) },
                .text("Channel id") { row in row.id.map { id in HTML(.code) { id } } ?? HTML("–") },
                .text("Created") { $0.createdAt?.html ?? HTML("–") },
                .text("Last error") { HTML($0.error ?? "–") }
            ).html
        }
        if !unknown.isEmpty {
            DataTable(
                "Unknown channels: Apple has them, and no table has",
                unknown,
                .text("App") { row in HTML(.a, .href(Link("apps", row.app))) { row.app } },
                .text("Channel id") { row in HTML(.code) { row.id } },
                .text("Created by") { HTML($0.isOurs ? "a worker of this database; it is removed" : "somebody else") },
                .text("First seen") { $0.firstSeenAt.html }
            ).html
        }
    }

    var json: JSONValue { ["channels": channels.map(\.pageJSON), "unknown": unknown] }
}

extension ChannelRecord {
    fileprivate var mark: StateMark {
        switch state {
        case "ready": .good
        case "failed", "missing": .bad
        default: .attention
        }
    }

    /// The list of the command calls the error 'last_error'.
    fileprivate var pageJSON: JSONValue {
        [
            "app": app, "reference": reference, "policy": policy, "channel_id": id, "state": state, "error": error,
            "requested_at": requestedAt, "created_at": createdAt,
        ]
    }
}
