package import CarillonPostgres

/// The workers whose lease has not expired. They may still write, even silent ones.
package enum LeaseHolders {
    /// Asked first: `migrate down` removes the views together with the functions, without which no worker can write.
    private static let view = Statement(
        "lease_holders_view",
        "SELECT to_regclass('carillon.worker_status') IS NOT NULL"
    )
    private static let names = Statement(
        "lease_holders",
        "SELECT w.name FROM carillon.worker_status w WHERE w.has_lease ORDER BY w.name"
    )

    package static func names(on connection: PostgresConnection) async throws -> [String] {
        let isThere = try await connection.query(view) { rows in try rows.bool(0, 0) }
        guard isThere else { return [] }
        return try await connection.values(of: names)
    }
}
