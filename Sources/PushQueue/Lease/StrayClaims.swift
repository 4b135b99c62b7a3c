import IO

/// Claims that stand in the worker's name in the database while the worker does not know of them: it made them, and their
/// answers never came.
///
/// An answer may be under way, so a claim is given back only after it has been a stranger for long enough by the worker's
/// own clock.
struct StrayClaims: Sendable {
    private var since: [ClaimKey: MonotonicInstant] = [:]

    /// Those to give back.
    private(set) var lost: [ClaimKey] = []

    /// These were found at that instant.
    mutating func found(_ claims: [ClaimKey], at now: MonotonicInstant, patience: Duration) {
        let known = since
        since = [:]
        for claim in claims { since[claim] = known[claim] ?? now }
        lost = since.filter { now - $0.value >= patience }.map(\.key).sorted { $0.id < $1.id }
    }
}
