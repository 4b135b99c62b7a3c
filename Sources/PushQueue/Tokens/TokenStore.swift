package import CarillonPostgres

/// Registers tokens of an app, many at a time.
package struct TokenStore: Sendable {
    package struct Change: Sendable {
        /// Tokens that were not there.
        package let new: Int
        /// Tokens whose time or owner has changed.
        package let changed: Int
    }

    private let connection: PostgresConnection

    /// Nothing else may use the connection meanwhile.
    package init(_ connection: PostgresConnection) { self.connection = connection }

    /// Throws if there is no such app. PostgreSQL's error lists the apps.
    package func check(app: String) async throws {
        _ = try await connection.query(TokenStatements.app, Parameters(app)) { rows in try rows.int32(0, 0) }
    }

    /// Writes the batch in one transaction. Writing it again changes nothing.
    ///
    /// The newest registration of a token wins, in the batch or in the database. One without an owner keeps the known
    /// owner.
    package func write(_ batch: TokenBatch, to app: String) async throws -> Change {
        let connection = self.connection
        return try await connection.transaction {
            try await connection.script(TokenStatements.table)
            try await connection.copy(TokenStatements.copy, batch.rows)
            return try await connection.query(TokenStatements.merge, Parameters(app)) { rows in
                Change(new: Int(try rows.int64(0, "new")), changed: Int(try rows.int64(0, "changed")))
            }
        }
    }
}
