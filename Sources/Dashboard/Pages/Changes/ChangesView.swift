import CarillonPostgres
import CarillonText
import CarillonWeb

/// Lists who changed what, and when.
struct ChangesView: PageView {
    private static let pageLength: Int64 = 50

    let app: String?
    let isFirst: Bool
    let changes: [Change]

    init(from database: ServiceRunner, _ request: Request) async throws {
        let before = request.parameter("before").flatMap(Int64.init)
        if request.parameter("before") != nil, before == nil {
            throw RequestError.badRequest("'before' is the number of a change.")
        }
        app = request.filled("app")
        isFirst = before == nil
        changes = try await Change.newest(from: database, app: app, before: before, maxRows: Self.pageLength)
    }

    var title: String { app.map { "Changes of \($0)" } ?? "Changes" }
    var section: PageSection { .changes }
    var refreshInterval: Int? { isFirst ? 10 : nil }

    private var older: Link? {
        guard changes.count == Int(Self.pageLength), let last = changes.last else { return nil }
        return Link("changes", query: ["app": app, "before": String(last.id)])
    }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        HTML(.p, .class("note")) {
            "Changes of apps, credentials, webhooks, API tokens, isolated roles and watched tables, wherever they were made; and what "
            "people cancelled, requeued, dismissed, tested or did to channels. PostgreSQL has verified the login; the person "
            "and the source are only what the login stated."
        }
        if changes.isEmpty {
            HTML(.p) { "Nothing has been changed yet." }
        } else {
            Change.table(isFirst ? "The newest" : "Older ones", changes, withApp: true)
        }
        HTML.pager(("Older", older))
    }

    var json: JSONValue { ["app": app, "changes": changes, "older": older?.text] }
}
