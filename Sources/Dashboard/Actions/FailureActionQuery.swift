import CarillonPostgres
import CarillonWeb

/// Counts the failures that would be affected, for the confirmation page.
struct FailureActionQuery {
    private static let count = Statement(
        "web_count_failures",
        """
        SELECT c.pushes, c.pushes_precision
        FROM carillon.count_failures($1, $2, $3, $4, reason => $5, include_unknown => $6, max_rows_read => 2000) AS c
        """
    )
    private static let now = Statement("web_now", "SELECT now() AS now")

    let operation: FailureSelection.Operation
    let database: ServiceRunner
    let request: Request
    let viewer: Viewer

    func run() async throws -> FailureActionView {
        guard viewer.mayChange else { throw RequestError.mayNotChange(viewer) }
        guard let app = request.parameter("app"), !app.isEmpty else { throw RequestError.badRequest("Choose an app.") }
        let window = try FailureWindow(request)
        let now = try await database.query(Self.now) { rows in try rows.moment(0, "now") }
        let selection = FailureSelection(
            operation: operation,
            app: app,
            reason: request.filled("reason"),
            includesUnknown: request.parameter("include_unknown") != nil,
            after: Moment(now.microseconds - Int64(window.seconds * 1_000_000)),
            until: now
        )
        let parameters = Parameters(
            app,
            operation.rawValue,
            selection.after,
            selection.until,
            selection.reason,
            selection.includesUnknown
        )
        let found = try await database.query(Self.count, parameters) { try $0.record(0) as FailureActionView.Found }
        return FailureActionView(selection: selection, found: found, soFar: 0)
    }
}
