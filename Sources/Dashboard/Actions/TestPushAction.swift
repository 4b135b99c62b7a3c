import CarillonPostgres
import CarillonText
import CarillonWeb

/// Previews a test push, or enqueues it.
struct TestPushAction {
    private static let preview = Statement(
        "web_preview",
        """
        SELECT p.payload, p.bytes, p.max_bytes, p.push_type, p.priority, p.topic
        FROM carillon.preview_message($1, $2::jsonb) AS p
        """
    )
    private static let send = Statement(
        "web_send_test",
        "SELECT s.id, s.is_new FROM carillon.send_test($1, $2::jsonb, on_behalf_of => $3, key => $4) AS s"
    )

    let database: ServiceRunner
    let changing: ServiceRunner

    func run(_ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        let push = TestPush(form)
        guard let app = push.app else { throw RequestError.badRequest("Choose the app.") }
        do {
            if form.isOn("send") {
                let parameters = Parameters(app, push.body.text, viewer.name, push.key)
                return try await changing.query(Self.send, parameters) { rows in
                    let link = Link("messages", String(try rows.int64(0, "id")), query: ["app": app])
                    return .done(link, Notice(try rows.bool(0, "is_new") ? .sent : .sentBefore))
                }
            }
            let parameters = Parameters(app, push.body.text)
            let preview = try await changing.query(Self.preview, parameters) { rows in
                (message: try rows.record(0) as TestPushView.Preview, notices: rows.noticesOfSchema)
            }
            var page = try await TestPushView(push, from: database)
            page.preview = preview.message
            page.notices = preview.notices
            return .page(page)
        } catch let error as PostgresError where Self.isRefusal(error) {
            let refusal = Self.refusal(error)
            var page = try await TestPushView(push, from: database)
            page.complaint = refusal.text
            return .refused(page, refusal)
        }
    }

    private static func refusal(_ error: PostgresError) -> RequestError {
        error.sqlState == SQLState.duplicateObject
            ? RequestError(
                status: .unprocessableContent,
                detail: "This form was submitted before with other values.",
                hint: "Check them and submit the form again."
            )
            : RequestError.badRequest(error.message.asSentence, hint: error.hint?.asSentence)
    }

    private static func isRefusal(_ error: PostgresError) -> Bool {
        let state = error.statementState ?? ""
        return state.hasPrefix("22") || SQLState.badArgument.contains(state)
            || [SQLState.undefinedObject, SQLState.duplicateObject].contains(state)
    }
}
