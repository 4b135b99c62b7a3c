import IO
import Postgres

/// A database connection for the duration of one command.
enum DatabaseScope {
    /// Overrides the time-outs that a role or a database may set, so that they do not end a command half-way.
    static let settings: SessionSettings = [
        "statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0",
        "transaction_timeout": "0", "idle_session_timeout": "0", "TimeZone": "UTC", "DateStyle": "ISO, MDY",
    ]

    /// Where several hosts are given: one that accepts writes, unless the command only reads.
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

    /// The same, on a loop that outlives the connection.
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
            // A command that only reads takes few locks, and may run for days.
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
