import ApplePush
import IO
import Postgres

/// The connections, and what to do without them.
extension Worker {
    /// Connects, and takes a number. Fails like every other program does: at once, saying why.
    func begin() async throws(PostgresError) {
        let lifeline = try await self.connect(WorkerStatements.lifelineSettings)
        self.state.installation = try await self.ask(lifeline, WorkerStatements.installation, Parameters()) { rows in
            guard !rows.isEmpty else {
                throw PostgresError(
                    .unexpectedValue,
                    "carillon.installation is empty",
                    hint: "run: carillon migrate up"
                )
            }
            return try rows.uuid(0, 0)
        }
        try await self.register(on: lifeline)
        self.lifeline = lifeline
        self.state.limits.apps.tokens = { [weak self] key, refused in
            guard let self else { throw PushError(.shutDown, "the worker has ended") }
            return try await self.providerToken(key, refusing: refused)
        }
        self.use(try await self.connect(WorkerStatements.settings))
        self.tell(.started(worker: self.state.id))
    }

    func connect(_ settings: SessionSettings) async throws(PostgresError) -> PostgresConnection {
        try await PostgresConnection.connect(
            self.options.database,
            on: self.loop,
            application: "carillon \(self.options.name)",
            to: .writable,
            settings: settings
        )
    }

    private func use(_ connection: PostgresConnection) {
        self.connection = connection
        self.state.connected(at: .now)
        self.count {
            $0.isConnected = true
            $0.disconnection = nil
        }
        self.wakeWaiting()
    }

    /// The connection, as soon as there is one; nil when the worker waits for nothing any more.
    func database() async -> PostgresConnection? {
        while self.state.phase != .over, !Task.isCancelled {
            if let connection { return connection }
            await withCheckedContinuation { continuation in
                // On its way here, a task may have left the loop for a moment, and the connection may have come.
                guard self.connection == nil, self.state.phase != .over else { return continuation.resume() }
                self.waiting.append(continuation)
            }
        }
        return nil
    }

    func wakeWaiting() {
        for continuation in self.waiting { continuation.resume() }
        self.waiting = []
    }

    /// A statement failed: perhaps because the connection is gone, perhaps for a reason of its own.
    func failed(_ error: PostgresError, on connection: PostgresConnection) {
        guard error.code == .closed else { return self.complain(of: error) }
        self.count { $0.databaseErrors += 1 }
        if self.lifeline === connection {
            self.lifeline = nil
            self.lossBell.ring()
        }
        guard self.connection === connection else { return }
        self.connection = nil
        self.state.disconnected(at: .now, isOwnFault: error.isOfThisSide)
        self.tell(.databaseLost(error.message))
        self.lossBell.ring()
    }

    /// Counts an error, and says so unless it has said the like just now.
    func complain(of error: PostgresError) {
        // It was this worker that broke off, because it ends.
        guard error.code != .cancelled else { return }
        self.count { $0.databaseErrors += 1 }
        guard let untold = self.state.errors.heard(error.kind, at: .now) else { return }
        if error.sqlState == "55P03" { return self.note(MetLock(error: error, untold: untold)) }
        self.tell(.databaseError(error.description, untold: untold))
    }

    /// Between two tries of a statement that has to succeed some day.
    func pause(_ pace: inout RetryPace) async {
        guard let wait = self.state.retryWait(&pace) else { return }
        await self.sleep(for: wait)
    }

    /// False: the time is not over, but there is nothing more to wait for. The worker was told to end, or its loop has
    /// stopped, on which it can do nothing any more.
    @discardableResult
    func sleep(for wait: Duration) async -> Bool {
        do {
            try await self.loop.sleep(for: wait)
        } catch {
            if !Task.isCancelled { self.stopWaiting() }
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
            if connection === self.connection { self.ledger.withLock { $0.heardAt = .now } }
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
        for await _ in self.lossBell.rings {
            var isToldAway = false
            while self.lifeline == nil || self.connection == nil, !Task.isCancelled, self.state.phase != .over {
                guard await self.sleep(for: self.state.reconnectionWait()) else { break }
                do throws(PostgresError) {
                    if self.lifeline == nil {
                        self.lifeline = try await self.connect(WorkerStatements.lifelineSettings)
                        self.lifelineBell.ring()
                    }
                    if self.connection == nil {
                        try await self.comeBack()
                        isToldAway = false
                    }
                    if isToldAway { self.tell(.databaseBack) }
                    isToldAway = false
                } catch {
                    if self.cannotComeBack(error) { isToldAway = true }
                }
            }
        }
        self.wakeWaiting()
    }

    /// True: it has said so.
    private func cannotComeBack(_ error: PostgresError) -> Bool {
        guard error.code != .cancelled else { return false }
        self.count {
            $0.databaseErrors += 1
            $0.disconnection = error.message
        }
        guard let untold = self.state.errors.heard("connecting: " + error.kind, at: .now) else { return false }
        self.tell(.databaseAway(error.description, untold: untold))
        return true
    }

    private func comeBack() async throws(PostgresError) {
        let connection = try await self.connect(WorkerStatements.settings)
        do throws(PostgresError) {
            try await self.releaseLost(on: connection)
        } catch {
            // What cannot be given back, for a lock or whatever reason, is found again later.
            guard error.code == .server else { throw error }
            self.complain(of: error)
        }
        self.use(connection)
        self.tell(.databaseBack)
        self.dispatchBell.ring()
    }

    /// Gives back claims whose answers never came. For when no claim is under way.
    ///
    /// They are named one by one: a statement whose connection is lost may be carried out late, when this worker has long
    /// made other claims.
    func releaseLost(on connection: PostgresConnection) async throws(PostgresError) {
        let lost = try await self.strays(on: connection)
        guard !lost.isEmpty else { return }
        try await connection.execute(WorkerStatements.release, .release(lost, of: self.state.id))
    }
}

extension PostgresError {
    /// It waited for a lock, or for anything, for as long as it was allowed to.
    var metLock: Bool { self.sqlState == "55P03" || self.sqlState == "57014" }

    /// What errors have in common that one line of the log is enough for.
    fileprivate var kind: String {
        switch self.sqlState {
        case "3F000", "42P01", "42703", "42883": "the schema is not there, or is not as it was"
        case let state: state ?? self.code.description
        }
    }
}
