package import ApplePush
import CarillonIO
import CarillonPostgres

/// What is written about a claim, or about the pushes of it that have ended, computed from its jobs, their outcomes and the time.
///
/// On the way, each job's pushes are a `SortedPushes`. `SettlementWriting` takes the settlement to the database, in
/// `SettleArguments`; a job that PostgreSQL refuses goes as an `UnrecordedJob`.
package struct Settlement: Sendable {
    /// Jobs that have ended as a whole.
    private(set) var ended: [JobTally] = []
    /// Jobs that are not all of their message, or have ended only for some tokens.
    private(set) var partial: [JobTally] = []
    private(set) var failures: [FailedPush] = []
    private(set) var goingBack: [GoingBack] = []
    private(set) var staying: [Staying] = []
    /// Jobs with pushes whose outcome is unknown and that may be sent again.
    private(set) var unknown: [Int32] = []
    /// None, unless the app keeps unique ids.
    private(set) var identified: [Identified] = []
    /// Pushes that were sent; none, unless the app keeps them.
    private(set) var kept: [Kept] = []
    /// Pushes that have expired after an attempt. Of a job that had expired when it was claimed, all have.
    private(set) var expired: [Expired] = []
    /// By job: the cause of the last attempt of pushes that expire before the next.
    private(set) var lastAttempts: [Int32: RetryCause] = [:]
    package private(set) var tally = Tally()
    package private(set) var retryCauses = RetryCause.Counts()
    private(set) var topicRefusals: [TopicRefusal] = []
    /// The gateway answered a push of the batch.
    let gatewayAnswers: Bool

    private let policy: RetryPolicy
    private let maxAttempts: Int16
    /// The gateway accepted a push of the batch.
    private let credentialWorks: Bool
    private let keepsUniqueIDs: Bool
    private let keepsSent: Bool
    private let triesOtherEnvironment: Bool
    /// The database's clock, in microseconds since 1970.
    private let now: Int64
    private let claimedAt: Int64

    /// - Parameters:
    ///   - earlier: The outcomes in the first settlement. Pushes that were pending then are settled now.
    ///   - keepsUniqueIDs: The app wants the `apns-unique-id` of each push to be recorded.
    ///   - keepsSent: The app wants the token of each push that was sent to be recorded.
    ///   - triesOtherEnvironment: Pushes that fail as BadDeviceToken are sent in the other environment.
    package init(
        _ claim: ClaimedJobs,
        _ outcomes: Outcomes,
        after earlier: Outcomes? = nil,
        policy: RetryPolicy,
        maxAttempts: Int16,
        now: Int64,
        keepsUniqueIDs: Bool = false,
        keepsSent: Bool = false,
        triesOtherEnvironment: Bool = false,
        using generator: inout some RandomNumberGenerator
    ) {
        precondition(outcomes.count == claim.batch.count, "there must be one outcome for each push")
        self.policy = policy
        self.maxAttempts = maxAttempts
        self.now = now
        self.keepsUniqueIDs = keepsUniqueIDs
        self.keepsSent = keepsSent
        self.triesOtherEnvironment = triesOtherEnvironment
        claimedAt = claim.claimedAt
        credentialWorks = outcomes.contains { $0.verdict == .accepted }
        gatewayAnswers = outcomes.contains { $0.status != 0 }
        ended.reserveCapacity(claim.jobs.count)
        var refused = 0
        for index in claim.jobs.indices {
            let job = claim.jobs[index]
            var jobTally = JobTally(job: Int32(index), isInUnfinished: job.origin != nil)
            if let earlier {
                let pending = job.positions.filter { earlier[Int($0)].verdict == .pending }
                if pending.isEmpty { continue }
                jobTally.isInUnfinished =
                    jobTally.isInUnfinished || pending.count < job.pushes + job.refused + job.expired
                settle(pending, of: job, &jobTally, outcomes, using: &generator)
            } else {
                jobTally.failed = job.refused
                jobTally.expired = job.expired
                for _ in 0..<job.refused {
                    refuse(claim.refusedPushes[refused], at: refused)
                    refused += 1
                }
                if outcomes.areAccepted(at: Int(job.firstPush)..<Int(job.firstPush + job.pushes)) {
                    settleAccepted(job, &jobTally, outcomes)
                } else {
                    settle(job.positions, of: job, &jobTally, outcomes, using: &generator)
                }
            }
        }
    }

    /// How many pushes of the claim's batch stay in flight.
    package var pending: Int { staying.reduce(0) { $0 + $1.pushes.count } }

    // MARK: Pieces

    /// The jobs that leave `inflight`, in order.
    var settled: [Int32] { Set(ended.map(\.job) + partial.map(\.job) + goingBack.map(\.job)).sorted() }

    /// The settlement of adjacent jobs alone. The others stay in flight unchanged.
    func piece(of jobs: ArraySlice<Int32>, keeping others: some Sequence<Int32>) -> Settlement {
        guard let first = jobs.first, let last = jobs.last else { preconditionFailure("A piece without jobs.") }
        func narrow(_ items: inout [some Item]) { items.removeAll { $0.job < first || $0.job > last } }
        var piece = self
        narrow(&piece.ended)
        narrow(&piece.partial)
        narrow(&piece.failures)
        narrow(&piece.goingBack)
        narrow(&piece.identified)
        narrow(&piece.kept)
        narrow(&piece.expired)
        piece.unknown.removeAll { $0 < first || $0 > last }
        piece.staying = others.map { Staying(job: $0, pushes: [], isWhole: true) }
        return piece
    }

    /// The lowest id of the jobs that are back at their place in the queue.
    func lowestGoingBack(of claim: ClaimedJobs) -> Int64? {
        goingBack.lazy.filter { $0.isWhole && $0.delay == nil }.map { claim[$0.job].id }.min()
    }

    /// The longest wait of pushes that go back without using up an attempt.
    func longestWait(of claim: ClaimedJobs) -> Duration? {
        let waits = goingBack.lazy.filter { $0.attempt == claim[$0.job].attempt }.compactMap(\.delay)
        return waits.max().map { .milliseconds($0) }
    }

    // MARK: One job

    /// What a job's outcomes change in the database.
    private enum Change {
        /// The message has ended: it leaves the queue with its result.
        case ended
        /// The progress of the message has to be written.
        case changed
        /// The job stays or goes back as it was.
        case unchanged
    }

    private mutating func settle(
        _ pushes: some Sequence<Int32>,
        of job: ClaimedJobs.Job,
        _ jobTally: inout JobTally,
        _ outcomes: Outcomes,
        using generator: inout some RandomNumberGenerator
    ) {
        let sorted = SortedPushes(
            pushes,
            of: job,
            outcomes,
            credentialWorks: credentialWorks,
            maxAttempts: maxAttempts,
            triesOtherEnvironment: triesOtherEnvironment
        )
        record(sorted, of: job, &jobTally, outcomes)
        let retried = retry(sorted.retried, of: job, &jobTally, using: &generator)
        let returned = returnPushes(sorted.returned, of: job, jobTally, using: &generator)
        let misdirected = returnPushes(sorted.misdirected, of: job, jobTally, using: &generator)
        let change = arrange(retried, returned, misdirected, sorted.pending, &jobTally)
        if keepsUniqueIDs { identify(pushes, of: jobTally.job, outcomes) }
        if keepsSent { keep(pushes.filter { outcomes[Int($0)].verdict == .accepted }, of: jobTally.job) }
        count(jobTally)
        switch change {
        case .ended: ended.append(jobTally)
        case .changed: partial.append(jobTally)
        case .unchanged: break
        }
    }

    /// The same for a job whose pushes were all accepted. Nearly all jobs are such, and nothing of them has to be sorted.
    private mutating func settleAccepted(_ job: ClaimedJobs.Job, _ jobTally: inout JobTally, _ outcomes: Outcomes) {
        jobTally.sent = job.pushes
        if keepsUniqueIDs { identify(job.positions, of: jobTally.job, outcomes) }
        if keepsSent { keep(job.positions, of: jobTally.job) }
        count(jobTally)
        if jobTally.isInUnfinished { partial.append(jobTally) } else { ended.append(jobTally) }
    }

    /// Records what has ended, and what may have.
    private mutating func record(
        _ sorted: SortedPushes,
        of job: ClaimedJobs.Job,
        _ jobTally: inout JobTally,
        _ outcomes: Outcomes
    ) {
        jobTally.sent += sorted.sent
        jobTally.failed += Int32(sorted.failed.count)
        for push in sorted.failed { fail(push, of: jobTally.job, outcomes) }
        tally.unknown += sorted.unknown
        if sorted.unknown > 0, job.mayRepeat { unknown.append(jobTally.job) }
    }

    /// The retry of pushes that have used up an attempt, or nil if there are none or they expire before it.
    private mutating func retry(
        _ retried: SortedPushes.Repeats,
        of job: ClaimedJobs.Job,
        _ jobTally: inout JobTally,
        using generator: inout some RandomNumberGenerator
    ) -> GoingBack? {
        if retried.pushes.isEmpty { return nil }
        let wait = policy.delay(after: job.attempt, retryAfter: retried.retryAfter, using: &generator)
        if let end = job.deadline, microseconds(after: wait) >= end {
            jobTally.expired += Int32(retried.pushes.count)
            expired += retried.pushes.map { Expired(job: jobTally.job, push: $0) }
            lastAttempts[jobTally.job] = retried.causes.mostFrequent
            return nil
        }
        retryCauses.add(retried.causes)
        return GoingBack(
            job: jobTally.job,
            pushes: retried.pushes,
            attempt: job.attempt + 1,
            delay: Int32(clamping: wait.nanoseconds / 1_000_000),
            cause: retried.causes.mostFrequent
        )
    }

    /// The way back of pushes that keep their attempt, or nil if there are none.
    private func returnPushes(
        _ returned: SortedPushes.Repeats,
        of job: ClaimedJobs.Job,
        _ jobTally: JobTally,
        using generator: inout some RandomNumberGenerator
    ) -> GoingBack? {
        if returned.pushes.isEmpty { return nil }
        return GoingBack(
            job: jobTally.job,
            pushes: returned.pushes,
            attempt: job.attempt,
            // Without a pause, a gateway that keeps refusing only these would cause a busy loop.
            delay: gatewayAnswers ? Int32.random(in: 100...1000, using: &generator) : nil,
            cause: returned.causes.mostFrequent
        )
    }

    /// Puts the pushes that have not ended where they wait.
    private mutating func arrange(
        _ retried: GoingBack?,
        _ returned: GoingBack?,
        _ misdirected: GoingBack?,
        _ pending: [Int32],
        _ jobTally: inout JobTally
    ) -> Change {
        jobTally.retried = Int32(retried?.pushes.count ?? 0)
        jobTally.returned = Int32((returned?.pushes.count ?? 0) + (misdirected?.pushes.count ?? 0))
        jobTally.pending = Int32(pending.count)
        if !pending.isEmpty {
            let isWhole = jobTally.ended + jobTally.goingBack == 0
            staying.append(Staying(job: jobTally.job, pushes: pending, isWhole: isWhole))
            if isWhole { return .unchanged }
        }
        let parts = (retried == nil ? 0 : 1) + (returned == nil ? 0 : 1) + (misdirected == nil ? 0 : 1)
        let isWhole = jobTally.ended == 0 && pending.isEmpty && parts <= 1
        for case .some(var part) in [retried, returned, misdirected] {
            part.isWhole = isWhole
            goingBack.append(part)
        }
        if isWhole && jobTally.goingBack > 0 { return .unchanged }
        return jobTally.isInUnfinished || jobTally.remaining > 0 ? .changed : .ended
    }

    private mutating func identify(_ pushes: some Sequence<Int32>, of job: Int32, _ outcomes: Outcomes) {
        for push in pushes where outcomes[Int(push)].verdict == .accepted {
            guard let id = outcomes.uniqueID(at: Int(push)) else { continue }
            identified.append(Identified(job: job, push: push, id: id))
        }
    }

    private mutating func keep(_ pushes: some Sequence<Int32>, of job: Int32) {
        for push in pushes { kept.append(Kept(job: job, push: push)) }
    }

    private mutating func count(_ jobTally: JobTally) {
        tally.sent += Int(jobTally.sent)
        tally.failed += Int(jobTally.failed)
        tally.expired += Int(jobTally.expired)
        tally.retried += Int(jobTally.retried)
        tally.returned += Int(jobTally.returned)
    }

    private mutating func fail(_ push: Int32, of job: Int32, _ outcomes: Outcomes) {
        let outcome = outcomes[Int(push)]
        if outcome.verdict == .rejected {
            if outcome.reason == .badDeviceToken { tally.badTokens += 1 }
            if outcome.reason.isAboutTopic {
                tally.badTopics += 1
                refuseTopic(push, with: outcome)
            }
        }
        let isDead = outcome.action == .deleteToken
        let failure = FailedPush(
            job: job,
            token: .push(push),
            status: outcome.status == 0 ? nil : Int16(clamping: outcome.status),
            reason: outcome.verdict == .unknown ? LocalReason.outcomeUnknown.name : outcomes.text(of: outcome.reason),
            unregisteredAt: isDead
                ? Moment(FailedPush.timeOfDeath(by: outcome.timestamp, claimedAt: claimedAt, now: now)) : nil,
            uniqueID: keepsUniqueIDs ? outcomes.uniqueID(at: Int(push)) : nil
        )
        failures.append(failure)
    }

    private mutating func refuseTopic(_ push: Int32, with outcome: Outcome) {
        if let index = topicRefusals.firstIndex(where: { $0.reason == outcome.reason }) {
            topicRefusals[index].pushes += 1
        } else {
            let status = Int16(clamping: outcome.status)
            topicRefusals.append(TopicRefusal(reason: outcome.reason, status: status, first: push))
        }
    }

    private mutating func refuse(_ push: ClaimedJobs.RefusedPush, at index: Int) {
        let failure = FailedPush(
            job: push.job,
            token: .refused(Int32(index)),
            status: nil,
            reason: push.reason.name,
            unregisteredAt: nil
        )
        failures.append(failure)
    }

    private func microseconds(after wait: Duration) -> Int64 { now + wait.nanoseconds / 1000 }
}
