import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// A row of `audit`.
struct Change: Record {
    private static let all = statement("web_changes", where: "c.id < $1")
    private static let ofApp = statement("web_app_changes", where: "c.app = $3 AND c.id < $1")

    /// $1: only changes before this one; $2: how many; $3: the name of the app.
    private static func statement(_ name: String, where condition: String) -> Statement {
        Statement(
            name,
            """
            SELECT c.id, c.at, c.actor, c.on_behalf_of, c.source, c.action, c.app, c.details::json AS details,
                c.details ->> 'message_id' AS message_id
            FROM carillon.audit c
            WHERE \(condition) ORDER BY c.id DESC LIMIT $2
            """
        )
    }

    let id: Int64
    let at: Moment
    /// The login of PostgreSQL.
    let actor: String
    /// What the login says, which nothing checks.
    let onBehalfOf: String?
    let source: String
    let action: String
    let app: String?
    /// JSON.
    let details: String
    /// The id of the message that was changed, if it was a single one.
    private let messageID: String?

    /// What people have changed, newest first.
    static func newest(
        from database: ServiceRunner,
        app: String?,
        before: Int64? = nil,
        maxRows: Int64
    ) async throws -> [Change] {
        let before = before ?? .max
        guard let app else { return try await database.values(of: all, Parameters(before, maxRows)) }
        return try await database.values(of: ofApp, Parameters(before, maxRows, app))
    }

    var json: JSONValue {
        [
            "id": id, "at": at, "actor": actor, "on_behalf_of": onBehalfOf, "source": source, "action": action,
            "app": app, "details": JSONValue.json(details),
        ]
    }

    /// The details, with the id of the message as a link.
    @HTMLBuilder private var linkedDetails: HTML {
        if let messageID, let place = details.firstRange(of: "\"message_id\": \(messageID)") {
            let end = details[..<place.upperBound].dropLast(messageID.count)
            String(end)
            HTML(.a, .href(Link("messages", messageID, query: ["app": app]))) { messageID }
            String(details[place.upperBound...])
        } else {
            details
        }
    }

    static func table(_ caption: String, _ changes: [Change], withApp: Bool) -> HTML {
        let columns: [DataTable<Change>.Column] =
            [
                .text("When") { $0.at.html }, .text("Login") { HTML($0.actor) },
                .text("On behalf of") { HTML($0.onBehalfOf ?? "–") },
            ]
            + (withApp ? [.text("App") { $0.app.map { .app($0) } ?? HTML("–") }] : [])
            + [
                .text("What") { HTML($0.action) },
                .text("Details") { change in HTML(.code, .class("details")) { change.linkedDetails } },
                .text("From") { HTML($0.source) },
            ]
        return DataTable(caption, changes, columns).html
    }
}
