import IO
import Postgres

/// Watching the other workers, and taking over from those that are dead.
extension Worker {
    func keepWatch() async {
        repeat {
            await self.watchOthers()
        } while await self.sleep(for: self.state.watchWait(at: .now))
    }

    /// Reads the heartbeats of the others, and takes over from those that have stood still for too long.
    func watchOthers() async {
        guard let lifeline else { return }
        let parameters: Parameters = .heartbeats(butOf: self.state.id)
        var dead: [HeartbeatWatch.Sighting] = []
        do throws(PostgresError) {
            let others = try await self.ask(lifeline, WorkerStatements.heartbeats, parameters) { rows in
                try rows.indices.map { row in
                    HeartbeatWatch.Sighting(
                        worker: try rows.int64(row, 0),
                        beat: try rows.int64(row, 1),
                        lease: .microseconds(try rows.int64(row, 2)),
                        looksDead: try rows.bool(row, 3)
                    )
                }
            }
            self.state.succeeded(in: .watch)
            dead = self.state.saw(others, at: .now)
        } catch {
            guard !Task.isCancelled else { return }
            self.failed(error, on: lifeline)
            await self.sleep(for: self.state.failed(in: .watch))
            return
        }
        for worker in dead { await self.takeOver(from: worker) }
    }

    /// Puts back what workers that are gone have left in flight: claims that were locked when they were taken over from,
    /// say.
    func takeOverOrphans() async {
        guard let connection = await self.database() else { return }
        do throws(PostgresError) {
            let hasOrphans = try await self.ask(connection, WorkerStatements.hasOrphans, Parameters()) {
                try $0.bool(0, 0)
            }
            if hasOrphans { await self.takeOver(from: nil) }
        } catch {
            self.failed(error, on: connection)
        }
    }

    /// One statement, whatever the dead one held, on a connection of its own: heartbeats never stand behind it.
    private func takeOver(from dead: HeartbeatWatch.Sighting?) async {
        var isGone = false
        await self.run(.takeOver) { connection throws(PostgresError) in
            let parameters: Parameters = .takeOver(from: dead)
            let (workers, claims, jobs) = try await self.ask(connection, WorkerStatements.takeOver, parameters) {
                rows in
                (try rows.int64(0, 0), try rows.int64(0, 1), try rows.int64(0, 2))
            }
            isGone = workers > 0
            guard workers > 0 || claims > 0 else { return }
            self.state.tookOver()
            self.tell(.tookOver(workers: Int(workers), claims: Int(claims), jobs: Int(jobs)))
            self.dispatchBell.ring()
        }
        if let dead, !isGone { self.state.watch.couldNotTakeOver(dead.worker, at: .now) }
    }

    /// Claims in this worker's name that it does not know of.
    func strays(on connection: PostgresConnection) async throws(PostgresError) -> [ClaimKey] {
        let parameters: Parameters = .claims(of: self.state.id, butFor: self.state.heldClaims)
        return try await self.ask(connection, WorkerStatements.strays, parameters) { rows in
            try rows.indices.map { ClaimKey(id: try rows.int64($0, 0), claimedAt: try rows.timestamp($0, 1)) }
        }
    }

    /// Gives back claims that this worker has made without ever hearing of them.
    func releaseStrays() async {
        guard let connection = await self.database() else { return }
        let worker = self.state.id
        do throws(PostgresError) {
            let lost = self.state.foundStrays(try await self.strays(on: connection), at: .now)
            guard !lost.isEmpty else { return }
            await self.run { connection throws(PostgresError) in
                for claim in lost {
                    do throws(PostgresError) {
                        try await connection.execute(WorkerStatements.release, .release([claim], of: worker))
                    } catch {
                        // One that PostgreSQL refuses to take back keeps none of the others.
                        guard error.code == .server else { throw error }
                        self.complain(of: error)
                    }
                }
            }
        } catch {
            self.failed(error, on: connection)
        }
    }
}
