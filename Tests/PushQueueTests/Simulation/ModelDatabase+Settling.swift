import ApplePush
import CarillonIO
import CarillonPostgres

@testable import CarillonPushQueue

extension ModelDatabase {
    /// Does the next step of the worker, and notes which pushes were delivered, for the audit.
    mutating func settle(_ writing: SettlementWriting) -> Flight.Event {
        switch writing.next {
        case .settlement(let settlement):
            let isRefused = settlement.failures.contains { failure in
                self.tables.unwritable.contains(writing.claim.jobs[failure.job].message)
            }
            if isRefused, self.tables.holds(writing) {
                return .failed(PostgresError(.server, "violates a constraint", sqlState: "23514"))
            }
            return .written(
                settle(
                    settlement,
                    of: writing.claim.jobs,
                    as: writing.claim.worker,
                    settlementNumber: writing.settlementNumber,
                    delivered: writing.delivered(of: settlement.settled).map { writing.claim.jobs.push(at: $0) }
                )
            )
        case .unrecorded(let job):
            return .written(
                change { tables in
                    guard tables.holds(writing) else {
                        return tables.unsettled(
                            writing.claim.jobs,
                            as: writing.claim.worker,
                            settlementNumber: writing.settlementNumber
                        )
                    }
                    tables.endUnrecorded(writing.claim.jobs[job], at: job, writing)
                    return .written
                }
            )
        case .over: preconditionFailure("Nothing is left to write.")
        }
    }

    /// Writes a settlement, once. The pushes delivered are for the audit.
    mutating func settle(
        _ settlement: Settlement,
        of jobs: ClaimedJobs,
        as worker: Int64,
        settlementNumber: Int16 = 0,
        delivered: [ModelPush] = []
    ) -> SettleEffect {
        let now = self.now
        return change { tables in
            guard let claim = tables.inflight[jobs.id], claim.worker == worker, claim.claimedAt == jobs.claimedAt,
                claim.settlementNumber == settlementNumber
            else { return tables.unsettled(jobs, as: worker, settlementNumber: settlementNumber) }
            tables.keep(settlement.staying, of: jobs, claim)
            for share in settlement.ended { tables.results.append(tables.progress(share, in: settlement, of: jobs)) }
            tables.progress(
                settlement.partial.map {
                    (tables.progress($0, in: settlement, of: jobs), $0.isInUnfinished ? 0 : Int($0.remaining))
                }
            )
            for failure in settlement.failures {
                let row = tables.failure(failure, of: jobs)
                tables.failures.append(row)
                if let time = failure.unregisteredAt {
                    let dead = ModelFeedback(app: jobs.app, token: row.token, unregisteredAt: time.microseconds)
                    tables.feedback.append(dead)
                }
            }
            for push in delivered { tables.sent[push, default: 0] += 1 }
            let unknown = Set(settlement.unknown.map { jobs[$0].message })
            for back in settlement.goingBack { tables.returnJobs(back, of: jobs, claim, unknown, at: now) }
            return .written
        }
    }
}

extension ModelTables {
    /// Whether the claim can be settled.
    fileprivate func holds(_ writing: SettlementWriting) -> Bool {
        guard let claim = inflight[writing.claim.jobs.id] else { return false }
        return claim.worker == writing.claim.worker && claim.claimedAt == writing.claim.jobs.claimedAt
            && claim.settlementNumber == writing.settlementNumber
    }

    /// Takes a job out of flight, and records as much of it as possible.
    fileprivate mutating func endUnrecorded(_ job: ClaimedJobs.Job, at place: Int32, _ writing: SettlementWriting) {
        var isPart = false
        if var claim = inflight[writing.claim.jobs.id] {
            isPart = claim.jobs.contains { $0.id == job.id && $0.origin != nil }
            claim.settlementNumber += 1
            claim.jobs.removeAll { $0.id == job.id }
            inflight[claim.id] = claim.jobs.isEmpty ? nil : claim
        }
        var step = ModelProgress(message: job.message, app: writing.claim.jobs.app)
        step.attempts = job.attempt
        var tokens: [(token: String, status: UInt16)] = []
        for push in writing.open(of: job) {
            if writing.outcomes[push].verdict == .accepted {
                step.sent += 1
                sent[writing.claim.jobs.push(at: push), default: 0] += 1
            } else {
                step.failed += 1
                tokens.append((writing.claim.jobs.batch.token(of: push), writing.outcomes[push].status))
            }
        }
        if writing.claim.settled == nil {
            step.expired = Int(job.expired)
            step.failed += Int(job.refused)
            for push in writing.claim.jobs.refusedPushes where push.job == place {
                tokens.append((String(decoding: writing.claim.jobs.batch.bytes[push.token.range], as: UTF8.self), 0))
            }
        }
        for (token, status) in tokens {
            failures.append(
                ModelFailure(
                    message: job.message,
                    token: token,
                    status: status == 0 ? nil : Int16(clamping: status),
                    reason: "Unrecorded",
                    attempt: job.attempt
                )
            )
        }
        if isPart { progress([(step, 0)]) } else { results.append(step) }
    }

    /// Why it could not be settled.
    fileprivate func unsettled(_ jobs: ClaimedJobs, as worker: Int64, settlementNumber: Int16)
        -> SettleEffect
    {
        if workers[worker] != nil { return .before }
        guard let claim = inflight[jobs.id], claim.worker == worker, claim.claimedAt == jobs.claimedAt else {
            return .lost
        }
        return claim.settlementNumber > settlementNumber ? .before : .lost
    }

    /// Keeps these jobs in flight.
    fileprivate mutating func keep(_ stays: [Settlement.Staying], of jobs: ClaimedJobs, _ claim: ModelClaim) {
        var rest = claim
        rest.settlementNumber += 1
        rest.jobs = stays.compactMap { stay in
            let id = jobs[stay.job].id
            guard var job = claim.jobs.first(where: { $0.id == id }) else { return nil }
            if !stay.isWhole {
                job.origin = job.message
                job.tokens = stay.pushes.map { jobs.batch.token(of: Int($0)) }
            }
            return job
        }
        inflight[claim.id] = stays.isEmpty ? nil : rest
    }

    fileprivate func progress(
        _ share: Settlement.JobTally,
        in settlement: Settlement,
        of jobs: ClaimedJobs
    ) -> ModelProgress {
        let job = jobs[share.job]
        var step = ModelProgress(message: job.message, app: jobs.app)
        step.sent = Int(share.sent)
        step.failed = Int(share.failed)
        step.expired = Int(share.expired)
        step.attempts = job.attempts
        for push in settlement.identified where push.job == share.job {
            step.uniqueIDs[jobs.batch.token(of: Int(push.push))] = push.id
        }
        return step
    }

    fileprivate func failure(_ failure: FailedPush, of jobs: ClaimedJobs) -> ModelFailure {
        let job = jobs[failure.job]
        let token =
            switch failure.token {
            case .push(let place): jobs.batch.token(of: Int(place))
            case .refused(let place):
                String(decoding: jobs.batch.bytes[jobs.refusedPushes[Int(place)].token.range], as: UTF8.self)
            }
        return ModelFailure(
            message: job.message,
            token: token,
            status: failure.status,
            reason: failure.reason,
            attempt: job.attempt,
            uniqueID: failure.uniqueID
        )
    }

    fileprivate mutating func returnJobs(
        _ back: Settlement.GoingBack,
        of jobs: ClaimedJobs,
        _ claim: ModelClaim,
        _ unknown: Set<Int64>,
        at now: Int64
    ) {
        let id = jobs[back.job].id
        guard var job = claim.jobs.first(where: { $0.id == id }) else { return }
        if back.attempt > job.attempt, unknown.contains(job.message) { job.unknownAttempts += 1 }
        job.attempt = back.attempt
        job.lostClaims = 0
        if !back.isWhole {
            job.origin = job.message
            job.id = messageID()
            job.tokens = back.pushes.map { jobs.batch.token(of: Int($0)) }
        }
        if cancelled.contains(job.message) {
            cancel([job])
        } else if let delay = back.delay {
            scheduled[job.id] = job
            dates[job.id] = now + Int64(delay) * 1000
        } else {
            messages[job.id] = job
        }
    }
}

extension SettlementWriting {
    /// The positions of the job's pushes that are not settled.
    fileprivate func open(of job: ClaimedJobs.Job) -> [Int] {
        job.positions.map { Int($0) }.filter { place in claim.settled.map { $0[place].verdict == .pending } ?? true }
    }

    /// The positions of the pushes of these jobs that were delivered and are not settled.
    fileprivate func delivered(of jobs: [Int32]) -> [Int] {
        jobs.flatMap { self.open(of: claim.jobs[$0]) }.filter { outcomes[$0].verdict == .accepted }
    }
}
