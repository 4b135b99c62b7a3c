import IO
import Postgres

/// The way round the shared connection, for what writes for an app and met somebody's lock there. It waits for the lock,
/// a little at a time, where only its like stands behind it.
extension Worker {
    /// Asks something that writes for that app. Nil: the worker waits for nothing any more.
    /// - Parameters:
    ///   - isLarge: It writes many rows.
    ///   - metLock: It was refused for a lock before.
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
            if metLock || state.lockedApps.takeDetour(app, at: .now) {
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
        if !detourTurns.take() {
            await withCheckedContinuation { detourTurns.wait($0, of: app) }
        }
        let result: Result<R, PostgresError>
        do throws(PostgresError) {
            result = .success(try await ask(try await detour(), statement, parameters, decode))
        } catch {
            complain(of: error)
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
        guard self.connection != nil, state.phase != .over else {
            throw PostgresError(.closed, "there is no connection to PostgreSQL")
        }
        let connection = try await connect(WorkerStatements.detourSettings)
        // Told to end while it was connecting.
        if Task.isCancelled || state.phase == .over { await connection.close() }
        ownConnections[.detour] = connection
        return connection
    }

    private func closeDetour() async {
        await ownConnections.removeValue(forKey: .detour)?.close()
    }
}
