package import Postgres

/// The tokens of an app in the database, written many at a time.
package struct TokenStore: Sendable {
    /// What became of a batch.
    package struct Change: Sendable {
        /// Tokens that were not there.
        package let new: Int
        /// Tokens whose time or owner is another now.
        package let changed: Int
    }

    private let connection: PostgresConnection

    /// The connection is used by nobody else meanwhile.
    package init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    /// Makes sure that there is such an app; PostgreSQL's error names those that there are.
    package func check(app: String) async throws {
        var parameters = Parameters()
        parameters.append(app)
        _ = try await connection.query(TokenStatements.app, parameters) { rows in try rows.int32(0, 0) }
    }

    /// Writes the batch in one transaction: all of it or, when it throws, nothing. Writing it again changes nothing.
    ///
    /// A newer registration always wins, whether it is in the batch or in the database already, and with it its owner;
    /// one that names no owner leaves the owner that is known.
    package func write(_ batch: TokenBatch, to app: String) async throws -> Change {
        var parameters = Parameters()
        parameters.append(app)
        let connection = self.connection
        return try await connection.transaction { [parameters] in
            try await connection.script(TokenStatements.table)
            try await connection.copy(TokenStatements.copy, batch.rows)
            return try await connection.query(TokenStatements.merge, parameters) { rows in
                Change(new: Int(try rows.int64(0, 0)), changed: Int(try rows.int64(0, 1)))
            }
        }
    }
}
