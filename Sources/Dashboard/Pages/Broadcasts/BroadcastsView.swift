import CarillonSchema
import CarillonText
import CarillonWeb

struct BroadcastsView: PageView {
    let broadcasts: [BroadcastRow]

    var title: String { "Broadcasts" }
    var section: PageSection { .broadcasts }
    var refreshInterval: Int? { broadcasts.contains { $0.waiting > 0 } ? 3 : 10 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        HTML(.p, .class("note")) {
            "The newest messages that were split into jobs: broadcasts, and those of more than 1,000 tokens."
        }
        DataTable(
            precision == .exact ? "Broadcasts" : "The newest \(broadcasts.count)",
            broadcasts,
            orSay: "There are none.",
            .text("Message") { .message($0.id, of: $0.app) },
            .text("App") { .app($0.app) },
            .text("Reference") { HTML($0.reference ?? "–") },
            .text("Progress") { Self.progress($0) },
            .text("State") { $0.mark.html($0.state) },
            .text("Cancel") { row in
                guard viewer.mayChange, row.waiting > 0, row.cancelledAt == nil else { return HTML("–") }
                return HTML(.a, .href(Link("messages", String(row.id), "cancel", query: ["app": row.app]))) {
                    "Cancel"
                }
            },
            .number("Tokens") { Int($0.tokens).grouped },
            .number("Sent") { Int($0.sent).grouped },
            .number("Failed") { Int($0.failed).grouped },
            .number("Expired") { Int($0.expired).grouped },
            .number("Ends in") { $0.timeLeft.map { "about " + DurationText.age($0) } ?? "–" },
            .number("A second") { $0.waiting > 0 ? Quantity.rate($0.rate) : "–" },
            .text("Enqueued") { $0.createdAt.html }
        ).html
    }

    @HTMLBuilder private static func progress(_ row: BroadcastRow) -> HTML {
        let percent = row.tokens > 0 ? Int(Double(row.ended) / Double(row.tokens) * 100) : 100
        HTML(
            .progress,
            Attribute(.max, 100),
            Attribute(.value, percent),
            Attribute(.ariaLabel, "\(percent) percent of message \(row.id)")
        ) { "\(percent) %" }
        " \(percent) %"
    }

    private var precision: Amount.Precision {
        let newest = broadcasts.first?.newest ?? 0
        return .init(isCut: newest == BroadcastsQuery.maxRows || newest > broadcasts.count)
    }

    var json: JSONValue { ["broadcasts": broadcasts, "broadcasts_precision": precision] }
}
