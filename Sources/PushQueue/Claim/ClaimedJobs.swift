package import ApplePush
import CarillonIO
import CarillonPostgres

/// The jobs of one claim in a few flat arrays: the pushes to send, the tokens that are refused or have expired, and what the
/// settlement needs.
package struct ClaimedJobs: Sendable {
    struct Job: Sendable {
        let id: Int64
        /// The message that this job was split from, or whose pushes it retries.
        var origin: Int64?
        let broadcast: Int64?
        var reference: ByteRange?
        /// When it was enqueued, in microseconds since 1970, as all times of a claim.
        let createdAt: Int64
        let expiresAt: Int64?
        let attempt: Int16
        /// Whether a push may be sent again when its outcome is unknown.
        let mayRepeat: Bool
        /// Where its pushes begin in the batch.
        var firstPush: Int32 = 0
        var pushes: Int32 = 0
        /// Tokens that had expired when they were claimed.
        var expired: Int32 = 0
        /// Tokens that are refused before they are sent.
        var refused: Int32 = 0

        /// When it expires. For Apple, 0 means a push that is delivered at once or never.
        var deadline: Int64? { expiresAt == 0 ? nil : expiresAt }

        /// How many attempts were begun, including this one if anything of the job can be sent.
        var attempts: Int16 { pushes > 0 ? attempt : attempt - 1 }

        var positions: Range<Int32> { firstPush..<firstPush + pushes }

        /// The id in `results` and `failures`: that of the job that was enqueued, of which this may be a retry or a split.
        var message: Int64 { origin ?? id }
    }

    /// A push that is refused before it is sent.
    struct RefusedPush: Sendable {
        var job: Int32
        var token: ByteRange
        let id: PushID
        let reason: LocalReason
    }

    /// The id of the row of `inflight`.
    package let id: Int64
    package let app: Int32
    package let lane: Int16
    /// The database's clock at the claim.
    package let claimedAt: Int64
    /// Several workers died while these jobs were in flight. This worker claims no other quarantined jobs until they are settled.
    let areQuarantined: Bool
    var jobs: [Job] = []
    var refusedPushes: [RefusedPush] = []
    /// Its bytes include the references of the jobs, and the tokens of pushes that were refused.
    package internal(set) var batch = PushBatch()
    /// There are updates to send, whose order a worker has to ask for.
    var hasUpdates = false
    /// There are background pushes to send, which `max_per_device` may delay.
    var hasPaced = false
    /// The time from enqueueing to the first claim, by the database's clock.
    package internal(set) var waits = DurationHistogram()
    /// The tokens of the claim, sent or not. A token that a message names twice counts once.
    package internal(set) var tokens = 0

    subscript(index: Int32) -> Job { jobs[Int(index)] }

    package var count: Int { jobs.count }

    var key: ClaimKey { ClaimKey(id: id, claimedAt: claimedAt) }

    /// The bytes of its payloads, tokens and references.
    var byteCount: Int { batch.bytes.count }

    var lowest: Int64 { jobs.lazy.map(\.id).min() ?? .max }

    /// The identity of the push.
    func id(of token: FailedPush.Token) -> PostgresUUID {
        switch token {
        case .push(let position): PostgresUUID(batch.pushes[Int(position)].id)
        case .refused(let index): PostgresUUID(refusedPushes[Int(index)].id)
        }
    }
}

extension PostgresUUID {
    init(_ id: PushID) { self.init(high: id.high, low: id.low) }
}
