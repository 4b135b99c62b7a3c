import ApplePush
import CarillonIO

/// Whose turn it is: the lanes with rows, the limits of their apps, the claims under way, and when to look again.
struct Schedule: Sendable {
    private let options: WorkerOptions
    private var board: LaneBoard
    private(set) var limits: AppLimits
    private(set) var slots = ClaimSlots()
    private var due = DueFloor()
    private var polling = PollingPace()
    /// Looks skip these apps.
    private(set) var pausedRuns: [AppRun] = []
    /// When the last of the jobs that went back without using up an attempt is due.
    private var returnsDue: MonotonicInstant?
    /// Claims that were answered and are not settled yet: rows of `inflight`.
    private var flights: Set<ClaimKey> = []

    init(_ options: WorkerOptions, apps: AppDirectory) {
        self.options = options
        board = LaneBoard(quantum: options.claimSize)
        limits = AppLimits(maxInFlight: options.maxInFlight, claimSize: options.claimSize, apps: apps)
    }

    var inFlight: Int { limits.admission.inFlight }

    /// The ids of its rows of `inflight`, as far as it knows.
    var heldClaims: Set<Int64> { Set(flights.map(\.id)) }

    /// Every claim is settled.
    var isIdle: Bool { slots.areEmpty && flights.isEmpty }

    // MARK: Claims

    /// - Parameter room: How many more pushes the workers of this process may have in flight together.
    mutating func nextClaim(at now: MonotonicInstant, within room: Int) -> ClaimPlan? {
        limits.admission.leftByOthers = room
        guard limits.admission.hasRoom else { return nil }
        let plan = board.next(in: slots, at: now, within: &limits) { limits, lane in
            limits.allowance(of: lane.app, at: now)
        }
        guard let plan else { return nil }
        limits.planned(Int(plan.pushes), of: plan.lane.app)
        slots.take(plan.depth)
        return plan
    }

    /// The claim was not made.
    mutating func claimFailed(_ plan: ClaimPlan, wasTooLarge: Bool = false, at now: MonotonicInstant) {
        slots.free(plan.depth)
        board.abandoned(plan, wasTooLarge: wasTooLarge, at: now)
        limits.admission.release(Int(plan.pushes), of: plan.lane.app)
        stoppedWaiting(plan.lane.app)
    }

    /// Returns the row that has to be split, if any.
    mutating func claimAnswered(_ answer: ClaimRows, to plan: ClaimPlan, at now: MonotonicInstant) -> Int64? {
        let pushes = answer.jobs?.batch.count ?? 0
        let large = answer.next.flatMap { $0.pushes > limits.mostPushes(of: plan.lane.app) ? $0.id : nil }
        slots.free(plan.depth)
        board.claimed(
            plan,
            rows: answer.rows,
            pushes: pushes,
            first: answer.first,
            // A row that never fits has to be split first.
            next: large == nil ? answer.next?.pushes : nil,
            at: now
        )
        limits.admission.release(Int(plan.pushes) - pushes, of: plan.lane.app)
        board.freed(plan.lane.app)
        if let jobs = answer.jobs { flights.insert(jobs.key) } else { stoppedWaiting(plan.lane.app) }
        return large
    }

    /// A claim of the app no longer waits for its turn.
    mutating func stoppedWaiting(_ app: Int32) {
        limits.rates.stoppedWaiting(of: app)
        board.freed(app)
    }

    /// No turn of the app begins soon: the next try is within a second.
    mutating func foundNoTurn(
        for app: Int32,
        at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator
    ) {
        limits.rates.rest(app, until: now + .seconds(1) * Double.random(in: 0.5...1, using: &generator))
    }

    /// How many tokens each job of a split row has.
    func jobSize(of app: Int32) -> Int { min(options.claimSize, limits.mostPushes(of: app)) }

    /// A row of the lane was split into rows of the same lane.
    mutating func split(in lane: Lane, at now: MonotonicInstant) { board.found([lane], at: now) }

    /// Pushes of the claim have left it before they were sent.
    mutating func shrank(_ claim: inout HeldClaim) {
        let gone = claim.pushes - claim.jobs.batch.count
        guard gone > 0 else { return }
        claim.pushes -= gone
        limits.admission.release(gone, of: claim.jobs.app)
        board.freed(claim.jobs.app)
    }

    /// A settlement was written.
    mutating func settled(
        _ claim: inout HeldClaim,
        _ settlement: Settlement,
        _ outcomes: Outcomes,
        at now: MonotonicInstant
    ) {
        // Returned jobs may be below the floor.
        if let lowest = settlement.lowestGoingBack(of: claim.jobs) {
            board.returned(to: claim.lane, lowest: lowest, at: now)
        }
        if let rest = settlement.rest(of: claim.jobs) { returnsDue = max(returnsDue ?? now, now + rest) }
        if settlement.pending > 0 {
            claim.progress = .partSettled(outcomes)
            limits.admission.release(claim.pushes - settlement.pending, of: claim.jobs.app)
            claim.pushes = settlement.pending
            board.freed(claim.jobs.app)
        }
    }

    /// The rows of the claim are back in the queue.
    mutating func released(_ claim: HeldClaim, at now: MonotonicInstant) {
        board.returned(to: claim.lane, lowest: claim.jobs.lowest, at: now)
    }

    mutating func ended(_ claim: HeldClaim) {
        flights.remove(claim.jobs.key)
        limits.admission.release(claim.pushes, of: claim.jobs.app)
        board.freed(claim.jobs.app)
        if claim.jobs.areQuarantined { board.quarantineEnded(in: claim.lane, first: claim.first) }
    }

    // MARK: Apps

    /// Rows of apps were read. Returns what has changed.
    mutating func read(_ rows: [AppWithSecret], of ids: [Int32]) -> AppDirectory.News {
        let news = limits.apps.read(rows, of: ids)
        // With another route, the app may be able to send.
        for app in news.rerouted { limits.holds.release(app) }
        for id in ids { board.freed(id) }
        return news
    }

    /// All changes up to this fingerprint were read.
    mutating func read(upTo fingerprint: [Int64]) { limits.apps.fingerprint = fingerprint }

    mutating func paused(_ runs: [AppRun]) { pausedRuns = runs }

    mutating func learned(capacity: Int?, of app: Int32) { limits.capacities.learned(capacity, of: app) }

    /// The live workers share the rate of an app.
    mutating func counted(workers: Int) { limits.workersAlive = max(1, workers) }

    /// True: look for certificates that expire.
    mutating func mustLookForExpiry(at now: MonotonicInstant) -> Bool { limits.expiry.isDue(at: now) }

    mutating func mustWarn(of certificate: Int32, days: Int64) -> Bool {
        limits.expiry.mustWarn(of: certificate, days: days)
    }

    /// - Returns: How long the app is held; nil: it was held already.
    mutating func hold(
        _ app: Int32,
        for hold: Hold,
        at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        limits.holds.hold(app, for: hold, at: now, using: &generator)
    }

    /// The app can send. True: it was held.
    mutating func endHold(of app: Int32) -> Bool {
        guard limits.holds.end(app) else { return false }
        board.freed(app)
        return true
    }

    // MARK: Looks

    /// Nothing that this worker knows is left out of the next look.
    mutating func lookAtAll() {
        board.forgetFloors()
        due = DueFloor()
    }

    /// Jobs are back in the queue, and may be below the floors.
    mutating func forgetFloors() { board.forgetFloors() }

    /// Where looks begin, in the order of the index.
    var floors: [(lane: Lane, id: Int64)] { board.floors }

    mutating func promotionStart(at now: MonotonicInstant) -> DueFloor.Place { due.start(at: now) }

    mutating func promoted(_ promotion: PromotionRows, from start: DueFloor.Place, at now: MonotonicInstant) {
        due.moved(promotion, from: start, at: now)
        for rows in promotion.promotions { board.returned(to: rows.lane, lowest: rows.lowest, at: now) }
    }

    /// Rows were found in these lanes. Returns the apps whose rows have to be read first.
    mutating func found(_ lanes: [Lane]) -> Set<Int32> {
        limits.apps.forgetAbsent()
        return Set(lanes.map(\.app)).filter { limits.apps.isUnread($0) }
    }

    /// The rows of the apps of these lanes were read.
    mutating func understood(_ lanes: [Lane], at now: MonotonicInstant) {
        board.found(lanes, at: now)
        board.forgetIdle(at: now)
    }

    func hasClaimable(_ lanes: [Lane]) -> Bool { lanes.contains { limits.isClaimable($0) } }

    /// All jobs that went back were due at that time.
    func areReturnsDue(at instant: MonotonicInstant) -> Bool { returnsDue.map { $0 <= instant } ?? true }

    /// Returns the wait before the next look.
    mutating func foundWork(after cost: Duration) -> Duration {
        polling.foundWork(after: cost, isBusy: inFlight > 0)
    }

    /// Returns the wait before the next look.
    mutating func foundNothing(after cost: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        polling.foundNothing(after: cost, using: &generator)
    }

    // MARK: Below the floors

    /// The floors to look below for rows that were committed long after their ids were drawn.
    var risenFloors: [(lane: Lane, id: Int64)] { board.risenFloors }

    /// A look for due jobs does not begin at the beginning of `scheduled`.
    var skipsScheduled: Bool { !due.isLow }

    /// Rows were found below the floors of these lanes.
    mutating func swept(_ rows: [(lane: Lane, lowest: Int64)], at now: MonotonicInstant) {
        for (lane, lowest) in rows { board.returned(to: lane, lowest: lowest, at: now) }
    }
}
