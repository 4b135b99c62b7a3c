import CarillonPostgres
import CarillonText
import CarillonWeb

/// Pauses and resumes a webhook, and has events posted to it again. The functions record each change.
struct WebhookAction {
    private static let pause = Statement(
        "web_pause_webhook",
        "SELECT carillon.pause_webhook($1, reason => $2, on_behalf_of => $3)"
    )
    private static let resume = Statement(
        "web_resume_webhook",
        "SELECT carillon.resume_webhook($1, on_behalf_of => $2)"
    )
    private static let redeliver = Statement(
        "web_redeliver_webhook",
        "SELECT carillon.redeliver_webhook($1, $2, on_behalf_of => $3)"
    )

    let database: ServiceRunner
    private let name: String

    init(database: ServiceRunner, _ request: Request) {
        self.database = database
        name = request.pathParameters["name"] ?? ""
    }

    func pause(_ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        let isChanged = try await database.query(Self.pause, Parameters(name, try form.reason(), viewer.name)) {
            try $0.bool(0, 0)
        }
        return .done(.webhook(name), Notice(isChanged ? .webhookPaused : .unchanged))
    }

    func resume(_ viewer: Viewer) async throws -> ActionResult {
        let isChanged = try await database.query(Self.resume, Parameters(name, viewer.name)) { try $0.bool(0, 0) }
        return .done(.webhook(name), Notice(isChanged ? .webhookResumed : .unchanged))
    }

    func redeliver(_ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        let parameters = Parameters(name, try form.moment("since"), viewer.name)
        let events = try await database.query(Self.redeliver, parameters) { try $0.int64(0, 0) }
        return .done(.webhook(name), Notice(.redelivered, count: events))
    }
}
