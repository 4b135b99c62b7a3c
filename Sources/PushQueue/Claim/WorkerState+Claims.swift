import ApplePush
import CarillonIO

/// Which claims to make, and what their answers mean.
extension WorkerState {
    /// - Parameter room: How many more pushes the workers of this process may have in flight together.
    mutating func nextClaim(at now: MonotonicInstant, within room: Int = .max) -> ClaimPlan? {
        limits.admission.leftByOthers = room
        guard phase == .working, reconnection.isConnected, limits.admission.hasRoom, lease.holds(at: now) else {
            return nil
        }
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
    mutating func claimAnswered(_ answer: ClaimAnswer, to plan: ClaimPlan, at now: MonotonicInstant) -> Int64? {
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
    mutating func foundNoTurn(for app: Int32, at now: MonotonicInstant) {
        limits.rates.rest(app, until: now + .seconds(1) * Double.random(in: 0.5...1, using: &random))
    }

    /// How many tokens each part of a split row has.
    func partSize(of app: Int32) -> Int { min(options.claimSize, limits.mostPushes(of: app)) }

    /// A row of the lane was split into rows of the same lane.
    mutating func split(in lane: Lane, at now: MonotonicInstant) { board.found([lane], at: now) }
}
