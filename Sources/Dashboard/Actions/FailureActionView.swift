import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Asks for confirmation before many failures are requeued or dismissed, and again before each further part if it takes long.
struct FailureActionView: PageView {
    struct Found: Decodable, Sendable {
        let pushes: Int64
        let pushesPrecision: Amount.Precision

        /// Whether all failures were looked at.
        var isAll: Bool { pushesPrecision == .exact }
    }

    private static let count = Statement(
        "web_count_failures",
        """
        SELECT c.pushes, c.pushes_precision
        FROM carillon.count_failures($1, $2, $3, $4, reason => $5, include_unknown => $6, max_rows_read => 2000) AS c
        """
    )
    private static let now = Statement("web_now", "SELECT now() AS now")

    let selection: FailureSelection
    /// Nil if some were already done: the rest is not counted.
    let found: Found?
    let soFar: Int64

    var title: String { "\(selection.operation.verb) failures" }
    var section: PageSection { .failures }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if let found, found.pushes == 0, found.isAll {
            HTML(.p, .class("notice")) { nothing }
        } else {
            HTML(.p, .class("lead")) { question }
            HTML(.p, .class("note")) { consequence }
            ActionForm.html(
                selection.link,
                viewer,
                hidden: [
                    "app": selection.app, "reason": selection.reason, "after": String(selection.after.microseconds),
                    "until": String(selection.until.microseconds), "so_far": String(soFar),
                    "include_unknown": selection.includesUnknown ? "yes" : nil,
                ]
            ) {
                ActionForm.button(found == nil ? "Go on" : selection.operation.verb, isDangerous: true)
            }
        }
        HTML(.p) { HTML(.a, .href(selection.listLink)) { "Back to the failures" } }
    }

    private var question: String {
        guard let found else {
            let done = selection.operation == .requeue ? "requeued" : "dismissed"
            return "\(Counted.text(soFar, "push was", "pushes were")) \(done). There are more pushes \(selection.text)."
        }
        let count = Counted.text(found.pushes, "push", "pushes")
        return "\(selection.operation.verb) \(found.isAll ? "" : "more than ")\(count) \(selection.text)?"
    }

    private var consequence: String {
        switch selection.operation {
        case .requeue:
            "Fix the cause first: if most fail again as BadDeviceToken, the app is paused. Each is enqueued again "
                + "once, as a new message. Pushes answered with 410, expired and cancelled messages, and "
                + "dismissed failures are left out"
                + (selection.includesUnknown
                    ? ". A device that has already received such a push receives it again."
                    : ", and so are pushes that may have been delivered.")
        case .dismiss:
            "They stay recorded, but are shown only with 'dismissed too' and are not requeued with others."
        }
    }

    private var nothing: String {
        "No push \(selection.text) can be \(selection.operation == .requeue ? "requeued" : "dismissed")."
    }

    var json: JSONValue {
        [
            "app": selection.app, "reason": selection.reason, "after": selection.after, "until": selection.until,
            "pushes": found?.pushes, "pushes_precision": found?.pushesPrecision,
        ]
    }
}

extension FailureActionView {
    /// Counts the failures that would be affected.
    init(
        _ operation: FailureSelection.Operation,
        from database: ServiceRunner,
        _ request: Request,
        _ viewer: Viewer
    ) async throws {
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
        self.init(
            selection: selection,
            found: try await database.query(Self.count, parameters) { try $0.record(0) },
            soFar: 0
        )
    }
}
