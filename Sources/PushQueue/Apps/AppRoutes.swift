import ApplePush
package import Postgres

/// Every app and its route, as a worker would find it.
package enum AppRoutes {
    package struct Entry: Sendable {
        package let app: String
        package let isPaused: Bool
        package let route: Result<App.Route, Trouble>
    }

    private static let ids = Statement("route_apps", "SELECT a.id FROM carillon.apps a ORDER BY a.name")

    package static func read(on connection: PostgresConnection) async throws -> [Entry] {
        let ids = try await connection.query(Self.ids) { rows in try rows.indices.map { try rows.int32($0, 0) } }
        var directory = AppDirectory()
        let rows = try await connection.query(AppRow.statement, directory.parameters(for: ids)) { rows in
            try rows.indices.map { try AppRow(rows, $0) }
        }
        _ = directory.read(rows, of: ids)
        return ids.compactMap { id in
            guard case .known(let app) = directory[id] else { return nil }
            return Entry(app: app.name, isPaused: app.isPaused, route: app.route)
        }
    }
}
