import ApplePush
import CarillonPostgres

/// What a settlement is made of.
extension Settlement {
    /// What a settlement says of a job, or of one of its pushes.
    protocol Item {
        /// The index of the job in the claim.
        var job: Int32 { get }
    }

    /// How many pushes of a job ended, and how, and how many did not.
    struct JobTally: Item, Equatable, Sendable {
        /// The index of the job in the claim.
        let job: Int32
        var sent: Int32 = 0
        var failed: Int32 = 0
        var expired: Int32 = 0
        /// Pushes that go back to the queue and have used up an attempt.
        var retried: Int32 = 0
        /// Pushes that go back to the queue without using up an attempt.
        var returned: Int32 = 0
        /// Pushes that have not ended.
        var pending: Int32 = 0
        /// Its message has a row in `unfinished`: the job was split off or is a retry, or some of it was settled.
        var isInUnfinished = false

        var ended: Int32 { sent + failed + expired }
        var goingBack: Int32 { retried + returned }
        var remaining: Int32 { goingBack + pending }

        /// The counts that are arguments of `carillon.settle`. An empty column has the default.
        static let arguments: [SettleArguments.Argument] = [
            .init("ended_sent", .int4) { PostgresArray(column: $0.ended.lazy.map(\.sent), default: 1) },
            .init("ended_failed", .int4) { PostgresArray(column: $0.ended.lazy.map(\.failed), default: 0) },
            .init("ended_expired", .int4) { PostgresArray(column: $0.ended.lazy.map(\.expired), default: 0) },
        ]
    }

    /// Pushes of one job that wait for another attempt.
    struct GoingBack: Item, Equatable, Sendable {
        let job: Int32
        /// Positions in the batch.
        let pushes: [Int32]
        /// These are all pushes of the job, which goes back unchanged.
        var isWhole = false
        let attempt: Int16
        /// Milliseconds, or nil if they go back at once.
        let delay: Int32?
        /// The cause of most of them, or nil if they go back without an answer.
        let cause: RetryCause?
    }

    /// Pushes of one job that stay in flight.
    struct Staying: Item, Equatable, Sendable {
        let job: Int32
        /// Positions in the batch.
        let pushes: [Int32]
        /// These are all pushes of the job, which stays unchanged.
        let isWhole: Bool
    }

    /// A push that was sent, with its `apns-unique-id`.
    struct Identified: Item, Equatable, Sendable {
        let job: Int32
        /// Its position in the batch.
        let push: Int32
        let id: PushID
    }

    /// A push that was sent, of an app that keeps them.
    struct Kept: Item, Equatable, Sendable {
        let job: Int32
        /// Its position in the batch.
        let push: Int32
    }

    /// A push that has expired after an attempt.
    struct Expired: Item, Equatable, Sendable {
        let job: Int32
        /// Its position in the batch.
        let push: Int32
    }

    /// Pushes that failed for good because of their topic.
    struct TopicRefusal: Equatable, Sendable {
        let reason: Reason
        let status: Int16
        /// The position of one of them in the batch.
        let first: Int32
        var pushes = 1
    }

    /// Counts of pushes.
    package struct Tally: Equatable, Sendable {
        package var sent = 0
        package var failed = 0
        package var expired = 0
        /// Updates, and background pushes, that newer ones have replaced.
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

        package static func sum(_ tallies: some Sequence<Self>) -> Self { tallies.reduce(into: Self()) { $0 += $1 } }

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
}
