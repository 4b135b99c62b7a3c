import CarillonIO
import CarillonPostgres

/// Watching the other workers, and taking over the claims of dead ones.
extension Worker {
    func keepWatch() async {
        repeat {
            await watchOthers()
        } while await sleep(for: state.watchWait(at: .now))
    }

    func watchOthers() async {
        guard let lifeline else { return }
        var dead: [HeartbeatWatch.Sighting] = []
        do throws(PostgresError) {
            let others = try await ask(lifeline, WorkerStatements.heartbeats, Parameters(state.id)) { rows in
                try rows.indices.map { row in
                    HeartbeatWatch.Sighting(
                        worker: try rows.int64(row, "id"),
                        beat: try rows.int64(row, "beat"),
                        lease: .microseconds(try rows.int64(row, "lease")),
                        looksDead: try rows.bool(row, "looks_dead")
                    )
                }
            }
            state.succeeded(in: .watch)
            dead = state.saw(others, at: .now)
        } catch {
            guard !Task.isCancelled else { return }
            failed(error, on: lifeline)
            await sleep(for: state.failed(in: .watch))
            return
        }
        for worker in dead { await takeOver(from: worker) }
    }

    /// Whether there are claims of workers without a row.
    func hasOrphans(_ connection: PostgresConnection) async throws(PostgresError) -> Bool {
        try await ask(connection, WorkerStatements.hasOrphans, Parameters()) { try $0.bool(0, 0) }
    }

    func takeOverOrphans() async {
        guard let connection = await database() else { return }
        do throws(PostgresError) {
            if try await hasOrphans(connection) { await takeOver(from: nil) }
        } catch {
            failed(error, on: connection)
        }
    }

    private func takeOver(from dead: HeartbeatWatch.Sighting?) async {
        var isGone = false
        await withOwnConnection(for: .takeOver) { connection throws(PostgresError) in
            isGone = try await takeOver(from: dead, on: connection)
        }
        if let dead, !isGone { state.watch.couldNotTakeOver(dead.worker, at: .now) }
    }

    /// - Parameter dead: nil: only claims of workers without a row.
    /// - Returns: Whether the claims of the dead worker were taken over.
    func takeOver(
        from dead: HeartbeatWatch.Sighting?,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Bool {
        let parameters = Parameters(dead?.worker ?? 0, dead?.beat)
        let (workers, claims, jobs) = try await ask(connection, WorkerStatements.takeOver, parameters) { rows in
            (try rows.int64(0, "workers"), try rows.int64(0, "claims"), try rows.int64(0, "jobs"))
        }
        guard workers > 0 || claims > 0 else { return false }
        state.tookOver()
        ledger.log(.tookOver(workers: Int(workers), claims: Int(claims), jobs: Int(jobs)))
        dispatchBell.ring()
        return workers > 0
    }

    /// Claims of this worker that it does not know.
    func strays(on connection: PostgresConnection) async throws(PostgresError) -> [ClaimKey] {
        let parameters = Parameters(state.id, PostgresArray(state.heldClaims))
        return try await ask(connection, WorkerStatements.strays, parameters) { rows in
            try rows.indices.map {
                ClaimKey(id: try rows.int64($0, "id"), claimedAt: try rows.timestamp($0, "claimed_at"))
            }
        }
    }
}
