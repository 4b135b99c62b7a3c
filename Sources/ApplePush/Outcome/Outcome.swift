/// What became of one push.
public struct Outcome: Hashable, Sendable {
    /// The ways a push can end, and that it has not ended; there is no other.
    public enum Verdict: UInt8, Sendable, CaseIterable {
        /// APNs took it: status 200.
        case delivered
        /// APNs answered, and did not take it.
        case rejected
        /// It surely was not processed: sending it again makes no duplicate.
        case safe
        /// Nobody knows whether it was processed. Sent again, it must carry the same identity.
        case unknown
        /// It has not ended: only where a delivery returned before all had, with a rest to follow.
        case pending
    }

    /// How it ended.
    public let verdict: Verdict

    /// The status of the answer, or 0 where there was none.
    public let status: UInt16

    /// Why APNs did not take it.
    public let reason: Reason

    private let retryAfterSeconds: Int32
    private let timestampMilliseconds: Int64

    /// An outcome.
    public init(
        _ verdict: Verdict,
        status: UInt16 = 0,
        reason: Reason = .none,
        timestamp: Int64? = nil,
        retryAfter: Int32? = nil
    ) {
        self.verdict = verdict
        self.status = status
        self.reason = reason
        timestampMilliseconds = timestamp ?? .min
        retryAfterSeconds = retryAfter ?? -1
    }

    /// Delivered, as nearly all of them are.
    public static let delivered = Self(.delivered, status: 200)

    /// Not ended.
    public static let pending = Self(.pending)

    /// When APNs last knew the token to be dead: milliseconds since 1970, only with status 410.
    public var timestamp: Int64? { timestampMilliseconds == .min ? nil : timestampMilliseconds }

    /// How many seconds the gateway asked to wait.
    public var retryAfter: Int32? { retryAfterSeconds < 0 ? nil : retryAfterSeconds }

    /// What follows from a rejection; nil for every other verdict.
    public var action: Reason.Action? {
        verdict == .rejected ? reason.action(status: status) : nil
    }

    /// Whether the push is worth another try.
    public var isRetryable: Bool {
        switch verdict {
        case .delivered, .pending: false
        case .rejected: reason.isRetryable(status: status)
        case .safe, .unknown: true
        }
    }
}
