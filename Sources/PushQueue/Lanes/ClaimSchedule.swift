import ApplePush
import CarillonIO

/// When to claim, and how much. `LaneBoard` has the lanes in order; `ClaimSlots` and `Admission` limit the claims.
///
/// Call a member directly for what concerns it alone.
struct ClaimSchedule: Sendable {
    private let options: WorkerOptions
    var board: LaneBoard
    var admission: Admission
    var refusedSettlements = RefusedSettlements()
    private(set) var slots = ClaimSlots()
    private var waits = ClaimRetryPace()
    /// When the last of the jobs that went back without using up an attempt is due.
    private var returnsDue: MonotonicInstant?
    private var forgotAt: MonotonicInstant?
    /// Claims that were answered and are not settled yet, which are rows of `inflight`, and how many bytes each has.
    private var flights: [ClaimKey: Int] = [:]
    /// Since when it has had claims and settled none.
    private(set) var unsettledSince: MonotonicInstant?
    private var random: SeededGenerator

    init(_ options: WorkerOptions, seed: UInt64) {
        self.options = options
        random = SeededGenerator(seed: seed)
        board = LaneBoard(quantum: options.claimSize)
        admission = Admission(limit: options.maxInFlight, claimSize: options.claimSize)
    }

    var inFlight: Int { admission.inFlight }

    /// The ids of its rows of `inflight`, as far as it knows.
    var knownClaims: Set<Int64> { Set(flights.keys.map(\.id)) }

    /// Every claim is settled.
    var isIdle: Bool { slots.areEmpty && flights.isEmpty }

    // MARK: Claims

    /// - Parameter ceiling: How many more pushes the workers of this process may have in flight together: see `FlightCeiling`.
    mutating func nextClaim(
        at now: MonotonicInstant,
        within ceiling: Int,
        of apps: AppDirectory,
        _ holds: AppHolds,
        _ refusals: inout RefusedStatementPace
    ) -> ClaimPlan? {
        guard min(ceiling, admission.room) > 0, waits.mayClaim(at: now, isUnderWay: !slots.areEmpty) else { return nil }
        let mustTry = refusals.limits(.claim, at: now)
        // The board asks for an open slot first, and then for the allowance of each lane and its app.
        let plan = board.next(in: slots, at: now) { lane in
            if let end = waits.end(of: lane, at: now) { return .blocked(until: end) }
            guard refusedSettlements.mayClaim(lane) else { return .blocked(until: nil) }
            // Lanes that have failed leave a try for one that has not.
            let hasFailed = waits.hasFailed(lane)
            if mustTry || hasFailed, let end = refusals.waitEnd(at: now, leaving: hasFailed ? 1 : 0) {
                return .blocked(until: end)
            }
            return admission.allowance(of: lane.app, within: ceiling, apps, holds, at: now)
        }
        guard var plan else { return nil }
        plan.isTry = mustTry || waits.hasFailed(plan.lane)
        if plan.isTry { refusals.spend(at: now) }
        slots.take(plan.depth)
        admission.admit(Int(plan.pushes), of: plan.lane.app)
        refusedSettlements.claimed(plan.lane)
        return plan
    }

    /// The claim was not made.
    mutating func claimFailed(
        _ plan: ClaimPlan,
        _ fault: ClaimFault,
        at now: MonotonicInstant,
        _ refusals: inout RefusedStatementPace
    ) {
        slots.free(plan.depth)
        refusedSettlements.ended(plan.lane)
        board.abandoned(plan, wasTooLarge: fault == .size)
        admission.release(Int(plan.pushes), of: plan.lane.app)
        admission.ended(of: plan.lane.app)
        stoppedWaiting(plan.lane.app)
        guard fault != .connection else { return }
        refusals.refused(.claim, isTry: plan.isTry, at: now)
        waits.failed(plan.lane, all: fault == .everything, at: now, using: &random)
    }

    /// The lane has a row that could not be split: claims would only find it again.
    mutating func splitFailed(in lane: Lane, at now: MonotonicInstant) { waits.failed(lane, at: now, using: &random) }

    /// Forgets lanes that have had no rows for a while. Goes through all that are known, so it does so once a second at most.
    mutating func forgetIdle(at now: MonotonicInstant) {
        if let forgotAt, now - forgotAt < .seconds(1) { return }
        forgotAt = now
        board.forgetIdle(at: now)
        waits.forgetIdle(at: now)
        refusedSettlements.forgetIdle(at: now)
    }

    /// Returns the row that has to be split, if any.
    mutating func claimAnswered(
        _ answer: ClaimRows,
        to plan: ClaimPlan,
        of apps: AppDirectory,
        at now: MonotonicInstant,
        _ refusals: inout RefusedStatementPace
    ) -> Int64? {
        let pushes = answer.jobs?.batch.count ?? 0
        let most = admission.maxPushes(at: apps.maxRate(of: plan.lane.app))
        let large = answer.next.flatMap { $0.pushes > most ? $0.id : nil }
        slots.free(plan.depth)
        if answer.jobs == nil { refusedSettlements.ended(plan.lane) }
        refusals.succeeded(.claim)
        waits.succeeded(plan.lane, hasRows: answer.rows > 0)
        board.claimed(
            plan,
            rows: answer.rows,
            pushes: pushes,
            lowest: answer.lowest,
            // A row that never fits has to be split first.
            next: large == nil ? answer.next?.pushes : nil,
            at: now
        )
        admission.release(Int(plan.pushes) - pushes, of: plan.lane.app)
        board.freed(plan.lane.app)
        if let jobs = answer.jobs {
            flights[jobs.key] = jobs.byteCount
            admission.answered(jobs.byteCount, of: jobs.app)
            unsettledSince = unsettledSince ?? now
        } else {
            admission.ended(of: plan.lane.app)
            stoppedWaiting(plan.lane.app)
        }
        return large
    }

    /// A claim of the app no longer waits for its turn.
    mutating func stoppedWaiting(_ app: Int32) {
        admission.rates.stoppedWaiting(of: app)
        board.freed(app)
    }

    /// No turn of the app begins soon: the next try is within a second.
    mutating func foundNoTurn(for app: Int32, at now: MonotonicInstant) {
        admission.rates.wait(app, until: now + .seconds(1) * Double.random(in: 0.5...1, using: &random))
    }

    /// How many tokens each job of a split row has.
    /// - Parameter rate: The app's `max_rate`.
    func jobSize(at rate: Int32?) -> Int { min(options.claimSize, admission.maxPushes(at: rate)) }

    /// Pushes of the claim have left it before they were sent.
    mutating func shrank(_ claim: inout UnsettledClaim) {
        let gone = claim.pushes - claim.jobs.batch.count
        guard gone > 0 else { return }
        claim.pushes -= gone
        admission.release(gone, of: claim.jobs.app)
        board.freed(claim.jobs.app)
    }

    /// A settlement was written.
    mutating func settled(
        _ claim: inout UnsettledClaim,
        _ settlement: Settlement,
        _ outcomes: Outcomes,
        at now: MonotonicInstant
    ) {
        unsettledSince = now
        // Returned jobs may be below the floor.
        if let lowest = settlement.lowestGoingBack(of: claim.jobs) {
            board.returned([(claim.lane, lowest)], at: now)
        }
        if let wait = settlement.longestWait(of: claim.jobs) { returnsDue = max(returnsDue ?? now, now + wait) }
        if settlement.pending > 0 {
            claim.progress = .partSettled(outcomes)
            admission.release(claim.pushes - settlement.pending, of: claim.jobs.app)
            claim.pushes = settlement.pending
            board.freed(claim.jobs.app)
        }
    }

    /// The rows of the claim are back in the queue.
    mutating func released(_ claim: UnsettledClaim, at now: MonotonicInstant) {
        unsettledSince = now
        board.returned([(claim.lane, claim.jobs.lowest)], at: now)
    }

    mutating func ended(_ claim: UnsettledClaim) {
        if let bytes = flights.removeValue(forKey: claim.jobs.key) { admission.ended(bytes, of: claim.jobs.app) }
        if !claim.isStuck { refusedSettlements.ended(claim.lane) }
        if flights.isEmpty { unsettledSince = nil }
        admission.release(claim.pushes, of: claim.jobs.app)
        board.freed(claim.jobs.app)
        if claim.jobs.areQuarantined { board.quarantineEnded(in: claim.lane, lowest: claim.lowest) }
    }

    /// All jobs that went back were due at that time.
    func areReturnsDue(at instant: MonotonicInstant) -> Bool { returnsDue.map { $0 <= instant } ?? true }

    // MARK: Refused settlements

    /// PostgreSQL has refused a settlement for its content. If another of the app was refused meanwhile, it takes a try afterwards.
    mutating func settlementRefused(
        of app: Int32,
        wasTry: Bool,
        at now: MonotonicInstant,
        _ refusals: inout RefusedStatementPace
    ) {
        if refusedSettlements.contains(app), !wasTry { refusals.spend(at: now) }
        refusedSettlements.refused(app, at: now)
    }

    /// A settlement that was sent as a try is written.
    mutating func triedSettlementWritten(of app: Int32) {
        if refusedSettlements.written(app) { board.freed(app) }
    }

    /// The claim cannot be settled until a person removes the cause, and others of its lane need not wait for that.
    mutating func stuck(_ claim: inout UnsettledClaim) {
        guard !claim.isStuck else { return }
        claim.isStuck = true
        refusedSettlements.ended(claim.lane)
        board.freed(claim.jobs.app)
    }
}
