package import ApplePush

/// What is written about a claim, or about the part of it that has ended, computed from its jobs, their outcomes and the time.
package struct Settlement: Sendable {
    /// A job that has ended, or part of one.
    struct Share: Equatable, Sendable {
        let job: Int32
        var sent: Int32 = 0
        var failed: Int32 = 0
        var expired: Int32 = 0
        /// Pushes that go back to the queue.
        var returned: Int32 = 0
        /// How many of the returned have used up an attempt.
        var retried: Int32 = 0
        /// Pushes that have not ended.
        var pending: Int32 = 0
        /// Its message has a row in `unfinished`: the job is a part or a retry, or was settled in part.
        var isKnown = false

        var ended: Int32 { sent + failed + expired }
        var remaining: Int32 { returned + pending }
    }

    /// A push that failed for good.
    struct Failure: Equatable, Sendable {
        enum Token: Equatable, Sendable {
            /// A place in the batch.
            case push(Int32)
            /// A place in the refusals.
            case refusal(Int32)
        }

        let job: Int32
        let token: Token
        /// Nil: not sent, or not answered.
        let status: Int16?
        let reason: String
        /// When the token died, in microseconds since 1970; nil: it is not dead.
        let unregisteredAt: Int64?
        /// Its `apns-unique-id`, if that is kept.
        var uniqueID: PushID?
    }

    /// Pushes of one job that wait for another attempt.
    struct Return: Equatable, Sendable {
        let job: Int32
        /// Places in the batch.
        let pushes: [Int32]
        /// These are all pushes of the job, which goes back unchanged.
        let isWhole: Bool
        let attempt: Int16
        /// Milliseconds; nil: at once.
        let delay: Int32?
        /// The cause of most of them; nil: no answer came.
        let cause: RetryCause?
    }

    /// Pushes of one job that stay in flight.
    struct Stay: Equatable, Sendable {
        let job: Int32
        /// Places in the batch.
        let pushes: [Int32]
        /// These are all pushes of the job, which stays unchanged.
        let isWhole: Bool
    }

    /// A push that was sent, with its `apns-unique-id`.
    struct Identified: Equatable, Sendable {
        let job: Int32
        /// Its place in the batch.
        let push: Int32
        let id: PushID
    }

    /// Pushes that failed for good because of their topic.
    struct TopicRefusal: Equatable, Sendable {
        let reason: Reason
        let status: Int16
        /// The place of one of them in the batch.
        let first: Int32
        var pushes = 1
    }

    /// Counts of pushes.
    package struct Tally: Equatable, Sendable {
        package var sent = 0
        package var failed = 0
        package var expired = 0
        /// Updates of Live Activities that newer ones have replaced.
        package var superseded = 0
        /// Retries that have used up an attempt.
        package var retried = 0
        /// Pushes that went back without using up an attempt.
        package var returned = 0
        /// Attempts whose outcome is unknown.
        package var unknown = 0
        /// Failures with the reason BadDeviceToken.
        package var badTokens = 0
        /// Failures because of the topic.
        package var badTopics = 0

        /// Failures that the app's settings may cause.
        package var bad: Int { badTokens + badTopics }

        static func += (left: inout Self, right: Self) {
            left.sent += right.sent
            left.failed += right.failed
            left.expired += right.expired
            left.superseded += right.superseded
            left.retried += right.retried
            left.returned += right.returned
            left.unknown += right.unknown
            left.badTokens += right.badTokens
            left.badTopics += right.badTopics
        }
    }

    /// Jobs that have ended as a whole.
    private(set) var ended: [Share] = []
    /// Jobs that are only a part of their message, or have ended only in part.
    private(set) var parts: [Share] = []
    private(set) var failures: [Failure] = []
    private(set) var returns: [Return] = []
    private(set) var stays: [Stay] = []
    /// Jobs with pushes whose outcome is unknown and that may be sent again.
    private(set) var unanswered: [Int32] = []
    /// None, unless the app keeps unique ids.
    private(set) var identified: [Identified] = []
    /// By job: the cause of the last attempt of pushes that expire before the next.
    private(set) var lastAttempts: [Int32: RetryCause] = [:]
    package private(set) var tally = Tally()
    package private(set) var retryCauses = RetryCauses()
    private(set) var topicRefusals: [TopicRefusal] = []
    /// Why the app cannot send at the moment.
    package private(set) var trouble: Trouble?
    /// The gateway answered a push of the batch.
    let gatewayAnswers: Bool

    private let policy: RetryPolicy
    private let mostAttempts: Int16
    /// The gateway accepted a push of the batch.
    private let credentialWorks: Bool
    private let keepsUniqueIDs: Bool
    /// The database's clock, in microseconds since 1970.
    private let now: Int64
    private let claimedAt: Int64

    /// - Parameters:
    ///   - earlier: The outcomes of the first part. Pushes that were pending then are settled now.
    ///   - keepsUniqueIDs: The app wants the `apns-unique-id` of each push to be recorded.
    package init(
        _ claim: ClaimedJobs,
        _ outcomes: Outcomes,
        after earlier: Outcomes? = nil,
        policy: RetryPolicy,
        mostAttempts: Int16,
        now: Int64,
        keepsUniqueIDs: Bool = false,
        using generator: inout some RandomNumberGenerator
    ) {
        precondition(outcomes.count == claim.batch.count, "there must be one outcome for each push")
        self.policy = policy
        self.mostAttempts = mostAttempts
        self.now = now
        self.keepsUniqueIDs = keepsUniqueIDs
        claimedAt = claim.claimedAt
        credentialWorks = outcomes.contains { $0.verdict == .delivered }
        gatewayAnswers = outcomes.contains { $0.status != 0 }
        trouble = Trouble(outcomes, credentialWorks: credentialWorks)
        ended.reserveCapacity(claim.jobs.count)
        var refusal = 0
        for place in claim.jobs.indices {
            let job = claim.jobs[place]
            var share = Share(job: Int32(place), isKnown: job.origin != nil)
            var pushes: [Int32]?
            if let earlier {
                let open = job.places.filter { earlier[Int($0)].verdict == .pending }
                if open.isEmpty { continue }
                share.isKnown = share.isKnown || open.count < job.pushes + job.refused + job.expired
                pushes = open
            } else {
                share.failed = job.refused
                share.expired = job.expired
                for _ in 0..<job.refused {
                    refuse(claim.refusals[refusal], at: refusal)
                    refusal += 1
                }
            }
            let isUnchanged =
                if let pushes {
                    judge(pushes, of: job, &share, outcomes, using: &generator)
                } else {
                    judge(job.places, of: job, &share, outcomes, using: &generator)
                }
            if keepsUniqueIDs { identify(pushes ?? Array(job.places), of: Int32(place), outcomes) }
            count(share)
            if isUnchanged { continue }
            if share.isKnown || share.remaining > 0 { parts.append(share) } else { ended.append(share) }
        }
    }

    /// How many pushes of the claim's batch stay in flight.
    package var pending: Int { stays.reduce(0) { $0 + $1.pushes.count } }

    // MARK: Pieces

    /// The jobs that leave `inflight`, in order.
    var settled: [Int32] { Set(ended.map(\.job) + parts.map(\.job) + returns.map(\.job)).sorted() }

    /// The settlement of adjacent jobs alone. The others stay in flight unchanged.
    func piece(of jobs: ArraySlice<Int32>, keeping others: some Sequence<Int32>) -> Settlement {
        guard let first = jobs.first, let last = jobs.last else { preconditionFailure("A piece without jobs.") }
        var piece = self
        piece.ended.removeAll { !(first...last).contains($0.job) }
        piece.parts.removeAll { !(first...last).contains($0.job) }
        piece.failures.removeAll { !(first...last).contains($0.job) }
        piece.returns.removeAll { !(first...last).contains($0.job) }
        piece.unanswered.removeAll { !(first...last).contains($0) }
        piece.identified.removeAll { !(first...last).contains($0.job) }
        piece.stays = others.map { Stay(job: $0, pushes: [], isWhole: true) }
        return piece
    }

    mutating func forgetTrouble() { trouble = nil }

    /// The lowest id of the jobs that are back at their place in the queue.
    func lowestReturned(of claim: ClaimedJobs) -> Int64? {
        returns.lazy.filter { $0.isWhole && $0.delay == nil }.map { claim.jobs[Int($0.job)].id }.min()
    }

    /// The longest wait of pushes that go back without using up an attempt.
    func rest(of claim: ClaimedJobs) -> Duration? {
        let rests = returns.lazy.filter { $0.attempt == claim.jobs[Int($0.job)].attempt }.compactMap(\.delay)
        return rests.max().map { .milliseconds($0) }
    }

    // MARK: One job

    /// Returns whether the job stays or goes back unchanged.
    private mutating func judge(
        _ pushes: some Collection<Int32>,
        of job: ClaimedJobs.Job,
        _ share: inout Share,
        _ outcomes: Outcomes,
        using generator: inout some RandomNumberGenerator
    ) -> Bool {
        var retries: [Int32] = []
        var backs: [Int32] = []
        var stays: [Int32] = []
        var retryCauses = RetryCauses()
        var backCauses = RetryCauses()
        var retryAfter: Int32?
        var unknown = 0
        for push in pushes {
            let outcome = outcomes[Int(push)]
            if outcome.verdict == .unknown { unknown += 1 }
            switch Fate(outcome, mayRepeat: job.mayRepeat, credentialWorks: credentialWorks) {
            case .sent: share.sent += 1
            case .failed: fail(push, with: outcome, of: outcomes, &share)
            case .back:
                backs.append(push)
                if outcome.verdict == .rejected { backCauses.add(RetryCause(outcome, of: outcomes)) }
            case .pending: stays.append(push)
            case .retry where job.attempt >= mostAttempts: fail(push, with: outcome, of: outcomes, &share)
            case .retry:
                retries.append(push)
                retryCauses.add(RetryCause(outcome, of: outcomes))
                if let asked = outcome.retryAfter { retryAfter = max(retryAfter ?? 0, asked) }
            }
        }
        tally.unknown += unknown
        if unknown > 0, job.mayRepeat { unanswered.append(share.job) }
        var delay: Int32?
        if !retries.isEmpty {
            let wait = policy.delay(after: job.attempt, retryAfter: retryAfter, using: &generator)
            if let end = job.deadline, microseconds(after: wait) >= end {
                share.expired += Int32(retries.count)
                lastAttempts[share.job] = retryCauses.mostFrequent
                retries = []
            }
            delay = Int32(
                clamping: wait.components.seconds * 1000 + wait.components.attoseconds / 1_000_000_000_000_000
            )
        }
        share.returned = Int32(retries.count + backs.count)
        share.pending = Int32(stays.count)
        if !stays.isEmpty {
            let isWhole = share.ended + share.returned == 0
            self.stays.append(Stay(job: share.job, pushes: stays, isWhole: isWhole))
            if isWhole { return true }
        }
        let isWhole = share.ended == 0 && stays.isEmpty && (retries.isEmpty || backs.isEmpty)
        if !retries.isEmpty {
            share.retried = Int32(retries.count)
            self.retryCauses.add(retryCauses)
            returns.append(
                Return(
                    job: share.job,
                    pushes: retries,
                    isWhole: isWhole,
                    attempt: job.attempt + 1,
                    delay: delay,
                    cause: retryCauses.mostFrequent
                )
            )
        }
        if !backs.isEmpty {
            // Without a pause, a gateway that keeps refusing only these would cause a busy loop.
            let pause = gatewayAnswers ? Int32.random(in: 100...1000, using: &generator) : nil
            returns.append(
                Return(
                    job: share.job,
                    pushes: backs,
                    isWhole: isWhole,
                    attempt: job.attempt,
                    delay: pause,
                    cause: backCauses.mostFrequent
                )
            )
        }
        return isWhole && share.returned > 0
    }

    private mutating func identify(_ pushes: [Int32], of job: Int32, _ outcomes: Outcomes) {
        for push in pushes where outcomes[Int(push)].verdict == .delivered {
            guard let id = outcomes.uniqueID(at: Int(push)) else { continue }
            identified.append(Identified(job: job, push: push, id: id))
        }
    }

    private mutating func count(_ share: Share) {
        tally.sent += Int(share.sent)
        tally.failed += Int(share.failed)
        tally.expired += Int(share.expired)
        tally.retried += Int(share.retried)
        tally.returned += Int(share.returned - share.retried)
    }

    private mutating func fail(_ push: Int32, with outcome: Outcome, of outcomes: Outcomes, _ share: inout Share) {
        share.failed += 1
        if outcome.verdict == .rejected {
            if outcome.reason == .badDeviceToken { tally.badTokens += 1 }
            if outcome.reason.isAboutTopic {
                tally.badTopics += 1
                refuseTopic(push, with: outcome)
            }
        }
        let isDead = outcome.action == .deleteToken
        let failure = Failure(
            job: share.job,
            token: .push(push),
            status: outcome.status == 0 ? nil : Int16(clamping: outcome.status),
            reason: outcome.verdict == .unknown ? LocalReason.outcomeUnknown.name : outcomes.text(of: outcome.reason),
            unregisteredAt: isDead
                ? TimeOfDeath.of(timestamp: outcome.timestamp, claimedAt: claimedAt, now: now) : nil,
            uniqueID: keepsUniqueIDs ? outcomes.uniqueID(at: Int(push)) : nil
        )
        failures.append(failure)
    }

    private mutating func refuseTopic(_ push: Int32, with outcome: Outcome) {
        if let place = topicRefusals.firstIndex(where: { $0.reason == outcome.reason }) {
            topicRefusals[place].pushes += 1
        } else {
            let status = Int16(clamping: outcome.status)
            topicRefusals.append(TopicRefusal(reason: outcome.reason, status: status, first: push))
        }
    }

    private mutating func refuse(_ refusal: ClaimedJobs.Refusal, at place: Int) {
        let failure = Failure(
            job: refusal.job,
            token: .refusal(Int32(place)),
            status: nil,
            reason: refusal.reason.name,
            unregisteredAt: nil
        )
        failures.append(failure)
    }

    private func microseconds(after wait: Duration) -> Int64 {
        let (seconds, attoseconds) = wait.components
        return now + seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
