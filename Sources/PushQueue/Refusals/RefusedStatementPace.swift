import CarillonIO
import CarillonPostgres

/// How often a worker sends statements that PostgreSQL is likely to refuse: three at once, then 11 a second.
///
/// Such a *try* repeats a refused statement, or is of a kind of which several in a row were refused. If rights or parts of the
/// schema are missing, a statement counts as a try until none of its kind has been refused for half a second. A lane whose claim
/// failed waits at growing intervals of up to two seconds. While settlements of an app are refused, each of its lanes has one
/// claim at a time; all such apps add up to five tries a second: see `RefusedSettlements`. Failed lanes and such apps leave a try
/// to others, which continue. Refused statements that have a pace of their own, such as looks, leave fewer tries.
struct RefusedStatementPace: Sendable {
    enum Kind: Hashable, Sendable { case claim, question, turn, release, settlement, token }

    /// What became of the last try of a statement.
    enum LastTry: Sendable {
        case none
        /// Waiting for a lock. The detour, which takes such statements one at a time, is pace enough.
        case timedOut
        /// If for its content, the success of another statement does not predict that of the next try.
        case refused(content: Bool)
    }

    private struct Wait {
        var backOff = BackOff.statements
        var end: MonotonicInstant
    }

    static let interval = Duration.milliseconds(90)
    static let burst = 3
    private static let many = 3
    /// Many statements may have been in progress when a right or relation went missing; their refusals delay the next try by at
    /// most this. It is shorter than `memory`: otherwise the limit would end before the wait.
    private static let longestWait = Duration.milliseconds(400)
    /// If something is missing, the success of a statement does not predict that of others, which may need it.
    private static let memory = Duration.milliseconds(500)
    private static let manyMissed = 20
    /// How long an idle lane is remembered: with many lanes, each waits long for its next try.
    private static let laneMemory = Duration.seconds(600)

    /// Refusals since the last success.
    private var refusals: [Kind: Int] = [:]
    /// Statements that missed something, without a pause between them.
    private var missed: [Kind: (count: Int, latest: MonotonicInstant)] = [:]
    /// When the next try is due at an even pace.
    private var due: MonotonicInstant?
    /// Of the lanes whose last claim failed. Nil stands for all lanes, while all claims fail.
    private var waits: [Lane?: Wait] = [:]
    private var settlements = RefusedSettlements()
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    // MARK: Statements

    /// Whether a statement that is to be sent now is a try, which is then taken. Nil if there is none: the statement has to wait.
    /// - Parameter app: Whose settlement it is, if it is one.
    mutating func mayAsk(_ kind: Kind, of app: Int32?, after last: LastTry, at now: MonotonicInstant) -> Bool? {
        if kind == .settlement, let app, settlements.contains(app) {
            return settlements.mayTry(app, at: now, hasTry: take(at: now, leaving: 1)) ? true : nil
        }
        let isTry =
            switch last {
            case .none, .timedOut: limits(kind, at: now)
            case .refused(let content): content || limitsRepeated(kind, at: now)
            }
        guard isTry else { return false }
        return take(at: now) ? true : nil
    }

    /// - Parameter isContent: The refusal concerns the content of the statement, and so no other one. A first one takes no try
    ///   from others: `settlementRefused` limits those of an app.
    mutating func refused(_ kind: Kind, isContent: Bool = false, isTry: Bool, at now: MonotonicInstant) {
        if !isTry, !isContent { spend(at: now) }
        refusals[kind, default: 0] += 1
        if !isContent { missed[kind] = (count: countMissed(kind, at: now) + 1, latest: now) }
    }

    mutating func succeeded(_ kind: Kind) { if !refusals.isEmpty { refusals[kind] = nil } }

    /// A statement that has a pace of its own has failed.
    mutating func failed(_ error: PostgresError, at now: MonotonicInstant) {
        if error.code == .server, !error.isTimeout { spend(at: now) }
    }

    /// One statement that is refused or meets a lock does not stop others like it. Many that are refused do; locks are waited for
    /// one after the other, which is a pace too.
    mutating func mayTryNext(after error: PostgresError, at now: MonotonicInstant) -> Bool {
        error.isTimeout || error.isRefusal && take(at: now)
    }

    /// Whether a statement of that kind counts as a try.
    func limits(_ kind: Kind, at now: MonotonicInstant) -> Bool {
        if refusals.isEmpty, missed.isEmpty { return false }
        return refusals[kind, default: 0] >= Self.many || countMissed(kind, at: now) >= Self.manyMissed
    }

    /// Whether a statement of that kind that was refused before counts as a try.
    func limitsRepeated(_ kind: Kind, at now: MonotonicInstant) -> Bool {
        refusals[kind] != nil || countMissed(kind, at: now) > 0
    }

    private func countMissed(_ kind: Kind, at now: MonotonicInstant) -> Int {
        guard let missed = self.missed[kind], now - missed.latest < Self.memory else { return 0 }
        return missed.count
    }

    // MARK: Tries

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

    /// A try was made, or a statement that did not count as one was refused.
    mutating func spend(at now: MonotonicInstant) {
        let earliest = now + Self.interval * -(Self.burst - 1)
        due = min(max(due ?? earliest, earliest) + Self.interval, now + Self.longestWait)
    }

    // MARK: Claims

    /// Whether anything may be claimed. While all claims fail, one at a time shows whether they succeed again.
    /// - Parameter isOnly: No other claim is under way.
    func mayClaim(at now: MonotonicInstant, isOnly: Bool) -> Bool { waits[nil].map { now >= $0.end && isOnly } ?? true }

    /// Until when the lane may not be claimed from. Nil if it may be.
    func block(of lane: Lane, at now: MonotonicInstant) -> LaneBoard.Allowance? {
        let wait = waits.isEmpty ? nil : waits[lane]
        if let wait, now < wait.end { return .blocked(until: wait.end) }
        guard settlements.mayClaim(lane) else { return .blocked(until: nil) }
        // Lanes that have failed leave a try for one that has not.
        guard let end = waitEnd(at: now, leaving: wait == nil ? 0 : 1) else { return nil }
        return wait != nil || limits(.claim, at: now) ? .blocked(until: end) : nil
    }

    /// Returns whether the claim is a try, which is then taken.
    mutating func claimPlanned(in lane: Lane, at now: MonotonicInstant) -> Bool {
        settlements.claimed(lane)
        let isTry = limits(.claim, at: now) || !waits.isEmpty && waits[lane] != nil
        if isTry { spend(at: now) }
        return isTry
    }

    mutating func claimFailed(_ plan: ClaimPlan, _ fault: ClaimFault, at now: MonotonicInstant) {
        settlements.ended(plan.lane)
        guard fault != .connection else { return }
        refused(.claim, isTry: plan.isTry, at: now)
        delay(plan.lane, at: now)
        if fault == .everything { delay(nil, at: now) }
    }

    /// The lane has a row that could not be split: claims would only find it again.
    mutating func splitFailed(in lane: Lane, at now: MonotonicInstant) { delay(lane, at: now) }

    /// Claims that were under way together fail together, which counts once.
    private mutating func delay(_ lane: Lane?, at now: MonotonicInstant) {
        var wait = waits[lane] ?? Wait(end: now)
        guard now >= wait.end else { return }
        wait.end = now + wait.backOff.next(using: &random)
        waits[lane] = wait
    }

    mutating func claimReturned(_ rows: ClaimRows, to plan: ClaimPlan) {
        if rows.jobs == nil { settlements.ended(plan.lane) }
        succeeded(.claim)
        guard !waits.isEmpty else { return }
        waits[nil] = nil
        // Without rows, a claim says nothing of the lane: its first row may have to be split.
        if rows.rows > 0 { waits[plan.lane] = nil }
    }

    /// A claim that had jobs is settled, or cannot be.
    mutating func claimEnded(in lane: Lane) { settlements.ended(lane) }

    mutating func forgetIdle(at now: MonotonicInstant) {
        if !waits.isEmpty { waits = waits.filter { $0.key == nil || now - $0.value.end < Self.laneMemory } }
        settlements.forgetIdle(at: now)
    }

    // MARK: Settlements

    /// PostgreSQL has refused a settlement for its content. If another of the app was refused meanwhile, it takes a try now.
    mutating func settlementRefused(of app: Int32, wasTry: Bool, at now: MonotonicInstant) {
        if settlements.contains(app), !wasTry { spend(at: now) }
        settlements.refused(app, at: now)
    }

    /// A settlement that was sent as a try is written. Returns whether one of the app was refused before.
    mutating func settlementWritten(of app: Int32) -> Bool { settlements.written(app) }
}
