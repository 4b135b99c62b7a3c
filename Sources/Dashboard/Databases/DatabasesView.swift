import CarillonSchema
import CarillonText
import CarillonWeb

/// Shows several databases side by side.
struct DatabasesView: PageView {
    struct State: Sendable, JSONConvertible {
        let name: String
        let overview: Reading

        var link: Link { Link.top("databases", name) }

        var json: JSONValue {
            // Makes links in the overview lead to pages of this database.
            Link.$base.withValue(DatabaseMount.one(name).base) {
                ["database": name, "see": link.text, "error": overview.error, "overview": overview.overview]
            }
        }
    }

    enum Reading: Sendable {
        case success(OverviewView)
        case failure(RequestError)

        var overview: OverviewView? { if case .success(let view) = self { view } else { nil } }

        /// Why nothing could be read.
        var error: String? { if case .failure(let error) = self { error.detail } else { nil } }

        var mark: StateMark {
            guard let overview else { return .bad }
            if overview.findings.contains(where: { $0.severity == .critical }) { return .bad }
            return overview.findings.isEmpty ? .good : .attention
        }

        var sentence: String {
            guard let findings = overview?.findings else { return error ?? "" }
            return findings.isEmpty ? "Nothing is wrong" : Counted.text(Int64(findings.count), "finding")
        }
    }

    let states: [State]

    var title: String { "Databases" }
    var section: PageSection { .overview }
    var refreshInterval: Int? { 5 }

    var content: HTML {
        HTML(.section) {
            DataTable(
                "The state of each database",
                states,
                .text("Database") { state in HTML(.a, .href(state.link)) { state.name } },
                .text("State") { $0.overview.mark.html($0.overview.sentence) },
                .number("Sent a second") {
                    $0.overview.overview.map { $0.counted.prefixed(Quantity.rate($0.sentPerSecond)) } ?? "–"
                },
                .number("Failed a second") {
                    $0.overview.overview.map { $0.counted.prefixed(Quantity.rate($0.failedPerSecond)) } ?? "–"
                },
                .number("Ready") { $0.overview.overview.map { Quantity.short($0.ready) } ?? "–" },
                .text("Oldest waits") { HTML($0.overview.overview?.oldestWait ?? "–") },
                .number("In flight") { $0.overview.overview.map { Quantity.short($0.inFlight) } ?? "–" },
                .number("Workers") { $0.overview.overview?.workersAlive.text ?? "–" }
            ).html
        }
    }

    var json: JSONValue { ["databases": states] }
}
