import ApplePush
import CarillonIO
import CarillonPostgres

/// The shared connection, and the one for heartbeats.
extension Worker {
    /// Connects and registers, without retries.
    func begin() async throws(PostgresError) {
        let lifeline = try await connect(WorkerStatements.lifelineSettings)
        state.installation = try await ask(lifeline, WorkerStatements.installation, Parameters()) { rows in
            guard !rows.isEmpty else {
                throw PostgresError(
                    .unexpectedValue,
                    "carillon.installation is empty",
                    hint: "run: carillon migrate up"
                )
            }
            return try rows.uuid(0, 0)
        }
        try await register(on: lifeline)
        self.lifeline = lifeline
        use(try await connect(WorkerStatements.settings))
        ledger.log(.started(worker: state.id))
    }

    func connect(_ settings: SessionSettings) async throws(PostgresError) -> PostgresConnection {
        try await PostgresConnection.connect(
            options.database,
            on: loop,
            application: "carillon \(options.name)",
            to: .writable,
            settings: settings
        )
    }

    private func use(_ connection: PostgresConnection) {
        self.connection = connection
        state.reconnection.connected(at: .now)
        ledger.count {
            $0.isConnected = true
            $0.disconnection = nil
        }
        wakeWaiting()
    }

    /// Waits for the shared connection; nil: the worker is stopping.
    func database() async -> PostgresConnection? {
        while state.phase != .over, !Task.isCancelled {
            if let connection { return connection }
            await withCheckedContinuation { continuation in
                // The task may have left the loop on its way here, and the worker may have connected.
                guard self.connection == nil, state.phase != .over else { return continuation.resume() }
                waiting.append(continuation)
            }
        }
        return nil
    }

    func wakeWaiting() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    /// A statement failed, perhaps because its connection is lost.
    func failed(_ error: PostgresError, on connection: PostgresConnection) {
        guard error.code == .closed else { return logError(error) }
        ledger.count { $0.databaseErrors += 1 }
        if lifeline === connection {
            lifeline = nil
            lossBell.ring()
        }
        guard self.connection === connection else { return }
        self.connection = nil
        state.reconnection.disconnected(at: .now, isOwnFault: error.isOwnFault)
        ledger.log(.databaseLost(error.message))
        lossBell.ring()
    }

    /// Counts an error, and logs it unless one of its kind was logged a short while ago.
    func logError(_ error: PostgresError) {
        // The worker itself has cancelled the statement.
        guard error.code != .cancelled else { return }
        ledger.count { $0.databaseErrors += 1 }
        guard let suppressed = state.suppressed(error.kind, at: .now) else { return }
        if error.sqlState == "55P03" { return note(MetLock(error: error, suppressed: suppressed)) }
        ledger.log(.databaseError(error.description, suppressed: suppressed))
    }

    /// False: the task was cancelled, or the loop has stopped.
    @discardableResult
    func sleep(for wait: Duration) async -> Bool {
        do {
            try await loop.sleep(for: wait)
        } catch {
            if !Task.isCancelled { stopWaiting() }
            return false
        }
        return !Task.isCancelled
    }

    func ask<R: Sendable>(
        _ connection: PostgresConnection,
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        let answer = try await connection.ask(statement, parameters, decode)
        if connection === self.connection { ledger.count { $0.answeredAt = .now } }
        return answer
    }

    // MARK: Reconnecting

    /// Reconnects whenever a connection is lost, first the one for heartbeats.
    func keepConnections() async {
        for await _ in lossBell.rings {
            var isLossLogged = false
            while lifeline == nil || connection == nil, !Task.isCancelled, state.phase != .over {
                guard await sleep(for: state.reconnectionWait()) else { break }
                do throws(PostgresError) {
                    if lifeline == nil {
                        lifeline = try await connect(WorkerStatements.lifelineSettings)
                        lifelineBell.ring()
                    }
                    if connection == nil {
                        try await reconnect()
                        isLossLogged = false
                    }
                    if isLossLogged { ledger.log(.databaseBack) }
                    isLossLogged = false
                } catch {
                    if connectingFailed(error) { isLossLogged = true }
                }
            }
        }
        wakeWaiting()
    }

    /// True: it was logged.
    private func connectingFailed(_ error: PostgresError) -> Bool {
        guard error.code != .cancelled else { return false }
        ledger.count {
            $0.databaseErrors += 1
            $0.disconnection = error.message
        }
        guard let suppressed = state.suppressed("connecting: " + error.kind, at: .now) else { return false }
        ledger.log(.databaseAway(error.description, suppressed: suppressed))
        return true
    }

    private func reconnect() async throws(PostgresError) {
        let connection = try await connect(WorkerStatements.settings)
        do throws(PostgresError) {
            try await releaseLost(on: connection)
        } catch {
            // Claims that cannot be released now are found again as strays.
            guard error.code == .server else { throw error }
            logError(error)
        }
        use(connection)
        ledger.log(.databaseBack)
        dispatchBell.ring()
    }

    /// Releases claims whose answers were lost, while no claim is under way. They are released by their keys: a statement whose
    /// connection is lost may run late, after this worker has made other claims.
    func releaseLost(on connection: PostgresConnection) async throws(PostgresError) {
        let lost = try await strays(on: connection)
        guard !lost.isEmpty else { return }
        try await connection.execute(WorkerStatements.release, .release(lost, of: state.id))
    }
}
