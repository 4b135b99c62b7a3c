import IO

/// Finding lanes that have rows.
extension WorkerState {
    mutating func lookBegan(at now: MonotonicInstant) -> Look {
        let look = Look(began: now, wasIdle: isIdle)
        if look.wasIdle, options.once {
            board.forgetFloors()
            due = DueFloor()
        }
        return look
    }

    /// Whether to move to the queue what has become due.
    var promotes: Bool { phase == .working }

    /// Jobs were moved, looked for from that place on.
    mutating func promoted(_ promotion: PromotionAnswer, from start: DuePlace, at now: MonotonicInstant) {
        due.moved(promotion, from: start, at: now)
        for rows in promotion.promotions { board.returned(to: rows.lane, lowest: rows.lowest, at: now) }
    }

    /// Rows were found in these lanes. Answers with the apps among them whose rows have to be read.
    mutating func found(_ lanes: [Lane]) -> Set<Int32> {
        limits.apps.forgetAbsent()
        return Set(lanes.map(\.app)).filter { limits.apps.isUnread($0) }
    }

    /// Rows were found in these lanes, and all about their apps is known.
    mutating func understood(_ lanes: [Lane], at now: MonotonicInstant) -> [Report] {
        board.found(lanes, at: now)
        board.forgetIdle(at: now)
        return reportUnusable(lanes, at: now)
    }

    /// How long to wait before the next look.
    mutating func lookEnded(_ look: Look, _ lanes: [Lane], at now: MonotonicInstant) -> Duration {
        let cost = look.cost ?? now - look.began
        succeeded(in: .look)
        // Lanes that are being claimed from are not looked at.
        if look.promoted > 0 || !isIdle || lanes.contains(where: { limits.isClaimable($0) }) {
            return polling.foundWork(after: cost, isBusy: inFlight > 0)
        }
        let isAllDue = returnsDue.map { $0 <= look.began } ?? true
        if look.wasIdle, options.once, isIdle, isAllDue, !watch.hasSuspects { hasDrained = true }
        return polling.foundNothing(after: cost, using: &random)
    }

    // MARK: Below the floors

    /// How often rows below the floors are looked for: those that were committed long after their ids were drawn.
    private static let sweepInterval = Duration.seconds(5)

    /// How long to wait before the next sweep: behind somebody's long transaction nothing is cleaned up, and a sweep walks
    /// over all that was ever claimed. It may take a twentieth of the time, not more.
    var sweepWait: Duration { max(Self.sweepInterval, sweepCost * 20) }

    mutating func sweepEnded(after cost: Duration) { sweepCost = cost }

    var mustSweep: Bool { !sweep.isEmpty || sweepsScheduled }

    /// The floors to look below now; none: there is no need.
    var sweep: [(lane: Lane, id: Int64)] { phase == .working ? board.risenFloors : [] }

    /// Jobs that were committed long after their time was drawn are looked for, too.
    var sweepsScheduled: Bool { promotes && !due.isLow }

    /// Rows were found below the floors of these lanes, the lowest of each with that id.
    mutating func swept(_ rows: [(lane: Lane, lowest: Int64)], at now: MonotonicInstant) {
        for (lane, lowest) in rows { board.returned(to: lane, lowest: lowest, at: now) }
    }
}
