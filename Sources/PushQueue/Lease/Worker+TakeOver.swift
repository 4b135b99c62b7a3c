import CarillonIO
import CarillonPostgres

/// Watching the other workers, and taking over the claims of dead ones.
extension Worker {
    func keepWatch() async {
        repeat {
            await watchOthers()
        } while await core.sleep(for: core.event { $0.watchWait(at: .now) })
    }

    func watchOthers() async {
        guard let lifeline = database.currentLifeline else { return }
        var dead: [HeartbeatWatch.Sighting] = []
        do throws(PostgresError) {
            let others = try await database.ask(lifeline, WorkerStatements.heartbeats, Parameters(core.state.id)) {
                rows in
                try rows.indices.map { row in
                    HeartbeatWatch.Sighting(
                        worker: try rows.int64(row, "id"),
                        beat: try rows.int64(row, "beat"),
                        lease: .microseconds(try rows.int64(row, "lease")),
                        looksDead: try rows.bool(row, "looks_dead")
                    )
                }
            }
            core.event { $0.succeeded(in: .watch) }
            dead = core.event { $0.saw(others, at: .now) }
        } catch {
            guard !Task.isCancelled else { return }
            database.failed(error, on: lifeline)
            await core.sleep(for: core.event { $0.failed(in: .watch) })
            return
        }
        for worker in dead { await takeOver(from: worker) }
    }

    /// Whether there are claims of workers without a row.
    func hasOrphans(_ connection: PostgresConnection) async throws(PostgresError) -> Bool {
        try await database.ask(connection, WorkerStatements.hasOrphans, Parameters()) { try $0.bool(0, 0) }
    }

    func takeOverOrphans() async {
        guard let connection = await database.connection() else { return }
        do throws(PostgresError) {
            if try await hasOrphans(connection) { await takeOver(from: nil) }
        } catch {
            database.failed(error, on: connection)
        }
    }

    private func takeOver(from dead: HeartbeatWatch.Sighting?) async {
        var isGone = false
        await database.withOwnConnection(for: .takeOver) { connection throws(PostgresError) in
            isGone = try await takeOver(from: dead, on: connection)
        }
        if let dead, !isGone { core.event { $0.watch.couldNotTakeOver(dead.worker, at: .now) } }
    }

    /// - Parameter dead: nil: only claims of workers without a row.
    /// - Returns: Whether the claims of the dead worker were taken over.
    func takeOver(
        from dead: HeartbeatWatch.Sighting?,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Bool {
        let parameters = Parameters(dead?.worker ?? 0, dead?.beat)
        let (workers, claims, jobs) = try await database.ask(connection, WorkerStatements.takeOver, parameters) {
            rows in
            (try rows.int64(0, "workers"), try rows.int64(0, "claims"), try rows.int64(0, "jobs"))
        }
        guard workers > 0 || claims > 0 else { return false }
        core.event { $0.tookOver() }
        ledger.log(.tookOver(workers: Int(workers), claims: Int(claims), jobs: Int(jobs)))
        core.dispatchBell.ring()
        return workers > 0
    }

    /// Releases claims whose answers were lost, while no claim is under way. They are released by their keys: a statement whose
    /// connection is lost may run late, after this worker has made other claims.
    func releaseLost(on connection: PostgresConnection) async throws(PostgresError) {
        let lost = try await strays(on: connection)
        guard !lost.isEmpty else { return }
        try await connection.execute(WorkerStatements.release, .release(lost, of: core.state.id))
    }

    /// The worker uses this connection from now on.
    func reconnected(on connection: PostgresConnection) async throws(PostgresError) {
        do throws(PostgresError) {
            try await releaseLost(on: connection)
        } catch {
            // Claims that cannot be released now are found again as strays.
            guard error.code == .server else { throw error }
            database.logError(error)
        }
    }

    /// Claims of this worker that it does not know.
    func strays(on connection: PostgresConnection) async throws(PostgresError) -> [ClaimKey] {
        let parameters = Parameters(core.state.id, PostgresArray(core.state.heldClaims))
        return try await database.ask(connection, WorkerStatements.strays, parameters) { rows in
            try rows.indices.map {
                ClaimKey(id: try rows.int64($0, "id"), claimedAt: try rows.timestamp($0, "claimed_at"))
            }
        }
    }
}
