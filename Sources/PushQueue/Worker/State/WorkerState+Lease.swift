import IO
import Postgres

/// Staying alive in the eyes of the others.
extension WorkerState {
    mutating func registered(as id: Int64, askedAt: MonotonicInstant) {
        self.id = id
        self.lease.granted(askedAt: askedAt)
        self.heartbeatGotThrough(askedAt: askedAt)
    }

    /// The lease was renewed, and so many workers are alive.
    mutating func renewed(workersAlive: Int, askedAt: MonotonicInstant) {
        self.lease.granted(askedAt: askedAt)
        self.heartbeatGotThrough(askedAt: askedAt)
        self.limits.workersAlive = max(1, workersAlive)
    }

    /// The others took it for dead, and have what it held. What it still has in the air, it cannot settle.
    mutating func declaredDead() {
        self.lease.lost()
    }

    /// How long to wait before the next heartbeat. None, if an answer took so long that the lease is over again.
    func heartbeatWait(at now: MonotonicInstant) -> Duration {
        self.lease.holds(at: now) ? self.lease.interval : .zero
    }

    /// How long to wait before it looks after the fleet again.
    mutating func houseWait() -> Duration {
        self.options.lease / 3 * Double.random(in: 0.8...1.2, using: &self.random)
    }

    /// An answer that has not come for so long will not come.
    private var longestWaitForAnswers: Duration { max(.seconds(30), self.options.lease * 2) }

    /// Claims in its name were found that it does not know of. Answers with those to give back.
    mutating func foundStrays(_ claims: [ClaimKey], at now: MonotonicInstant) -> [ClaimKey] {
        self.strays.found(claims, at: now, patience: self.longestWaitForAnswers)
    }

    // MARK: The others

    /// While its own heartbeats do not get through, those of others may not either, and their standing still shows nothing.
    private var longestSilence: Duration { self.options.lease * 3 / 5 }

    private mutating func heartbeatGotThrough(askedAt: MonotonicInstant) {
        if let last = self.heartbeatAt, askedAt - last >= self.longestSilence { self.watch.restart(at: askedAt) }
        self.heartbeatAt = askedAt
    }

    /// The workers that are dead, of those whose heartbeats were read just now.
    mutating func saw(_ others: [HeartbeatWatch.Sighting], at now: MonotonicInstant) -> [HeartbeatWatch.Sighting] {
        self.watch.saw(others, at: now)
        guard let heartbeatAt, now - heartbeatAt < self.longestSilence else { return [] }
        return self.watch.dead(at: now)
    }

    /// How long to wait before it looks at the heartbeats of the others again: until one of them may be over, or for a
    /// fraction of a lease, so that little time passes between a heartbeat and its being noticed.
    mutating func watchWait(at now: MonotonicInstant) -> Duration {
        let usual = self.options.lease / 15 * Double.random(in: 0.8...1.2, using: &self.random)
        guard let end = self.watch.nextEnd, end > now else { return usual }
        return min(usual, max(end - now, .milliseconds(1)))
    }

    /// Others have died, and what they held is back in the queue.
    mutating func tookOver() {
        // Their ids are below the floors.
        self.board.forgetFloors()
    }

    // MARK: Activity

    /// How often the counts are written.
    static let countInterval = Duration.seconds(1)

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
