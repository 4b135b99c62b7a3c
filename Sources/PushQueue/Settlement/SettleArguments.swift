import ApplePush
import CarillonIO
import CarillonPostgres

/// The last step of a settlement: with the claim that it settles, it becomes the arguments of the function `carillon.settle`.
///
/// They are given by name. Nothing else depends on their order.
struct SettleArguments {
    /// Writes the settlement; returns a `SettleEffect`.
    static let statement = Statement(
        "settle",
        "SELECT carillon.settle(\(all.enumerated().map { "\($1.name) => $\($0 + 1)" }.joined(separator: ", ")))"
    )

    private let settlement: Settlement
    private let claim: ClaimedJobs
    private let worker: Int64
    /// How many settlements of the claim there were before.
    private let settlementNumber: Int16
    /// What is counted of messages: first those that have ended whole.
    let ended: [Settlement.JobTally]
    /// The pushes of jobs that go back only in part. The database has the tokens of the others.
    private let placedGoingBack: [PlacedPush]
    /// The pushes of jobs that stay in flight only in part.
    private let placedStaying: [PlacedPush]

    /// A push, and the position of its job, from 1, among the jobs that go back or stay.
    private struct PlacedPush {
        let job: Int32
        let push: Int32
    }

    init(_ settlement: Settlement, of claim: ClaimedJobs, worker: Int64, settlementNumber: Int16) {
        self.settlement = settlement
        self.claim = claim
        self.worker = worker
        self.settlementNumber = settlementNumber
        ended = settlement.partial.isEmpty ? settlement.ended : settlement.ended + settlement.partial
        placedGoingBack = Self.placed(settlement.goingBack.lazy.map { ($0.isWhole, $0.pushes) })
        placedStaying = Self.placed(settlement.staying.lazy.map { ($0.isWhole, $0.pushes) })
    }

    private static func placed(_ jobs: some Sequence<(isWhole: Bool, pushes: [Int32])>) -> [PlacedPush] {
        jobs.enumerated().flatMap { number, job in
            job.isWhole ? [] : job.pushes.map { PlacedPush(job: Int32(number + 1), push: $0) }
        }
    }

    var parameters: Parameters {
        let pushes = settlement.failures.count + settlement.kept.count
        var parameters = Parameters(capacity: 1024 + settlement.ended.count * 24 + pushes * 160)
        for argument in Self.all { argument.append(of: self, to: &parameters) }
        return parameters
    }

    // MARK: The arguments

    /// An argument: its name, its type, and where its value comes from.
    struct Argument: Sendable {
        let name: String
        /// The number of its type in `pg_type`.
        let typeID: UInt32
        private let append: @Sendable (SettleArguments, inout Parameters) -> Void

        /// A single value.
        init<Value: PostgresValue>(_ name: String, _ value: @escaping @Sendable (SettleArguments) -> Value) {
            self.name = name
            typeID = Value.type.id
            append = { settled, parameters in parameters.append(value(settled)) }
        }

        /// An array with elements of this type.
        init(_ name: String, _ type: PostgresType, _ values: @escaping @Sendable (SettleArguments) -> PostgresArray) {
            self.name = name
            typeID = PostgresArray(of: type).typeID
            append = { settled, parameters in
                let array = values(settled)
                assert(array.type == type, "\(name) has elements of another type")
                parameters.append(array)
            }
        }

        func append(of settled: SettleArguments, to parameters: inout Parameters) { append(settled, &parameters) }
    }

    static let all =
        fence + endedMessages + Settlement.JobTally.arguments + failedPushes + jobsGoingBack + jobsStaying + others

    private static let fence = [
        Argument("app") { $0.claim.app },
        Argument("claim") { $0.claim.id },
        Argument("worker") { $0.worker },
        Argument("claimed") { Moment($0.claim.claimedAt) },
        Argument("settlement_number") { $0.settlementNumber },
    ]

    private static let endedMessages = [
        Argument("ended", .int8) { PostgresArray(integers: Array($0.jobs(of: $0.ended).map(\.message))) },
        Argument("ended_remaining", .int4) { $0.remaining },
        Argument("ended_reference", .text) { $0.references(of: $0.jobs(of: $0.ended)) },
        Argument("ended_broadcast", .int8) { PostgresArray(column: $0.jobs(of: $0.ended).map(\.broadcast)) },
        Argument("ended_created", .timestamptz) {
            PostgresArray(times: Array($0.jobs(of: $0.ended).map(\.createdAt)))
        },
        Argument("ended_attempts", .int2) {
            PostgresArray(column: $0.jobs(of: $0.ended).map(\.attempts), default: 1)
        },
        Argument("ended_status", .int2) { PostgresArray(column: $0.lastAttempts.map { $0?.status }) },
        Argument("ended_reason", .text) { PostgresArray(column: $0.lastAttempts.map { $0?.reason }) },
    ]

    private static let failedPushes = [
        Argument("failed", .int8) { PostgresArray(each: $0.jobs(of: $0.settlement.failures).map(\.message)) },
        Argument("failed_reference", .text) { $0.references(of: $0.jobs(of: $0.settlement.failures)) },
        Argument("failed_token", .text) { $0.tokens($0.settlement.failures.lazy.map(\.token)) },
        Argument("failed_status", .int2) { PostgresArray(each: $0.settlement.failures.lazy.map(\.status)) },
        Argument("failed_reason", .text) { PostgresArray(each: $0.settlement.failures.lazy.map(\.reason)) },
        Argument("failed_unregistered_at", .timestamptz) {
            PostgresArray(each: $0.settlement.failures.lazy.map(\.unregisteredAt))
        },
        Argument("failed_apns_id", .uuid) { $0.ids(of: $0.settlement.failures.lazy.map(\.token)) },
        Argument("failed_attempt", .int2) { PostgresArray(each: $0.jobs(of: $0.settlement.failures).map(\.attempt)) },
        Argument("failed_unique_id", .uuid) {
            PostgresArray(column: $0.settlement.failures.lazy.map { $0.uniqueID.map(PostgresUUID.init) })
        },
    ]

    private static let jobsGoingBack = [
        Argument("going_back", .int8) { PostgresArray(each: $0.jobs(of: $0.settlement.goingBack).map(\.id)) },
        Argument("going_back_whole", .bool) { PostgresArray(each: $0.settlement.goingBack.lazy.map(\.isWhole)) },
        Argument("going_back_attempt", .int2) { PostgresArray(each: $0.settlement.goingBack.lazy.map(\.attempt)) },
        Argument("going_back_after", .int4) { PostgresArray(each: $0.settlement.goingBack.lazy.map(\.delay)) },
        Argument("going_back_place", .int4) { PostgresArray(each: $0.placedGoingBack.lazy.map(\.job)) },
        Argument("going_back_token", .text) { $0.tokens($0.placedGoingBack.lazy.map { .push($0.push) }) },
        Argument("going_back_status", .int2) {
            PostgresArray(column: $0.settlement.goingBack.lazy.map(\.cause?.status))
        },
        Argument("going_back_reason", .text) {
            PostgresArray(column: $0.settlement.goingBack.lazy.map(\.cause?.reason))
        },
    ]

    private static let jobsStaying = [
        Argument("staying", .int8) { PostgresArray(each: $0.jobs(of: $0.settlement.staying).map(\.id)) },
        Argument("staying_whole", .bool) { PostgresArray(each: $0.settlement.staying.lazy.map(\.isWhole)) },
        Argument("staying_place", .int4) { PostgresArray(each: $0.placedStaying.lazy.map(\.job)) },
        Argument("staying_token", .text) { $0.tokens($0.placedStaying.lazy.map { .push($0.push) }) },
    ]

    private static let others = [
        Argument("unknown", .int8) { $0.unknown },
        Argument("identified", .int8) { PostgresArray(each: $0.jobs(of: $0.settlement.identified).map(\.message)) },
        Argument("identified_token", .text) { $0.tokens($0.settlement.identified.lazy.map { .push($0.push) }) },
        Argument("identified_unique_id", .uuid) {
            PostgresArray(each: $0.settlement.identified.lazy.map { PostgresUUID($0.id) })
        },
        Argument("expired", .int8) { PostgresArray(each: $0.jobs(of: $0.settlement.expired).map(\.message)) },
        Argument("expired_token", .text) { $0.tokens($0.settlement.expired.lazy.map { .push($0.push) }) },
        Argument("kept", .int8) { PostgresArray(each: $0.jobs(of: $0.settlement.kept).map(\.message)) },
        Argument("kept_token", .text) { $0.tokens($0.settlement.kept.lazy.map { .push($0.push) }) },
        Argument("kept_apns_id", .uuid) { $0.ids(of: $0.settlement.kept.lazy.map { .push($0.push) }) },
    ]

    // MARK: Their values

    /// The messages of jobs with pushes whose outcome is unknown and that may be sent again.
    private var unknown: PostgresArray {
        PostgresArray(each: settlement.unknown.lazy.map { claim[$0].message })
    }

    private func jobs<Item: Settlement.Item>(of items: [Item]) -> LazyMapCollection<[Item], ClaimedJobs.Job> {
        let jobs = claim.jobs
        return items.lazy.map { jobs[Int($0.job)] }
    }

    /// How many pushes of each message `unfinished` does not count yet; null for messages that have ended whole. If a message has a
    /// row there, it counts the pushes that come back.
    private var remaining: PostgresArray {
        guard !settlement.partial.isEmpty else { return PostgresArray(of: .int4) }
        let wholes = repeatElement(nil as Int32?, count: settlement.ended.count)
        return PostgresArray(each: Array(wholes) + settlement.partial.map { $0.isInUnfinished ? 0 : $0.remaining })
    }

    /// The last attempts of pushes that have expired, of each message; empty if there is none.
    private var lastAttempts: [RetryCause?] {
        settlement.lastAttempts.isEmpty ? [] : ended.map { settlement.lastAttempts[$0.job] }
    }

    private func references(of jobs: some Collection<ClaimedJobs.Job>) -> PostgresArray {
        var column = PostgresArray(of: .text)
        guard jobs.contains(where: { $0.reference != nil }) else { return column }
        for job in jobs {
            if let reference = job.reference {
                claim.batch.bytes.withSpan(reference.range) { column.append($0) }
            } else {
                column.appendNull()
            }
        }
        return column
    }

    private func tokens(_ tokens: some Sequence<FailedPush.Token>) -> PostgresArray {
        var column = PostgresArray(of: .text)
        for token in tokens {
            switch token {
            case .push(let position):
                claim.batch.bytes.withSpan(claim.batch.pushes[Int(position)].token.range) { column.append($0) }
            case .refused(let index):
                claim.batch.bytes.withSpan(claim.refusedPushes[Int(index)].token.range) { column.append($0) }
            }
        }
        return column
    }

    /// What was sent as the `apns-id` of each push.
    private func ids(of pushes: some Sequence<FailedPush.Token>) -> PostgresArray {
        PostgresArray(each: pushes.lazy.map { claim.id(of: $0) })
    }
}

/// These are here because only the module of a lazy sequence has its closures to optimize.
extension PostgresArray {
    fileprivate init<Value: PostgresValue>(each values: some Sequence<Value>) {
        self.init(of: Value.type)
        for value in values { append(value) }
    }

    fileprivate init<Value: PostgresValue>(each values: some Sequence<Value?>) {
        self.init(of: Value.type)
        for value in values { append(value) }
    }

    /// A column whose every value is the default is left empty.
    init<Value: PostgresValue & Equatable>(column values: some Collection<Value>, default value: Value) {
        if values.allSatisfy({ $0 == value }) { self.init(of: Value.type) } else { self.init(each: values) }
    }

    /// A column of nulls is left empty.
    fileprivate init<Value: PostgresValue>(column values: some Collection<Value?>) {
        if values.contains(where: { $0 != nil }) { self.init(each: values) } else { self.init(of: Value.type) }
    }
}
