import IO
import Postgres

/// Staying alive in the eyes of the others.
extension WorkerState {
    mutating func registered(as id: Int64, askedAt: MonotonicInstant) {
        self.id = id
        self.lease.granted(askedAt: askedAt)
    }

    /// The lease was renewed, and so many workers are alive.
    mutating func renewed(workersAlive: Int, askedAt: MonotonicInstant) {
        self.lease.granted(askedAt: askedAt)
        self.limits.workersAlive = max(1, workersAlive)
    }

    /// The others took it for dead, and have what it held. What it still has in the air, it cannot settle.
    mutating func declaredDead() {
        self.lease.lost()
    }

    /// How long to wait before it looks after the fleet again.
    mutating func houseWait() -> Duration {
        self.options.lease / 3 * Double.random(in: 0.8...1.2, using: &self.random)
    }

    /// An answer that has not come for so long will not come.
    var longestWaitForAnswers: Duration { max(.seconds(30), self.options.lease * 2) }

    /// Others have died, and what they held is back in the queue.
    mutating func tookOver() {
        // Their ids are below the floors.
        self.board.forgetFloors()
    }

    // MARK: Activity

    /// The counts to write; claims that are settled while they are on their way begin a new count.
    mutating func takeActivity() -> [Int32: Settlement.Tally] {
        defer { self.activity = [:] }
        return self.activity
    }

    /// So many pushes of the app failed as BadDeviceToken that the fleet is to know it at once.
    func isSuspect(_ app: Int32) -> Bool {
        guard let counts = self.activity[app], counts.badTokens >= 100 else { return false }
        return counts.badTokens * 2 > counts.sent + counts.failed
    }

    mutating func activityFailed(_ counts: [Int32: Settlement.Tally], _ outcome: PostgresError.Outcome) {
        guard outcome == .nothingDone else { return }
        for (app, tally) in counts { self.activity[app, default: Settlement.Tally()] += tally }
    }
}
