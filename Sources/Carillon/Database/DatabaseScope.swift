import IO
import Postgres

/// A connection to the database for the length of a command.
enum DatabaseScope {
    /// Time limits that a role or database is set to, for other sessions' sake, end no command half-way.
    static let settings: SessionSettings = [
        "statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0",
        "transaction_timeout": "0", "idle_session_timeout": "0", "TimeZone": "UTC", "DateStyle": "ISO, MDY",
    ]

    /// Of several hosts, one that takes writes, unless the command only looks.
    static func with<R>(
        _ invocation: Invocation,
        to kind: ServerKind = .writable,
        database: DatabaseSource? = nil,
        settings: SessionSettings = settings,
        _ body: (PostgresConnection, EventLoop) async throws -> R
    ) async throws -> R {
        try await LoopScope.with { loop in
            try await with(invocation, on: loop, to: kind, database: database, settings: settings) {
                try await body($0, loop)
            }
        }
    }

    /// The same on a loop that outlives the connection.
    static func with<R>(
        _ invocation: Invocation,
        on loop: EventLoop,
        to kind: ServerKind = .writable,
        database: DatabaseSource? = nil,
        settings: SessionSettings = settings,
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        let database = database ?? invocation.settings.database
        let connection = try await PostgresConnection.connect(
            database,
            on: loop,
            application: "carillon " + invocation.command.words.joined(separator: " "),
            to: kind,
            settings: settings
        )
        let watch = LockWatch(
            invocation: invocation,
            database: database,
            loop: loop,
            process: connection.backendProcessID
        )
        let isPooled = await connection.isPooled
        let result: Result<R, any Error> = await withTaskGroup(of: Void.self) { group in
            // What only looks waits for few locks, and may last for days.
            if kind == .writable, !isPooled { group.addTask { await watch.run() } }
            defer { group.cancelAll() }
            do {
                return .success(try await body(connection))
            } catch {
                return .failure(error)
            }
        }
        await connection.close()
        return try result.get()
    }
}
