import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct BroadcastsView: PageView {
    private static let maxRows = 25
    /// The maximum number of jobs whose results are added up; it can reduce the number of broadcasts shown.
    private static let jobs = 50_000

    private static let statement = Statement(
        "web_broadcasts",
        """
        SELECT b.id, a.name AS app, b.reference, b.jobs, b.tokens, b.created_at, b.cancelled_at, p.sent, p.failed, p.expired,
            p.cancelled, p.waiting, p.finished_at, a.max_rate, extract(epoch FROM now() - b.created_at)::float8 AS elapsed,
            b.newest
        FROM (
            SELECT b.*, sum(b.jobs) OVER (ORDER BY b.id DESC) - b.jobs AS newer_jobs, count(*) OVER () AS newest
            FROM (SELECT * FROM carillon.split_messages b ORDER BY b.id DESC LIMIT \(maxRows)) b) b
        JOIN carillon.apps a ON a.id = b.app_id
        CROSS JOIN LATERAL carillon.broadcast_progress(b.id, a.name) p
        WHERE b.newer_jobs < \(jobs) ORDER BY b.id DESC
        """
    )

    let broadcasts: [BroadcastRow]

    init(from database: ServiceRunner) async throws { broadcasts = try await database.values(of: Self.statement) }

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
        return .init(isCut: newest == Self.maxRows || newest > broadcasts.count)
    }

    var json: JSONValue { ["broadcasts": broadcasts, "broadcasts_precision": precision] }
}
