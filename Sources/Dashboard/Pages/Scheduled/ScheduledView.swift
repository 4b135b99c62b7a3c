import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Lists scheduled jobs and retries.
struct ScheduledView: PageView {
    struct Job: Record {
        let app: String?
        let id: Int64
        let messageID: Int64
        let runAt: Moment
        let tokens: Int64
        let attempt: Int64
        let lastStatus: Int64?
        let lastReason: String?
        let reference: String?
        let json: JSONValue

        var isRetry: Bool { attempt > 1 }

        var lastAnswer: String {
            isRetry ? AnswerText.write(lastStatus, lastReason ?? "no answer") : "–"
        }
    }

    private static let pageLength = 100
    /// So many of the next jobs are searched for those of an app, and for retries.
    private static let depth = 5_000

    /// $1: only jobs from this time on, or null; $2: how many jobs of that time were on earlier pages.
    private static let beginning = "$1 - interval '1 microsecond'"
    /// $3: the name of an app, or null; $4: whether only retries.
    private static let statement = Statement(
        "web_scheduled",
        """
        SELECT d.app, d.id, d.message_id, d.run_at, d.tokens, d.attempt, d.last_status, d.last_reason, d.reference
        FROM carillon.next_due($3, only_retries => $4,
            after => \(beginning), max_rows => (\(pageLength) + $2)::integer, max_rows_read => (\(depth) + $2)::integer) AS d
        ORDER BY d.run_at, d.id OFFSET $2
        """
    )
    private static let isDeep = Statement(
        "web_scheduled_depth",
        """
        SELECT count(*) >= \(depth) + $2 AS is_deep FROM carillon.next_due(
            after => \(beginning), max_rows => (\(depth) + $2)::integer, max_rows_read => (\(depth) + $2)::integer) AS d
        """
    )

    let app: String?
    let onlyRetries: Bool
    let start: TimeCursor?
    let jobs: [Job]
    /// Whether there are more jobs than were searched for those of the app, and for retries.
    let hasMore: Bool

    init(from database: ServiceRunner, _ request: Request) async throws {
        let only = request.parameter("only") ?? ""
        guard only.isEmpty || only == "retries" else {
            throw RequestError.badRequest("'only' is retries, or left out.")
        }
        let app = request.filled("app")
        let onlyRetries = only == "retries"
        let start = try TimeCursor(request, "after", from: "later")
        let (time, shown) = (start?.time, start?.shown ?? 0)
        let jobs: [Job] = try await database.values(of: Self.statement, Parameters(time, shown, app, onlyRetries))
        let isSearch = app != nil || onlyRetries
        var hasMore = false
        if isSearch, jobs.count < Self.pageLength {
            hasMore = try await database.query(Self.isDeep, Parameters(time, shown)) { try $0.bool(0, "is_deep") }
        }
        self.app = app
        self.onlyRetries = onlyRetries
        self.start = start
        self.jobs = jobs
        self.hasMore = hasMore
    }

    var title: String { "Scheduled and retries" }
    var section: PageSection { .scheduled }
    var refreshInterval: Int? { isFirst ? 5 : nil }

    private var isFirst: Bool { start == nil }

    private var link: Link { Link("scheduled", query: ["app": app, "only": onlyRetries ? "retries" : nil]) }

    private var later: Link? {
        guard jobs.count == Self.pageLength else { return nil }
        let next = TimeCursor(behind: jobs.map(\.runAt), of: start, .oldestFirst)
        return next?.added(to: link, "after")
    }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        filters
        DataTable(
            isFirst ? "The next" : "Later ones",
            jobs,
            orSay: nothing,
            .text("Due") { $0.runAt.html },
            .text("App") { HTML($0.app ?? "an app that is gone") },
            .text("Message") { .message($0.messageID, of: $0.app) },
            .text("What") { ($0.isRetry ? StateMark.attention : .quiet).html($0.isRetry ? "retry" : "scheduled") },
            .number("Pushes") { Int($0.tokens).grouped },
            .number("Attempt") { String($0.attempt) },
            .text("Last answer") { HTML($0.lastAnswer) },
            .text("Reference") { HTML($0.reference ?? "–") }
        ).html
        HTML.pager(("The next", isFirst ? nil : link), ("Later", later))
    }

    private var nothing: String {
        app == nil && !onlyRetries
            ? "Nothing is scheduled." : "No such job is among the next \(Self.depth.grouped)."
    }

    private var filters: HTML {
        HTML(.form, .class("filters"), .action(Link("scheduled")), Attribute(.method, "get")) {
            ActionForm.field("App", "app", value: app)
            ActionForm.choice(
                "What",
                "only",
                [("", "everything"), ("retries", "retries")],
                chosen: onlyRetries ? "retries" : ""
            )
            HTML(.button, Attribute(.type, "submit")) { "Show" }
        }
    }

    var json: JSONValue {
        [
            "app": app, "jobs": jobs, "jobs_precision": Amount.Precision(isCut: hasMore || later != nil),
            "later": later?.text,
        ]
    }
}
