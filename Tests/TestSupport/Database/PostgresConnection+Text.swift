package import CarillonPostgres

extension PostgresConnection {
    /// Queries by text. A prepared statement is known by its name, so each text has its own.
    package func query<R: Sendable>(
        _ sql: String,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await query(Statement("q\(UInt(bitPattern: sql.hashValue))", sql), parameters, decode)
    }
}
