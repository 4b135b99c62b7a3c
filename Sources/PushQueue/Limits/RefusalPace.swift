import CarillonIO

/// Limits how often a worker tries what PostgreSQL refuses: three times at once, then about 13 times a second in all.
///
/// What counts as a try: a statement that repeats a refused one, until none of its kind has been refused for a while, and any
/// statement of a kind that was refused several times in a row, until one of that kind succeeds.
struct RefusalPace: Sendable {
    enum Kind: Hashable, Sendable { case claim, question, turn, release, settlement, token }

    static let interval = Duration.milliseconds(75)
    static let burst = 3
    private static let many = 3
    /// The success of a statement does not predict that of others: only those that need what is missing are refused.
    private static let memory = Duration.milliseconds(500)

    /// Refusals since the last success.
    private var refusals: [Kind: Int] = [:]
    private var latest: [Kind: MonotonicInstant] = [:]
    /// When the next try is due at an even pace.
    private var due: MonotonicInstant?

    mutating func refused(_ kind: Kind, at now: MonotonicInstant) {
        refusals[kind, default: 0] += 1
        latest[kind] = now
    }

    mutating func succeeded(_ kind: Kind) { if !refusals.isEmpty { refusals[kind] = nil } }

    /// Whether a statement of that kind counts as a try.
    func limits(_ kind: Kind) -> Bool { !refusals.isEmpty && refusals[kind, default: 0] >= Self.many }

    /// Whether a statement of that kind that was refused before counts as a try.
    func limitsRepeated(_ kind: Kind, at now: MonotonicInstant) -> Bool {
        refusals[kind] != nil || latest[kind].map { now - $0 < Self.memory } ?? false
    }

    /// Whether a statement of that kind may be sent now; takes a try if it has to.
    mutating func mayTry(_ kind: Kind, at now: MonotonicInstant) -> Bool { !limits(kind) || take(at: now) }

    /// When there is a try, if not now.
    /// - Parameter spare: Tries to leave for others.
    func waitEnd(at now: MonotonicInstant, leaving spare: Int = 0) -> MonotonicInstant? {
        guard let end = due.map({ $0 + Self.interval * spare }), now < end else { return nil }
        return end
    }

    /// Takes a try, if there is one now.
    mutating func take(at now: MonotonicInstant) -> Bool {
        guard waitEnd(at: now) == nil else { return false }
        let earliest = now + Self.interval * -(Self.burst - 1)
        due = max(due ?? earliest, earliest) + Self.interval
        return true
    }
}
