import IO
import Postgres

/// The lease, and watching those of the others.
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

    /// The others have taken over what the worker held. It cannot settle what it still has in flight.
    mutating func declaredDead() {
        lease.lost()
    }

    /// How long to wait before the next heartbeat: zero where the answer took so long that the lease is over again.
    func heartbeatWait(at now: MonotonicInstant) -> Duration {
        lease.holds(at: now) ? lease.interval : .zero
    }

    /// Claims in its name were found that it does not know.
    mutating func foundStrays(_ claims: [ClaimKey], at now: MonotonicInstant) {
        strays.found(claims, at: now, grace: max(.seconds(30), options.lease * 2))
    }

    // MARK: The others

    /// While its own heartbeats do not get through, those of the others may not either, and prove nothing.
    private var longestSilence: Duration { options.lease * 3 / 5 }

    private mutating func heartbeatGotThrough(askedAt: MonotonicInstant) {
        if let last = heartbeatAt, askedAt - last >= longestSilence { watch.restart(at: askedAt) }
        heartbeatAt = askedAt
    }

    /// The heartbeats of the others were read. Answers with those that are dead.
    mutating func saw(_ others: [HeartbeatWatch.Sighting], at now: MonotonicInstant) -> [HeartbeatWatch.Sighting] {
        watch.saw(others, at: now)
        guard let heartbeatAt, now - heartbeatAt < longestSilence else { return [] }
        return watch.dead(at: now)
    }

    /// How long to wait before reading the heartbeats of the others again: until a lease may be over, or a fraction of a lease,
    /// so that heartbeats are seen soon.
    mutating func watchWait(at now: MonotonicInstant) -> Duration {
        let usual = options.lease / 15 * Double.random(in: 0.8...1.2, using: &random)
        guard let end = watch.nextEnd, end > now else { return usual }
        return min(usual, max(end - now, .milliseconds(1)))
    }

    /// Jobs of dead workers are back in the queue, perhaps below the floors.
    mutating func tookOver() {
        board.forgetFloors()
    }

    // MARK: Activity

    /// The counts to write. Later settlements begin new ones.
    mutating func takeActivity() -> [Int32: Settlement.Tally] {
        defer { activity = [:] }
        return activity
    }

    /// So many pushes of the app failed as BadDeviceToken that the counts are written at once, for the breaker.
    func isSuspect(_ app: Int32) -> Bool {
        guard let counts = activity[app], counts.badTokens >= 100 else { return false }
        return counts.badTokens * 2 > counts.sent + counts.failed
    }

    mutating func activityFailed(_ counts: [Int32: Settlement.Tally], _ outcome: PostgresError.Outcome) {
        guard outcome == .nothingDone else { return }
        for (app, tally) in counts { activity[app, default: Settlement.Tally()] += tally }
    }
}
