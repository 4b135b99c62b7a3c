import ApplePush
import IO

/// Which claims to make, and what their answers mean.
extension WorkerState {
    /// - Parameter room: How many pushes the other workers of this process leave room for.
    mutating func nextClaim(at now: MonotonicInstant, within room: Int = .max) -> ClaimPlan? {
        self.limits.admission.leftByOthers = room
        guard phase == .working, isConnected, self.limits.admission.hasRoom, lease.holds(at: now),
            let plan = board.next(
                of: asked.open,
                at: now,
                within: &self.limits,
                allowance: { limits, lane in limits.allowance(of: lane.app, at: now) }
            )
        else { return nil }
        self.limits.planned(Int(plan.pushes), of: plan.lane.app)
        asked.take(plan.depth)
        return plan
    }

    /// The claim was not made: what was set aside for it is free again.
    mutating func claimFailed(_ plan: ClaimPlan, wasTooLarge: Bool = false, at now: MonotonicInstant) {
        asked.free(plan.depth)
        board.abandoned(plan, wasTooLarge: wasTooLarge, at: now)
        limits.unclaimed(Int(plan.pushes), of: plan.lane.app)
        departed(plan.lane.app)
    }

    /// Answers with the row that has to be cut, if there is one.
    mutating func claimAnswered(_ answer: ClaimAnswer, to plan: ClaimPlan, at now: MonotonicInstant) -> Int64? {
        let pushes = answer.jobs?.batch.count ?? 0
        let large = answer.next.flatMap { $0.pushes > limits.mostPushes(of: plan.lane.app) ? $0.id : nil }
        asked.free(plan.depth)
        board.claimed(
            plan,
            rows: answer.rows,
            pushes: pushes,
            first: answer.first,
            // What never fits is cut first; until then there is no use in coming back.
            next: large == nil ? answer.next?.pushes : nil,
            at: now
        )
        limits.unclaimed(Int(plan.pushes) - pushes, of: plan.lane.app)
        board.freed(plan.lane.app)
        if let jobs = answer.jobs { flights.insert(jobs.key) } else { departed(plan.lane.app) }
        return large
    }

    /// A claim of the app does not wait for its turn any more.
    mutating func departed(_ app: Int32) {
        limits.rates.departed(of: app)
        board.freed(app)
    }

    /// The app's timetable has no turn left for now: a while later it may.
    mutating func foundNoTurn(for app: Int32, at now: MonotonicInstant) {
        limits.rates.rest(app, until: now + .seconds(1) * Double.random(in: 0.5...1, using: &random))
    }

    /// How many tokens each part of a row has that has to be cut.
    func cutSize(of app: Int32) -> Int { min(options.claimSize, limits.mostPushes(of: app)) }

    /// A row was cut, and its parts are in its lane.
    mutating func split(in lane: Lane, at now: MonotonicInstant) {
        board.found([lane], at: now)
    }
}
