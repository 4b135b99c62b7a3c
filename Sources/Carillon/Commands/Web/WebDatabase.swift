import CarillonIO
import CarillonPostgres

/// The database of the dashboard. It connects again whenever the connection was lost; a call that cannot wait fails.
actor WebDatabase {
    private static let application = "carillon web"
    /// Pages only read, and nobody waits longer for one.
    private static let settings = DatabaseScope.settings.with([
        "lock_timeout": "1s", "statement_timeout": "5s", "default_transaction_read_only": "on",
    ])
    private static let connectionTimeout = Duration.seconds(5)

    private let source: DatabaseSource
    private let loop: EventLoop
    private let log: Log
    private var connection: PostgresConnection?
    /// Calls that come meanwhile share it.
    private var connecting: Task<PostgresConnection, any Error>?
    private var isAway = false
    private var isClosed = false

    init(_ source: DatabaseSource, loop: EventLoop, log: Log) {
        self.source = source
        self.loop = loop
        self.log = log
    }

    /// Runs one statement, which only reads. If the connection was lost, it is sent again on a new one.
    func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @escaping @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        var isRepeated = false
        while true {
            let connection = try await connected()
            do {
                return try await connection.query(statement, parameters, decode)
            } catch let error as PostgresError where Self.isLoss(error) {
                if self.connection === connection { self.connection = nil }
                guard !isRepeated, !isClosed else { throw error }
                isRepeated = true
            }
        }
    }

    /// The connection was lost, or the server ends it.
    private static func isLoss(_ error: PostgresError) -> Bool {
        error.code == .closed || error.sqlState.map(SQLState.unavailable.contains) ?? false
    }

    /// Reads a value from each row of a statement.
    func values<Value: RowReadable>(of statement: Statement, _ parameters: Parameters = Parameters()) async throws
        -> [Value]
    {
        try await query(statement, parameters) { rows in try rows.indices.map { row in try Value(rows, row) } }
    }

    func close() async {
        isClosed = true
        if let connection = try? await connecting?.value { await connection.close() }
        await connection?.close()
        connection = nil
    }

    // MARK: Connecting

    private func connected() async throws -> PostgresConnection {
        if let connection { return connection }
        let task = connecting ?? Task { try await connect() }
        connecting = task
        let result = await task.result
        // Whoever waited for the same task comes here too, perhaps after another was begun.
        if connecting == task {
            connecting = nil
            connection = isClosed ? nil : try? result.get()
        }
        return try result.get()
    }

    private func connect() async throws -> PostgresConnection {
        do {
            let connection = try await PostgresConnection.connect(
                source,
                on: loop,
                application: Self.application,
                to: .any,
                settings: Self.settings,
                timeout: Self.connectionTimeout
            )
            if isAway { log.info("The database is back.") }
            isAway = false
            return connection
        } catch {
            // Once, however many calls fail.
            if !isAway {
                log.error("The database cannot be reached; pages say so until it is back.", ["error": "\(error)"])
            }
            isAway = true
            throw error
        }
    }
}
