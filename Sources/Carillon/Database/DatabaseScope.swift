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
            let connection = try await PostgresConnection.connect(
                database ?? invocation.settings.text(.database) ?? "",
                on: loop,
                application: "carillon " + invocation.command.words.joined(separator: " "),
                to: kind
            )
            let result: Result<R, any Error>
            do {
                result = .success(try await body(connection, loop))
            } catch {
                result = .failure(error)
            }
            await connection.close()
            return try result.get()
        }
    }
}
