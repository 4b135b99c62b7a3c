import CarillonIO
import CarillonPostgres

/// The database of the service: a few connections, each of which is made when it is needed, and again when it was lost. A call
/// that cannot wait fails.
actor PyapnsDatabase {
    enum Size {
        case small
        /// It may take seconds, in which no small one waits for it.
        case large
    }

    private struct Line {
        let size: Size
        var connection: PostgresConnection?
        /// Calls that come meanwhile share it.
        var connecting: Task<PostgresConnection, any Error>?
        /// The calls that use it.
        var calls = 0
    }

    private static let application = "carillon pyapns"
    /// Clients wait for 20 seconds.
    private static let settings = DatabaseScope.settings.with(["lock_timeout": "5s", "statement_timeout": "15s"])
    private static let connectionTimeout = Duration.seconds(5)

    private let source: DatabaseSource
    private let loop: EventLoop
    private let log: Log
    private var lines = [Size.small, .small, .small, .small, .large, .large].map { Line(size: $0) }
    private var isAway = false
    private var isClosed = false

    init(_ source: DatabaseSource, loop: EventLoop, log: Log) {
        self.source = source
        self.loop = loop
        self.log = log
    }

    /// Runs one statement, which is a transaction. A statement that was not sent, because the connection had been lost, is
    /// sent again on a new one.
    func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ size: Size,
        _ decode: @escaping @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        let place = leastUsed(of: size)
        lines[place].calls += 1
        defer { lines[place].calls -= 1 }
        var isRepeated = false
        while true {
            let connection = try await connected(place)
            do {
                return try await connection.query(statement, parameters, decode)
            } catch let error as PostgresError where error.code == .closed {
                if lines[place].connection === connection { lines[place].connection = nil }
                guard error.outcome == .nothingDone, !isRepeated, !isClosed else { throw error }
                isRepeated = true
            }
        }
    }

    /// Lends a connection of its own, for transactions.
    func with<R: Sendable>(_ body: @Sendable (PostgresConnection) async throws -> R) async throws -> R {
        let connection = try await connect()
        return try await Cleanup.after({ await connection.close() }) { try await body(connection) }
    }

    func close() async {
        isClosed = true
        for place in lines.indices {
            if let connection = try? await lines[place].connecting?.value { await connection.close() }
            await lines[place].connection?.close()
            lines[place].connection = nil
        }
    }

    // MARK: Connecting

    private func leastUsed(of size: Size) -> Int {
        let places = lines.indices.filter { lines[$0].size == size }
        guard let place = places.min(by: { lines[$0].calls < lines[$1].calls }) else {
            preconditionFailure("there are lines of each size")
        }
        return place
    }

    private func connected(_ place: Int) async throws -> PostgresConnection {
        if let connection = lines[place].connection { return connection }
        let task = lines[place].connecting ?? Task { try await connect() }
        lines[place].connecting = task
        let result = await task.result
        // Whoever waited for the same task comes here too, perhaps after another was begun.
        if lines[place].connecting == task {
            lines[place].connecting = nil
            lines[place].connection = isClosed ? nil : try? result.get()
        }
        return try result.get()
    }

    private func connect() async throws -> PostgresConnection {
        do {
            let connection = try await PostgresConnection.connect(
                source,
                on: loop,
                application: Self.application,
                to: .writable,
                settings: Self.settings,
                timeout: Self.connectionTimeout
            )
            if isAway { log.info("The database is back.") }
            isAway = false
            return connection
        } catch {
            // Once, however many calls fail.
            if !isAway {
                log.error("The database cannot be reached; calls fail until it is back.", ["error": "\(error)"])
            }
            isAway = true
            throw error
        }
    }
}
