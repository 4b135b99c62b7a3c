import CarillonSchema
import CarillonText
import CarillonWeb

/// Failures by app and reason, each with an explanation and a link to the list.
struct FailureGroupTable {
    let groups: [FailureGroup]
    let window: FailureWindow
    var hasActions = false
    /// Links to the page that includes dismissed failures; nil if this table includes them.
    var whole: Link?

    @HTMLBuilder var html: HTML {
        DataTable("Failures in \(window.text), by reason", groups, columns).html
        Self.note(whole)
        if groups.count == FailureGroup.maxRows {
            HTML(.p, .class("note")) { "The largest \(groups.count): choose an app to see all of its reasons." }
        }
        if let bounded = groups.first(where: \.isBounded) {
            HTML(.p, .class("note")) {
                "Counted among the newest \(Int(bounded.depth).grouped) failures of each app; there are more."
            }
        }
    }

    /// - Parameter whole: links to the page that includes dismissed failures.
    @HTMLBuilder static func note(_ whole: Link?) -> HTML {
        if let whole {
            HTML(.p, .class("note")) {
                "Without those that were dismissed: "
                HTML(.a, .href(whole)) { "show them too" }
                "."
            }
        }
    }

    private var columns: [DataTable<FailureGroup>.Column] {
        let facts: [DataTable<FailureGroup>.Column] = [
            .text("App") { .app($0.app) },
            .text("Reason") { group in
                let query: KeyValuePairs<String, String?> = [
                    "app": group.app, "reason": group.reason, "since": window.rawValue,
                ]
                return HTML(.a, .href(Link("failures", query: query))) { group.reason }
            },
            .number("Pushes") { $0.amount.text },
            .text("In \(window.text)") { $0.trend.html(of: window.seconds) },
            .number("Status") { $0.status.map(String.init) ?? "–" },
            .number("Requeued") { $0.requeued == 0 ? "–" : Int($0.requeued).grouped },
            .text("Last") { $0.lastAt.html },
            .text("What it means") { group in
                HTML(.span, .class("note")) { ReasonText.meaning(of: group.reason) }
            },
        ]
        return hasActions ? facts + [.text("Actions") { actions(for: $0) }] : facts
    }

    private func actions(for group: FailureGroup) -> HTML {
        let query: KeyValuePairs<String, String?> = [
            "app": group.app, "reason": group.reason, "since": window.rawValue,
        ]
        return HTML(.ul, .class("inline")) {
            if group.status != 410, group.isBounded || group.requeued < group.pushes {
                HTML(.li) { HTML(.a, .href(Link("failures", "requeue", query: query))) { "Requeue" } }
            }
            HTML(.li) { HTML(.a, .href(Link("failures", "dismiss", query: query))) { "Dismiss" } }
        }
    }
}
