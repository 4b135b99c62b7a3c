import ApplePush
import CarillonIO

/// The lease of this worker, what it sees of the others, and its stray claims.
struct LeaseState: Sendable {
    /// Changes when others declare the worker dead. It fences all settlements.
    private(set) var id: Int64 = 0
    private(set) var installation: (UInt64, UInt64) = (0, 0)
    private var lease: Lease
    /// Others have declared the worker dead, and its next id is not known yet.
    private(set) var isRegisteringAgain = false
    /// Ends with the lease: pushes that wait in the backend are then not sent. Each id has its own, which copies of the state share.
    private(set) var permit = SendingPermit(until: MonotonicInstant(nanoseconds: 0))
    /// When the last heartbeat that succeeded was sent.
    private var heartbeatAt: MonotonicInstant?
    /// If its own heartbeats fail for this long, missing heartbeats of others prove nothing.
    private var longestSilence: Duration
    private var heartbeats = HeartbeatState()
    private var strays = StrayClaims()
    private var random: SeededGenerator

    init(duration: Duration, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        lease = Lease(duration: duration)
        longestSilence = Self.longestSilence(of: duration)
    }

    /// Two heartbeats are missing.
    private static func longestSilence(of lease: Duration) -> Duration { lease * 3 / 5 }

    mutating func began(in installation: (UInt64, UInt64)) { self.installation = installation }

    // MARK: This worker

    /// Nil if it is over.
    var end: MonotonicInstant? { lease.end }

    func isValid(at now: MonotonicInstant) -> Bool { lease.isValid(at: now) }

    mutating func registered(as id: Int64, askedAt: MonotonicInstant) {
        self.id = id
        permit = SendingPermit(until: askedAt)
        renewed(askedAt: askedAt)
    }

    mutating func renewed(askedAt: MonotonicInstant) {
        lease.granted(askedAt: askedAt)
        if let end { permit.extend(until: end) }
        sentHeartbeat(at: askedAt, for: lease.duration)
    }

    /// The other workers let this one sleep for that long. It may claim nothing in that time: to claim, it renews its lease.
    mutating func slept(askedAt: MonotonicInstant, upTo duration: Duration) {
        sentHeartbeat(at: askedAt, for: duration)
    }

    private mutating func sentHeartbeat(at now: MonotonicInstant, for duration: Duration) {
        if let last = heartbeatAt, now - last >= longestSilence { heartbeats.restart(at: now) }
        heartbeatAt = now
        longestSilence = Self.longestSilence(of: duration)
    }

    /// Another worker has taken over its claims, so it cannot settle them.
    mutating func declaredDead() {
        lease.lost()
        permit.revoke()
        isRegisteringAgain = true
    }

    /// It has another id, or could not register.
    mutating func registeringEnded() { isRegisteringAgain = false }

    /// Between two heartbeats.
    var interval: Duration { lease.interval }

    /// The wait before the next heartbeat: zero if the last one returned after the end of the lease.
    func heartbeatWait(at now: MonotonicInstant) -> Duration {
        lease.isValid(at: now) ? lease.interval : .zero
    }

    // MARK: The others

    /// The heartbeats of the others were read. Returns the dead workers.
    mutating func saw(_ others: [HeartbeatState.Sighting], at now: MonotonicInstant) -> [HeartbeatState.Sighting] {
        heartbeats.saw(others, at: now)
        guard let heartbeatAt, now - heartbeatAt < longestSilence else { return [] }
        return heartbeats.dead(at: now)
    }

    mutating func couldNotTakeOver(_ worker: Int64, at now: MonotonicInstant) {
        heartbeats.couldNotTakeOver(worker, at: now)
    }

    var hasSuspects: Bool { heartbeats.hasSuspects }

    /// The wait before the heartbeats of others are read again: until a lease may be over, or a fraction of the lease.
    mutating func watchWait(at now: MonotonicInstant) -> Duration {
        let usual = lease.duration / 15 * Double.random(in: 0.8...1.2, using: &random)
        guard let end = heartbeats.nextEnd, end > now else { return usual }
        return min(usual, max(end - now, .milliseconds(1)))
    }

    // MARK: Stray claims

    /// The stray claims past the grace period.
    var agedStrays: [ClaimKey] { strays.aged }

    /// The same in random order, since the first may be refused each time.
    mutating func straysToRelease() -> [ClaimKey] { agedStrays.shuffled(using: &random) }

    mutating func foundStrays(_ claims: [ClaimKey], at now: MonotonicInstant) {
        strays.found(claims, at: now, grace: max(.seconds(30), lease.duration * 2))
    }
}
