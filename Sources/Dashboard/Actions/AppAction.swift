import CarillonPostgres
import CarillonText
import CarillonWeb

/// Pauses and resumes an app, and sets its limits. The functions record each change.
struct AppAction {
    private static let pause = Statement("web_pause", "SELECT carillon.pause_app($1, reason => $2, on_behalf_of => $3)")
    private static let resume = Statement("web_resume", "SELECT carillon.resume_app($1, on_behalf_of => $2)")
    private static let limit = Statement(
        "web_limit",
        "SELECT carillon.limit_app($1, max_rate => $2, max_attempts => $3, reap_bad_tokens => $4, on_behalf_of => $5)"
    )

    let database: ServiceRunner

    func pause(_ request: Request, _ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        let name = Self.name(request)
        return try await run(Self.pause, Parameters(name, try form.reason(), viewer.name), name, .paused)
    }

    func resume(_ request: Request, _ viewer: Viewer) async throws -> ActionResult {
        let name = Self.name(request)
        return try await run(Self.resume, Parameters(name, viewer.name), name, .resumed)
    }

    func limit(_ request: Request, _ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        let name = Self.name(request)
        let rate = try form.number("max_rate", called: "Maximum pushes per second", in: 1...Int64(Int32.max))
        let attempts = try form.number("max_attempts", called: "Maximum attempts", in: 1...1_000)
        let parameters = Parameters(
            name,
            rate.map(Int32.init),
            attempts.map(Int32.init),
            form.isOn("reap_bad_tokens"),
            viewer.name
        )
        return try await run(Self.limit, parameters, name, .limited)
    }

    private static func name(_ request: Request) -> String { request.pathParameters["name"] ?? "" }

    private func run(
        _ statement: Statement,
        _ parameters: Parameters,
        _ name: String,
        _ kind: Notice.Kind
    ) async throws -> ActionResult {
        let isChanged = try await database.query(statement, parameters) { rows in try rows.bool(0, 0) }
        return .done(Link.app(name), Notice(isChanged ? kind : .unchanged))
    }
}
