import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Something that is done with many failures of an app, between two times.
struct FailureSelection: Sendable {
    enum Deed: String, Sendable {
        case requeue, dismiss

        var verb: String { self == .requeue ? "Requeue" : "Dismiss" }
        var notice: Notice.Kind { self == .requeue ? .requeued : .dismissed }
    }

    let deed: Deed
    let app: String
    let reason: String?
    let includesUnknown: Bool
    /// Microseconds since 1970; the first is not part of it.
    var after: Int64
    let until: Int64

    var link: Link { Link("failures", deed.rawValue) }
    var listLink: Link { Link("failures", query: ["app": app, "reason": reason]) }

    var text: String {
        "of \(app) that failed\(reason.map { " as \($0)" } ?? "") after \(Moment(after).readable), until "
            + Moment(until).readable
    }
}

/// Does it in steps, each a transaction that looks at a bounded number of failures, for as long as a person waits.
struct FailureAction {
    private static let patience = Duration.seconds(4)
    /// The form brings back what was done. More than this is not ours, and could overflow.
    private static let mostSoFar: Int64 = 1_000_000_000_000
    private static let requeue = Statement(
        "web_requeue",
        """
        SELECT s.pushes, s.next FROM carillon.requeue_step($1, \(instant(2)), \(instant(3)), reason => $4, actor => $5,
            include_unknown => $6) AS s
        """
    )
    private static let dismiss = Statement(
        "web_dismiss",
        """
        SELECT s.pushes, s.next FROM carillon.dismiss_step($1, \(instant(2)), \(instant(3)), reason => $4, actor => $5) AS s
        """
    )

    static func instant(_ place: Int) -> String { "'epoch'::timestamptz + $\(place) * interval '1 microsecond'" }

    let deed: FailureSelection.Deed
    let database: WebDatabase

    init(_ deed: FailureSelection.Deed, _ database: WebDatabase) {
        self.deed = deed
        self.database = database
    }

    func run(_ form: Form, _ viewer: Viewer) async throws -> ActionResult {
        guard let app = form["app"] else { throw PageError.badRequest("Name the app of the failures.") }
        var selection = FailureSelection(
            deed: deed,
            app: app,
            reason: form["reason"],
            includesUnknown: form.isOn("include_unknown"),
            after: try form.moment("after"),
            until: try form.moment("until")
        )
        var pushes = try form.number("so_far", called: "so_far", in: 0...Self.mostSoFar) ?? 0
        let start = MonotonicInstant.now
        while true {
            let step = try await step(selection, viewer)
            pushes += step.pushes
            guard let next = step.next else {
                return .done(selection.listLink, Notice(deed.notice, count: pushes))
            }
            selection.after = next
            if MonotonicInstant.now - start > Self.patience {
                return .page(FailureActionView(selection: selection, found: nil, soFar: pushes))
            }
        }
    }

    private func step(_ selection: FailureSelection, _ viewer: Viewer) async throws -> (pushes: Int64, next: Int64?) {
        var parameters = Parameters(
            selection.app,
            selection.after,
            selection.until,
            selection.reason,
            viewer.name
        )
        if deed == .requeue { parameters.append(selection.includesUnknown) }
        do {
            return try await database.change(deed == .requeue ? Self.requeue : Self.dismiss, parameters) { rows in
                (try rows.int64(0, "pushes"), try rows.timestampIfPresent(0, "next"))
            }
        } catch let error as PostgresError where error.sqlState == SQLState.undefinedObject {
            throw PageError.notFound("There is no app \(selection.app).", hint: error.hint?.asSentence)
        }
    }
}

/// Counts what would be done, so that a person can confirm it.
struct FailureActionQuery {
    private static let count = Statement(
        "web_count_failures",
        """
        SELECT c.pushes, c.is_all FROM carillon.count_failures($1, $2, \(FailureAction.instant(3)), \(FailureAction.instant(4)),
            reason => $5, include_unknown => $6, depth => 2000) AS c
        """
    )
    private static let now = Statement("web_now", "SELECT now() AS now")

    let deed: FailureSelection.Deed
    let database: WebDatabase
    let request: Request
    let viewer: Viewer

    init(_ deed: FailureSelection.Deed, _ database: WebDatabase, _ request: Request, _ viewer: Viewer) {
        self.deed = deed
        self.database = database
        self.request = request
        self.viewer = viewer
    }

    func run() async throws -> FailureActionView {
        guard viewer.mayChange else { throw PageError.mayNotChange(viewer) }
        guard let app = request.parameter("app"), !app.isEmpty else {
            throw PageError.badRequest("Choose the app whose failures you mean.")
        }
        guard let window = FailureWindow(rawValue: request.parameter("since") ?? FailureWindow.day.rawValue) else {
            throw PageError.badRequest("'since' is 1h, 1d or 7d.")
        }
        let now = try await database.query(Self.now, Parameters()) { rows in try rows.timestamp(0, "now") }
        let selection = FailureSelection(
            deed: deed,
            app: app,
            reason: request.parameter("reason").flatMap { $0.isEmpty ? nil : $0 },
            includesUnknown: request.parameter("include_unknown") != nil,
            after: now - Int64(window.seconds * 1_000_000),
            until: now
        )
        let parameters = Parameters(
            app,
            deed.rawValue,
            selection.after,
            selection.until,
            selection.reason,
            selection.includesUnknown
        )
        do {
            // It reads only, but with the rights of an operator.
            let found = try await database.change(Self.count, parameters) { rows in
                FailureActionView.Found(pushes: try rows.int64(0, "pushes"), isAll: try rows.bool(0, "is_all"))
            }
            return FailureActionView(selection: selection, found: found, soFar: 0)
        } catch let error as PostgresError where error.sqlState == SQLState.undefinedObject {
            throw PageError.notFound("There is no app \(app).", hint: error.hint?.asSentence)
        }
    }
}
