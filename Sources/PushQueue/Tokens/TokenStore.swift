package import Postgres

/// The tokens of an app in the database, written many at a time.
package struct TokenStore: Sendable {
    package struct Change: Sendable {
        /// Tokens that were not there.
        package let new: Int
        /// Tokens whose time or owner has changed.
        package let changed: Int
    }

    private let connection: PostgresConnection

    /// Only this store uses the connection meanwhile.
    package init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    /// Throws unless there is such an app. PostgreSQL's error names those that exist.
    package func check(app: String) async throws {
        let parameters = Parameters(app)
        _ = try await connection.query(TokenStatements.app, parameters) { rows in try rows.int32(0, 0) }
    }

    /// Writes the batch in one transaction: all of it or, when it throws, nothing. Writing it again changes nothing.
    ///
    /// The newest registration wins, whether it is in the batch or in the database, with its owner. One without an owner keeps
    /// the known owner.
    package func write(_ batch: TokenBatch, to app: String) async throws -> Change {
        let parameters = Parameters(app)
        let connection = self.connection
        return try await connection.transaction {
            try await connection.script(TokenStatements.table)
            try await connection.copy(TokenStatements.copy, batch.rows)
            return try await connection.query(TokenStatements.merge, parameters) { rows in
                Change(new: Int(try rows.int64(0, "new")), changed: Int(try rows.int64(0, "changed")))
            }
        }
    }
}
