import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// A row of `audit`.
struct Change: Record {
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
