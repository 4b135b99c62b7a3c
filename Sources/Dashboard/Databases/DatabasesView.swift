import CarillonIO
import CarillonSchema
import CarillonText
import CarillonWeb

/// Shows several databases side by side.
struct DatabasesView: PageView {
    struct State: Sendable, JSONConvertible {
        let name: String
        let overview: Result<OverviewView, RequestError>

        var link: Link { Link.top("databases", name) }

        var json: JSONValue {
            // Makes links in the overview lead to pages of this database.
            Link.$base.withValue(DatabaseMount.one(name).base) {
                ["database": name, "see": link.text, "error": error, "overview": read]
            }
        }

        var read: OverviewView? { try? overview.get() }

        /// Why nothing could be read.
        var error: String? { if case .failure(let error) = overview { error.detail } else { nil } }

        var mark: StateMark {
            guard let findings = read?.findings else { return .bad }
            if findings.contains(where: { $0.severity == .critical }) { return .bad }
            return findings.isEmpty ? .good : .attention
        }

        var sentence: String {
            guard let findings = read?.findings else { return error ?? "" }
            return findings.isEmpty ? "Nothing is wrong" : Counted.text(Int64(findings.count), "finding")
        }
    }

    let states: [State]

    init(_ dashboards: [Dashboard], _ request: Request) async {
        states = await dashboards.mapAtOnce { await Self.state(of: $0, request) }
    }

    private static func state(of dashboard: Dashboard, _ request: Request) async -> State {
        guard case .one(let name) = dashboard.mount else { preconditionFailure("one database has no list") }
        do {
            return State(name: name, overview: .success(try await OverviewView(from: dashboard.database)))
        } catch {
            let explanation = Explanation(error)
            dashboard.configuration.observer(.pageFailed(request, explanation))
            return State(name: name, overview: .failure(RequestError(explaining: explanation)))
        }
    }

    var title: String { "Databases" }
    var section: PageSection { .overview }
    var refreshInterval: Int? { 5 }

    func content(for viewer: Viewer) -> HTML {
        HTML(.section) {
            DataTable(
                "The state of each database",
                states,
                .text("Database") { state in HTML(.a, .href(state.link)) { state.name } },
                .text("State") { $0.mark.html($0.sentence) },
                .number("Sent a second") {
                    $0.read.map { $0.counted.prefixed(Quantity.rate($0.sentPerSecond)) } ?? "–"
                },
                .number("Failed a second") {
                    $0.read.map { $0.counted.prefixed(Quantity.rate($0.failedPerSecond)) } ?? "–"
                },
                .number("Ready") { $0.read.map { Quantity.short($0.ready) } ?? "–" },
                .text("Oldest waits") { HTML($0.read?.oldestWait ?? "–") },
                .number("In flight") { $0.read.map { Quantity.short($0.inFlight) } ?? "–" },
                .number("Workers") { $0.read?.workersAlive.text ?? "–" }
            ).html
        }
    }

    var json: JSONValue { ["databases": states] }
}
