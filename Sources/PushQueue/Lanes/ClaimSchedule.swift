import ApplePush
import CarillonIO

/// When to claim, and how much. `LaneBoard` has the lanes in order; `ClaimSlots` and `Admission` limit the claims.
struct ClaimSchedule: Sendable {
    private let options: WorkerOptions
    private(set) var board: LaneBoard
    private var admission: Admission
    private(set) var slots = ClaimSlots()
    /// When the last of the jobs that went back without using up an attempt is due.
    private var returnsDue: MonotonicInstant?
    /// Claims that have returned jobs and are not settled yet, which are rows of `inflight`, and how many bytes each has.
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

    // MARK: Lanes

    /// A look has found rows in these lanes.
    mutating func found(_ lanes: [Lane], of apps: AppDirectory, at now: MonotonicInstant) {
        board.found(lanes, at: now) { apps[$0] != nil }
    }

    /// Jobs that were due have come to these lanes.
    mutating func promoted(_ rows: [(lane: Lane, lowest: Int64)], of apps: AppDirectory, at now: MonotonicInstant) {
        board.promoted(rows, at: now) { apps[$0] != nil }
    }

    /// A sweep has found rows below the floors of these lanes.
    mutating func swept(_ rows: [(lane: Lane, lowest: Int64)], at now: MonotonicInstant) {
        board.returned(rows, at: now)
    }

    mutating func forgetFloors() { board.forgetFloors() }
    mutating func forgetIdle(at now: MonotonicInstant) { board.forgetIdle(at: now) }
    mutating func freed(_ app: Int32) { board.freed(app) }
    mutating func learned(capacity: Int?, of app: Int32) { admission.capacities.learned(capacity, of: app) }
    mutating func renewed(workersAlive: Int) { admission.rates.workersAlive = workersAlive }

    // MARK: Claims

    mutating func nextClaim(
        at now: MonotonicInstant,
        within ceiling: Int,
        of apps: AppDirectory,
        _ holds: AppHolds,
        _ refusals: RefusedStatementPace
    ) -> ClaimPlan? {
        guard min(ceiling, admission.room) > 0, refusals.mayClaim(at: now, isOnly: slots.areEmpty) else { return nil }
        // The board asks for an open slot first, and then for the allowance of each lane and its app.
        let plan = board.next(in: slots, at: now) { lane in
            if let block = refusals.block(of: lane, at: now) { return block }
            return admission.allowance(of: lane.app, within: ceiling, apps, holds, at: now)
        }
        guard let plan else { return nil }
        slots.take(plan.depth)
        admission.admit(Int(plan.pushes), of: plan.lane.app)
        return plan
    }

    /// A claim was not made.
    mutating func failed(_ plan: ClaimPlan, _ fault: ClaimFault) {
        slots.free(plan.depth)
        board.abandoned(plan, wasTooLarge: fault == .size)
        admission.release(Int(plan.pushes), of: plan.lane.app)
        admission.ended(of: plan.lane.app)
        stoppedWaiting(plan.lane.app)
    }

    /// - Parameter rate: The app's `max_rate`.
    /// - Returns: The row that has to be split, if any.
    mutating func claimed(_ rows: ClaimRows, to plan: ClaimPlan, rate: Int32?, at now: MonotonicInstant) -> Int64? {
        let pushes = rows.jobs?.batch.count ?? 0
        let most = admission.maxPushes(at: rate)
        let large = rows.next.flatMap { $0.pushes > most ? $0.id : nil }
        slots.free(plan.depth)
        board.claimed(
            plan,
            rows: rows.rows,
            pushes: pushes,
            lowest: rows.lowest,
            // A row that never fits has to be split first.
            next: large == nil ? rows.next?.pushes : nil,
            at: now
        )
        admission.release(Int(plan.pushes) - pushes, of: plan.lane.app)
        board.freed(plan.lane.app)
        if let jobs = rows.jobs {
            flights[jobs.key] = jobs.byteCount
            admission.claimReturned(jobs.byteCount, of: jobs.app)
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
        if flights.isEmpty { unsettledSince = nil }
        admission.release(claim.pushes, of: claim.jobs.app)
        board.freed(claim.jobs.app)
        if claim.jobs.areQuarantined { board.quarantineEnded(in: claim.lane, lowest: claim.lowest) }
    }

    /// All jobs that went back were due at that time.
    func areReturnsDue(at instant: MonotonicInstant) -> Bool { returnsDue.map { $0 <= instant } ?? true }
}
