import CarillonIO
import CarillonPostgres

/// Limits how often a worker sends statements that PostgreSQL is likely to refuse: three at once, then 11 a second. `RefusedSettlements`
/// adds five a second at most. Refused statements that have a pace of their own, such as looks, leave fewer to others.
///
/// A statement counts, as a try, if it repeats a refused one, or if several of its kind in a row were refused. If rights or parts
/// of the schema are missing, it counts until none has been refused for half a second.
struct RefusedStatementPace: Sendable {
    enum Kind: Hashable, Sendable { case claim, question, turn, release, settlement, token }

    static let interval = Duration.milliseconds(90)
    static let burst = 3
    private static let many = 3
    /// Many statements may have been in progress when a right or relation went missing; their refusals delay the next try by at
    /// most this. It is shorter than `memory`: otherwise the limit would end before the wait.
    private static let longestWait = Duration.milliseconds(400)
    /// If something is missing, the success of a statement does not predict that of others, which may need it.
    private static let memory = Duration.milliseconds(500)
    private static let manyMissed = 20

    /// Refusals since the last success.
    private var refusals: [Kind: Int] = [:]
    /// Statements that missed something, without a pause between them.
    private var missed: [Kind: (count: Int, latest: MonotonicInstant)] = [:]
    /// When the next try is due at an even pace.
    private var due: MonotonicInstant?

    /// - Parameters:
    ///   - isContent: The refusal concerns the content of the statement, and so no other one. A first refusal takes no try from others:
    ///     `RefusedSettlements` limits those of an app.
    ///   - isTry: The statement counted as a try.
    mutating func refused(_ kind: Kind, isContent: Bool = false, isTry: Bool, at now: MonotonicInstant) {
        if !isTry, !isContent { spend(at: now) }
        refusals[kind, default: 0] += 1
        if !isContent { missed[kind] = (count: countMissed(kind, at: now) + 1, latest: now) }
    }

    private func countMissed(_ kind: Kind, at now: MonotonicInstant) -> Int {
        guard let missed = self.missed[kind], now - missed.latest < Self.memory else { return 0 }
        return missed.count
    }

    mutating func succeeded(_ kind: Kind) { if !refusals.isEmpty { refusals[kind] = nil } }

    /// Whether a statement of that kind counts as a try.
    func limits(_ kind: Kind, at now: MonotonicInstant) -> Bool {
        if refusals.isEmpty, missed.isEmpty { return false }
        return refusals[kind, default: 0] >= Self.many || countMissed(kind, at: now) >= Self.manyMissed
    }

    /// Whether a statement of that kind that was refused before counts as a try.
    func limitsRepeated(_ kind: Kind, at now: MonotonicInstant) -> Bool {
        refusals[kind] != nil || countMissed(kind, at: now) > 0
    }

    /// A statement of that kind is to be sent now. Returns whether it counts as a try, which is then taken; nil if there is none.
    mutating func tryNow(_ kind: Kind, at now: MonotonicInstant) -> Bool? {
        guard limits(kind, at: now) else { return false }
        return take(at: now) ? true : nil
    }

    /// When there is a try, if not now.
    /// - Parameter spare: Tries to leave for others.
    func waitEnd(at now: MonotonicInstant, leaving spare: Int = 0) -> MonotonicInstant? {
        guard let end = due.map({ $0 + Self.interval * spare }), now < end else { return nil }
        return end
    }

    /// Takes a try; if there is none now, the wait until there is.
    mutating func takeOrWait(at now: MonotonicInstant, leaving spare: Int = 0) -> Duration? {
        if let end = waitEnd(at: now, leaving: spare) { return end - now }
        spend(at: now)
        return nil
    }

    /// Takes a try, if there is one now.
    mutating func take(at now: MonotonicInstant, leaving spare: Int = 0) -> Bool {
        takeOrWait(at: now, leaving: spare) == nil
    }

    /// One statement that is refused or meets a lock does not stop others like it. Many that are refused do; locks are waited for one
    /// after the other, which is a pace too.
    mutating func mayTryNext(after error: PostgresError, at now: MonotonicInstant) -> Bool {
        error.isTimeout || error.isRefusal && take(at: now)
    }

    /// A try was made, or a statement that did not count as one was refused.
    mutating func spend(at now: MonotonicInstant) {
        let earliest = now + Self.interval * -(Self.burst - 1)
        due = min(max(due ?? earliest, earliest) + Self.interval, now + Self.longestWait)
    }
}
