import CarillonIO

/// Paused apps with consecutive ids, which looks skip.
package struct AppRun: Hashable, Sendable {
    let first: Int32
    let last: Int32

    func contains(_ app: Int32) -> Bool { first <= app && app <= last }
}

/// Finding lanes with rows.
extension WorkerState {
    struct Look: Sendable {
        let began: MonotonicInstant
        /// No claim was under way or in flight.
        let wasIdle: Bool
        /// Due jobs that were moved to the queue.
        var promoted = 0
        /// How long the server took; nil: unknown. The time until the answer includes other statements.
        var cost: Duration?
    }

    mutating func lookBegan(at now: MonotonicInstant) -> Look {
        let look = Look(began: now, wasIdle: isIdle)
        if look.wasIdle, options.once {
            board.forgetFloors()
            due = DueFloor()
        }
        return look
    }

    /// Whether to move due jobs to the queue.
    var promotes: Bool { phase == .working }

    /// Where to begin to look for due jobs; nil: none are moved.
    mutating func promotionStart(at now: MonotonicInstant) -> DueFloor.Place? {
        promotes ? due.start(at: now) : nil
    }

    mutating func promoted(_ promotion: PromotionAnswer, from start: DueFloor.Place, at now: MonotonicInstant) {
        due.moved(promotion, from: start, at: now)
        for rows in promotion.promotions { board.returned(to: rows.lane, lowest: rows.lowest, at: now) }
    }

    /// Rows were found in these lanes. Returns the apps whose rows have to be read first.
    mutating func found(_ lanes: [Lane]) -> Set<Int32> {
        limits.apps.forgetAbsent()
        return Set(lanes.map(\.app)).filter { limits.apps.isUnread($0) }
    }

    /// The rows of the apps of these lanes were read.
    mutating func understood(_ lanes: [Lane], at now: MonotonicInstant) -> [WorkerEvent] {
        board.found(lanes, at: now)
        board.forgetIdle(at: now)
        return holdUnusable(lanes, at: now)
    }

    /// Returns the wait before the next look.
    mutating func lookEnded(_ look: Look, _ lanes: [Lane], at now: MonotonicInstant) -> Duration {
        let cost = look.cost ?? now - look.began
        succeeded(in: .look)
        if look.promoted > 0 || !isIdle || lanes.contains(where: { limits.isClaimable($0) }) {
            return polling.foundWork(after: cost, isBusy: inFlight > 0)
        }
        let isAllDue = returnsDue.map { $0 <= look.began } ?? true
        if look.wasIdle, isDoneOnce, isAllDue, !watch.hasSuspects, phase == .working { phase = .drained }
        return polling.foundNothing(after: cost, using: &random)
    }

    // MARK: Below the floors

    private static let sweepInterval = Duration.seconds(5)

    /// The wait before the next sweep, which walks over all dead entries and may take a twentieth of the time.
    var sweepWait: Duration { max(Self.sweepInterval, sweepCost * 20) }

    mutating func sweepEnded(after cost: Duration) { sweepCost = cost }

    var mustSweep: Bool { !sweep.isEmpty || sweepsScheduled }

    /// The floors to look below for rows that were committed long after their ids were drawn.
    var sweep: [(lane: Lane, id: Int64)] { phase == .working ? board.risenFloors : [] }

    /// Whether to look for due jobs from the beginning of `scheduled`.
    var sweepsScheduled: Bool { promotes && !due.isLow }

    /// Rows were found below the floors of these lanes.
    mutating func swept(_ rows: [(lane: Lane, lowest: Int64)], at now: MonotonicInstant) {
        for (lane, lowest) in rows { board.returned(to: lane, lowest: lowest, at: now) }
    }
}
