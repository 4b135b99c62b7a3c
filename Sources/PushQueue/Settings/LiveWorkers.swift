package import Postgres

/// The workers whose lease has not run out.
package enum LiveWorkers {
    /// Without the schema there is none; asked in two steps, because a name that is not there is an error.
    private static let table = Statement("live_workers_table", "SELECT to_regclass('carillon.workers') IS NOT NULL")
    private static let names = Statement(
        "live_workers",
        "SELECT w.name FROM carillon.workers w WHERE w.lease_until > now() ORDER BY w.name"
    )

    package static func names(on connection: PostgresConnection) async throws -> [String] {
        let isThere = try await connection.query(table) { rows in try rows.bool(0, 0) }
        guard isThere else { return [] }
        return try await connection.query(names) { rows in try rows.indices.map { try rows.string($0, 0) } }
    }
}
