import IO
import Postgres

/// A connection to the database for the length of a command.
enum DatabaseScope {
    /// Of several hosts, one that takes writes, unless the command only looks.
    static func with<R>(
        _ invocation: Invocation,
        to kind: ServerKind = .writable,
        database: String? = nil,
        _ body: (PostgresConnection, EventLoop) async throws -> R
    ) async throws -> R {
        try await LoopScope.with { loop in
            try await with(invocation, on: loop, to: kind, database: database) { try await body($0, loop) }
        }
    }

    /// The same on a loop that outlives the connection.
    static func with<R>(
        _ invocation: Invocation,
        on loop: EventLoop,
        to kind: ServerKind = .writable,
        database: String? = nil,
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        let connection = try await PostgresConnection.connect(
            database ?? invocation.settings.text(.database) ?? "",
            on: loop,
            application: "carillon " + invocation.command.words.joined(separator: " "),
            to: kind
        )
        let result: Result<R, any Error>
        do {
            result = .success(try await body(connection))
        } catch {
            result = .failure(error)
        }
        await connection.close()
        return try result.get()
    }
}
