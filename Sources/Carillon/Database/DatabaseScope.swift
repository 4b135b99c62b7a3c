import IO
import Postgres

/// A connection to the database for the length of a command.
enum DatabaseScope {
    static func with<R>(
        _ invocation: Invocation,
        _ body: (PostgresConnection, EventLoop) async throws -> R
    ) async throws -> R {
        try await LoopScope.with { loop in
            let connection = try await PostgresConnection.connect(
                invocation.settings.text(.database) ?? "",
                on: loop,
                application: "carillon " + invocation.command.words.joined(separator: " ")
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
