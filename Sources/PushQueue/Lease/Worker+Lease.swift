import ApplePush
import CarillonIO
import CarillonPostgres

/// Registering, renewing the lease and signing off.
extension Worker {
    /// Reads what the first registration needs, and registers.
    func begin(on lifeline: PostgresConnection) async throws(PostgresError) {
        let installation = try await database.ask(lifeline, WorkerStatements.installation) { rows in
            guard !rows.isEmpty else {
                throw PostgresError(
                    .unexpectedValue,
                    "carillon.installation is empty",
                    hint: "run: carillon migrate up"
                )
            }
            return try rows.uuid(0, 0)
        }
        core.event { $0.installation = installation }
        try await register(on: lifeline)
    }

    func register(on lifeline: PostgresConnection) async throws(PostgresError) {
        let askedAt = MonotonicInstant.now
        let parameters: Parameters = .register(options, age: askedAt - madeAt)
        let id = try await database.ask(lifeline, WorkerStatements.register, parameters) { try $0.int64(0, "id") }
        core.event { $0.registered(as: id, askedAt: askedAt) }
        permit = SendingPermit(until: core.state.lease.end ?? askedAt)
        ledger.count { $0.leaseEnd = core.state.lease.end }
    }

    /// Renews the lease, on a connection of its own.
    func keepLease() async {
        while await core.sleep(for: core.state.heartbeatWait(at: .now)) {
            guard let lifeline = await database.nextLifeline() else { return }
            do throws(PostgresError) {
                try await renewLease(on: lifeline)
                core.event { $0.succeeded(in: .heartbeat) }
                try await noteTraffic(on: lifeline)
            } catch {
                guard !Task.isCancelled else { return }
                database.failed(error, on: lifeline)
                await core.sleep(for: core.event { $0.failed(in: .heartbeat) })
            }
        }
    }

    private func renewLease(on lifeline: PostgresConnection) async throws(PostgresError) {
        let parameters = Parameters(core.state.id, options.lease.inSeconds)
        let askedAt = MonotonicInstant.now
        let alive = try await database.ask(lifeline, WorkerStatements.heartbeat, parameters) { rows in
            rows.isEmpty ? nil : try rows.int64(0, "workers")
        }
        if let alive {
            core.event { $0.renewed(workersAlive: Int(alive), askedAt: askedAt) }
            if let end = core.state.lease.end { permit.extend(until: end) }
            ledger.count { $0.leaseEnd = core.state.lease.end }
        } else {
            core.event { $0.declaredDead() }
            permit.revoke()
            try await register(on: lifeline)
            ledger.log(.leaseLost(worker: core.state.id))
        }
        // While the lease was lost, nothing was claimed.
        core.dispatchBell.ring()
    }

    /// For people. It updates the row that the heartbeat has just updated.
    private func noteTraffic(on lifeline: PostgresConnection) async throws(PostgresError) {
        let traffic = ledger.recentTraffic()
        let parameters = Parameters(
            core.state.id,
            PostgresArray(traffic.waits),
            PostgresArray(traffic.answers),
            Int32(clamping: traffic.connections)
        )
        try await lifeline.execute(WorkerStatements.noteTraffic, parameters)
    }

    /// Writes the counts of pushes, and opens breakers.
    func countActivity(on connection: PostgresConnection) async throws(PostgresError) {
        let counts = core.event { $0.takeActivity() }
        guard !counts.isEmpty else { return }
        let parameters = Parameters(
            core.state.id,
            PostgresArray(counts.keys),
            PostgresArray(counts.values.lazy.map { Int64($0.sent) }),
            PostgresArray(counts.values.lazy.map { Int64($0.failed) }),
            PostgresArray(counts.values.lazy.map { Int64($0.expired) }),
            PostgresArray(counts.values.lazy.map { Int64($0.retried) }),
            PostgresArray(counts.values.lazy.map { Int64($0.badTokens) }),
            PostgresArray(counts.values.lazy.map { Int64($0.badTopics) })
        )
        do throws(PostgresError) {
            try await connection.execute(WorkerStatements.countActivity, parameters)
        } catch {
            core.event { $0.activityFailed(counts, error.outcome) }
            throw error
        }
        let suspects = counts.filter { $0.value.bad > 0 }.map(\.key)
        if !suspects.isEmpty { try await openBreakers(of: suspects, on: connection) }
    }

    private func openBreakers(of apps: [Int32], on connection: PostgresConnection) async throws(PostgresError) {
        let opened = try await database.ask(connection, WorkerStatements.openBreakers, Parameters(PostgresArray(apps)))
        { rows in
            try rows.indices.map { row in
                (
                    app: try rows.int32(row, "app_id"), name: try rows.string(row, "app"),
                    reason: try rows.string(row, "reason")
                )
            }
        }
        for breaker in opened {
            ledger.log(.breakerOpened(app: breaker.app, name: breaker.name, reason: breaker.reason))
        }
        // The pause must be known at once: pushes of every further claim would fail.
        try await readApps(opened.map(\.app), on: connection)
    }

    /// True: the worker's row is gone, and it has no claims.
    func signOff() async -> Bool {
        guard core.state.phase != .over, let connection = database.current else { return false }
        do throws(PostgresError) {
            try await countActivity(on: connection)
            try await writeNotes(on: connection)
            // After a run with `once`, holds stay until the next run, so that people can read them.
            if !options.once { try await connection.execute(WorkerStatements.endHolds, Parameters(core.state.id)) }
        } catch {
            // The worker can sign off without this.
            database.failed(error, on: connection)
        }
        do throws(PostgresError) {
            try await releaseLost(on: connection)
            return try await database.ask(connection, WorkerStatements.signOff, Parameters(core.state.id)) {
                try $0.bool(0, 0)
            }
        } catch {
            database.failed(error, on: connection)
            return false
        }
    }
}
