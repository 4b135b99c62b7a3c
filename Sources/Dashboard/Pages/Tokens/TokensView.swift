import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct TokensView: PageView {
    struct Count: Record {
        let app: String
        let kind: String
        let tokens: Int64
        let json: JSONValue
        let tokensPrecision: Amount.Precision
    }

    struct Day: Record {
        let app: String
        let day: String
        let reportedDead: Int64
        let waiting: Int64
        let isBounded: Bool

        var precision: Amount.Precision { .init(isCut: isBounded) }

        var json: JSONValue {
            [
                "app": app, "day": day, "reported_dead": reportedDead, "reported_dead_precision": precision,
                "waiting": waiting,
                "waiting_precision": precision,
            ]
        }
    }

    struct Passes: Record {
        let next: Moment
        let everySeconds: Int64
        let lastHandled: Moment?
        let json: JSONValue
    }

    let counts: [Count]
    let days: [Day]
    /// How many there are, up to one more than are read.
    let apps: Int64
    /// How many reports of each app were read.
    let depth: Int64
    let passes: Passes?

    var title: String { "Tokens and feedback" }
    var section: PageSection { .tokens }
    var refreshInterval: Int? { 30 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if let passes {
            FactList(
                ("Next feedback pass", passes.next.html),
                ("A pass every", HTML(DurationText.age(passes.everySeconds))),
                ("Last report handled", passes.lastHandled?.html ?? HTML("none yet"))
            ).html
        }
        if counts.isEmpty {
            HTML(.p) { "No token is registered. Applications register them with carillon.register_token." }
        } else {
            DataTable(
                "Registered tokens"
                    + (countsPrecision == .exact ? "" : " of the first \(TokensQuery.maxApps) apps by name"),
                counts,
                .text("App") { .app($0.app) },
                .text("Kind") { HTML($0.kind.replacing("_", with: " ")) },
                .number("Tokens") { Quantity.short(Amount($0.tokens, $0.tokensPrecision)) }
            ).html
            HTML(.p, .class("note")) {
                "Up to 1,000 tokens of each kind are counted, fewer if there are more than 10 apps. Larger numbers are estimates."
            }
        }
        DataTable(
            "Reported dead, by day (UTC)" + (days.count == TokensQuery.maxRows ? ": the newest" : ""),
            days,
            orSay: "Apple has not reported any token dead in the last 14 days.",
            .text("Day") { HTML($0.day) },
            .text("App") { .app($0.app) },
            .number("Reports") { Amount($0.reportedDead, $0.precision).text },
            .number("Not handled yet") { $0.waiting == 0 ? "–" : Amount($0.waiting, $0.precision).text }
        ).html
        if days.contains(where: \.isBounded) {
            HTML(.p, .class("note")) {
                "Counted among the newest \(Int(depth).grouped) reports of each app; there are more."
            }
        }
    }

    private var countsPrecision: Amount.Precision { .init(isCut: apps > TokensQuery.maxApps) }
    private var daysPrecision: Amount.Precision {
        .init(isCut: apps > ReadDepth.maxApps || days.count == TokensQuery.maxRows || days.contains(where: \.isBounded))
    }

    var json: JSONValue {
        [
            "registered": counts, "registered_precision": countsPrecision, "reported_dead": days,
            "reported_dead_precision": daysPrecision, "passes": passes,
        ]
    }
}
