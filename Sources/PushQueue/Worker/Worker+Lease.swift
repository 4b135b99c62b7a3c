import ApplePush
import IO
import Postgres

/// Staying alive in the eyes of the others, and leaving in good order.
extension Worker {
    func register(on lifeline: PostgresConnection) async throws(PostgresError) {
        let askedAt = MonotonicInstant.now
        let parameters: Parameters = .register(self.options, age: askedAt - self.madeAt)
        let id = try await self.ask(lifeline, WorkerStatements.register, parameters) { try $0.int64(0, 0) }
        self.state.registered(as: id, askedAt: askedAt)
        self.permit = SendingPermit(until: self.state.lease.end ?? askedAt)
        self.count { $0.leaseEnd = self.state.lease.end }
    }

    /// Renews the lease several times in its life, over a connection where nothing else waits for locks.
    func keepLease() async {
        while await self.sleep(for: self.state.heartbeatWait(at: .now)) {
            guard let lifeline = await self.signOfLife() else { return }
            do throws(PostgresError) {
                try await self.renewLease(on: lifeline)
                self.state.succeeded(in: .heartbeat)
            } catch {
                guard !Task.isCancelled else { return }
                self.failed(error, on: lifeline)
                await self.sleep(for: self.state.failed(in: .heartbeat))
            }
        }
    }

    /// The connection for signs of life, as soon as there is one; nil when there is no need for it any more.
    private func signOfLife() async -> PostgresConnection? {
        if let lifeline { return lifeline }
        for await _ in self.lifelineBell.rings {
            if let lifeline { return lifeline }
        }
        return nil
    }

    private func renewLease(on lifeline: PostgresConnection) async throws(PostgresError) {
        let parameters: Parameters = .heartbeat(of: self.state.id, lease: self.options.lease)
        let askedAt = MonotonicInstant.now
        let alive = try await self.ask(lifeline, WorkerStatements.heartbeat, parameters) { rows in
            rows.isEmpty ? nil : try rows.int64(0, 0)
        }
        if let alive {
            self.state.renewed(workersAlive: Int(alive), askedAt: askedAt)
            if let end = self.state.lease.end { self.permit.extend(until: end) }
            self.count { $0.leaseEnd = self.state.lease.end }
        } else {
            self.state.declaredDead()
            self.permit.withdraw()
            try await self.register(on: lifeline)
            self.tell(.leaseLost(worker: self.state.id))
        }
        // While the lease was over, nothing was claimed.
        self.dispatchBell.ring()
    }

    /// Brings the counts up to date; for an app with bad tokens among them, what follows from that too.
    func countActivity(on connection: PostgresConnection) async throws(PostgresError) {
        let counts = self.state.takeActivity()
        guard !counts.isEmpty else { return }
        var parameters = Parameters()
        parameters.append(self.state.id)
        parameters.append(PostgresArray(counts.keys))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.sent) }))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.failed) }))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.expired) }))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.retried) }))
        parameters.append(PostgresArray(counts.values.lazy.map { Int64($0.badTokens) }))
        do throws(PostgresError) {
            try await connection.execute(WorkerStatements.countActivity, parameters)
        } catch {
            self.state.activityFailed(counts, error.outcome)
            throw error
        }
        let suspects = counts.filter { $0.value.badTokens > 0 }.map(\.key)
        if !suspects.isEmpty { try await self.openBreakers(of: suspects, on: connection) }
    }

    private func openBreakers(of apps: [Int32], on connection: PostgresConnection) async throws(PostgresError) {
        var parameters = Parameters()
        parameters.append(PostgresArray(apps))
        let opened = try await self.ask(connection, WorkerStatements.openBreakers, parameters) { rows in
            try rows.indices.map { row in
                (app: try rows.int32(row, 0), name: try rows.string(row, 1), reason: try rows.string(row, 2))
            }
        }
        for breaker in opened {
            self.tell(.breakerOpened(app: breaker.app, name: breaker.name, reason: breaker.reason))
        }
        // At once: each moment costs pushes.
        try await self.readApps(opened.map(\.app), on: connection)
    }

    /// Leaves nothing behind. Nothing else is asked any more, so it needs no connection of its own. True if the worker's
    /// row is gone, and with it every claim.
    func signOff() async -> Bool {
        guard self.state.phase != .over, let connection = self.connection else { return false }
        do throws(PostgresError) {
            try await self.countActivity(on: connection)
            try await self.writeNotes(on: connection)
            // After a run with `once` nobody else would say why an app cannot send, until the next.
            if !self.options.once {
                try await connection.execute(WorkerStatements.endHolds, .endHolds(of: self.state.id))
            }
        } catch {
            // The worker can leave without it.
            self.failed(error, on: connection)
        }
        do throws(PostgresError) {
            try await self.releaseLost(on: connection)
            let parameters: Parameters = .signOff(of: self.state.id)
            return try await self.ask(connection, WorkerStatements.signOff, parameters) { try $0.bool(0, 0) }
        } catch {
            self.failed(error, on: connection)
            return false
        }
    }
}
