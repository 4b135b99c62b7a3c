import IO
import Postgres

/// The connection, and what to do without it.
extension Worker {
    /// Connects, and takes a number. Fails like every other program does: at once, saying why.
    func begin() async throws(PostgresError) {
        let connection = try await self.connect()
        self.installation = try await self.ask(connection, WorkerStatements.installation, Parameters()) { rows in
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
        self.use(connection)
        self.emit(.started(worker: self.id))
    }

    private func connect() async throws(PostgresError) -> PostgresConnection {
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
        self.count { $0.isConnected = true }
        self.wakeWaiting()
    }

    /// The connection, as soon as there is one; nil when the worker waits for nothing any more.
    func database() async -> PostgresConnection? {
        while self.phase != .over, !Task.isCancelled {
            if let connection { return connection }
            await withCheckedContinuation { self.waiting.append($0) }
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
            self.emit(.databaseError(error.description))
            return
        }
        guard self.connection === connection else { return }
        self.connection = nil
        self.count { $0.isConnected = false }
        self.emit(.databaseLost(error.message))
        self.lossBell.ring()
    }

    /// Between two tries of a statement that has to succeed some day.
    func pause() async {
        guard self.phase != .over, self.connection != nil else { return }
        try? await self.loop.sleep(for: .milliseconds(Int64.random(in: 50...500, using: &self.random)))
    }

    func ask<R: Sendable>(
        _ connection: PostgresConnection,
        _ statement: Statement,
        _ parameters: Parameters,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws(PostgresError) -> R {
        do {
            return try await connection.query(statement, parameters, decode)
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
            var wait = Duration.milliseconds(50)
            while self.connection == nil, !Task.isCancelled, self.phase != .over {
                // Jittered, so that a fleet does not come back all at once.
                try? await self.loop.sleep(for: wait * Double.random(in: 0.5...1, using: &self.random))
                wait = min(wait * 2, .seconds(3))
                do throws(PostgresError) {
                    let connection = try await self.connect()
                    try await self.renewLease(on: connection)
                    try await self.releaseLost(on: connection, olderThan: 0)
                    self.use(connection)
                    self.emit(.databaseBack)
                    self.dispatchBell.ring()
                } catch {
                    self.count { $0.databaseErrors += 1 }
                }
            }
        }
        self.wakeWaiting()
    }

    /// Gives back claims whose answers never came.
    func releaseLost(on connection: PostgresConnection, olderThan seconds: Double) async throws(PostgresError) {
        var parameters = Parameters()
        parameters.append(self.id)
        parameters.append(PostgresArray(self.flights))
        parameters.append(seconds)
        try await connection.execute(WorkerStatements.releaseLost, parameters)
    }
}
