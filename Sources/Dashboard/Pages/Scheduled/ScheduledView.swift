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

    let app: String?
    let onlyRetries: Bool
    let start: TimeCursor?
    let jobs: [Job]
    /// Whether there are more jobs than were searched for those of the app, and for retries.
    let hasMore: Bool

    var title: String { "Scheduled and retries" }
    var section: PageSection { .scheduled }
    var refreshInterval: Int? { isFirst ? 5 : nil }

    private var isFirst: Bool { start == nil }

    private var link: Link { Link("scheduled", query: ["app": app, "only": onlyRetries ? "retries" : nil]) }

    private var later: Link? {
        guard jobs.count == ScheduledQuery.pageLength else { return nil }
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
            ? "Nothing is scheduled." : "No such job is among the next \(ScheduledQuery.depth.grouped)."
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
