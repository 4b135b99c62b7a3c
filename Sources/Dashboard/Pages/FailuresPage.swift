import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct FailuresQuery {
    static let pageLength = 50

    /// $1 to $3 as for the groups; $4: only failures until then, in microseconds since 1970, or null. $5: with
    /// those that were dismissed; $6: as $5 for the groups; $7: how many of them were on the pages before.
    private static let statement = Statement(
        "web_failures",
        """
        SELECT a.name AS app, f.message_id, f.reference, carillon.token_text(f.token) AS token, f.status, f.reason, f.attempt, f.failed_at,
            f.requeued_at IS NOT NULL AS requeued, f.dismissed_at IS NOT NULL AS dismissed
        FROM (\(FailureGroup.chosenApps)) a CROSS JOIN LATERAL (
            SELECT f.* FROM carillon.failures f
            WHERE f.app_id = a.id AND f.failed_at > now() - make_interval(secs => $3)
                AND ($4 IS NULL OR f.failed_at <= 'epoch'::timestamptz + $4 * interval '1 microsecond')
            ORDER BY f.failed_at DESC \(LookDepth.limit("$6 + $7"))) f
        WHERE ($2 IS NULL OR f.reason = $2) AND ($5 OR f.dismissed_at IS NULL)
        ORDER BY f.failed_at DESC, f.message_id DESC, f.token LIMIT \(pageLength) OFFSET $7
        """
    )

    let database: WebDatabase
    let tokens: TokenDisplay
    let app: String?
    let reason: String?
    let window: FailureWindow
    let start: TimePlace?
    let showsDismissed: Bool

    init(database: WebDatabase, tokens: TokenDisplay, _ request: Request) throws {
        self.database = database
        self.tokens = tokens
        app = request.parameter("app").flatMap { $0.isEmpty ? nil : $0 }
        reason = request.parameter("reason").flatMap { $0.isEmpty ? nil : $0 }
        guard let window = FailureWindow(rawValue: request.parameter("since") ?? FailureWindow.day.rawValue) else {
            throw PageError.badRequest("'since' is 1h, 1d or 7d.")
        }
        self.window = window
        showsDismissed = request.parameter("dismissed") != nil
        start = try TimePlace(request, "before", from: "older")
    }

    func run() async throws -> FailuresView {
        let depth = try await LookDepth.read(for: app, from: database)
        async let groups = FailureGroup.read(
            app: app,
            reason: reason,
            within: window,
            dismissed: showsDismissed,
            depth: depth,
            from: database
        )
        async let failures: [FailureRow] = database.values(
            of: Self.statement,
            Parameters(app, reason, window.seconds, start?.time, showsDismissed, depth, start?.shown ?? 0)
        )
        return FailuresView(
            app: app,
            reason: reason,
            window: window,
            start: start,
            showsDismissed: showsDismissed,
            groups: try await groups,
            failures: try await failures,
            tokens: tokens
        )
    }
}

struct FailureRow: RowReadable {
    let app: String
    let message: Int64
    let reference: String?
    let token: String
    let status: Int64?
    let reason: String
    let attempt: Int64
    let failedAt: Moment
    let isRequeued: Bool
    let isDismissed: Bool

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.string(row, "app")
        message = try rows.int64(row, "message_id")
        reference = try rows.stringIfPresent(row, "reference")
        token = try rows.string(row, "token")
        status = try rows.int64IfPresent(row, "status")
        reason = try rows.string(row, "reason")
        attempt = try rows.int64(row, "attempt")
        failedAt = Moment(try rows.timestamp(row, "failed_at"))
        isRequeued = try rows.bool(row, "requeued")
        isDismissed = try rows.bool(row, "dismissed")
    }

    func json(_ tokens: TokenDisplay) -> JSONValue {
        [
            "app": app, "message_id": message, "reference": reference, "token": tokens.text(token), "status": status,
            "reason": reason, "attempt": attempt, "failed_at": failedAt, "requeued": isRequeued,
            "dismissed": isDismissed,
        ]
    }
}

/// Failures by app and reason, and the newest of them; the filters are in the address.
struct FailuresView: PageView {
    let app: String?
    let reason: String?
    let window: FailureWindow
    let start: TimePlace?
    let showsDismissed: Bool
    let groups: [FailureGroup]
    let failures: [FailureRow]
    let tokens: TokenDisplay

    var title: String { "Failures" }
    var section: PageSection { .failures }
    /// A page of older failures stays as it is.
    var refreshInterval: Int? { isFirst ? 10 : nil }

    private var isFirst: Bool { start == nil }

    private var link: Link {
        let query: KeyValuePairs<String, String?> = [
            "app": app, "reason": reason, "since": window.rawValue, "dismissed": showsDismissed ? "1" : nil,
        ]
        return Link("failures", query: query)
    }

    private var older: Link? {
        guard failures.count == FailuresQuery.pageLength else { return nil }
        let next = TimePlace(behind: failures.map(\.failedAt.microseconds), of: start, .newestFirst)
        return next?.added(to: link, "before")
    }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        filters
        if groups.isEmpty {
            HTML(.p) { StateMark.good.html("No failures to show") }
            FailureGroupTable.note(whole)
        } else {
            FailureGroupTable(groups: groups, window: window, hasActions: viewer.mayChange, whole: whole).html
            if let remedy { HTML(.p, .class("notice")) { remedy } }
        }
        if !failures.isEmpty {
            DataTable(
                isFirst ? "The newest" : "Older ones",
                failures,
                .text("Failed") { $0.failedAt.html },
                .text("App") { $0.app.isEmpty ? .nothing : HTML($0.app) },
                .text("Reason") { HTML($0.reason) },
                .number("Status") { $0.status.map(String.init) ?? "–" },
                .number("Attempt") { String($0.attempt) },
                .text("Token") { tokens.html($0.token) },
                .text("Message") { row in
                    HTML(.a, .href(Link("messages", String(row.message), query: ["app": row.app]))) {
                        String(row.message)
                    }
                },
                .text("Reference") { HTML($0.reference ?? "–") },
                .text("Done") { HTML($0.isRequeued ? "requeued" : $0.isDismissed ? "dismissed" : "–") }
            ).html
        }
        HTML(.p, .class("pager")) {
            if !isFirst { HTML(.a, .href(link)) { "Newest" } }
            if let older { HTML(.a, .href(older)) { "Older" } }
        }
    }

    private var whole: Link? { showsDismissed ? nil : link.with("dismissed", "1") }

    /// One reason of one app is chosen, and its settings may be the cause.
    private var remedy: String? {
        guard let app, let reason else { return nil }
        return FailureRemedy.sentence(for: reason, of: app)
    }

    private var filters: HTML {
        HTML(.form, .class("filters"), .action(Link("failures")), Attribute(.method, "get")) {
            field("app", "App", app)
            field("reason", "Reason", reason)
            HTML(.label) {
                "Within"
                HTML(.select, Attribute(.name, "since")) {
                    for one in FailureWindow.allCases {
                        HTML(.option, Attribute(.value, one.rawValue), Attribute(.selected, isOn: one == window)) {
                            one.text
                        }
                    }
                }
            }
            ActionForm.check("dismissed too", "dismissed", isOn: showsDismissed)
            HTML(.button, Attribute(.type, "submit")) { "Show" }
            if app != nil || reason != nil { HTML(.a, .href(Link("failures"))) { "All failures" } }
        }
    }

    private func field(_ name: String, _ label: String, _ value: String?) -> HTML {
        HTML(.label) {
            label
            HTML(.input, Attribute(.name, name), Attribute(.value, value), Attribute(.maxlength, 255))
        }
    }

    var json: JSONValue {
        [
            "app": app, "reason": reason, "since": window.rawValue, "groups": groups,
            "failures": failures.map { $0.json(tokens) }, "older": older?.text,
        ]
    }
}
