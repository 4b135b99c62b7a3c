import CarillonIO
import CarillonPostgres

/// Statements that write for an app. They use the shared connection or, once they have timed out on a lock, the detour: a
/// connection where only such statements wait for each other.
extension Worker {
    /// A statement with at least this many rows is a large one.
    static let manyRows = 64
    private static let mostLargeStatements = 2

    /// Two large statements run at a time, so that the server always has the next one. Answers come in order, so a small
    /// statement waits for two large ones at most.
    func takeTurn() async {
        await withCheckedContinuation { continuation in
            guard largeStatements >= Self.mostLargeStatements else {
                largeStatements += 1
                return continuation.resume()
            }
            inLine.append(continuation)
        }
    }

    func passTurn() {
        if let next = inLine.popFirst() { next.resume() } else { largeStatements -= 1 }
    }

    /// - Parameter metLock: An earlier try timed out waiting for a lock.
    /// - Returns: nil: the worker is stopping.
    func write<R: Sendable>(
        for app: Int32,
        _ statement: Statement,
        _ parameters: Parameters,
        isLarge: Bool = false,
        metLock: Bool,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R? {
        guard let connection = await database() else { return nil }
        do throws(PostgresError) {
            let answer: R
            if metLock || state.lockedApps.mustDetour(app, at: .now) {
                answer = try await askAside(for: app, statement, parameters, decode)
            } else {
                if isLarge { await takeTurn() }
                defer { if isLarge { passTurn() } }
                do throws(PostgresError) {
                    answer = try await ask(connection, statement, parameters, decode)
                } catch {
                    failed(error, on: connection)
                    throw error
                }
            }
            state.lockedApps.passed(app)
            return answer
        } catch {
            if error.metLock { state.lockedApps.met(lockOf: app, at: .now) }
            throw error
        }
    }

    private func askAside<R: Sendable>(
        for app: Int32,
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        if !detourTurns.take() { await withCheckedContinuation { detourTurns.wait($0, of: app) } }
        let result: Result<R, PostgresError>
        do throws(PostgresError) {
            result = .success(try await ask(try await detour(), statement, parameters, decode))
        } catch {
            logError(error)
            result = .failure(error)
        }
        if case .failure(let error) = result, error.code == .closed { await closeDetour() }
        if let next = detourTurns.pass() {
            next.resume()
        } else {
            await closeDetour()
        }
        return try result.get()
    }

    private func detour() async throws(PostgresError) -> PostgresConnection {
        if let open = ownConnections[.detour] { return open }
        guard connection != nil, state.phase != .over else {
            throw PostgresError(.closed, "there is no connection to PostgreSQL")
        }
        let connection = try await connect(WorkerStatements.detourSettings)
        // The worker may have ended meanwhile.
        if Task.isCancelled || state.phase == .over { await connection.close() }
        ownConnections[.detour] = connection
        return connection
    }

    private func closeDetour() async { await ownConnections.removeValue(forKey: .detour)?.close() }
}
