import CarillonSchema
import CarillonText
import CarillonWeb

/// The state of each of several databases, read at the same time.
struct DatabasesQuery {
    let dashboards: [Dashboard]
    let request: Request

    func run() async -> DatabasesView {
        let states = await withTaskGroup(of: (Int, DatabasesView.State).self) { group in
            for (place, dashboard) in dashboards.enumerated() {
                group.addTask { (place, await state(of: dashboard)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        return DatabasesView(states: states)
    }

    private func state(of dashboard: Dashboard) async -> DatabasesView.State {
        guard case .one(let name) = dashboard.place else { preconditionFailure("one database has no list") }
        do {
            return .init(name: name, overview: .success(try await OverviewQuery(database: dashboard.database).run()))
        } catch {
            let trouble = Explanation(error)
            dashboard.configuration.observer(.pageFailed(request, trouble))
            return .init(name: name, overview: .failure(TroubleView(explaining: trouble)))
        }
    }
}

/// Several databases side by side.
struct DatabasesView: PageView {
    struct State: Sendable, JSONConvertible {
        let name: String
        let overview: Outcome

        var link: Link { Link.top("databases", name) }

        var json: JSONValue {
            // The links of the overview lead to pages of this database.
            Link.$base.withValue(DatabasePlace.one(name).base) {
                ["database": name, "see": link.text, "error": overview.error, "overview": overview.overview]
            }
        }
    }

    enum Outcome: Sendable {
        case success(OverviewView)
        case failure(TroubleView)

        var overview: OverviewView? { if case .success(let view) = self { view } else { nil } }

        /// Why nothing could be read.
        var error: String? { if case .failure(let trouble) = self { trouble.sentence } else { nil } }

        var mark: StateMark {
            guard let overview else { return .bad }
            if overview.problems.contains(where: { $0.severity == .critical }) { return .bad }
            return overview.problems.isEmpty ? .good : .attention
        }

        var sentence: String {
            guard let problems = overview?.problems else { return error ?? "" }
            return problems.isEmpty ? "Nothing is wrong" : Counted.text(Int64(problems.count), "problem")
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
                .number("Sent a second") { $0.overview.overview.map { Quantity.rate($0.sentPerSecond) } ?? "–" },
                .number("Failed a second") { $0.overview.overview.map { Quantity.rate($0.failedPerSecond) } ?? "–" },
                .number("Ready") { $0.overview.overview.map { Quantity.short($0.depth) } ?? "–" },
                .text("Oldest waits") { HTML($0.overview.overview?.oldestAge.map { Quantity.age($0) } ?? "–") },
                .number("In flight") { $0.overview.overview.map { Quantity.short($0.inFlight) } ?? "–" },
                .number("Workers") { $0.overview.overview.map { String($0.workersAlive) } ?? "–" }
            ).html
        }
    }

    var json: JSONValue { ["databases": states] }
}
