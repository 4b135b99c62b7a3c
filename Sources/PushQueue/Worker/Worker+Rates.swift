import ApplePush
import IO
import Postgres

/// Keeping to the rates of apps.
extension Worker {
    /// Waits until a claim may be sent, where its app has a rate. False: it has to go back.
    func waitForTurn(of jobs: ClaimedJobs) async -> Bool {
        guard self.state.limits.isPaced(jobs.app), !jobs.batch.isEmpty else { return true }
        let parameters: Parameters = .takeTurn(of: jobs.app, pushes: jobs.batch.count)
        while self.state.phase == .working, let connection = await self.database() {
            do throws(PostgresError) {
                let wait = try await self.ask(connection, WorkerStatements.takeTurn, parameters) {
                    try $0.int64IfPresent(0, 0)
                }
                guard let wait else {
                    self.state.foundNoTurn(for: jobs.app, at: .now)
                    return false
                }
                if wait > 0 { try? await self.loop.sleep(for: .microseconds(wait)) }
                return true
            } catch {
                self.failed(error, on: connection)
                await self.pause()
            }
        }
        return false
    }
}
