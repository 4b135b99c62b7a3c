import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

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
