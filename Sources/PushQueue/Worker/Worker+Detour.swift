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
        guard let connection = await self.database() else { return nil }
        do throws(PostgresError) {
            let answer: R
            if metLock || self.state.lockedApps.takeDetour(app, at: .now) {
                answer = try await self.askAside(for: app, statement, parameters, decode)
            } else {
                if isLarge { await self.takeTurn() }
                defer { if isLarge { self.passTurn() } }
                do throws(PostgresError) {
                    answer = try await self.ask(connection, statement, parameters, decode)
                } catch {
                    self.failed(error, on: connection)
                    throw error
                }
            }
            self.state.lockedApps.passed(app)
            return answer
        } catch {
            if error.metLock { self.state.lockedApps.met(lockOf: app, at: .now) }
            throw error
        }
    }

    private func askAside<R: Sendable>(
        for app: Int32,
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        if !self.detourTurns.take() {
            await withCheckedContinuation { self.detourTurns.wait($0, of: app) }
        }
        let result: Result<R, PostgresError>
        do throws(PostgresError) {
            result = .success(try await self.ask(try await self.detour(), statement, parameters, decode))
        } catch {
            self.complain(of: error)
            result = .failure(error)
        }
        if case .failure(let error) = result, error.code == .closed { await self.closeDetour() }
        if let next = self.detourTurns.pass() {
            next.resume()
        } else {
            await self.closeDetour()
        }
        return try result.get()
    }

    private func detour() async throws(PostgresError) -> PostgresConnection {
        if let open = self.ownConnections[.detour] { return open }
        guard self.connection != nil, self.state.phase != .over else {
            throw PostgresError(.closed, "there is no connection to PostgreSQL")
        }
        let connection = try await self.connect(WorkerStatements.detourSettings)
        // Told to end while it was connecting.
        if Task.isCancelled || self.state.phase == .over { await connection.close() }
        self.ownConnections[.detour] = connection
        return connection
    }

    private func closeDetour() async {
        await self.ownConnections.removeValue(forKey: .detour)?.close()
    }
}
