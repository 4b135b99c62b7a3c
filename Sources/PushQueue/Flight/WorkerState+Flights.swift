import ApplePush
import IO

/// The way of one claim, once it is answered: sent, settled, or given back.
extension WorkerState {
    /// What to do with jobs that were claimed under that number.
    func departure(of jobs: ClaimedJobs, claimedAs worker: Int64, at now: MonotonicInstant) -> Departure {
        if jobs.batch.isEmpty { return .nothingToSend }
        guard phase == .working, worker == id, lease.holds(at: now),
            case .known(let app) = limits.apps[jobs.app],
            case .success(let route) = app.route
        else { return .giveBack }
        return .send(route, mostAttempts: app.mostAttempts)
    }

    /// The outcomes of a claim are known, all or some of them; what follows from them is to be written.
    mutating func landed(_ claim: HeldClaim, _ outcomes: Outcomes, at now: MonotonicInstant) -> Settlement {
        var settlement = Settlement(
            claim.jobs,
            outcomes,
            after: claim.settled,
            policy: options.retry,
            mostAttempts: claim.mostAttempts,
            // The database's time: what it said when it answered, and what has passed since.
            now: claim.jobs.claimedAt + (now - claim.answeredAt).nanoseconds / 1000,
            using: &random
        )
        // What a lease that ended kept from being sent is no trouble of the app.
        if !lease.holds(at: now) { settlement.forgetTrouble() }
        return settlement
    }

    /// The database has answered a settlement. False: the claim was not this worker's any more, and nothing was written.
    mutating func settled(
        _ claim: inout HeldClaim,
        _ settlement: Settlement,
        _ outcomes: Outcomes,
        isWritten: Bool,
        at now: MonotonicInstant
    ) -> Bool {
        guard isWritten else {
            claim.isLost = true
            return false
        }
        let jobs = claim.jobs
        activity[jobs.app, default: Settlement.Tally()] += settlement.tally
        if let lowest = settlement.lowestReturned(of: jobs) {
            // What went back is below the floor, perhaps.
            board.returned(to: Lane(app: jobs.app, number: jobs.lane), lowest: lowest, at: now)
        }
        if let rest = settlement.rest(of: jobs) {
            returnsDue = max(returnsDue ?? now, now + rest)
        }
        if settlement.pending > 0 {
            claim.settled = outcomes
            // Others need not wait for the slow ones.
            limits.admission.release(claim.pushes - settlement.pending, of: jobs.app)
            claim.pushes = settlement.pending
            board.freed(jobs.app)
        }
        return true
    }

    /// What is worth saying of the pushes of a settlement that are tried again.
    mutating func retried(_ settlement: Settlement, of id: Int32, at now: MonotonicInstant) -> [WorkerEvent] {
        guard !settlement.retryCauses.counts.isEmpty, case .known(let app) = limits.apps[id] else { return [] }
        return settlement.retryCauses.counts.compactMap { cause, pushes in
            retryNews.add(pushes, of: id, for: cause, at: now)
                .map { .retrying(app: id, name: app.name, cause, pushes: $0) }
        }
    }

    /// What is worth saying of the pushes of a settlement that failed because of their topic.
    mutating func refused(
        _ settlement: Settlement,
        of jobs: ClaimedJobs,
        at now: MonotonicInstant
    ) -> [WorkerEvent] {
        let news = topicNews.settled(
            settlement.topicRefusals,
            sent: settlement.tally.sent,
            of: jobs.app,
            at: now
        )
        guard !news.isEmpty, case .known(let app) = limits.apps[jobs.app] else { return [] }
        return news.map { item in
            .topicRefused(
                app: app.id,
                name: app.name,
                topic: jobs.batch.topic(of: Int(item.refusal.first)),
                status: item.refusal.status,
                reason: item.refusal.reason.name ?? "",
                pushes: item.pushes,
                sent: item.sent
            )
        }
    }

    /// What a settlement shows of its app: that it cannot send for now, or that it can.
    mutating func learned(
        from settlement: Settlement,
        of jobs: ClaimedJobs,
        at now: MonotonicInstant
    ) -> Report? {
        if let trouble = settlement.trouble {
            return phase == .working ? report(trouble, of: jobs.app, at: now) : nil
        }
        return jobs.batch.isEmpty ? nil : reportOver(of: jobs.app)
    }

    /// The claim's rows are where they came from.
    mutating func gaveBack(_ jobs: ClaimedJobs, at now: MonotonicInstant) {
        let lowest = jobs.jobs.lazy.map(\.id).min() ?? .max
        board.returned(to: Lane(app: jobs.app, number: jobs.lane), lowest: lowest, at: now)
    }

    /// The worker has nothing more to do with the claim.
    mutating func ended(_ claim: HeldClaim) {
        flights.remove(claim.jobs.key)
        limits.admission.release(claim.pushes, of: claim.jobs.app)
        board.freed(claim.jobs.app)
        // The next of those under suspicion may be claimed. They stand behind it, and below the floor, perhaps.
        if claim.jobs.areOnTrial, let first = claim.jobs.jobs.lazy.map(\.id).min() {
            let lane = Lane(app: claim.jobs.app, number: claim.jobs.lane)
            board.tried(lane, first: first)
        }
    }
}
