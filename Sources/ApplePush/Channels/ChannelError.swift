/// Why a request to the channel service was not carried out, or may not have been carried out.
public struct ChannelError: Error, Sendable, CustomStringConvertible {
    /// How a request ended.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// Apple refused it: see ``ChannelError/reason``. Nothing was done.
        public static let refused = Self("refused")
        /// It was not sent, or certainly not processed. It can be repeated safely.
        public static let unsent = Self("unsent")
        /// It was sent but not answered: it may have been carried out. A channel created this way is in the next list.
        public static let unknown = Self("unknown")
        /// The answer makes no sense: the request may have been carried out.
        public static let malformed = Self("malformed")
        /// The backend manages no channels.
        public static let unsupported = Self("unsupported")
    }

    /// How the request ended.
    public let code: Code

    /// A sentence: what is wrong, and what to do about it. It never contains a secret.
    public let message: String

    /// The error that caused this one, if there is one.
    public let underlying: (any Error)?

    /// The status of the answer; 0 if there was none.
    public let status: Int

    /// Apple's name for the reason, if there is one.
    public let reason: String?

    /// Whether repeating the request may succeed.
    public let isRetryable: Bool

    /// How many seconds to wait before repeating the request, if the service said so.
    public let retryAfter: Int?

    /// An error for a request without a usable answer.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
        status = 0
        reason = nil
        isRetryable = code == .unsent || code == .unknown
        retryAfter = nil
    }

    /// A refusal of the service.
    public init(status: Int, reason: String?, retryAfter: Int? = nil) {
        code = .refused
        underlying = nil
        self.status = status
        self.reason = reason
        self.retryAfter = retryAfter
        let known = reason.flatMap { Reason(name: $0) } ?? .none
        isRetryable = known.isRetryable(status: UInt16(clamping: status))
        message =
            "The channel service refused the request: \(status)\(reason.map { " \($0)" } ?? "")."
            + (reason.flatMap { Self.advice[$0] } ?? "")
    }

    /// The sentence.
    public var description: String { message }

    private static let advice = [
        "FeatureNotEnabled": noCapability,
        "BroadcastFeatureNotEnabled": noCapability,
        "CannotCreateChannelConfig": " An app has at most 10,000 channels: remove those that are not needed.",
        "TopicMismatch": " The certificate is not of this app.",
        "TopicDisallowed": " The signing key is not for this app.",
    ]
    private static let noCapability =
        " Enable the capability Broadcast for the app's identifier on Apple's developer pages."
}
