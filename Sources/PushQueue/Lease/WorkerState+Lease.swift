import IO
import Postgres

/// Staying alive in the eyes of the others.
extension WorkerState {
    mutating func registered(as id: Int64, askedAt: MonotonicInstant) {
        self.id = id
        lease.granted(askedAt: askedAt)
        heartbeatGotThrough(askedAt: askedAt)
    }

    /// The lease was renewed, and so many workers are alive.
    mutating func renewed(workersAlive: Int, askedAt: MonotonicInstant) {
        lease.granted(askedAt: askedAt)
        heartbeatGotThrough(askedAt: askedAt)
        limits.workersAlive = max(1, workersAlive)
    }

    /// The others took it for dead, and have what it held. What it still has in the air, it cannot settle.
    mutating func declaredDead() {
        lease.lost()
    }

    /// How long to wait before the next heartbeat. None, if an answer took so long that the lease is over again.
    func heartbeatWait(at now: MonotonicInstant) -> Duration {
        lease.holds(at: now) ? lease.interval : .zero
    }

    /// An answer that has not come for so long will not come.
    private var longestWaitForAnswers: Duration { max(.seconds(30), options.lease * 2) }

    /// Claims in its name were found that it does not know of.
    mutating func foundStrays(_ claims: [ClaimKey], at now: MonotonicInstant) {
        strays.found(claims, at: now, patience: longestWaitForAnswers)
    }

    // MARK: The others

    /// While its own heartbeats do not get through, those of others may not either, and their standing still shows nothing.
    private var longestSilence: Duration { options.lease * 3 / 5 }

    private mutating func heartbeatGotThrough(askedAt: MonotonicInstant) {
        if let last = heartbeatAt, askedAt - last >= longestSilence { watch.restart(at: askedAt) }
        heartbeatAt = askedAt
    }

    /// The workers that are dead, of those whose heartbeats were read just now.
    mutating func saw(_ others: [HeartbeatWatch.Sighting], at now: MonotonicInstant) -> [HeartbeatWatch.Sighting] {
        watch.saw(others, at: now)
        guard let heartbeatAt, now - heartbeatAt < longestSilence else { return [] }
        return watch.dead(at: now)
    }

    /// How long to wait before it looks at the heartbeats of the others again: until one of them may be over, or for a
    /// fraction of a lease, so that little time passes between a heartbeat and its being noticed.
    mutating func watchWait(at now: MonotonicInstant) -> Duration {
        let usual = options.lease / 15 * Double.random(in: 0.8...1.2, using: &random)
        guard let end = watch.nextEnd, end > now else { return usual }
        return min(usual, max(end - now, .milliseconds(1)))
    }

    /// Others have died, and what they held is back in the queue.
    mutating func tookOver() {
        // Their ids are below the floors.
        board.forgetFloors()
    }

    // MARK: Activity

    /// The counts to write; claims that are settled while they are on their way begin a new count.
    mutating func takeActivity() -> [Int32: Settlement.Tally] {
        defer { activity = [:] }
        return activity
    }

    /// So many pushes of the app failed as BadDeviceToken that the fleet is to know it at once.
    func isSuspect(_ app: Int32) -> Bool {
        guard let counts = activity[app], counts.badTokens >= 100 else { return false }
        return counts.badTokens * 2 > counts.sent + counts.failed
    }

    mutating func activityFailed(_ counts: [Int32: Settlement.Tally], _ outcome: PostgresError.Outcome) {
        guard outcome == .nothingDone else { return }
        for (app, tally) in counts { activity[app, default: Settlement.Tally()] += tally }
    }
}
