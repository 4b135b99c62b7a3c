import CarillonPostgres
import CarillonSchema
import CarillonWeb

/// Cancels the rest of a message or broadcast.
struct CancelAction {
    private static let cancel = Statement(
        "web_cancel",
        "SELECT carillon.cancel_message($1, app => $2, on_behalf_of => $3)"
    )

    let database: ServiceRunner
    let changing: ServiceRunner

    func run(_ request: Request, _ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        guard let app = form["app"] else { throw RequestError.badRequest("Name the app of the message.") }
        let query = try MessageQuery(database: database, request, app: app)
        let id = query.id
        let link = Link.message(id, of: app)
        // It may have ended since the confirmation page: then no cancel is recorded. A message that is not found here, such as a
        // retry behind a long queue, may still be waiting.
        let known = try await query.messagesIfAny()
        if !known.isEmpty, known.allSatisfy({ $0.waiting == 0 }) { return .done(link, Notice(.cancelled, count: 0)) }
        let jobs = try await changing.query(Self.cancel, Parameters(id, app, viewer.name)) { rows in
            try rows.int64(0, 0)
        }
        if jobs == 0, known.isEmpty { _ = try await query.messages() }  // throws the error for an unknown message
        return .done(link, Notice(.cancelled, count: jobs))
    }
}
