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
        let reference: ByteRange?
        /// When it was enqueued, in microseconds since 1970.
        let createdAt: Int64
        /// Microseconds since 1970.
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

        /// When it expires, in microseconds since 1970. For Apple, 0 means a push that is delivered at once or never.
        var deadline: Int64? { expiresAt == 0 ? nil : expiresAt }

        /// How many attempts were begun, including this one if anything of the job can be sent.
        var attempts: Int16 { pushes > 0 ? attempt : attempt - 1 }

        var positions: Range<Int32> { firstPush..<firstPush + pushes }

        /// The id in `results` and `failures`: that of the job that was enqueued, of which this may be a retry or a split.
        var message: Int64 { origin ?? id }
    }

    /// A token that is not sent.
    struct Refusal: Sendable {
        var job: Int32
        let token: ByteRange
        let id: PushID
        let reason: LocalReason
    }

    /// The id of the row of `inflight`.
    package let id: Int64
    package let app: Int32
    package let lane: Int16
    /// The database's clock at the claim, in microseconds since 1970.
    package let claimedAt: Int64
    /// Several workers died while these jobs were in flight. This worker claims no other quarantined jobs until they are settled.
    let areQuarantined: Bool
    var jobs: [Job] = []
    var refusals: [Refusal] = []
    private(set) var texts: [UInt8] = []
    package internal(set) var batch = PushBatch()
    /// There are updates to send, whose order a worker has to ask for.
    private(set) var hasUpdates = false
    /// There are background pushes to send, which `max_per_device` may delay.
    private(set) var hasPaced = false
    /// The time from enqueueing to the first claim, by the database's clock.
    package private(set) var waits = DurationHistogram()
    /// The tokens of the claim, sent or not. A token that a message names twice counts once.
    package private(set) var tokens = 0

    private let installation: (UInt64, UInt64)
    private var current = Reading()

    /// The state of the job that was begun last.
    private struct Reading {
        var pushType = PushType.alert
        var fields: Int32 = 0
        var hasExpired = false
        /// Why none of its tokens is sent.
        var refusal: LocalReason?
        /// Of a job with one payload for all.
        var content = Content.heading(0)
        /// How many tokens were read.
        var tokens = 0
        /// Each push has its identity as collapse id.
        var collapses = false
    }

    /// What a push has as its payload.
    private enum Content {
        case heading(Int)
        case refused(LocalReason)
    }

    /// Of the job that was begun last, if it has a payload for each token. The memory is used again.
    private var contents: [Content] = []

    subscript(index: Int32) -> Job { jobs[Int(index)] }

    init(
        id: Int64,
        app: Int32,
        lane: Int16,
        claimedAt: Int64,
        installation: (UInt64, UInt64),
        areQuarantined: Bool = false
    ) {
        self.id = id
        self.app = app
        self.lane = lane
        self.claimedAt = claimedAt
        // Two apps may have messages with the same id.
        self.installation = (installation.0, installation.1 ^ UInt64(truncatingIfNeeded: app))
        self.areQuarantined = areQuarantined
    }

    package var count: Int { jobs.count }

    var key: ClaimKey { ClaimKey(id: id, claimedAt: claimedAt) }

    /// The bytes of its payloads, tokens and texts.
    var byteCount: Int { texts.count + batch.bytes.count }

    var lowest: Int64 { jobs.lazy.map(\.id).min() ?? .max }

    /// The identity of the push.
    func id(of token: FailedPush.Token) -> PostgresUUID {
        switch token {
        case .push(let position): PostgresUUID(batch.pushes[Int(position)].id)
        case .refusal(let index): PostgresUUID(refusals[Int(index)].id)
        }
    }

    mutating func reserve(jobs: Int, pushes: Int, bytes: Int, texts: Int) {
        self.jobs.reserveCapacity(jobs)
        self.texts.reserveCapacity(texts)
        batch.reserve(pushes: pushes, headings: jobs, bytes: bytes)
    }

    // MARK: Reading

    /// - Parameter createdAt: Microseconds since 1970.
    mutating func waited(since createdAt: Int64, attempt: Int16) {
        guard attempt == 1 else { return }
        // A caller may have set `created_at` to anything, infinity too.
        let (wait, overflowed) = claimedAt.subtractingReportingOverflow(createdAt)
        waits.add(nanoseconds: overflowed || wait > .max / 1000 ? .max : max(0, wait) * 1000)
    }

    mutating func store(_ text: RawSpan) -> ByteRange {
        let extent = ByteRange(start: texts.count, count: text.byteCount)
        texts.append(copying: text)
        return extent
    }

    /// Begins a job; then follow its payload, or one for each token, and its tokens.
    mutating func begin(
        _ job: Job,
        topic: RawSpan,
        topicIsAllowed: Bool,
        collapseID: RawSpan,
        priority: Int16?,
        pushType: PushType?,
        onUnknown: String?,
        appIsKnown: Bool
    ) {
        let refusal =
            appIsKnown
            ? JobRules.refusal(
                topic: topic,
                topicIsAllowed: topicIsAllowed,
                collapseID: collapseID,
                priority: priority,
                pushType: pushType,
                onUnknown: onUnknown
            ) : .unknownApp
        current = Reading(hasExpired: job.deadline.map { $0 <= claimedAt } ?? false, refusal: refusal)
        contents.removeAll(keepingCapacity: true)
        jobs.append(job)
        jobs[jobs.count - 1].firstPush = Int32(batch.count)
        guard refusal == nil, !current.hasExpired else { return }
        if pushType?.isUpdate == true { hasUpdates = true }
        if pushType?.isPaced == true { hasPaced = true }
        current.pushType = pushType ?? .alert
        current.fields = batch.addFields(
            topic: topic,
            pushType: pushType ?? .alert,
            priority: priority.map { UInt8(clamping: $0) },
            // Infinity means no expiration.
            expiration: job.expiresAt.flatMap { $0 == .max ? nil : $0 / 1_000_000 },
            collapseID: collapseID
        )
    }

    /// A push of the job that was begun last may have arrived before: each gets its identity as collapse id.
    mutating func collapse() { current.collapses = true }

    /// Adds the payload for all tokens of the job that was begun last, or nil if it has none.
    mutating func add(payload: RawSpan?) {
        current.content = content(payload)
        if case .refused(let reason) = current.content { current.refusal = current.refusal ?? reason }
    }

    /// Adds the payload for the next token of the job that was begun last, or nil if that token has none.
    mutating func add(nextPayload payload: RawSpan?) { contents.append(content(payload)) }

    /// The job that was begun last has not one payload for each token.
    mutating func refuseMismatch() { current.refusal = current.refusal ?? .mismatchedPayloads }

    private mutating func content(_ payload: RawSpan?) -> Content {
        guard current.refusal == nil, !current.hasExpired else { return .heading(0) }
        guard let payload else { return .refused(.payloadEmpty) }
        if let reason = JobRules.refusal(of: payload, current.pushType) { return .refused(reason) }
        let last = contents.isEmpty ? nil : batch.lastHeading(payload: payload, fields: current.fields)
        return .heading(last ?? batch.addHeading(payload: payload, fields: current.fields))
    }

    /// Adds a token to the job that was begun last.
    mutating func add(_ token: RawSpan, unlessIn seen: inout TokenSet) {
        let last = jobs.count - 1
        let content = contents.isEmpty ? current.content : contents[current.tokens]
        current.tokens += 1
        let form = DeviceToken.Form(token)
        let id = Self.identity(of: token, form, in: jobs[last].message, installation)
        guard seen.insert(id) else { return }
        tokens += 1
        if current.hasExpired {
            jobs[last].expired += 1
            return
        }
        switch content {
        case .heading(let heading) where current.refusal == nil && form != .malformed:
            jobs[last].pushes += 1
            let heading = current.collapses ? batch.addHeading(like: heading, collapsing: id) : heading
            batch.addPush(token: token, heading: heading, id: id, isMalformed: false)
        case .heading:
            refuse(token, id, because: current.refusal ?? .malformedToken)
        case .refused(let reason):
            refuse(token, id, because: current.refusal ?? reason)
        }
    }

    private mutating func refuse(_ token: RawSpan, _ id: PushID, because reason: LocalReason) {
        jobs[jobs.count - 1].refused += 1
        refusals.append(Refusal(job: Int32(jobs.count - 1), token: store(token), id: id, reason: reason))
    }

    /// A token in upper and in lower case is the same token, so its pushes have one identity.
    private static func identity(
        of token: RawSpan,
        _ form: DeviceToken.Form,
        in message: Int64,
        _ installation: (UInt64, UInt64)
    ) -> PushID {
        guard form == .mixedCase else { return .derived(installation: installation, message: message, token: token) }
        var lower: [UInt8] = []
        lower.append(copying: token)
        for index in lower.indices { lower[index] = DeviceToken.digit(lower[index]) ?? lower[index] }
        // A span of bytes has no padding that could be read uninitialised, which is what makes `bytes` unsafe.
        return .derived(installation: installation, message: message, token: unsafe lower.span.bytes)
    }
}

extension PostgresUUID {
    init(_ id: PushID) { self.init(high: id.high, low: id.low) }
}
