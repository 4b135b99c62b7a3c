import ApplePush
import Postgres

/// A list of the legacy feedback service: where it is read and with what, or why it cannot be; and whose it is. Apps that
/// share a gateway and a certificate share the list: whoever reads it first hears all of it, and nobody else any of it.
struct FeedbackOrigin: Sendable {
    private(set) var apps: [Int32]
    private(set) var names: [String]
    let route: Result<App.Route, Trouble>

    /// Apps of the binary protocol, and those that name a feedback gateway of their own.
    private static let listed = Statement(
        "apps_with_feedback_list",
        """
        SELECT a.id FROM carillon.apps a WHERE a.protocol = 'binary' OR a.feedback_gateway IS NOT NULL ORDER BY a.id
        """
    )

    /// - Parameter app: whose list is wanted, with all who share it; nil: those of all apps.
    static func read(of app: String?, on connection: PostgresConnection) async throws(PostgresError) -> [Self] {
        do {
            let ids = try await connection.query(Self.listed) { rows in
                try rows.indices.map { try rows.int32($0, 0) }
            }
            if ids.isEmpty { return [] }
            var parameters = Parameters()
            parameters.append(PostgresArray(ids))
            parameters.append(PostgresArray([Int32]()))
            parameters.append(PostgresArray([Int64]()))
            let rows = try await connection.query(AppRow.statement, parameters) { rows in
                try rows.indices.map { row in FeedbackOrigin(try AppRow(rows, row)) }
            }
            return Self.shared(rows).filter { origin in app.map { origin.names.contains($0) } ?? true }
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "\(error)")
        }
    }

    /// One for each list.
    private static func shared(_ origins: [Self]) -> [Self] {
        var lists: [Self] = []
        var places: [App.Route: Int] = [:]
        for origin in origins {
            guard case .success(let route) = origin.route, let place = places[route] else {
                if case .success(let route) = origin.route { places[route] = lists.count }
                lists.append(origin)
                continue
            }
            lists[place].apps += origin.apps
            lists[place].names += origin.names
        }
        return lists
    }

    private init(_ row: AppRow) {
        apps = [row.id]
        names = [row.name]
        do throws(Trouble) {
            guard let secret = row.secret else { throw row.hasNoCredential }
            let gateway = try row.feedbackDestination()
            route = .success(App.Route(gateway: gateway, credential: try secret.credential()))
        } catch {
            route = .failure(error)
        }
    }
}
