import CarillonIO
import CarillonPostgres

/// The lease of this worker, and those of others.
extension WorkerState {
    mutating func registered(as id: Int64, askedAt: MonotonicInstant) {
        self.id = id
        lease.granted(askedAt: askedAt)
        heartbeatGotThrough(askedAt: askedAt)
    }

    mutating func renewed(workersAlive: Int, askedAt: MonotonicInstant) {
        lease.granted(askedAt: askedAt)
        heartbeatGotThrough(askedAt: askedAt)
        limits.workersAlive = max(1, workersAlive)
    }

    /// Another worker has taken over its claims, so it cannot settle them.
    mutating func declaredDead() { lease.lost() }

    /// The wait before the next heartbeat: zero if the last answer came after the end of the lease.
    func heartbeatWait(at now: MonotonicInstant) -> Duration {
        lease.holds(at: now) ? lease.interval : .zero
    }

    mutating func foundStrays(_ claims: [ClaimKey], at now: MonotonicInstant) {
        strays.found(claims, at: now, grace: max(.seconds(30), options.lease * 2))
    }

    // MARK: Other workers

    /// If its own heartbeats fail for this long, missing heartbeats of others prove nothing.
    private var longestSilence: Duration { options.lease * 3 / 5 }

    private mutating func heartbeatGotThrough(askedAt: MonotonicInstant) {
        if let last = heartbeatAt, askedAt - last >= longestSilence { watch.restart(at: askedAt) }
        heartbeatAt = askedAt
    }

    /// The heartbeats of the others were read. Returns the dead workers.
    mutating func saw(_ others: [HeartbeatWatch.Sighting], at now: MonotonicInstant) -> [HeartbeatWatch.Sighting] {
        watch.saw(others, at: now)
        guard let heartbeatAt, now - heartbeatAt < longestSilence else { return [] }
        return watch.dead(at: now)
    }

    /// The wait before the heartbeats of others are read again: until a lease may be over, or a fraction of the lease.
    mutating func watchWait(at now: MonotonicInstant) -> Duration {
        let usual = options.lease / 15 * Double.random(in: 0.8...1.2, using: &random)
        guard let end = watch.nextEnd, end > now else { return usual }
        return min(usual, max(end - now, .milliseconds(1)))
    }

    /// Jobs of dead workers are back in the queue, and may be below the floors.
    mutating func tookOver() { board.forgetFloors() }

    // MARK: Activity

    /// Returns the counts to write, and begins new ones.
    mutating func takeActivity() -> [Int32: Settlement.Tally] {
        defer { activity = [:] }
        return activity
    }

    /// Most pushes of the app fail because of its settings, so the counts are written at once for the breaker.
    func isSuspect(_ app: Int32) -> Bool {
        guard let counts = activity[app], counts.bad >= 100 else { return false }
        return counts.bad * 2 > counts.sent + counts.failed
    }

    mutating func activityFailed(_ counts: [Int32: Settlement.Tally], _ outcome: PostgresError.Outcome) {
        guard outcome == .nothingDone else { return }
        for (app, tally) in counts { activity[app, default: Settlement.Tally()] += tally }
    }
}
