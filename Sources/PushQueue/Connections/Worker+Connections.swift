import ApplePush
import IO
import Postgres

/// The connections that all work shares, and what to do without them.
extension Worker {
    /// Connects and registers. Fails at once, with the reason, where that is not possible.
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
        tell(.started(worker: state.id))
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
        count {
            $0.isConnected = true
            $0.disconnection = nil
        }
        wakeWaiting()
    }

    /// The connection, as soon as there is one; nil when the worker waits for nothing any more.
    func database() async -> PostgresConnection? {
        while state.phase != .over, !Task.isCancelled {
            if let connection { return connection }
            await withCheckedContinuation { continuation in
                // The task may have left the loop on its way here, and the connection may have come.
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

    /// A statement failed. Its connection may be lost.
    func failed(_ error: PostgresError, on connection: PostgresConnection) {
        guard error.code == .closed else { return complain(of: error) }
        count { $0.databaseErrors += 1 }
        if lifeline === connection {
            lifeline = nil
            lossBell.ring()
        }
        guard self.connection === connection else { return }
        self.connection = nil
        state.reconnection.disconnected(at: .now, isOwnFault: error.isOfThisSide)
        tell(.databaseLost(error.message))
        lossBell.ring()
    }

    /// Counts an error, and tells it unless one of its kind was told a short while ago.
    func complain(of error: PostgresError) {
        // This worker has broken off, because it ends.
        guard error.code != .cancelled else { return }
        count { $0.databaseErrors += 1 }
        guard let untold = state.untold(error.kind, at: .now) else { return }
        if error.sqlState == "55P03" { return note(MetLock(error: error, untold: untold)) }
        tell(.databaseError(error.description, untold: untold))
    }

    /// False: the worker was told to end, or its loop has stopped.
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
        // Answers on other connections do not show that the shared one works.
        if connection === self.connection { ledger.withLock { $0.heardAt = .now } }
        return answer
    }

    // MARK: Reconnecting

    /// Connects again whenever a connection is lost, first the one for heartbeats.
    func keepConnections() async {
        for await _ in lossBell.rings {
            var isLossTold = false
            while lifeline == nil || connection == nil, !Task.isCancelled, state.phase != .over {
                guard await sleep(for: state.reconnectionWait()) else { break }
                do throws(PostgresError) {
                    if lifeline == nil {
                        lifeline = try await connect(WorkerStatements.lifelineSettings)
                        lifelineBell.ring()
                    }
                    if connection == nil {
                        try await reconnect()
                        isLossTold = false
                    }
                    if isLossTold { tell(.databaseBack) }
                    isLossTold = false
                } catch {
                    if connectingFailed(error) { isLossTold = true }
                }
            }
        }
        wakeWaiting()
    }

    /// True: it was told.
    private func connectingFailed(_ error: PostgresError) -> Bool {
        guard error.code != .cancelled else { return false }
        count {
            $0.databaseErrors += 1
            $0.disconnection = error.message
        }
        guard let untold = state.untold("connecting: " + error.kind, at: .now) else { return false }
        tell(.databaseAway(error.description, untold: untold))
        return true
    }

    private func reconnect() async throws(PostgresError) {
        let connection = try await connect(WorkerStatements.settings)
        do throws(PostgresError) {
            try await releaseLost(on: connection)
        } catch {
            // Claims that cannot be given back now are found again as strays.
            guard error.code == .server else { throw error }
            complain(of: error)
        }
        use(connection)
        tell(.databaseBack)
        dispatchBell.ring()
    }

    /// Gives back claims whose answers were lost, while no claim is under way.
    ///
    /// They are named one by one: a statement whose connection is lost may be carried out late, after this worker has made
    /// other claims.
    func releaseLost(on connection: PostgresConnection) async throws(PostgresError) {
        let lost = try await strays(on: connection)
        guard !lost.isEmpty else { return }
        try await connection.execute(WorkerStatements.release, .release(lost, of: state.id))
    }
}
