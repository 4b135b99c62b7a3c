import ApplePush

@testable import PushQueue

extension ModelDatabase {
    /// Does what a worker asks for, and notes which pushes were delivered, for the audit.
    mutating func settle(_ write: SettlementWrite) -> SettlementAnswer {
        guard case .settlement(let settlement) = write.content else {
            preconditionFailure("The model refuses nothing for what it says.")
        }
        return self.settle(
            settlement,
            of: write.claim,
            as: write.worker,
            part: write.part,
            delivered: write.delivered(of: settlement.settled).map { write.claim.push(at: $0) }
        )
    }

    /// Writes a settlement, once. The pushes delivered are for the audit.
    mutating func settle(
        _ settlement: Settlement,
        of jobs: ClaimedJobs,
        as worker: Int64,
        part: Int16 = 0,
        delivered: [ModelPush] = []
    ) -> SettlementAnswer {
        let now = self.now
        return self.change { tables in
            guard let claim = tables.inflight[jobs.id], claim.worker == worker, claim.claimedAt == jobs.claimedAt,
                claim.part == part
            else { return tables.unsettled(jobs, as: worker, part: part) }
            tables.keep(settlement.stays, of: jobs, claim)
            for share in settlement.ended { tables.results.append(tables.progress(share, of: jobs)) }
            tables.progress(
                settlement.parts.map { (tables.progress($0, of: jobs), $0.isKnown ? 0 : Int($0.remaining)) }
            )
            for failure in settlement.failures { tables.failures.append(tables.failure(failure, of: jobs)) }
            for push in delivered { tables.sent[push, default: 0] += 1 }
            for back in settlement.returns { tables.putBack(back, of: jobs, claim, at: now) }
            return .written
        }
    }
}

extension ModelTables {
    /// Why it was not there to be settled.
    fileprivate func unsettled(_ jobs: ClaimedJobs, as worker: Int64, part: Int16) -> SettlementAnswer {
        if self.workers[worker] != nil { return .before }
        guard let claim = self.inflight[jobs.id], claim.worker == worker, claim.claimedAt == jobs.claimedAt else {
            return .lost
        }
        return claim.part > part ? .before : .lost
    }

    /// What stays in flight.
    fileprivate mutating func keep(_ stays: [Settlement.Stay], of jobs: ClaimedJobs, _ claim: ModelClaim) {
        var rest = claim
        rest.part += 1
        rest.jobs = stays.compactMap { stay in
            let id = jobs.jobs[Int(stay.job)].id
            guard var job = claim.jobs.first(where: { $0.id == id }) else { return nil }
            if !stay.isWhole {
                job.origin = job.message
                job.tokens = stay.pushes.map { jobs.batch.token(of: Int($0)) }
            }
            return job
        }
        self.inflight[claim.id] = stays.isEmpty ? nil : rest
    }

    fileprivate func progress(_ share: Settlement.Share, of jobs: ClaimedJobs) -> ModelProgress {
        let job = jobs.jobs[Int(share.job)]
        var step = ModelProgress(message: job.message, app: jobs.app)
        step.sent = Int(share.sent)
        step.failed = Int(share.failed)
        step.expired = Int(share.expired)
        step.attempts = job.attempts
        return step
    }

    fileprivate func failure(_ failure: Settlement.Failure, of jobs: ClaimedJobs) -> ModelFailure {
        let job = jobs.jobs[Int(failure.job)]
        let token =
            switch failure.token {
            case .push(let place): jobs.batch.token(of: Int(place))
            case .refusal(let place):
                String(decoding: jobs.texts[jobs.refusals[Int(place)].token.range], as: UTF8.self)
            }
        return ModelFailure(
            message: job.message,
            token: token,
            status: failure.status,
            reason: failure.reason,
            attempt: job.attempt
        )
    }

    fileprivate mutating func putBack(
        _ back: Settlement.Return,
        of jobs: ClaimedJobs,
        _ claim: ModelClaim,
        at now: Int64
    ) {
        let id = jobs.jobs[Int(back.job)].id
        guard var job = claim.jobs.first(where: { $0.id == id }) else { return }
        job.attempt = back.attempt
        job.claims = 0
        if !back.isWhole {
            job.origin = job.message
            job.id = self.messageID()
            job.tokens = back.pushes.map { jobs.batch.token(of: Int($0)) }
        }
        if self.cancelled.contains(job.message) {
            self.withdraw([job])
        } else if let delay = back.delay {
            self.scheduled[job.id] = job
            self.dates[job.id] = now + Int64(delay) * 1000
        } else {
            self.messages[job.id] = job
        }
    }
}

extension SettlementWrite {
    /// The places of the pushes of those jobs that were delivered and not settled before.
    fileprivate func delivered(of jobs: [Int32]) -> [Int] {
        jobs.flatMap { self.claim.jobs[Int($0)].places }.map { Int($0) }.filter { place in
            self.outcomes[place].verdict == .delivered && (self.earlier.map { $0[place].verdict == .pending } ?? true)
        }
    }
}
