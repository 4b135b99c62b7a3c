import CarillonPostgres

/// The database of the dashboard: pages read it, and people change it.
struct WebDatabase: StatementRunner {
    /// A statement may wait for earlier ones as long as it may run. A browser gives up on a page after ten seconds.
    private static let reading = ServiceDatabase.Group(
        name: "reading",
        connections: 3,
        server: .any,
        statementTimeout: .seconds(5),
        settings: SessionSettings.unhurried.with(["lock_timeout": "1s", "default_transaction_read_only": "on"]),
        isReading: true,
        longestWait: .seconds(5)
    )
    private static let changing = ServiceDatabase.Group(
        name: "changing",
        connections: 2,
        statementTimeout: .seconds(20),
        settings: SessionSettings.unhurried.with(["lock_timeout": "3s", "carillon.source": "dashboard"]),
        longestWait: .seconds(10)
    )

    private let service: ServiceDatabase

    init(_ source: DatabaseSource, _ configuration: DashboardConfiguration) {
        let observer = configuration.observer
        service = ServiceDatabase(
            source,
            application: "carillon web",
            groups: [Self.reading, Self.changing],
            loop: configuration.loop,
            observer: { observer(.database($0)) }
        )
    }

    /// Runs a statement that only reads.
    func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters = Parameters(),
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await service.query(statement, parameters, Self.reading, decode)
    }

    /// Runs a statement with the rights of an operator: one that changes something, or previews a change.
    func asOperator<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await service.query(statement, parameters, Self.changing, decode)
    }

    func close() async { await service.close() }
}
