import ApplePush
import IO
import Postgres

/// What any worker does for the fleet, and for its own connections.
extension Worker {
    func keepHouse() async {
        while !Task.isCancelled {
            let wait = self.options.lease / 3 * Double.random(in: 0.8...1.2, using: &self.random)
            try? await self.loop.sleep(for: wait)
            guard !Task.isCancelled else { return }
            await self.takeOver()
            await self.maintain()
            await self.backend.outdate(idle: self.options.idleTimeout)
        }
    }

    /// Puts back what workers that are gone have left in flight.
    func takeOver() async {
        guard let connection = await self.database() else { return }
        var parameters = Parameters()
        parameters.append(self.id)
        do throws(PostgresError) {
            let (workers, claims, jobs) = try await self.ask(connection, WorkerStatements.takeOver, parameters) {
                rows in
                (try rows.int64(0, 0), try rows.int64(0, 1), try rows.int64(0, 2))
            }
            if workers > 0 || claims > 0 {
                self.count { $0.takeovers += Int(claims) }
                self.emit(.tookOver(workers: Int(workers), claims: Int(claims), jobs: Int(jobs)))
                // Their ids are below the floors.
                self.board.forgetFloors()
            }
            // An answer that has not come for so long will not come.
            try await self.releaseLost(on: connection, olderThan: max(30, self.options.lease.inSeconds * 2))
        } catch {
            self.failed(error, on: connection)
        }
    }

    private func maintain() async {
        guard let connection = self.connection else { return }
        do throws(PostgresError) {
            var chore = Parameters()
            chore.append("maintain")
            guard try await connection.execute(WorkerStatements.takeChore, chore) == 1 else { return }
            var parameters = Parameters()
            parameters.append(self.options.retention.inSeconds)
            try await connection.execute(WorkerStatements.maintain, parameters)
            self.emit(.maintained)
        } catch {
            self.failed(error, on: connection)
        }
    }
}
