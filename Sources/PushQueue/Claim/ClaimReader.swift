import ApplePush
import CarillonIO

/// Reads the jobs of a claim, one after another, into flat arrays. What only the reading needs is not kept in flight.
struct ClaimReader {
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

    private(set) var claim: ClaimedJobs
    private let installation: (UInt64, UInt64)
    private var seen: TokenSet
    private var current = Reading()
    /// Of the job that was begun last, if it has a payload for each token. The memory is used again.
    private var contents: [Content] = []

    /// - Parameter pushes: How many a job usually has.
    init(_ claim: ClaimedJobs, installation: (UInt64, UInt64), expecting pushes: Int = 32) {
        self.claim = claim
        // Two apps may have messages with the same id.
        self.installation = (installation.0, installation.1 ^ UInt64(truncatingIfNeeded: claim.app))
        seen = TokenSet(expecting: pushes)
    }

    mutating func reserve(jobs: Int, pushes: Int, bytes: Int) {
        claim.jobs.reserveCapacity(jobs)
        claim.batch.reserve(pushes: pushes, headings: jobs, bytes: bytes)
    }

    /// - Parameter createdAt: Microseconds since 1970.
    mutating func waited(since createdAt: Int64, attempt: Int16) {
        guard attempt == 1 else { return }
        // A caller may have set `created_at` to anything, infinity too.
        let (wait, overflowed) = claim.claimedAt.subtractingReportingOverflow(createdAt)
        claim.waits.add(nanoseconds: overflowed || wait > .max / 1000 ? .max : max(0, wait) * 1000)
    }

    mutating func store(_ text: RawSpan) -> ByteRange { claim.batch.store(text) }

    /// Begins a job; then follow its payload, or one for each token, and its tokens.
    mutating func begin(
        _ job: ClaimedJobs.Job,
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
        current = Reading(hasExpired: job.deadline.map { $0 <= claim.claimedAt } ?? false, refusal: refusal)
        contents.removeAll(keepingCapacity: true)
        seen.begin()
        claim.jobs.append(job)
        claim.jobs[claim.jobs.count - 1].firstPush = Int32(claim.batch.count)
        guard refusal == nil, !current.hasExpired else { return }
        if pushType?.isUpdate == true { claim.hasUpdates = true }
        if pushType?.isPaced == true { claim.hasPaced = true }
        current.pushType = pushType ?? .alert
        current.fields = claim.batch.addFields(
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
        let last = contents.isEmpty ? nil : claim.batch.lastHeading(payload: payload, fields: current.fields)
        return .heading(last ?? claim.batch.addHeading(payload: payload, fields: current.fields))
    }

    /// Adds a token to the job that was begun last.
    mutating func add(_ token: RawSpan) {
        let last = claim.jobs.count - 1
        let content = contents.isEmpty ? current.content : contents[current.tokens]
        current.tokens += 1
        let form = DeviceToken.Form(token)
        let id = Self.identity(of: token, form, in: claim.jobs[last].message, installation)
        guard seen.insert(id) else { return }
        claim.tokens += 1
        if current.hasExpired {
            claim.jobs[last].expired += 1
            return
        }
        switch content {
        case .heading(let heading) where current.refusal == nil && form != .malformed:
            claim.jobs[last].pushes += 1
            let heading = current.collapses ? claim.batch.addHeading(like: heading, collapsing: id) : heading
            claim.batch.addPush(token: token, heading: heading, id: id, isMalformed: false)
        case .heading:
            refuse(token, id, because: current.refusal ?? .malformedToken)
        case .refused(let reason):
            refuse(token, id, because: current.refusal ?? reason)
        }
    }

    private mutating func refuse(_ token: RawSpan, _ id: PushID, because reason: LocalReason) {
        let last = claim.jobs.count - 1
        claim.jobs[last].refused += 1
        let push = ClaimedJobs.RefusedPush(job: Int32(last), token: store(token), id: id, reason: reason)
        claim.refusedPushes.append(push)
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
