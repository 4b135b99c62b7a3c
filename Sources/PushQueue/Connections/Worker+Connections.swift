import ApplePush
import IO
import Postgres

/// The connections, and what to do without them.
extension Worker {
    /// Connects, and takes a number. Fails like every other program does: at once, saying why.
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
                // On its way here, a task may have left the loop for a moment, and the connection may have come.
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

    /// A statement failed: perhaps because the connection is gone, perhaps for a reason of its own.
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

    /// Counts an error, and says so unless it has said the like just now.
    func complain(of error: PostgresError) {
        // It was this worker that broke off, because it ends.
        guard error.code != .cancelled else { return }
        count { $0.databaseErrors += 1 }
        guard let untold = state.untold(error.kind, at: .now) else { return }
        if error.sqlState == "55P03" { return note(MetLock(error: error, untold: untold)) }
        tell(.databaseError(error.description, untold: untold))
    }

    /// Between two tries of a statement that has to succeed some day.
    func pause(_ pace: inout RetryPace) async {
        guard let wait = state.retryWait(&pace) else { return }
        await sleep(for: wait)
    }

    /// False: the time is not over, but there is nothing more to wait for. The worker was told to end, or its loop has
    /// stopped, on which it can do nothing any more.
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
        do {
            let answer = try await connection.query(statement, parameters, decode)
            // What other connections hear says nothing of the one that all work shares.
            if connection === self.connection { ledger.withLock { $0.heardAt = .now } }
            return answer
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "\(error)")
        }
    }

    // MARK: Coming back

    /// Connects again whenever a connection is lost: first the one that proves that the worker is alive.
    func keepConnections() async {
        for await _ in lossBell.rings {
            var isToldAway = false
            while lifeline == nil || connection == nil, !Task.isCancelled, state.phase != .over {
                guard await sleep(for: state.reconnectionWait()) else { break }
                do throws(PostgresError) {
                    if lifeline == nil {
                        lifeline = try await connect(WorkerStatements.lifelineSettings)
                        lifelineBell.ring()
                    }
                    if connection == nil {
                        try await comeBack()
                        isToldAway = false
                    }
                    if isToldAway { tell(.databaseBack) }
                    isToldAway = false
                } catch {
                    if cannotComeBack(error) { isToldAway = true }
                }
            }
        }
        wakeWaiting()
    }

    /// True: it has said so.
    private func cannotComeBack(_ error: PostgresError) -> Bool {
        guard error.code != .cancelled else { return false }
        count {
            $0.databaseErrors += 1
            $0.disconnection = error.message
        }
        guard let untold = state.untold("connecting: " + error.kind, at: .now) else { return false }
        tell(.databaseAway(error.description, untold: untold))
        return true
    }

    private func comeBack() async throws(PostgresError) {
        let connection = try await connect(WorkerStatements.settings)
        do throws(PostgresError) {
            try await releaseLost(on: connection)
        } catch {
            // What cannot be given back, for a lock or whatever reason, is found again later.
            guard error.code == .server else { throw error }
            complain(of: error)
        }
        use(connection)
        tell(.databaseBack)
        dispatchBell.ring()
    }

    /// Gives back claims whose answers never came. For when no claim is under way.
    ///
    /// They are named one by one: a statement whose connection is lost may be carried out late, when this worker has long
    /// made other claims.
    func releaseLost(on connection: PostgresConnection) async throws(PostgresError) {
        let lost = try await strays(on: connection)
        guard !lost.isEmpty else { return }
        try await connection.execute(WorkerStatements.release, .release(lost, of: state.id))
    }
}

extension PostgresError {
    /// It waited for a lock, or for anything, for as long as it was allowed to.
    var metLock: Bool { sqlState == "55P03" || sqlState == "57014" }

    /// What errors have in common that one line of the log is enough for.
    fileprivate var kind: String {
        switch sqlState {
        case "3F000", "42P01", "42703", "42883": "the schema is not there, or is not as it was"
        case let state: state ?? "\(code)"
        }
    }
}
