package import CarillonPostgres

/// The workers whose lease has not expired. They may still write, even silent ones.
package enum LeaseHolders {
    /// Asked first, since without the schema there is no such table.
    private static let table = Statement("lease_holders_table", "SELECT to_regclass('carillon.workers') IS NOT NULL")
    private static let names = Statement(
        "lease_holders",
        "SELECT w.name FROM carillon.workers w WHERE w.lease_until > now() ORDER BY w.name"
    )

    package static func names(on connection: PostgresConnection) async throws -> [String] {
        let isThere = try await connection.query(table) { rows in try rows.bool(0, 0) }
        guard isThere else { return [] }
        return try await connection.values(of: names)
    }
}
