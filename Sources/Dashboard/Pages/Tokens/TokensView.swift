import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Shows how many tokens are registered, and reports of dead ones.
struct TokensView: PageView {
    struct Count: Record {
        let app: String
        let kind: String
        let tokens: Int64
        let json: JSONValue
        let tokensPrecision: Amount.Precision
    }

    struct Day: Record {
        let app: String
        let day: String
        let reportedDead: Int64
        let waiting: Int64
        let isBounded: Bool

        var precision: Amount.Precision { .init(isCut: isBounded) }

        var json: JSONValue {
            [
                "app": app, "day": day, "reported_dead": reportedDead, "reported_dead_precision": precision,
                "waiting": waiting,
                "waiting_precision": precision,
            ]
        }
    }

    struct Passes: Record {
        let next: Moment
        let everySeconds: Int64
        let lastHandled: Moment?
        let json: JSONValue
    }

    /// The most apps whose tokens are counted, the first by name.
    private static let maxApps = 100
    /// The most counts of reports, one for each app and day.
    private static let maxRows = 100

    private static let counts = Statement(
        "web_token_counts",
        "SELECT c.app, c.kind, c.tokens, c.tokens_precision FROM carillon.token_counts(\(maxApps)) AS c"
    )
    private static let days = Statement(
        "web_feedback_days",
        """
        SELECT f.app, to_char(least(f.seen_at, now()) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, count(*) AS reported_dead,
            count(*) FILTER (WHERE f.handled_at IS NULL) AS waiting, bool_or(f.is_bounded) AS is_bounded
        FROM (
            SELECT a.name AS app, f.*, count(*) OVER (PARTITION BY a.id) >= $1 AS is_bounded
            FROM (SELECT a.id, a.name FROM carillon.apps a ORDER BY a.name LIMIT \(ReadDepth.maxApps)) a CROSS JOIN LATERAL (
                SELECT f.seen_at, f.handled_at FROM carillon.feedback f WHERE f.app_id = a.id
                ORDER BY f.id DESC \(ReadDepth.limit("$1"))) f) f
        WHERE f.seen_at > now() - interval '14 days'
        GROUP BY f.app, day ORDER BY day DESC, f.app LIMIT \(maxRows)
        """
    )
    private static let passes = Statement(
        "web_feedback_passes",
        """
        SELECT s.next_run AS next, extract(epoch FROM s.every)::int8 AS every_seconds, (
            SELECT f.handled_at FROM carillon.feedback f WHERE f.handled_at IS NOT NULL ORDER BY f.handled_at DESC LIMIT 1)
            AS last_handled
        FROM carillon.feedback_schedule() AS s
        """
    )

    let counts: [Count]
    let days: [Day]
    /// How many there are, up to one more than are read.
    let apps: Int64
    /// How many reports of each app were read.
    let depth: Int64
    let passes: Passes?

    init(from database: ServiceRunner) async throws {
        async let registered: [Count] = database.values(of: Self.counts)
        let apps = try await ReadDepth.appCount(from: database)
        let depth = ReadDepth.each(of: apps)
        async let reported: [Day] = database.values(of: Self.days, Parameters(depth))
        async let schedule: [Passes] = database.values(of: Self.passes)
        self.apps = apps
        self.depth = depth
        counts = try await registered
        days = try await reported
        passes = try await schedule.first
    }

    var title: String { "Tokens and feedback" }
    var section: PageSection { .tokens }
    var refreshInterval: Int? { 30 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if let passes {
            FactList(
                ("Next feedback pass", passes.next.html),
                ("A pass every", HTML(DurationText.age(passes.everySeconds))),
                ("Last report handled", passes.lastHandled?.html ?? HTML("none yet"))
            ).html
        }
        if counts.isEmpty {
            HTML(.p) { "No token is registered. Applications register them with carillon.register_token." }
        } else {
            DataTable(
                "Registered tokens"
                    + (countsPrecision == .exact ? "" : " of the first \(Self.maxApps) apps by name"),
                counts,
                .text("App") { .app($0.app) },
                .text("Kind") { HTML($0.kind.replacing("_", with: " ")) },
                .number("Tokens") { Quantity.short(Amount($0.tokens, $0.tokensPrecision)) }
            ).html
            HTML(.p, .class("note")) {
                "Up to 1,000 tokens of each kind are counted, fewer if there are more than 10 apps. Larger numbers are estimates."
            }
        }
        DataTable(
            "Reported dead, by day (UTC)" + (days.count == Self.maxRows ? ": the newest" : ""),
            days,
            orSay: "Apple has not reported any token dead in the last 14 days.",
            .text("Day") { HTML($0.day) },
            .text("App") { .app($0.app) },
            .number("Reports") { Amount($0.reportedDead, $0.precision).text },
            .number("Not handled yet") { $0.waiting == 0 ? "–" : Amount($0.waiting, $0.precision).text }
        ).html
        if days.contains(where: \.isBounded) {
            HTML(.p, .class("note")) {
                "Counted among the newest \(Int(depth).grouped) reports of each app; there are more."
            }
        }
    }

    private var countsPrecision: Amount.Precision { .init(isCut: apps > Self.maxApps) }
    private var daysPrecision: Amount.Precision {
        .init(isCut: apps > ReadDepth.maxApps || days.count == Self.maxRows || days.contains(where: \.isBounded))
    }

    var json: JSONValue {
        [
            "registered": counts, "registered_precision": countsPrecision, "reported_dead": days,
            "reported_dead_precision": daysPrecision, "passes": passes,
        ]
    }
}
