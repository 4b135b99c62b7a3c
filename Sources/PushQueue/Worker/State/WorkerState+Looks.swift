import IO

/// Finding lanes that have rows.
extension WorkerState {
    mutating func lookBegan(at now: MonotonicInstant) -> Look {
        let look = Look(began: now, wasIdle: self.isIdle)
        if look.wasIdle, self.options.once {
            self.board.forgetFloors()
            self.due = DueFloor()
        }
        return look
    }

    /// Whether to move to the queue what has become due.
    var promotes: Bool { self.phase == .working }

    /// Jobs were moved, looked for from that place on.
    mutating func promoted(_ promotion: PromotionAnswer, from start: DuePlace, at now: MonotonicInstant) {
        self.due.moved(promotion, from: start, at: now)
        for rows in promotion.promotions { self.board.returned(to: rows.lane, lowest: rows.lowest, at: now) }
    }

    /// Rows were found in these lanes. Answers with the apps among them whose rows have to be read.
    mutating func found(_ lanes: [Lane]) -> Set<Int32> {
        self.limits.apps.forgetAbsent()
        return Set(lanes.map(\.app)).filter { self.limits.apps.isUnread($0) }
    }

    /// Rows were found in these lanes, and all about their apps is known.
    mutating func understood(_ lanes: [Lane], at now: MonotonicInstant) -> [Report] {
        self.board.found(lanes, at: now)
        self.board.forgetIdle(at: now)
        return self.reportUnusable(lanes, at: now)
    }

    /// How long to wait before the next look.
    mutating func lookEnded(_ look: Look, _ lanes: [Lane], at now: MonotonicInstant) -> Duration {
        let cost = look.cost ?? now - look.began
        self.succeeded(in: .look)
        // Lanes that are being claimed from are not looked at.
        if look.promoted > 0 || !self.isIdle || lanes.contains(where: { self.limits.isClaimable($0) }) {
            return self.polling.foundWork(after: cost, isBusy: self.inFlight > 0)
        }
        let isAllDue = self.returnsDue.map { $0 <= look.began } ?? true
        if look.wasIdle, self.options.once, self.isIdle, isAllDue, !self.watch.hasSuspects { self.hasDrained = true }
        return self.polling.foundNothing(after: cost, using: &self.random)
    }

    // MARK: Below the floors

    /// How often rows below the floors are looked for: those that were committed long after their ids were drawn.
    private static let sweepInterval = Duration.seconds(5)

    /// How long to wait before the next sweep: behind somebody's long transaction nothing is cleaned up, and a sweep walks
    /// over all that was ever claimed. It may take a twentieth of the time, not more.
    var sweepWait: Duration { max(Self.sweepInterval, self.sweepCost * 20) }

    mutating func sweepEnded(after cost: Duration) { self.sweepCost = cost }

    var mustSweep: Bool { !self.sweep.isEmpty || self.sweepsScheduled }

    /// The floors to look below now; none: there is no need.
    var sweep: [(lane: Lane, id: Int64)] { self.phase == .working ? self.board.risenFloors : [] }

    /// Jobs that were committed long after their time was drawn are looked for, too.
    var sweepsScheduled: Bool { self.promotes && !self.due.isLow }

    /// Rows were found below the floors of these lanes, the lowest of each with that id.
    mutating func swept(_ rows: [(lane: Lane, lowest: Int64)], at now: MonotonicInstant) {
        for (lane, lowest) in rows { self.board.returned(to: lane, lowest: lowest, at: now) }
    }
}
