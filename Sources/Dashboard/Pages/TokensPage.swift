import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// The registered tokens, and those that Apple reported dead.
struct TokensQuery {
    private static let counts = Statement(
        "web_token_counts",
        "SELECT c.app, c.kind, c.tokens, c.is_estimate FROM carillon.token_counts() AS c"
    )
    private static let days = Statement(
        "web_feedback_days",
        """
        SELECT f.app, to_char(f.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, count(*) AS reports,
            count(*) FILTER (WHERE f.handled_at IS NULL) AS waiting, bool_or(f.is_bounded) AS is_bounded
        FROM (
            SELECT a.name AS app, f.*, count(*) OVER (PARTITION BY a.id) >= $1 AS is_bounded
            FROM (SELECT a.id, a.name FROM carillon.apps a ORDER BY a.name LIMIT \(LookDepth.apps)) a CROSS JOIN LATERAL (
                SELECT f.seen_at, f.handled_at FROM carillon.feedback f WHERE f.app_id = a.id
                ORDER BY f.id DESC \(LookDepth.limit("$1"))) f) f
        WHERE f.seen_at > now() - interval '14 days'
        GROUP BY f.app, day ORDER BY day DESC, f.app LIMIT 100
        """
    )
    private static let passes = Statement(
        "web_feedback_passes",
        """
        SELECT s.next_run, extract(epoch FROM s.every)::int8 AS every, (
            SELECT f.handled_at FROM carillon.feedback f WHERE f.handled_at IS NOT NULL ORDER BY f.handled_at DESC LIMIT 1)
            AS last_handled
        FROM carillon.feedback_schedule() AS s
        """
    )

    let database: WebDatabase

    func run() async throws -> TokensView {
        async let counts: [TokensView.Count] = database.values(of: Self.counts)
        let depth = try await LookDepth.read(for: nil, from: database)
        async let days: [TokensView.Day] = database.values(of: Self.days, Parameters(depth))
        async let passes: [TokensView.Passes] = database.values(of: Self.passes)
        return TokensView(counts: try await counts, days: try await days, depth: depth, passes: try await passes.first)
    }
}

struct TokensView: PageView {
    struct Count: RowReadable, JSONConvertible {
        let app: String
        let kind: String
        let tokens: Int64
        let isEstimate: Bool

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            app = try rows.string(row, "app")
            kind = try rows.string(row, "kind")
            tokens = try rows.int64(row, "tokens")
            isEstimate = try rows.bool(row, "is_estimate")
        }

        var json: JSONValue { ["app": app, "kind": kind, "tokens": tokens, "is_estimate": isEstimate] }
    }

    struct Day: RowReadable, JSONConvertible {
        let app: String
        let day: String
        let reports: Int64
        let waiting: Int64
        let isBounded: Bool

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            app = try rows.string(row, "app")
            day = try rows.string(row, "day")
            reports = try rows.int64(row, "reports")
            waiting = try rows.int64(row, "waiting")
            isBounded = try rows.bool(row, "is_bounded")
        }

        var json: JSONValue { ["app": app, "day": day, "reported_dead": reports, "waiting": waiting] }
    }

    struct Passes: RowReadable, JSONConvertible {
        let next: Moment
        let every: Int64
        let lastHandled: Moment?

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            next = Moment(try rows.timestamp(row, "next_run"))
            every = try rows.int64(row, "every")
            lastHandled = try rows.timestampIfPresent(row, "last_handled").map(Moment.init)
        }

        var json: JSONValue { ["next": next, "every_seconds": every, "last_handled": lastHandled] }
    }

    let counts: [Count]
    let days: [Day]
    /// How many reports of each app were looked at.
    let depth: Int64
    let passes: Passes?

    var title: String { "Tokens and feedback" }
    var section: PageSection { .tokens }
    var refreshInterval: Int? { 30 }

    @HTMLBuilder var content: HTML {
        if let passes {
            FactList(
                ("Next feedback pass", passes.next.html),
                ("A pass every", HTML(Quantity.age(passes.every))),
                ("Last report handled", passes.lastHandled?.html ?? HTML("none yet"))
            ).html
        }
        if counts.isEmpty {
            HTML(.p) { "No token is registered. Applications register them with carillon.register_token." }
        } else {
            DataTable(
                "Registered tokens",
                counts,
                .text("App") { row in HTML(.a, .href(Link("apps", row.app))) { row.app } },
                .text("Kind") { HTML($0.kind.replacing("_", with: " ")) },
                .number("Tokens") { ($0.isEstimate ? "about " : "") + Quantity.short($0.tokens) }
            ).html
            HTML(.p, .class("note")) {
                "Up to 1,000 tokens are counted, with more than 10 apps fewer. Above that, the number is an estimate."
            }
        }
        if days.isEmpty {
            HTML(.p) { "Apple has reported no token dead in the last 14 days." }
        } else {
            DataTable(
                "Reported dead, by day (UTC)",
                days,
                .text("Day") { HTML($0.day) },
                .text("App") { row in HTML(.a, .href(Link("apps", row.app))) { row.app } },
                .number("Reports") { Int($0.reports).grouped },
                .number("To be handled") { $0.waiting == 0 ? "–" : Int($0.waiting).grouped }
            ).html
            if days.contains(where: \.isBounded) {
                HTML(.p, .class("note")) {
                    "Counted among the newest \(Int(depth).grouped) reports of each app; there are more."
                }
            }
        }
    }

    var json: JSONValue { ["registered": counts, "reported_dead": days, "passes": passes] }
}
