import CarillonIO
import CarillonPostgres

/// The database of the dashboard: what pages read, and what people change.
struct WebDatabase: Sendable {
    /// A statement waits for earlier ones as long as it may run. A browser gives a page up after ten seconds.
    private static let reading = ServiceDatabase.Group(
        name: "reading",
        connections: 3,
        server: .any,
        settings: DatabaseScope.settings.with([
            "lock_timeout": "1s", "statement_timeout": "5s", "default_transaction_read_only": "on",
        ]),
        isReading: true,
        longestWait: .seconds(5)
    )
    private static let changing = ServiceDatabase.Group(
        name: "changing",
        connections: 2,
        settings: DatabaseScope.settings.with([
            "lock_timeout": "3s", "statement_timeout": "20s", "carillon.source": "dashboard",
        ]),
        longestWait: .seconds(10)
    )

    private let service: ServiceDatabase

    init(_ source: DatabaseSource, loop: EventLoop, log: Log) {
        service = ServiceDatabase(
            source,
            application: "carillon web",
            groups: [Self.reading, Self.changing],
            loop: loop,
            log: log
        )
    }

    /// Runs a statement that only reads.
    func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @escaping @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await service.query(statement, parameters, Self.reading, decode)
    }

    /// Reads a value from each row of a statement.
    func values<Value: RowReadable>(of statement: Statement, _ parameters: Parameters = Parameters()) async throws
        -> [Value]
    {
        try await query(statement, parameters) { rows in try rows.indices.map { row in try Value(rows, row) } }
    }

    /// Runs a statement that changes something.
    func change<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @escaping @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await service.query(statement, parameters, Self.changing, decode)
    }

    func close() async { await service.close() }
}
