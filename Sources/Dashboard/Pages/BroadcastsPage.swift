import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct BroadcastsQuery {
    static let count = 25
    /// The results of so many jobs are added up, so there may be fewer.
    private static let jobs = 50_000

    private static let statement = Statement(
        "web_broadcasts",
        """
        SELECT b.id, a.name AS app, b.reference, b.jobs, b.tokens, b.created_at, b.cancelled_at, p.sent, p.failed, p.expired,
            p.cancelled, p.remaining, p.finished_at, a.max_rate, extract(epoch FROM now() - b.created_at)::float8 AS elapsed
        FROM (
            SELECT b.*, sum(b.jobs) OVER (ORDER BY b.id DESC) - b.jobs AS newer_jobs
            FROM (SELECT * FROM carillon.split_messages b ORDER BY b.id DESC LIMIT \(count)) b) b
        JOIN carillon.apps a ON a.id = b.app_id
        CROSS JOIN LATERAL carillon.broadcast_progress(b.id, a.name) p
        WHERE b.newer_jobs < \(jobs) ORDER BY b.id DESC
        """
    )

    let database: WebDatabase

    func run() async throws -> BroadcastsView {
        BroadcastsView(broadcasts: try await database.values(of: Self.statement))
    }
}

struct BroadcastRow: RowReadable, JSONConvertible {
    let id: Int64
    let app: String
    let reference: String?
    let tokens: Int64
    let createdAt: Moment
    let cancelledAt: Moment?
    let sent: Int64
    let failed: Int64
    let expired: Int64
    let cancelled: Int64
    let remaining: Int64
    let finishedAt: Moment?
    /// Seconds since it was enqueued.
    let elapsed: Double
    /// The limit of its app.
    let maxRate: Int64?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        id = try rows.int64(row, "id")
        app = try rows.string(row, "app")
        reference = try rows.stringIfPresent(row, "reference")
        tokens = try rows.int64(row, "tokens")
        createdAt = Moment(try rows.timestamp(row, "created_at"))
        cancelledAt = try rows.timestampIfPresent(row, "cancelled_at").map(Moment.init)
        sent = try rows.int64(row, "sent")
        failed = try rows.int64(row, "failed")
        expired = try rows.int64(row, "expired")
        cancelled = try rows.int64(row, "cancelled")
        remaining = try rows.int64(row, "remaining")
        finishedAt = try rows.timestampIfPresent(row, "finished_at").map(Moment.init)
        elapsed = try rows.double(row, "elapsed")
        maxRate = try rows.int64IfPresent(row, "max_rate")
    }

    var ended: Int64 { tokens - remaining }

    /// Pushes a second since it was enqueued, and no more than the app may send now.
    var rate: Double { min(elapsed > 0 ? Double(ended) / elapsed : 0, maxRate.map(Double.init) ?? .infinity) }

    /// Seconds until it ends, at that rate; nil: it has ended, or has not begun.
    var timeLeft: Int64? {
        guard remaining > 0, rate > 0 else { return nil }
        let seconds = Double(remaining) / rate
        return seconds < 366 * 86_400 ? Int64(seconds) : nil
    }

    var state: String {
        if cancelledAt != nil { return remaining > 0 ? "being cancelled" : "cancelled" }
        return remaining > 0 ? "under way" : "ended"
    }

    var mark: StateMark {
        if remaining > 0 { return .attention }
        return failed > 0 || cancelledAt != nil ? .quiet : .good
    }

    var json: JSONValue {
        [
            "id": id, "app": app, "reference": reference, "state": state, "tokens": tokens, "sent": sent,
            "failed": failed,
            "expired": expired, "cancelled": cancelled, "remaining": remaining, "created_at": createdAt,
            "cancelled_at": cancelledAt, "finished_at": finishedAt,
            "per_second": remaining > 0 ? rate : nil, "seconds_left": timeLeft,
        ]
    }
}

struct BroadcastsView: PageView {
    let broadcasts: [BroadcastRow]

    var title: String { "Broadcasts" }
    var section: PageSection { .broadcasts }
    var refreshInterval: Int? { broadcasts.contains { $0.remaining > 0 } ? 3 : 10 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        HTML(.p, .class("note")) {
            "The newest messages that were split into jobs: broadcasts, and those of more than 1,000 tokens."
        }
        if broadcasts.isEmpty {
            HTML(.p) { "There is none." }
        } else {
            DataTable(
                "Broadcasts",
                broadcasts,
                .text("Message") { row in
                    HTML(.a, .href(Link("messages", String(row.id), query: ["app": row.app]))) { String(row.id) }
                },
                .text("App") { row in HTML(.a, .href(Link("apps", row.app))) { row.app } },
                .text("Reference") { HTML($0.reference ?? "–") },
                .text("Progress") { Self.progress($0) },
                .text("State") { $0.mark.html($0.state) },
                .text("Cancel") { row in
                    guard viewer.mayChange, row.remaining > 0, row.cancelledAt == nil else { return HTML("–") }
                    return HTML(.a, .href(Link("messages", String(row.id), "cancel", query: ["app": row.app]))) {
                        "Cancel"
                    }
                },
                .number("Tokens") { Int($0.tokens).grouped },
                .number("Sent") { Int($0.sent).grouped },
                .number("Failed") { Int($0.failed).grouped },
                .number("Expired") { Int($0.expired).grouped },
                .number("Ends in") { $0.timeLeft.map { "about " + Quantity.age($0) } ?? "–" },
                .number("A second") { $0.remaining > 0 ? Quantity.rate($0.rate) : "–" },
                .text("Enqueued") { $0.createdAt.html }
            ).html
        }
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

    var json: JSONValue { ["broadcasts": broadcasts] }
}
