import ApplePush
import IO
import Postgres

/// What any worker does for the fleet, and for its own connections.
extension Worker {
    func keepHouse() async {
        while !Task.isCancelled {
            try? await self.loop.sleep(for: self.state.houseWait())
            guard !Task.isCancelled else { return }
            await self.takeOver()
            await self.maintain()
            await self.backend.outdate(idle: self.options.idleTimeout)
        }
    }

    /// Puts back what workers that are gone have left in flight.
    func takeOver() async {
        guard let connection = await self.database() else { return }
        let parameters: Parameters = .takeOver(by: self.state.id)
        do throws(PostgresError) {
            let (workers, claims, jobs) = try await self.ask(connection, WorkerStatements.takeOver, parameters) {
                rows in
                (try rows.int64(0, 0), try rows.int64(0, 1), try rows.int64(0, 2))
            }
            if workers > 0 || claims > 0 {
                self.state.tookOver()
                self.tell(.tookOver(workers: Int(workers), claims: Int(claims), jobs: Int(jobs)))
            }
            try await self.releaseLost(on: connection, olderThan: self.state.longestWaitForAnswers)
        } catch {
            self.failed(error, on: connection)
        }
    }
}
