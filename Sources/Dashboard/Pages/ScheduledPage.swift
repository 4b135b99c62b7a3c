import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct ScheduledQuery {
    static let pageLength = 100

    /// $3: only jobs from then on, in microseconds since 1970, or null; $4: how many of them were on the pages before.
    private static let statement = Statement(
        "web_scheduled",
        """
        SELECT d.app, d.id, d.message_id, d.run_at, d.tokens, d.attempt, d.last_status, d.last_reason, d.reference
        FROM carillon.next_due($1, only_retries => $2,
            after => coalesce('epoch'::timestamptz + ($3 - 1) * interval '1 microsecond', '-infinity'),
            most => (\(pageLength) + $4)::integer, depth => (5000 + $4)::integer) AS d
        ORDER BY d.run_at, d.id OFFSET $4
        """
    )

    let database: WebDatabase
    let app: String?
    let onlyRetries: Bool
    let start: TimePlace?

    init(database: WebDatabase, _ request: Request) throws {
        self.database = database
        app = request.parameter("app").flatMap { $0.isEmpty ? nil : $0 }
        let only = request.parameter("only") ?? ""
        guard only.isEmpty || only == "retries" else { throw PageError.badRequest("'only' is retries, or left out.") }
        onlyRetries = only == "retries"
        start = try TimePlace(request, "after", from: "later")
    }

    func run() async throws -> ScheduledView {
        ScheduledView(
            app: app,
            onlyRetries: onlyRetries,
            start: start,
            jobs: try await database.values(
                of: Self.statement,
                Parameters(app, onlyRetries, start?.time, start?.shown ?? 0)
            )
        )
    }
}

struct ScheduledJob: RowReadable, JSONConvertible {
    let app: String?
    let id: Int64
    let message: Int64
    let runAt: Moment
    let tokens: Int64
    let attempt: Int64
    let lastStatus: Int64?
    let lastReason: String?
    let reference: String?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.stringIfPresent(row, "app")
        id = try rows.int64(row, "id")
        message = try rows.int64(row, "message_id")
        runAt = Moment(try rows.timestamp(row, "run_at"))
        tokens = try rows.int64(row, "tokens")
        attempt = try rows.int64(row, "attempt")
        lastStatus = try rows.int64IfPresent(row, "last_status")
        lastReason = try rows.stringIfPresent(row, "last_reason")
        reference = try rows.stringIfPresent(row, "reference")
    }

    var isRetry: Bool { attempt > 1 }

    var lastAnswer: String {
        guard isRetry else { return "–" }
        return [lastStatus.map(String.init), lastReason ?? "no answer"].compactMap { $0 }.joined(separator: " ")
    }

    var json: JSONValue {
        [
            "app": app, "id": id, "message_id": message, "run_at": runAt, "tokens": tokens, "attempt": attempt,
            "last_status": lastStatus, "last_reason": lastReason, "reference": reference,
        ]
    }
}

/// What is sent later, and what is tried again.
struct ScheduledView: PageView {
    let app: String?
    let onlyRetries: Bool
    let start: TimePlace?
    let jobs: [ScheduledJob]

    var title: String { "Scheduled and retries" }
    var section: PageSection { .scheduled }
    var refreshInterval: Int? { isFirst ? 5 : nil }

    private var isFirst: Bool { start == nil }

    private var link: Link { Link("scheduled", query: ["app": app, "only": onlyRetries ? "retries" : nil]) }

    private var later: Link? {
        guard jobs.count == ScheduledQuery.pageLength else { return nil }
        let next = TimePlace(behind: jobs.map(\.runAt.microseconds), of: start, .oldestFirst)
        return next?.added(to: link, "after")
    }

    @HTMLBuilder var content: HTML {
        filters
        if jobs.isEmpty {
            HTML(.p) {
                app == nil && !onlyRetries ? "Nothing is scheduled." : "No such job is among the next 5,000."
            }
        } else {
            DataTable(
                isFirst ? "The next" : "Later ones",
                jobs,
                .text("Due") { $0.runAt.html },
                .text("App") { HTML($0.app ?? "an app that is gone") },
                .text("Message") { job in
                    HTML(.a, .href(Link("messages", String(job.message), query: ["app": job.app]))) {
                        String(job.message)
                    }
                },
                .text("What") { ($0.isRetry ? StateMark.attention : .quiet).html($0.isRetry ? "retry" : "scheduled") },
                .number("Pushes") { Int($0.tokens).grouped },
                .number("Attempt") { String($0.attempt) },
                .text("Last answer") { HTML($0.lastAnswer) },
                .text("Reference") { HTML($0.reference ?? "–") }
            ).html
        }
        HTML(.p, .class("pager")) {
            if !isFirst { HTML(.a, .href(link)) { "The next" } }
            if let later { HTML(.a, .href(later)) { "Later" } }
        }
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

    var json: JSONValue { ["app": app, "jobs": jobs, "later": later?.text] }
}
