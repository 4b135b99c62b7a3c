import CarillonPostgres

extension PostgresConnection {
    /// A query with typed errors.
    func ask<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters = Parameters(),
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        do {
            return try await query(statement, parameters, decode)
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "\(error)")
        }
    }
}
