import CarillonIO
import CarillonSchema
import CarillonText
import CarillonWeb

/// Reads the state of several databases concurrently.
struct DatabasesQuery {
    let dashboards: [Dashboard]
    let request: Request

    func run() async -> DatabasesView {
        DatabasesView(states: await dashboards.mapAtOnce { await state(of: $0) })
    }

    private func state(of dashboard: Dashboard) async -> DatabasesView.State {
        guard case .one(let name) = dashboard.mount else { preconditionFailure("one database has no list") }
        do {
            return .init(name: name, overview: .success(try await OverviewQuery(database: dashboard.database).run()))
        } catch {
            let explanation = Explanation(error)
            dashboard.configuration.observer(.pageFailed(request, explanation))
            return .init(name: name, overview: .failure(RequestError(explaining: explanation)))
        }
    }
}
