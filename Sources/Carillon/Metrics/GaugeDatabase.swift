import CarillonIO
import CarillonPostgres

/// The database of the gauges. Their connection is not the worker's, so that neither waits for the statements of the other.
struct GaugeDatabase: StatementRunner {
    private static let reading = ServiceDatabase.Group(
        name: "reading",
        connections: 1,
        // Prometheus gives up after ten seconds. For the same reason a statement whose answer was lost is not sent again.
        statementTimeout: .seconds(5),
        // If a table is locked, metrics are served without these gauges.
        settings: SessionSettings.unhurried.with(["lock_timeout": "500ms"]),
        connectionTimeout: .seconds(2)
    )

    private let service: ServiceDatabase

    /// Reports nothing: the worker says when its database is away.
    init(_ source: DatabaseSource, loop: EventLoop) {
        service = ServiceDatabase(source, application: "carillon metrics", groups: [Self.reading], loop: loop) { _ in }
    }

    func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await service.query(statement, parameters, Self.reading, decode)
    }

    func close() async { await service.close() }
}
