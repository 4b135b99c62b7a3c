import CarillonPostgres

/// A list of the legacy feedback service: its apps, gateway and credential. Apps with the same gateway and certificate share a
/// list, since the gateway sends it only once.
struct LegacyFeedbackOrigin: Sendable {
    private(set) var apps: [Int32]
    private(set) var names: [String]
    let route: Result<App.Route, Hold>

    /// Apps that name a feedback gateway. Apple's is asked only for apps of the binary protocol without a gateway of their own:
    /// the certificates of private gateways are not shown to others.
    private static let listed = Statement(
        "apps_with_feedback_list",
        """
        SELECT a.id FROM carillon.apps a WHERE a.feedback_gateway IS NOT NULL
            OR (a.protocol = 'binary' AND a.gateway IS NULL) ORDER BY a.id
        """
    )

    /// - Parameter app: The app whose lists are read, or nil for all apps.
    static func read(of app: String?, on connection: PostgresConnection) async throws(PostgresError) -> [Self] {
        let ids: [Int32] = try await connection.values(of: Self.listed)
        if ids.isEmpty { return [] }
        let origins = try await AppWithSecret.all(ids, on: connection).map { LegacyFeedbackOrigin($0) }
        return shared(origins).filter { origin in app.map { origin.names.contains($0) } ?? true }
    }

    private static func shared(_ origins: [Self]) -> [Self] {
        var lists: [Self] = []
        var indices: [App.Route: Int] = [:]
        for origin in origins {
            guard case .success(let route) = origin.route, let index = indices[route] else {
                if case .success(let route) = origin.route { indices[route] = lists.count }
                lists.append(origin)
                continue
            }
            lists[index].apps += origin.apps
            lists[index].names += origin.names
        }
        return lists
    }

    private init(_ row: AppWithSecret) {
        apps = [row.app.id]
        names = [row.app.name]
        do throws(Hold) {
            guard let secret = row.secret else { throw row.hasNoCredential }
            let gateway = try row.app.feedbackGateway()
            route = .success(App.Route(gateway: gateway, credential: try secret.usable()))
        } catch {
            route = .failure(error)
        }
    }
}
