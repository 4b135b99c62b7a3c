import CarillonSchema
import CarillonText
import CarillonWeb

/// Failures by app and reason, and a list of the newest; the filters are in the address.
struct FailuresView: PageView {
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
        guard failures.count == FailuresQuery.pageLength else { return nil }
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
