import CarillonIO
import CarillonPostgres

/// The state of a worker, and all its decisions.
///
/// A value without connection, clock, closure, lock or task. Events go in, with their time; decisions come out. Its shell is
/// `WorkerContext`. The simulation runs thousands of them.
///
/// Its parts are values too, and each changes only itself. For what concerns one part alone, call that part. A method that needs
/// several parts is a method of this type. A part with random waits has a generator of its own.
struct WorkerState: Sendable {
    enum Phase: Sendable {
        case working
        /// With `once`: a look from the beginning of every lane has found nothing due.
        case drained
        /// Claims nothing more, and settles what is in flight.
        case draining
        /// Abandons pushes in flight.
        case givingUp
        /// Has stopped. What is not settled is left for a takeover.
        case over
    }

    /// Work that is repeated until it succeeds.
    enum Routine: Hashable, Sendable { case look, wake, apps, heartbeat, watch, notes }

    let options: WorkerOptions
    private(set) var phase = Phase.working
    var lease: LeaseState
    var schedule: ClaimSchedule
    var refusals: RefusedStatementPace
    var apps: AppDirectory
    var holds: AppHolds
    var maintenance: MaintenanceState
    var sleep: SleepState
    var unwrittenCounts = UnwrittenCounts()
    var notes = WorkerNotes()
    var logLimits = LogLimits()
    var reconnection: DatabaseReconnectPace
    var wal = WALState()
    private var due = DueFloor()
    private var hasPromoted = false
    private var walk = LookWalk()
    /// The apps of the lanes that the last look in vain has found. They wake no sleeper.
    private(set) var unsendable: Set<Int32> = []
    private var polling: PollingPace
    private var forgotAt: MonotonicInstant?
    private var backOffs: [Routine: BackOff] = [:]
    var random: SeededGenerator

    /// - Parameter apps: Those whose rows were read before.
    init(_ options: WorkerOptions, seed: UInt64, apps: AppDirectory = AppDirectory()) {
        self.options = options
        self.apps = apps
        random = SeededGenerator(seed: seed)
        lease = LeaseState(duration: options.lease, seed: random.next())
        schedule = ClaimSchedule(options, seed: random.next())
        holds = AppHolds(seed: random.next())
        maintenance = MaintenanceState(options, seed: random.next())
        sleep = SleepState(lease: options.lease, hosts: options.database.hostCount, seed: random.next())
        reconnection = DatabaseReconnectPace(seed: random.next())
        polling = PollingPace(seed: random.next())
        refusals = RefusedStatementPace(seed: random.next())
    }

    var isDone: Bool {
        switch phase {
        case .working: false
        case .draining, .givingUp: schedule.isIdle && !maintenance.isReadingLegacyFeedback
        case .drained, .over: true
        }
    }

    // MARK: Retrying

    /// The wait before a statement of a flight is tried again. Nil if there is no connection: then it does not wait.
    mutating func retryWait(_ backOff: inout BackOff) -> Duration? {
        guard phase != .over, reconnection.isConnected else { return nil }
        return backOff.next(using: &random)
    }

    mutating func succeeded(in routine: Routine) { backOffs[routine] = nil }

    /// Returns the wait before the next try.
    mutating func failed(in routine: Routine) -> Duration {
        backOffs[routine, default: .statements].next(using: &random)
    }

    // MARK: Stopping

    /// Returns false if it was requested before.
    mutating func drainRequested() -> Bool {
        guard phase == .working || phase == .drained else { return false }
        phase = .draining
        return true
    }

    /// Returns false if it was requested before.
    mutating func giveUpRequested() -> Bool {
        guard phase != .givingUp, phase != .over else { return false }
        phase = .givingUp
        return true
    }

    /// Claims that are not settled are taken over when the lease has expired.
    mutating func ended() { phase = .over }

    // MARK: The lease

    /// A heartbeat has returned.
    /// - Parameters:
    ///   - workersAlive: Nil: others have declared the worker dead.
    ///   - worker: The id that it had when it asked.
    /// - Returns: Whether to register again.
    mutating func heartbeatReturned(_ workersAlive: Int?, of worker: Int64, askedAt: MonotonicInstant) -> Bool {
        // When the worker wakes, two connections may renew the lease at once.
        guard worker == lease.id, !lease.isRegisteringAgain else { return false }
        guard let workersAlive else {
            lease.declaredDead()
            sleep.registeredAgain()
            return true
        }
        renewed(workersAlive: workersAlive, askedAt: askedAt)
        return false
    }

    mutating func renewed(workersAlive: Int, askedAt: MonotonicInstant) {
        lease.renewed(askedAt: askedAt)
        schedule.renewed(workersAlive: workersAlive)
    }

    /// How long it has before it counts as stuck; negative if it does. Nil if it has no claim.
    func settlingWait(at now: MonotonicInstant) -> Duration? {
        schedule.unsettledSince.map { options.stuckAfter - (now - $0) }
    }

    // MARK: Maintenance

    var mustSweep: Bool { !floorsToSweep.isEmpty || sweepsScheduled }

    /// The floors to look below.
    var floorsToSweep: [(lane: Lane, id: Int64)] { phase == .working ? schedule.board.risenFloors : [] }

    /// Whether to look for due jobs from the beginning of `scheduled`.
    var sweepsScheduled: Bool { promotes && !due.isLow }

    // MARK: Looks

    struct Look: Sendable {
        let began: MonotonicInstant
        /// No claim was under way or in flight.
        let wasIdle: Bool
        let range: LookRange
        /// Where its walk ended. Nil: at the last lane.
        var end: Lane?
        /// Where it begins to look for due jobs. Nil if none are moved.
        let start: DueFloor.Position?
        /// The promotion before has moved jobs. One that finds none left shows what the search costs over their dead entries.
        let followsPromotion: Bool
        /// Due jobs that were moved to the queue.
        var promoted = 0
        /// How long the server took, if known. The time until it returns includes other statements.
        var cost: Duration?

        /// Where to begin to move due jobs; nil if there is no need.
        func startOfPromotion(isDue: Bool) -> DueFloor.Position? { isDue || followsPromotion ? start : nil }
    }

    mutating func lookBegan(at now: MonotonicInstant) -> Look {
        let wasIdle = schedule.isIdle
        if wasIdle, options.once { forgetFloors() }
        let maxSteps = walk.isLimited ? options.maxLookSteps : nil
        return Look(
            began: now,
            wasIdle: wasIdle,
            range: schedule.board.lookRange(after: walk.end, turn: walk.turn, maxSteps: maxSteps),
            start: promotes ? due.start(at: now) : nil,
            followsPromotion: hasPromoted
        )
    }

    /// The next looks begin at the beginning of each lane.
    mutating func forgetFloors() {
        schedule.forgetFloors()
        due = DueFloor()
    }

    /// Whether to move due jobs to the queue.
    var promotes: Bool { phase == .working }

    /// The due jobs that a look found were moved.
    mutating func promoted(_ promotion: PromotionRows, in look: inout Look, at now: MonotonicInstant) {
        guard let start = look.start else { return }
        look.promoted = promotion.rows
        promoted(promotion, from: start, at: now)
    }

    mutating func promoted(_ promotion: PromotionRows, from start: DueFloor.Position, at now: MonotonicInstant) {
        hasPromoted = promotion.rows > 0
        due.moved(promotion, from: start, at: now)
        schedule.promoted(promotion.lanes, of: apps, at: now)
    }

    /// Rows were found in these lanes. Returns the apps whose own rows have to be read first: other lanes do not wait for that.
    mutating func found(_ lanes: [Lane], at now: MonotonicInstant) -> Set<Int32> {
        let unread = apps.found(lanes)
        if !unread.isEmpty { schedule.found(lanes.filter { !unread.contains($0.app) }, of: apps, at: now) }
        return unread
    }

    /// The rows of the apps of these lanes were read.
    mutating func understood(_ lanes: [Lane], at now: MonotonicInstant) -> [WorkerEvent] {
        schedule.found(lanes, of: apps, at: now)
        forgetIdle(at: now)
        return holdUnusable(lanes, at: now)
    }

    /// Forgets lanes that have had no rows for a while. Goes through all that are known, so it does so once a second at most.
    private mutating func forgetIdle(at now: MonotonicInstant) {
        if let forgotAt, now - forgotAt < .seconds(1) { return }
        forgotAt = now
        schedule.forgetIdle(at: now)
        refusals.forgetIdle(at: now)
    }

    /// Returns the wait before the next look.
    mutating func lookEnded(_ look: Look, _ lanes: [Lane], at now: MonotonicInstant) -> Duration {
        let cost = look.cost ?? now - look.began
        succeeded(in: .look)
        var foundWork = look.promoted > 0 || !schedule.isIdle || lanes.contains { isClaimable($0.app) }
        let isWhole = walk.looked(from: look.range.start, to: look.end, foundWork: foundWork)
        if !isWhole { foundWork = true }
        if !foundWork { unsendable = Set(lanes.map(\.app)) }
        if !sleep.isAwake {
            // A claim shows whether an app can send again whose hold has ended.
            let wakes = foundWork || lanes.contains { mayBeTried($0.app, at: now) }
            if let wait = sleep.lookedWhenCalled(foundWork: wakes, until: holdEnd(at: now), at: now) { return wait }
        }
        sleep.looked(foundWork: foundWork, at: now)
        if foundWork {
            let hasMore = schedule.board.hasLeftLanes || !isWhole
            return polling.foundWork(after: cost, isBusy: schedule.inFlight > 0, hasMoreLanes: hasMore)
        }
        if look.wasIdle, maintenance.isDoneOnce, schedule.areReturnsDue(at: look.began), !lease.hasSuspects,
            phase == .working
        {
            phase = .drained
        }
        // A worker that cannot sleep looks more rarely when it has been idle for long.
        let idle = sleep.isPossible ? nil : now - (sleep.idleSince ?? now)
        return polling.foundNothing(after: cost, idleFor: idle)
    }

    /// Whether rows of the app can be claimed soon.
    private func isClaimable(_ id: Int32) -> Bool {
        guard let app = apps[id] else { return true }
        guard case .success = app.route else { return false }
        return !app.row.isPaused && !holds.isHeld(id)
    }

    // MARK: Claims

    /// - Parameter ceiling: How many more pushes the workers of this process may have in flight together: see `FlightCeiling`.
    mutating func nextClaim(at now: MonotonicInstant, within ceiling: Int = .max) -> ClaimPlan? {
        guard phase == .working, reconnection.isConnected, sleep.isAwake, lease.isValid(at: now) else { return nil }
        guard var plan = schedule.nextClaim(at: now, within: ceiling, of: apps, holds, refusals) else { return nil }
        plan.isTry = refusals.claimPlanned(in: plan.lane, at: now)
        return plan
    }
}
