import CarillonIO
import CarillonPostgres

/// Requeues or dismisses failures in steps. Each step is a transaction that looks at a limited number of failures; steps are
/// repeated for as long as a person can be expected to wait.
struct FailureAction {
    private static let longestRun = Duration.seconds(4)
    /// The form returns the number done so far. A larger number was not written by this server, and could overflow.
    private static let maxSoFar: Int64 = 1_000_000_000_000
    private static let requeue = Statement(
        "web_requeue",
        """
        SELECT s.pushes, s.next
        FROM carillon.requeue_batch($1, $2, $3, reason => $4, on_behalf_of => $5, include_unknown => $6) AS s
        """
    )
    private static let dismiss = Statement(
        "web_dismiss",
        """
        SELECT s.pushes, s.next FROM carillon.dismiss_batch($1, $2, $3, reason => $4, on_behalf_of => $5) AS s
        """
    )

    let operation: FailureSelection.Operation
    let database: ServiceRunner

    func run(_ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        guard let app = form["app"] else { throw RequestError.badRequest("Name the app of the failures.") }
        var selection = FailureSelection(
            operation: operation,
            app: app,
            reason: form["reason"],
            includesUnknown: form.isOn("include_unknown"),
            after: try form.moment("after"),
            until: try form.moment("until")
        )
        var pushes = try form.number("so_far", called: "so_far", in: 0...Self.maxSoFar) ?? 0
        let start = MonotonicInstant.now
        while true {
            let step = try await step(selection, viewer)
            pushes += step.pushes
            guard let next = step.next else {
                return .done(selection.listLink, Notice(operation.notice, count: pushes))
            }
            selection.after = next
            if MonotonicInstant.now - start > Self.longestRun {
                return .page(FailureActionView(selection: selection, found: nil, soFar: pushes))
            }
        }
    }

    private func step(_ selection: FailureSelection, _ viewer: Viewer) async throws -> (pushes: Int64, next: Moment?) {
        var parameters = Parameters(selection.app, selection.after, selection.until, selection.reason, viewer.name)
        if operation == .requeue { parameters.append(selection.includesUnknown) }
        return try await database.query(operation == .requeue ? Self.requeue : Self.dismiss, parameters) { rows in
            (try rows.int64(0, "pushes"), try rows.momentIfPresent(0, "next"))
        }
    }
}
