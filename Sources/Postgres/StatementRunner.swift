/// Runs statements, over one connection or the few connections of a service.
package protocol StatementRunner: Sendable {
    associatedtype Fault: Error

    func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(Fault) -> R
}

extension StatementRunner {
    /// Runs a statement and reads a record from each of its rows.
    package func values<Value: Decodable & Sendable>(
        of statement: Statement,
        _ parameters: Parameters = Parameters()
    ) async throws(Fault) -> [Value] {
        try await query(statement, parameters) { rows in try rows.records() }
    }
}

extension PostgresConnection: StatementRunner { package typealias Fault = PostgresError }
