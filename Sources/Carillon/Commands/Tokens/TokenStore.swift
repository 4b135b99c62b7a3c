import CarillonPostgres

/// Registers tokens of an app, many at a time.
struct TokenStore: Sendable {
    struct Change: Sendable {
        /// Tokens that were not there.
        let new: Int
        /// Tokens whose time or owner has changed.
        let changed: Int
    }

    /// Rows that are copied at once. They are in memory twice meanwhile.
    private static let rowsAtOnce = 5_000

    private let connection: PostgresConnection

    /// Nothing else may use the connection meanwhile.
    init(_ connection: PostgresConnection) { self.connection = connection }

    /// Throws if there is no such app. PostgreSQL's error lists the apps.
    func check(app: String) async throws {
        _ = try await connection.query(TokenStatements.app, Parameters(app)) { rows in try rows.int32(0, 0) }
    }

    /// Writes a batch in one transaction. Writing it again changes nothing.
    ///
    /// The newest registration of a token wins, in the batch or in the database. One without an owner keeps the known
    /// owner.
    func write(_ tokens: SortedTokens, to app: String) async throws -> Change {
        let connection = self.connection
        let count = tokens.lines.count
        return try await connection.transaction {
            try await connection.script(TokenStatements.table)
            for start in stride(from: 0, to: count, by: Self.rowsAtOnce) {
                let end = min(start + Self.rowsAtOnce, count)
                _ = try await connection.copy(TokenStatements.copy, tokens.rows(start..<end))
            }
            return try await connection.query(TokenStatements.merge, Parameters(app)) { rows in
                Change(new: Int(try rows.int64(0, "new")), changed: Int(try rows.int64(0, "changed")))
            }
        }
    }
}
