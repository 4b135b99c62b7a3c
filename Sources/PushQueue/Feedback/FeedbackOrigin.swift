import ApplePush
import Postgres

/// A list of the legacy feedback service that belongs to an app: where it is read and with what, or why it cannot be.
struct FeedbackOrigin: Sendable {
    let app: Int32
    let name: String
    let route: Result<App.Route, Trouble>

    /// Apps of the binary protocol, and those that name a feedback gateway of their own.
    private static let apps = Statement(
        "apps_with_feedback_list",
        """
        SELECT a.id FROM carillon.apps a
        WHERE (a.protocol = 'binary' OR a.feedback_gateway IS NOT NULL) AND ($1::text IS NULL OR a.name = $1) ORDER BY a.id
        """
    )

    /// - Parameter app: nil: of all apps.
    static func read(of app: String?, on connection: PostgresConnection) async throws(PostgresError) -> [Self] {
        do {
            var only = Parameters()
            only.append(app)
            let ids = try await connection.query(Self.apps, only) { rows in
                try rows.indices.map { try rows.int32($0, 0) }
            }
            if ids.isEmpty { return [] }
            var parameters = Parameters()
            parameters.append(PostgresArray(ids))
            parameters.append(PostgresArray([Int32]()))
            parameters.append(PostgresArray([Int64]()))
            return try await connection.query(AppRow.statement, parameters) { rows in
                try rows.indices.map { row in FeedbackOrigin(try AppRow(rows, row)) }
            }
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "\(error)")
        }
    }

    private init(_ row: AppRow) {
        self.app = row.id
        self.name = row.name
        do throws(Trouble) {
            guard let secret = row.secret else {
                throw Trouble(.setting, "App “\(row.name)” has no credential: set its certificate_id.")
            }
            let gateway = try row.feedbackDestination()
            self.route = .success(App.Route(gateway: gateway, credential: try secret.credential(supply: nil)))
        } catch {
            self.route = .failure(error)
        }
    }
}
