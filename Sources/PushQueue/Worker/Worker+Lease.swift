import IO
import Postgres

/// Staying alive in the eyes of the others, and leaving in good order.
extension Worker {
    func register(on connection: PostgresConnection) async throws(PostgresError) {
        var parameters = Parameters()
        parameters.append(self.options.name)
        parameters.append(self.options.host)
        parameters.append(self.options.processID)
        parameters.append(self.options.version)
        parameters.append(self.lease.duration.inSeconds)
        let askedAt = MonotonicInstant.now
        self.id = try await self.ask(connection, WorkerStatements.register, parameters) { try $0.int64(0, 0) }
        self.lease.granted(askedAt: askedAt)
    }

    /// Renews the lease and brings the counts up to date, several times in the life of a lease.
    func keepLease() async {
        while !Task.isCancelled {
            try? await self.loop.sleep(for: self.lease.interval)
            guard !Task.isCancelled, let connection = await self.database() else { return }
            do throws(PostgresError) {
                try await self.renewLease(on: connection)
                try await self.countActivity(on: connection)
            } catch {
                self.failed(error, on: connection)
            }
        }
    }

    func renewLease(on connection: PostgresConnection) async throws(PostgresError) {
        var parameters = Parameters()
        parameters.append(self.id)
        parameters.append(self.lease.duration.inSeconds)
        let askedAt = MonotonicInstant.now
        let alive = try await self.ask(connection, WorkerStatements.heartbeat, parameters) { rows in
            rows.isEmpty ? nil : try rows.int64(0, 0)
        }
        if let alive {
            self.lease.granted(askedAt: askedAt)
            self.workersAlive = max(1, Int(alive))
        } else {
            // The others took it for dead, and have what it held. What it still has in the air, it cannot settle.
            self.lease.lost()
            try await self.register(on: connection)
            self.emit(.leaseLost(worker: self.id))
        }
    }

    private func countActivity(on connection: PostgresConnection) async throws(PostgresError) {
        guard !self.activity.isEmpty else { return }
        // Claims that are settled while the statement is on its way begin a new count.
        let counts = self.activity
        self.activity = [:]
        var parameters = Parameters()
        parameters.append(self.id)
        parameters.append(PostgresArray(counts.keys))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.sent) }))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.failed) }))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.expired) }))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.retried) }))
        do throws(PostgresError) {
            try await connection.execute(WorkerStatements.countActivity, parameters)
        } catch {
            if error.outcome == .nothingDone {
                for (app, tally) in counts { self.activity[app, default: Settlement.Tally()] += tally }
            }
            throw error
        }
    }

    /// Leaves nothing behind: true if the worker's row is gone, and with it every claim.
    func signOff() async -> Bool {
        guard self.phase != .over, let connection = self.connection else { return false }
        do throws(PostgresError) {
            try await self.countActivity(on: connection)
            try await self.releaseLost(on: connection, olderThan: 0)
            var parameters = Parameters()
            parameters.append(self.id)
            return try await connection.execute(WorkerStatements.signOff, parameters) == 1
        } catch {
            self.failed(error, on: connection)
            return false
        }
    }
}

extension Duration {
    var inSeconds: Double { Double(self.nanoseconds) / 1e9 }
}
