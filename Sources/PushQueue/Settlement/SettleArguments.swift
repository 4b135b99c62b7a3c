import ApplePush
import CarillonIO
import CarillonPostgres

/// A settlement with the claim that it settles: what the columns of `carillon.settle` are made of.
struct SettleArguments {
    let claim: ClaimedJobs
    let worker: Int64
    /// How many settlements of the claim there were before.
    let settlementNumber: Int16
    /// What is counted of messages: first those that have ended whole.
    let ended: [Settlement.JobTally]
    /// The pushes of jobs that go back only in part. The database has the tokens of the others.
    let placedGoingBack: [PlacedPush]
    /// The pushes of jobs that stay in flight only in part.
    let placedStaying: [PlacedPush]
    private let settlement: Settlement

    /// A push, and which of the jobs that go back or stay it belongs to, from 1.
    struct PlacedPush {
        let job: Int32
        let push: Int32
    }

    init(_ settlement: Settlement, of claim: ClaimedJobs, worker: Int64, settlementNumber: Int16) {
        self.settlement = settlement
        self.claim = claim
        self.worker = worker
        self.settlementNumber = settlementNumber
        ended = settlement.counted.isEmpty ? settlement.ended : settlement.ended + settlement.counted
        placedGoingBack = Self.placed(settlement.goingBack.lazy.map { ($0.isWhole, $0.pushes) })
        placedStaying = Self.placed(settlement.staying.lazy.map { ($0.isWhole, $0.pushes) })
    }

    private static func placed(_ jobs: some Sequence<(isWhole: Bool, pushes: [Int32])>) -> [PlacedPush] {
        jobs.enumerated().flatMap { number, job in
            job.isWhole ? [] : job.pushes.map { PlacedPush(job: Int32(number + 1), push: $0) }
        }
    }

    var failures: [FailedPush] { settlement.failures }
    var goingBack: [Settlement.GoingBack] { settlement.goingBack }
    var staying: [Settlement.Staying] { settlement.staying }
    var identified: [Settlement.Identified] { settlement.identified }

    /// The messages of jobs with pushes whose outcome is unknown and that may be sent again.
    var unanswered: PostgresArray {
        PostgresArray(settlement.unanswered.lazy.map { claim[$0].message })
    }

    func jobs<Item: Settlement.Item>(of items: [Item]) -> LazyMapCollection<[Item], ClaimedJobs.Job> {
        let jobs = claim.jobs
        return items.lazy.map { jobs[Int($0.job)] }
    }

    /// How many pushes of each message `unfinished` does not count yet; null for messages that have ended whole. If a message has a
    /// row there, it counts the pushes that come back.
    var remaining: PostgresArray {
        guard !settlement.counted.isEmpty else { return PostgresArray(of: .int4) }
        let wholes = repeatElement(nil as Int32?, count: settlement.ended.count)
        return PostgresArray(Array(wholes) + settlement.counted.map { $0.isCounted ? 0 : $0.remaining })
    }

    /// The last attempts of pushes that have expired, of each message; empty if there is none.
    var lastAttempts: [RetryCause?] {
        settlement.lastAttempts.isEmpty ? [] : ended.map { settlement.lastAttempts[$0.job] }
    }

    func references(of jobs: some Collection<ClaimedJobs.Job>) -> PostgresArray {
        var column = PostgresArray(of: .text)
        guard jobs.contains(where: { $0.reference != nil }) else { return column }
        for job in jobs {
            if let reference = job.reference {
                claim.texts.withSpan(reference.range) { column.append($0) }
            } else {
                column.appendNull()
            }
        }
        return column
    }

    func tokens(_ tokens: some Sequence<FailedPush.Token>) -> PostgresArray {
        var column = PostgresArray(of: .text)
        for token in tokens {
            switch token {
            case .push(let place):
                claim.batch.bytes.withSpan(claim.batch.pushes[Int(place)].token.range) { column.append($0) }
            case .refusal(let place):
                claim.texts.withSpan(claim.refusals[Int(place)].token.range) { column.append($0) }
            }
        }
        return column
    }

    /// What was sent as the `apns-id` of each push.
    func ids(of failures: [FailedPush]) -> PostgresArray {
        PostgresArray(failures.lazy.map { claim.id(of: $0.token) })
    }
}
