/// A value that can be read from a row of an answer.
package protocol RowReadable: Sendable {
    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError)
}

extension String: RowReadable {
    /// The first column.
    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) { self = try rows.string(row, 0) }
}

extension PostgresConnection {
    /// Runs a statement and reads a value from each of its rows.
    package func values<Value: RowReadable>(
        of statement: Statement,
        _ parameters: Parameters = Parameters()
    ) async throws -> [Value] {
        try await query(statement, parameters) { rows in
            try rows.indices.map { row in try Value(rows, row) }
        }
    }
}
