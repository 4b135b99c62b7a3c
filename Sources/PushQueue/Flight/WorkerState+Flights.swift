import ApplePush
import CarillonIO

/// What follows a claim.
extension WorkerState {
    mutating func claimFailed(_ plan: ClaimPlan, _ fault: ClaimFault, at now: MonotonicInstant) {
        schedule.failed(plan, fault)
        refusals.claimFailed(plan, fault, at: now)
    }

    /// Returns the row that has to be split, if any.
    mutating func claimReturned(_ rows: ClaimRows, to plan: ClaimPlan, at now: MonotonicInstant) -> Int64? {
        refusals.claimReturned(rows, to: plan)
        return schedule.claimed(rows, to: plan, rate: apps.maxRate(of: plan.lane.app), at: now)
    }

    enum Disposition: Sendable {
        case send(App.Route, maxAttempts: Int16)
        /// All jobs have expired or are refused: they only have to be settled.
        case nothingToSend
        /// The jobs may no longer be sent, and go back unchanged.
        case release
    }

    func disposition(of jobs: ClaimedJobs, claimedAs worker: Int64, at now: MonotonicInstant) -> Disposition {
        if jobs.batch.isEmpty { return .nothingToSend }
        guard phase == .working, worker == lease.id, lease.isValid(at: now), let app = apps[jobs.app],
            let route = app.route(in: Lane(app: jobs.app, number: jobs.lane))
        else { return .release }
        return .send(route, maxAttempts: Int16(clamping: app.row.settings.maxAttempts))
    }

    /// Some or all outcomes of a claim are known.
    mutating func settlement(of claim: UnsettledClaim, _ outcomes: Outcomes, at now: MonotonicInstant) -> Settlement {
        Settlement(
            claim.jobs,
            outcomes,
            after: claim.settled,
            policy: options.retry,
            maxAttempts: claim.maxAttempts,
            // The database's clock at the claim, plus the time since it returned.
            now: claim.jobs.claimedAt + (now - claim.returnedAt).nanoseconds / 1000,
            keepsUniqueIDs: outcomes.hasUniqueIDs && apps[claim.jobs.app]?.row.settings.keepUniqueIDs ?? false,
            keepsSent: apps[claim.jobs.app]?.row.settings.keepSent != nil,
            triesOtherEnvironment: apps[claim.jobs.app]?.otherGateway != nil && !claim.lane.isSecondTry,
            using: &random
        )
    }

    /// Why the app cannot send, by outcomes that have just become known. Pushes withheld by a lost lease do not count against it.
    func hold(shownBy outcomes: Outcomes, at now: MonotonicInstant) -> Hold? {
        lease.isValid(at: now) ? Hold(outcomes) : nil
    }

    /// A settlement was written.
    mutating func settled(
        _ claim: inout UnsettledClaim,
        _ settlement: Settlement,
        _ outcomes: Outcomes,
        at now: MonotonicInstant
    ) {
        unwrittenCounts.add(settlement.tally, of: claim.jobs.app)
        schedule.settled(&claim, settlement, outcomes, at: now)
    }

    /// A settlement that was sent as a try is written.
    mutating func triedSettlementWritten(of app: Int32) {
        if refusals.settlementWritten(of: app) { schedule.freed(app) }
    }

    /// The claim cannot be settled until a person removes the cause, and others of its lane need not wait for that.
    mutating func stuck(_ claim: inout UnsettledClaim) {
        guard !claim.isStuck else { return }
        claim.isStuck = true
        refusals.claimEnded(in: claim.lane)
        schedule.freed(claim.jobs.app)
    }

    mutating func claimEnded(_ claim: UnsettledClaim) {
        if !claim.isStuck { refusals.claimEnded(in: claim.lane) }
        schedule.ended(claim)
    }

    /// Holds the app or ends its hold. What was learned by an earlier route says nothing of the present one.
    mutating func updateHold(after settlement: Settlement, of claim: UnsettledClaim, at now: MonotonicInstant)
        -> WorkerEvent?
    {
        let app = claim.jobs.app
        guard let route = claim.route, route == apps[app]?.route(in: claim.lane) else { return nil }
        if let cause = claim.hold { return phase == .working ? hold(app, for: cause, at: now) : nil }
        return settlement.gatewayAnswers ? endHold(of: app) : nil
    }
}
