import CarillonSchema
import CarillonText
import CarillonWeb

/// Reads the state of several databases concurrently.
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
        guard case .one(let name) = dashboard.mount else { preconditionFailure("one database has no list") }
        do {
            return .init(name: name, overview: .success(try await OverviewQuery(database: dashboard.database).run()))
        } catch {
            let explanation = Explanation(error)
            dashboard.configuration.observer(.pageFailed(request, explanation))
            return .init(name: name, overview: .failure(ErrorView(explaining: explanation)))
        }
    }
}
