import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Reads what people have changed, the newest first.
struct ChangesQuery {
    static let pageLength: Int64 = 50

    /// $1: the name of one app, null: all; $2: only changes before this one, or null.
    private static let all = Statement(
        "web_changes",
        """
        SELECT c.id, c.at, c.actor, c.login, c.source, c.action, c.app, c.details::json AS details,
            c.details ->> 'message_id' AS message_id
        FROM carillon.audit c
        WHERE c.id < $1 ORDER BY c.id DESC LIMIT $2
        """
    )
    private static let ofApp = Statement(
        "web_app_changes",
        """
        SELECT c.id, c.at, c.actor, c.login, c.source, c.action, c.app, c.details::json AS details,
            c.details ->> 'message_id' AS message_id
        FROM carillon.audit c
        WHERE c.app = $3 AND c.id < $1 ORDER BY c.id DESC LIMIT $2
        """
    )

    let database: WebDatabase
    let app: String?
    let before: Int64?

    init(database: WebDatabase, _ request: Request) throws {
        self.database = database
        app = request.parameter("app").flatMap { $0.isEmpty ? nil : $0 }
        before = request.parameter("before").flatMap(Int64.init)
        if request.parameter("before") != nil, before == nil {
            throw PageError.badRequest("'before' is the number of a change.")
        }
    }

    func run() async throws -> ChangesView {
        let changes = try await Self.changes(from: database, app: app, before: before, most: Self.pageLength)
        return ChangesView(app: app, isFirst: before == nil, changes: changes)
    }

    static func changes(
        from database: WebDatabase,
        app: String?,
        before: Int64? = nil,
        most: Int64
    ) async throws -> [Change] {
        let before = before ?? .max
        guard let app else { return try await database.values(of: all, Parameters(before, most)) }
        return try await database.values(of: ofApp, Parameters(before, most, app))
    }
}

/// A row of `audit`.
struct Change: RowReadable, JSONConvertible {
    let id: Int64
    let at: Moment
    let actor: String
    let login: String
    let source: String
    let action: String
    let app: String?
    /// JSON.
    let details: String
    /// The message that it is about, of one.
    let message: Int64?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        id = try rows.int64(row, "id")
        at = Moment(try rows.timestamp(row, "at"))
        actor = try rows.string(row, "actor")
        login = try rows.string(row, "login")
        source = try rows.string(row, "source")
        action = try rows.string(row, "action")
        app = try rows.stringIfPresent(row, "app")
        details = try rows.string(row, "details")
        message = try rows.stringIfPresent(row, "message_id").flatMap(Int64.init)
    }

    var json: JSONValue {
        [
            "id": id, "at": at, "actor": actor, "login": login, "source": source, "action": action,
            "app": app, "details": JSONValue.json(details),
        ]
    }

    /// The details, in which the id of the message is a link.
    @HTMLBuilder private var linkedDetails: HTML {
        if let message, let place = details.firstRange(of: "\"message_id\": \(message)") {
            let end = details[..<place.upperBound].dropLast(String(message).count)
            String(end)
            HTML(.a, .href(Link("messages", String(message), query: ["app": app]))) { String(message) }
            String(details[place.upperBound...])
        } else {
            details
        }
    }

    static func table(_ caption: String, _ changes: [Change], withApp: Bool) -> HTML {
        let columns: [DataTable<Change>.Column] =
            [.text("When") { $0.at.html }, .text("Who") { HTML($0.actor) }]
            + (withApp
                ? [
                    .text("App") { change in
                        change.app.map { app in HTML(.a, .href(Link("apps", app))) { app } } ?? HTML("–")
                    }
                ] : [])
            + [
                .text("What") { HTML($0.action) },
                .text("Details") { change in HTML(.code, .class("details")) { change.linkedDetails } },
                .text("From") { HTML($0.source) }, .text("Login") { HTML($0.login) },
            ]
        return DataTable(caption, changes, columns).html
    }
}

/// Who changed what, and when.
struct ChangesView: PageView {
    let app: String?
    let isFirst: Bool
    let changes: [Change]

    var title: String { app.map { "Changes of \($0)" } ?? "Changes" }
    var section: PageSection { .changes }
    var refreshInterval: Int? { isFirst ? 10 : nil }

    private var older: Link? {
        guard changes.count == Int(ChangesQuery.pageLength), let last = changes.last else { return nil }
        return Link("changes", query: ["app": app, "before": String(last.id)])
    }

    @HTMLBuilder var content: HTML {
        HTML(.p, .class("note")) {
            "Every change of an app, a credential or a channel, wherever it was made, and what people cancelled, requeued, "
            "dismissed or tested."
        }
        if changes.isEmpty {
            HTML(.p) { "Nothing was changed yet." }
        } else {
            Change.table(isFirst ? "The newest" : "Older ones", changes, withApp: true)
        }
        HTML(.p, .class("pager")) { if let older { HTML(.a, .href(older)) { "Older" } } }
    }

    var json: JSONValue { ["app": app, "changes": changes, "older": older?.text] }
}
