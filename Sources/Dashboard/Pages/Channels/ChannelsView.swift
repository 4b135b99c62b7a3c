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
                .text("App") { .app($0.app) },
                .text("Reference") { HTML($0.reference) },
                .text("State") { $0.mark.html($0.state.rawValue) },
                .text("Stored for offline devices") { HTML($0.storage) },
                .text("Channel id") { row in row.id.map { id in HTML(.code) { id } } ?? HTML("–") },
                .text("Created") { $0.createdAt?.html ?? HTML("–") },
                .text("Last error") { HTML($0.error ?? "–") }
            ).html
        }
        if !unknown.isEmpty {
            DataTable(
                "Unknown channels: they exist only at Apple",
                unknown,
                .text("App") { .app($0.app) },
                .text("Channel id") { row in HTML(.code) { row.channelID } },
                .text("Created by") { HTML($0.isOurs ? "a worker of this database; it is removed" : "somebody else") },
                .text("First seen") { $0.firstSeenAt.html }
            ).html
        }
    }

    var json: JSONValue { ["channels": channels, "unknown": unknown] }
}
