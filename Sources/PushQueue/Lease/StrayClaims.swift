import IO

/// Claims that stand in the worker's name in the database while the worker does not know of them: it made them, and their
/// answers never came.
///
/// An answer may be under way, so a claim is given back only after it has been a stranger for long enough by the worker's
/// own clock.
struct StrayClaims: Sendable {
    private var since: [ClaimKey: MonotonicInstant] = [:]

    /// These were found at that instant. Answers with those to give back.
    mutating func found(_ claims: [ClaimKey], at now: MonotonicInstant, patience: Duration) -> [ClaimKey] {
        let known = self.since
        self.since = [:]
        for claim in claims { self.since[claim] = known[claim] ?? now }
        return self.since.filter { now - $0.value >= patience }.map(\.key).sorted { $0.id < $1.id }
    }
}
