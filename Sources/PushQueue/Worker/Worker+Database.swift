import ApplePush
import IO
import Postgres

/// The connection, and what to do without it.
extension Worker {
    /// Connects, and takes a number. Fails like every other program does: at once, saying why.
    func begin() async throws(PostgresError) {
        let connection = try await self.connect()
        self.state.installation = try await self.ask(connection, WorkerStatements.installation, Parameters()) { rows in
            guard !rows.isEmpty else {
                throw PostgresError(
                    .unexpectedValue,
                    "carillon.installation is empty",
                    hint: "run: carillon migrate up"
                )
            }
            return try rows.uuid(0, 0)
        }
        try await self.register(on: connection)
        self.state.limits.apps.tokens = { [weak self] key, refused in
            guard let self else { throw PushError(.shutDown, "the worker has ended") }
            return try await self.providerToken(key, refusing: refused)
        }
        self.use(connection)
        self.tell(.started(worker: self.state.id))
    }

    func connect() async throws(PostgresError) -> PostgresConnection {
        try await PostgresConnection.connect(
            self.options.database,
            on: self.loop,
            application: "carillon \(self.options.name)",
            to: .writable,
            settings: WorkerStatements.settings
        )
    }

    private func use(_ connection: PostgresConnection) {
        self.connection = connection
        self.state.connected(at: .now)
        self.count { $0.isConnected = true }
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
        self.count { $0.databaseErrors += 1 }
        guard error.code == .closed else {
            self.tell(.databaseError(error.description))
            return
        }
        guard self.connection === connection else { return }
        self.connection = nil
        self.state.disconnected(at: .now, isOwnFault: error.isOfThisSide)
        self.tell(.databaseLost(error.message))
        self.lossBell.ring()
    }

    /// Between two tries of a statement that has to succeed some day.
    func pause() async {
        guard let wait = self.state.retryWait() else { return }
        try? await self.loop.sleep(for: wait)
    }

    func ask<R: Sendable>(
        _ connection: PostgresConnection,
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        do {
            let answer = try await connection.query(statement, parameters, decode)
            self.ledger.withLock { $0.heardAt = .now }
            return answer
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "\(error)")
        }
    }

    // MARK: Coming back

    /// Connects again whenever the connection is lost.
    func keepConnection() async {
        for await _ in self.lossBell.rings {
            while self.connection == nil, !Task.isCancelled, self.state.phase != .over {
                try? await self.loop.sleep(for: self.state.reconnectionWait())
                do throws(PostgresError) {
                    let connection = try await self.connect()
                    try await self.renewLease(on: connection)
                    try await self.releaseLost(on: connection, olderThan: .zero)
                    self.use(connection)
                    self.tell(.databaseBack)
                    self.dispatchBell.ring()
                } catch {
                    self.count { $0.databaseErrors += 1 }
                }
            }
        }
        self.wakeWaiting()
    }

    /// Gives back claims whose answers never came.
    func releaseLost(on connection: PostgresConnection, olderThan age: Duration) async throws(PostgresError) {
        let parameters: Parameters = .releaseLost(
            of: self.state.id,
            knowing: self.state.heldClaims,
            olderThan: age
        )
        try await connection.execute(WorkerStatements.releaseLost, parameters)
    }
}
