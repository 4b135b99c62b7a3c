import ApplePush
import CarillonIO

/// What follows the answer to a claim.
extension WorkerState {
    enum Disposition: Sendable {
        case send(App.Route, mostAttempts: Int16)
        /// All jobs have expired or are refused: they only have to be settled.
        case nothingToSend
        /// The jobs may no longer be sent, and go back unchanged.
        case giveBack
    }

    func disposition(of jobs: ClaimedJobs, claimedAs worker: Int64, at now: MonotonicInstant) -> Disposition {
        if jobs.batch.isEmpty { return .nothingToSend }
        guard phase == .working, worker == id, lease.holds(at: now),
            case .known(let app) = limits.apps[jobs.app],
            case .success(let route) = app.route
        else { return .giveBack }
        return .send(route, mostAttempts: Int16(clamping: app.row.settings.maxAttempts))
    }

    /// Pushes of the claim have left it before they were sent.
    mutating func shrank(_ claim: inout HeldClaim) {
        let gone = claim.pushes - claim.jobs.batch.count
        guard gone > 0 else { return }
        claim.pushes -= gone
        limits.admission.release(gone, of: claim.jobs.app)
        board.freed(claim.jobs.app)
    }

    /// Some or all outcomes of a claim are known.
    mutating func settlement(of claim: HeldClaim, _ outcomes: Outcomes, at now: MonotonicInstant) -> Settlement {
        var settlement = Settlement(
            claim.jobs,
            outcomes,
            after: claim.settled,
            policy: options.retry,
            mostAttempts: claim.mostAttempts,
            // The database's clock at the claim, plus the time since the answer.
            now: claim.jobs.claimedAt + (now - claim.answeredAt).nanoseconds / 1000,
            keepsUniqueIDs: outcomes.hasUniqueIDs && keepsUniqueIDs(claim.jobs.app),
            using: &random
        )
        // Pushes withheld by a lost lease do not count against the app.
        if !lease.holds(at: now) { settlement.forgetTrouble() }
        return settlement
    }

    private func keepsUniqueIDs(_ app: Int32) -> Bool {
        guard case .known(let app) = limits.apps[app] else { return false }
        return app.row.settings.keepsUniqueIDs
    }

    /// A settlement was written.
    mutating func settled(
        _ claim: inout HeldClaim,
        _ settlement: Settlement,
        _ outcomes: Outcomes,
        at now: MonotonicInstant
    ) {
        let app = claim.jobs.app
        activity[app, default: Settlement.Tally()] += settlement.tally
        // Returned jobs may be below the floor.
        if let lowest = settlement.lowestReturned(of: claim.jobs) {
            board.returned(to: claim.lane, lowest: lowest, at: now)
        }
        if let rest = settlement.rest(of: claim.jobs) { returnsDue = max(returnsDue ?? now, now + rest) }
        if settlement.pending > 0 {
            claim.progress = .partSettled(outcomes)
            limits.admission.release(claim.pushes - settlement.pending, of: app)
            claim.pushes = settlement.pending
            board.freed(app)
        }
    }

    /// The events of a settlement: pushes that are tried again, and topics that are refused.
    mutating func news(of settlement: Settlement, from jobs: ClaimedJobs, at now: MonotonicInstant) -> [WorkerEvent] {
        let refusals = topicEvents.settled(settlement.topicRefusals, sent: settlement.tally.sent, of: jobs.app, at: now)
        let causes = settlement.retryCauses.counts
        guard !causes.isEmpty || !refusals.isEmpty, case .known(let app) = limits.apps[jobs.app] else { return [] }
        var events: [WorkerEvent] = []
        for (cause, pushes) in causes {
            if let suppressed = retries.add(pushes, of: AppCause(app: jobs.app, cause: cause), at: now) {
                events.append(.retrying(app: jobs.app, name: app.name, cause, pushes: suppressed))
            }
        }
        for item in refusals {
            events.append(
                .topicRefused(
                    app: jobs.app,
                    name: app.name,
                    topic: jobs.batch.topic(of: Int(item.refusal.first)),
                    status: item.refusal.status,
                    reason: item.refusal.reason.name ?? "",
                    pushes: item.pushes,
                    sent: item.sent
                )
            )
        }
        return events
    }

    /// Holds the app or ends its hold.
    mutating func learned(from settlement: Settlement, of jobs: ClaimedJobs, at now: MonotonicInstant) -> WorkerEvent? {
        if let trouble = settlement.trouble { return phase == .working ? hold(jobs.app, for: trouble, at: now) : nil }
        return settlement.gatewayAnswers ? endHold(of: jobs.app) : nil
    }

    /// The rows of the claim are back in the queue.
    mutating func gaveBack(_ claim: HeldClaim, at now: MonotonicInstant) {
        board.returned(to: claim.lane, lowest: claim.jobs.lowest, at: now)
    }

    mutating func ended(_ claim: HeldClaim) {
        flights.remove(claim.jobs.key)
        limits.admission.release(claim.pushes, of: claim.jobs.app)
        board.freed(claim.jobs.app)
        if claim.jobs.areQuarantined { board.quarantineEnded(in: claim.lane, first: claim.first) }
    }
}
