import CarillonPostgres

/// Registers tokens of an app, many at a time.
struct TokenStore: Sendable {
    struct Change: Decodable, Sendable {
        /// Tokens that were not there.
        let new: Int
        /// Tokens whose time, owner or details have changed.
        let changed: Int
        /// The newest lines of tokens whose details PostgreSQL does not accept.
        var refused: [RefusedLine] = []

        private enum CodingKeys: CodingKey { case new, changed }
    }

    private struct Target: Decodable, Sendable {
        let app: Int32
        /// When the transaction began, in microseconds since 1970.
        let time: Int64
        let takesCopies: Bool
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
    ///
    /// - Parameter areLikelyNew: whether to expect that the app has none of the tokens. The result is the same either way.
    func write(_ tokens: SortedTokens, to app: String, areLikelyNew: Bool) async throws -> Change {
        if areLikelyNew, tokens.areOfDevices, !tokens.haveDetails, try await insert(tokens, into: app) {
            return Change(new: tokens.lines.count, changed: 0)
        }
        return try await merge(tokens, into: app)
    }

    /// Copies a batch into the table of tokens itself: half the work of a merge for PostgreSQL.
    ///
    /// False, and nothing is written, if the app has one of the tokens, or if the table takes no copies from this user.
    private func insert(_ tokens: SortedTokens, into app: String) async throws -> Bool {
        do {
            return try await connection.transaction {
                let target: Target = try await connection.query(TokenStatements.target, Parameters(app)) {
                    try $0.record(0)
                }
                guard target.takesCopies else { return false }
                try await send(tokens, to: TokenStatements.insert) { tokens.rows($0, of: target.app, at: target.time) }
                return true
            }
        } catch let error as PostgresError where error.sqlState == SQLState.uniqueViolation {
            return false
        }
    }

    private func merge(_ tokens: SortedTokens, into app: String) async throws -> Change {
        try await connection.transaction {
            try await connection.script(TokenStatements.table)
            guard tokens.haveDetails else {
                try await send(tokens, to: TokenStatements.copy) { tokens.rows($0) }
                return try await connection.query(TokenStatements.merge, Parameters(app)) { try $0.record(0) }
            }
            try await connection.script(TokenStatements.details)
            try await send(tokens, to: TokenStatements.copy) { tokens.rows($0) }
            let refused = try await connection.query(TokenStatements.refused) { rows in
                try rows.indices.map { try RefusedLine(rows, $0) }
            }
            var change: Change = try await connection.query(TokenStatements.mergeDetails, Parameters(app)) {
                try $0.record(0)
            }
            change.refused = refused
            return change
        }
    }

    /// Runs a `COPY` for some of the tokens at a time.
    private func send(_ tokens: SortedTokens, to sql: String, _ rows: (Range<Int>) -> CopyRows) async throws {
        let count = tokens.lines.count
        for start in stride(from: 0, to: count, by: Self.rowsAtOnce) {
            _ = try await connection.copy(sql, rows(start..<min(start + Self.rowsAtOnce, count)))
        }
    }
}

extension RefusedLine {
    /// A row of `TokenStatements.refused`.
    fileprivate init(_ rows: borrowing Rows, _ row: Int) throws {
        let texts = try (1..<12).map { try rows.stringIfPresent(row, .index($0)) ?? "" }
        self.init(
            line: Int(try rows.int64(row, 0)),
            reason: texts[0],
            token: texts[2],
            lastUpdate: texts[3],
            owner: texts[4],
            kind: texts[5],
            details: Array(texts[6...]),
            culprit: texts[1]
        )
    }
}
