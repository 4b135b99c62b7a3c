import CarillonIO

@testable import CarillonPushQueue

extension WorkerState {
    /// Returns the row that has to be split, if any.
    mutating func claimAnswered(_ answer: ClaimRows, to plan: ClaimPlan, at now: MonotonicInstant) -> Int64? {
        schedule.claimAnswered(answer, to: plan, of: apps, at: now, &refusals)
    }
}
