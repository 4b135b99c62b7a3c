import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Failures by app and reason, and a list of the newest; the filters are in the address.
struct FailuresView: PageView {
    private static let pageLength = 50

    /// $1 to $3: as for the groups; $4: only failures up to this time, or null; $5: whether to include dismissed failures;
    /// $6: as $5 for the groups; $7: how many failures of that time were on earlier pages.
    private static let statement = Statement(
        "web_failures",
        """
        SELECT \(FailureRecord.columns)
        FROM (\(ReadDepth.chosenApps)) a CROSS JOIN LATERAL (
            SELECT f.* FROM carillon.failures f
            WHERE f.app_id = a.id AND f.failed_at > now() - make_interval(secs => $3) AND ($4 IS NULL OR f.failed_at <= $4)
            ORDER BY f.failed_at DESC \(ReadDepth.limit("$6 + $7"))) f
        WHERE ($2 IS NULL OR f.reason = $2) AND ($5 OR f.dismissed_at IS NULL)
        ORDER BY f.failed_at DESC, f.message_id DESC, f.token LIMIT \(pageLength) OFFSET $7
        """
    )

    /// $1: the name of an app, or null; $2: how many seconds to look back; $3: how many of the newest failures of each app are read.
    private static let isDeep = Statement(
        "web_failures_depth",
        """
        SELECT EXISTS (
            SELECT FROM (\(ReadDepth.chosenApps)) a CROSS JOIN LATERAL (
                SELECT count(*) AS failures FROM (
                    SELECT FROM carillon.failures f WHERE f.app_id = a.id AND f.failed_at > now() - make_interval(secs => $2)
                    \(ReadDepth.limit("$3"))) few) c
            WHERE c.failures >= $3) AS is_deep
        """
    )

    let app: String?
    let reason: String?
    let window: FailureWindow
    let start: TimeCursor?
    let showsDismissed: Bool
    /// How many of the newest failures of each app were read.
    let depth: Int64
    /// Whether these are all.
    let readsAll: Bool
    let groups: [FailureGroup]
    let failures: [FailureRecord]
    let tokens: TokenDisplay

    init(from database: ServiceRunner, _ tokens: TokenDisplay, _ request: Request) async throws {
        let app = request.filled("app")
        let reason = request.filled("reason")
        let window = try FailureWindow(request)
        let start = try TimeCursor(request, "before", from: "older")
        let showsDismissed = request.parameter("dismissed") != nil
        let apps = try await app == nil ? ReadDepth.appCount(from: database) : 1
        let depth = try await ReadDepth.read(for: app, from: database)
        async let counted = FailureGroup.read(
            app: app,
            reason: reason,
            within: window,
            dismissed: showsDismissed,
            depth: depth,
            from: database
        )
        async let listed: [FailureRecord] = database.values(
            of: Self.statement,
            Parameters(app, reason, window.seconds, start?.time, showsDismissed, depth, start?.shown ?? 0)
        )
        async let isDeep = database.query(Self.isDeep, Parameters(app, window.seconds, depth)) { rows in
            try rows.bool(0, "is_deep")
        }
        let hasMore = try await isDeep
        self.app = app
        self.reason = reason
        self.window = window
        self.start = start
        self.showsDismissed = showsDismissed
        self.depth = depth
        readsAll = apps <= ReadDepth.maxApps && !hasMore
        groups = try await counted
        failures = try await listed
        self.tokens = tokens
    }

    var title: String { "Failures" }
    var section: PageSection { .failures }
    /// Later pages do not refresh.
    var refreshInterval: Int? { isFirst ? 10 : nil }

    private var isFirst: Bool { start == nil }

    private var searched: String {
        "newest \(Int(depth).grouped)" + (app == nil ? " of each of the first \(ReadDepth.maxApps) apps" : "")
    }

    private var link: Link {
        let query: KeyValuePairs<String, String?> = [
            "app": app, "reason": reason, "since": window.rawValue, "dismissed": showsDismissed ? "1" : nil,
        ]
        return Link("failures", query: query)
    }

    private var older: Link? {
        guard failures.count == Self.pageLength else { return nil }
        let next = TimeCursor(behind: failures.map(\.failedAt), of: start, .newestFirst)
        return next?.added(to: link, "before")
    }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        filters
        if groups.isEmpty {
            HTML(.p) {
                StateMark.good.html("No failures to show" + (readsAll ? "" : " among the \(searched)"))
            }
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
                .text("App") { HTML($0.app ?? "") },
                .text("Reason") { HTML($0.reason) },
                .number("Status") { $0.status.map(String.init) ?? "–" },
                .number("Attempt") { String($0.attempt) },
                .text("Token") { tokens.html($0.token) },
                .text("Message") { .message($0.messageID, of: $0.app) },
                .text("Reference") { HTML($0.reference ?? "–") },
                .text("Done") { HTML($0.requeuedAt != nil ? "requeued" : $0.isDismissed ? "dismissed" : "–") }
            ).html
        }
        HTML.pager(("Newest", isFirst ? nil : link), ("Older", older))
    }

    private var whole: Link? { showsDismissed ? nil : link.with("dismissed", "1") }

    /// If one reason of one app is selected, the setting that may have caused it.
    private var remedy: String? {
        guard let app, let reason else { return nil }
        return ReasonText.remedy(for: reason, of: app)
    }

    private var filters: HTML {
        HTML(.form, .class("filters"), .action(Link("failures")), Attribute(.method, "get")) {
            ActionForm.field("App", "app", value: app)
            ActionForm.field("Reason", "reason", value: reason)
            ActionForm.choice(
                "Within",
                "since",
                FailureWindow.allCases.map { ($0.rawValue, $0.text) },
                chosen: window.rawValue
            )
            ActionForm.check("dismissed too", "dismissed", isOn: showsDismissed)
            HTML(.button, Attribute(.type, "submit")) { "Show" }
            if app != nil || reason != nil { HTML(.a, .href(Link("failures"))) { "All failures" } }
        }
    }

    var json: JSONValue {
        [
            "app": app, "reason": reason, "since": window.rawValue, "groups": groups,
            "groups_precision": Amount.Precision(isCut: !readsAll || groups.count == FailureGroup.maxRows),
            "failures": failures.map { $0.json(tokens) },
            "failures_precision": Amount.Precision(isCut: !readsAll || older != nil), "older": older?.text,
        ]
    }
}
