import CarillonIO

/// Claims of the worker that it does not know, because their rows were lost. They may still be on their way, so a claim
/// is released only after a grace period.
struct StrayClaims: Sendable {
    private var since: [ClaimKey: MonotonicInstant] = [:]

    /// Those past the grace period, which are to be released.
    private(set) var aged: [ClaimKey] = []

    mutating func found(_ claims: [ClaimKey], at now: MonotonicInstant, grace: Duration) {
        let known = since
        since = [:]
        for claim in claims { since[claim] = known[claim] ?? now }
        aged = since.filter { now - $0.value >= grace }.map(\.key).sorted { $0.id < $1.id }
    }
}
