import ApplePush
import IO
import Postgres

/// Keeping to the rates of apps.
extension Worker {
    /// Waits until a claim may be sent, where its app has a rate. False: it has to go back.
    func waitForTurn(of jobs: ClaimedJobs) async -> Bool {
        guard self.state.limits.isPaced(jobs.app), !jobs.batch.isEmpty else { return true }
        let parameters: Parameters = .takeTurn(of: jobs.app, pushes: jobs.batch.count)
        var pace = RetryPace()
        var metLock = false
        while self.state.phase == .working {
            // What waits for a connection after its turn would go out together with what comes next.
            if case .known(let app) = self.state.limits.apps[jobs.app], case .success(let route) = app.route {
                await self.backend.prepare(for: route.gateway, with: route.credential)
            }
            do throws(PostgresError) {
                let app = jobs.app
                let answer = try await self.write(for: app, WorkerStatements.takeTurn, parameters, metLock: metLock) {
                    try $0.int64IfPresent(0, 0)
                }
                guard let answer else { return false }
                guard let wait = answer else {
                    self.state.foundNoTurn(for: jobs.app, at: .now)
                    return false
                }
                let turn = RateTurn(in: .microseconds(wait), from: .now)
                if wait > 0 {
                    guard await self.sleep(for: .microseconds(wait)) else { return false }
                }
                guard turn.isMissed(at: .now) else { return true }
            } catch {
                metLock = error.metLock
                await self.pause(&pace)
            }
        }
        return false
    }
}
