package import CarillonPostgres
package import Testing

extension TestDatabase {
    /// The error with which PostgreSQL refuses these statements. If it does not, that is an issue.
    package func refusal(
        of sql: String,
        _ comment: @autoclosure () -> Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> PostgresError? {
        await #expect(throws: PostgresError.self, comment(), sourceLocation: sourceLocation) { try await run(sql) }
    }

    /// The same, for a query that has only one value.
    package func refusal(
        ofValue query: String,
        _ comment: @autoclosure () -> Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> PostgresError? {
        await #expect(throws: PostgresError.self, comment(), sourceLocation: sourceLocation) { try await value(query) }
    }
}
