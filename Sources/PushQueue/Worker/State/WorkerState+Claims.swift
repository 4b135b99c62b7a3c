import ApplePush
import IO

/// Which claims to make, and what their answers mean.
extension WorkerState {
    /// A row with more pushes is cut.
    private static let largest = 1000

    /// - Parameter room: How many pushes the other workers of this process leave room for.
    mutating func nextClaim(at now: MonotonicInstant, within room: Int = .max) -> ClaimPlan? {
        self.limits.admission.leftByOthers = room
        guard self.phase == .working, self.isConnected, self.limits.admission.hasRoom, self.lease.holds(at: now),
            let plan = self.board.next(
                of: self.asked.open,
                at: now,
                within: &self.limits,
                allowance: { limits, lane in limits.allowance(of: lane.app, at: now) }
            )
        else { return nil }
        self.limits.planned(Int(plan.pushes), of: plan.lane.app)
        self.asked.take(plan.depth)
        return plan
    }

    /// The claim was not made: what was set aside for it is free again.
    mutating func claimFailed(_ plan: ClaimPlan, at now: MonotonicInstant) {
        self.asked.free(plan.depth)
        self.board.abandoned(plan, at: now)
        self.limits.unclaimed(Int(plan.pushes), of: plan.lane.app)
        self.board.freed(plan.lane.app)
    }

    /// Answers with the row that has to be cut, if there is one.
    mutating func claimAnswered(_ answer: ClaimAnswer, to plan: ClaimPlan, at now: MonotonicInstant) -> Int64? {
        let pushes = answer.jobs?.batch.count ?? 0
        let large = answer.next.flatMap { self.mustBeCut($0) ? $0.id : nil }
        self.asked.free(plan.depth)
        self.board.claimed(
            plan,
            rows: answer.rows,
            pushes: pushes,
            first: answer.first,
            // What never fits is cut first; until then there is no use in coming back.
            next: large == nil ? answer.next?.pushes : nil,
            at: now
        )
        self.limits.unclaimed(Int(plan.pushes) - pushes, of: plan.lane.app)
        self.board.freed(plan.lane.app)
        if let jobs = answer.jobs { self.flights.insert(jobs.key) }
        return large
    }

    /// Whether a row has to be cut: a large one would wait, and all behind it, until so much is free at once.
    private func mustBeCut(_ row: ClaimAnswer.NextRow) -> Bool {
        row.pushes > min(self.limits.admission.most, Self.largest)
    }

    /// A row was cut, and its parts are in its lane.
    mutating func split(in lane: Lane, at now: MonotonicInstant) {
        self.board.found([lane], at: now)
    }
}
