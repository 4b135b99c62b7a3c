/// Runs statements over the connections of one group of a service.
package struct ServiceRunner: StatementRunner {
    package typealias Fault = any Error

    private let service: ServiceDatabase
    private let group: ServiceDatabase.Group

    package init(_ service: ServiceDatabase, _ group: ServiceDatabase.Group) {
        self.service = service
        self.group = group
    }

    package func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters = Parameters(),
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await service.query(statement, parameters, group, decode)
    }

    /// Closes the connections of all groups.
    package func close() async { await service.close() }
}
