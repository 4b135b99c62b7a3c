import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import Glibc

/// A database connection for the duration of one command.
enum DatabaseScope {
    /// If several hosts are given, connects to one that accepts writes, unless the command only reads.
    static func with<R>(
        _ invocation: Invocation,
        to kind: ServerKind = .writable,
        database: DatabaseSource? = nil,
        settings: SessionSettings = .unhurried,
        _ body: (PostgresConnection, EventLoop) async throws -> R
    ) async throws -> R {
        try await EventLoop.with(name: "command") { loop in
            try await with(invocation, on: loop, to: kind, database: database, settings: settings) {
                try await body($0, loop)
            }
        }
    }

    /// The same, on an event loop that outlives the connection.
    static func with<R>(
        _ invocation: Invocation,
        on loop: EventLoop,
        to kind: ServerKind = .writable,
        database: DatabaseSource? = nil,
        settings: SessionSettings = .unhurried,
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        let database = database ?? invocation.settings.database
        let settings = kind == .writable ? settings.with(CommandActor.settings) : settings
        let name = "carillon " + invocation.command.words.joined(separator: " ")
        return try await with(database, on: loop, application: name, to: kind, settings: settings) { connection in
            let process = connection.backendProcessID
            let watch = LockWatch(invocation: invocation, database: database, loop: loop, process: process)
            let isPooled = await connection.isPooled
            return try await withThrowingTaskGroup(of: Void.self) { group in
                // A command that only reads takes few locks, and may run for days.
                if kind == .writable, !isPooled { group.addTask { await watch.run() } }
                defer { group.cancelAll() }
                return try await body(connection)
            }
        }
    }

    /// Opens a connection for the body, without a lock watch.
    static func with<R>(
        _ database: DatabaseSource,
        on loop: EventLoop,
        application: String,
        to kind: ServerKind = .any,
        settings: SessionSettings = .unhurried,
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        let connection = try await open(database, on: loop, application: application, to: kind, settings: settings)
        return try await Cleanup.after({ await connection.close() }) { try await body(connection) }
    }

    /// Opens a connection that the caller closes.
    static func open(
        _ database: DatabaseSource,
        on loop: EventLoop,
        application: String,
        to kind: ServerKind = .any,
        settings: SessionSettings = .unhurried
    ) async throws -> PostgresConnection {
        try await PostgresConnection.connect(
            database,
            on: loop,
            application: application,
            to: kind,
            settings: settings,
            silence: .endWithHost
        )
    }
}

/// The actor of a command, for the record of changes: the person who runs it.
private enum CommandActor {
    static let settings: SessionSettings = ["carillon.source": "command line", "carillon.on_behalf_of": name]

    /// For example anna@build-7.
    private static var name: String {
        let id = getuid()
        // Under sudo, the person is not the current user.
        let person = id == 0 ? getenv("SUDO_USER").map { String(cString: $0) } : nil
        return "\(person ?? User(id: id)?.name ?? String(id))@\(WorkerOptions.hostName)"
    }
}
