package import CarillonPostgres

/// What would be lost by undoing migrations: the rows of their tables.
package struct SchemaLoss: Sendable {
    package struct Table: Sendable, Equatable {
        package let name: String
        package let rows: Int64
    }

    /// The migrations to be undone, the newest first.
    package let migrations: [Migration]
    /// The tables of these migrations that have rows.
    package let tables: [Table]
    package let isolatedRoles: [String]

    private static let isolated = Statement(
        "loss_isolated",
        "SELECT DISTINCT r.role::text FROM carillon.app_roles r ORDER BY 1"
    )

    /// Tables without data of users.
    private static let own: Set<String> = [
        "carillon.schema_migrations", "carillon.schema_routines", "carillon.recorded_rights", "carillon.installation",
        "carillon.fleet_tasks", "carillon.maintenance", "carillon.reap_lock", "carillon.app_locks",
    ]

    package static func of(
        goingTo target: Int,
        from applied: [Int],
        on connection: PostgresConnection
    ) async throws(SchemaError) -> SchemaLoss {
        let migrations = Migration.all.filter { $0.version > target && applied.contains($0.version) }.reversed()
        var tables: [Table] = []
        var roles: [String] = []
        do {
            if migrations.contains(where: { $0.name == "isolation" }) {
                roles = try await connection.values(of: isolated)
            }
            for name in migrations.flatMap(\.droppedTables) where !own.contains(name) {
                // The name is from a script of ours. A table that does not exist would be an error.
                let isThere = Statement("loss_there_\(name)", "SELECT to_regclass('\(name)') IS NOT NULL")
                let found = try await connection.query(isThere) { rows in try rows.bool(0, 0) }
                guard found else { continue }
                let count = Statement("loss_\(name)", "SELECT count(*) FROM \(name)")
                let rows = try await connection.query(count) { try $0.int64(0, 0) }
                if rows > 0 { tables.append(Table(name: name, rows: rows)) }
            }
        } catch {
            throw SchemaError(error)
        }
        return SchemaLoss(migrations: Array(migrations), tables: tables, isolatedRoles: roles)
    }
}

extension Migration {
    /// The tables that undoing it drops, as its script names them.
    var droppedTables: [String] {
        down.split(separator: ";").flatMap { statement -> [String] in
            let words = statement.split(whereSeparator: { $0.isWhitespace || $0 == "," }).map(String.init)
            guard let start = words.firstIndex(of: "DROP"), words.dropFirst(start + 1).first == "TABLE" else {
                return []
            }
            return words.dropFirst(start + 2).filter { $0.hasPrefix("carillon.") }
        }
    }
}
