import CarillonPostgres

/// One of the two databases of a move. Its errors say which.
struct MoveDatabase: StatementRunner {
    let connection: PostgresConnection
    /// "source" or "target".
    let role: String
    /// Its label, as in logs.
    let label: String

    var name: String { "the \(role) \(label)" }

    func query<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters = Parameters(),
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        do {
            return try await connection.query(statement, parameters, decode)
        } catch {
            throw error.of(name)
        }
    }

    func execute(_ statement: Statement, _ parameters: Parameters) async throws(PostgresError) {
        try await query(statement, parameters) { _ in }
    }

    func transaction<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        try await with { try await $0.transaction(body) }
    }

    /// If the body fails, undoes here what was begun for it.
    func undoing<R>(by undo: Statement, _ parameters: Parameters, _ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch {
            do {
                try await execute(undo, parameters)
            } catch let hindrance {
                throw UnfinishedMove(cause: error, hindrance: hindrance)
            }
            throw error
        }
    }

    /// Errors of the other database keep its name.
    func with<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        do {
            return try await body(connection)
        } catch let error as PostgresError {
            throw error.of(name)
        } catch let error as SettingsError {
            guard let cause = error.underlying as? PostgresError else { throw error }
            throw SettingsError(error.code, error.message, underlying: cause.of(name))
        }
    }
}
