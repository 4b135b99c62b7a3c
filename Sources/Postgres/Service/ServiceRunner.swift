/// Runs statements over the connections of one group of a service.
package struct ServiceRunner: StatementRunner {
    package typealias Fault = any Error

    private let service: ServiceDatabase
    private let group: ServiceDatabase.Group
    private let places: [Int]?

    /// - Parameter places: which connections of the group it uses, the preferred ones first; nil: all. Two runners that share a
    /// connection, and have others to themselves, never wait for each other.
    package init(_ service: ServiceDatabase, _ group: ServiceDatabase.Group, on places: [Int]? = nil) {
        self.service = service
        self.group = group
        self.places = places
    }

    package func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters = Parameters(),
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await service.query(statement, parameters, group, on: places, decode)
    }

    /// Has one of its connections call the handler after notifications on the channel, and when that connection is lost. Returns
    /// false behind a pooler, where none arrive.
    package func listen(to channel: String, _ heard: @escaping @Sendable () -> Void) async throws -> Bool {
        try await service.listen(to: channel, group, on: places, heard)
    }

    /// Closes the connections of all groups.
    package func close() async { await service.close() }
}
