/// The outcome of one push.
public struct Outcome: Hashable, Sendable {
    /// The ways in which a push can end.
    public enum Verdict: UInt8, Sendable, CaseIterable {
        /// APNs accepted it: status 200.
        case accepted
        /// APNs rejected it.
        case rejected
        /// It was certainly not processed: sending it again cannot cause a duplicate.
        case safe
        /// It may or may not have been processed. If it is sent again, it must carry the same identity.
        case unknown
        /// It has not ended. Occurs only in a delivery that returned early, with a rest.
        case pending
    }

    /// How it ended.
    public let verdict: Verdict

    /// The status of the answer; 0 if there was none.
    public let status: UInt16

    /// Why APNs rejected it.
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

    /// Accepted.
    public static let accepted = Self(.accepted, status: 200)

    /// Not ended.
    public static let pending = Self(.pending)

    /// When APNs last knew the token to be dead: milliseconds since 1970, only with status 410.
    public var timestamp: Int64? { timestampMilliseconds == .min ? nil : timestampMilliseconds }

    /// How many seconds to wait before a retry, if the gateway said so.
    public var retryAfter: Int32? { retryAfterSeconds < 0 ? nil : retryAfterSeconds }

    /// What to do about a rejection; nil for every other verdict.
    public var action: Reason.Action? { verdict == .rejected ? reason.action(status: status) : nil }

    /// Whether the push is worth a retry.
    public var isRetryable: Bool {
        switch verdict {
        case .accepted, .pending: false
        case .rejected: reason.isRetryable(status: status)
        case .safe, .unknown: true
        }
    }
}
