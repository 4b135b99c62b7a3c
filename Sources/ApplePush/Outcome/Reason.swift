/// Why APNs rejected a push: an index into a table of all known reasons.
///
/// A reason that is not in the table has its name in `Outcomes.texts`, and its consequences follow from the status.
public struct Reason: Hashable, Sendable {
    /// What to do about a reason.
    public enum Action: String, Sendable, CaseIterable {
        /// The request is wrong: the message fails.
        case failMessage
        /// The token is wrong, or belongs to the other environment: the push fails. The token should not be deleted for it.
        case failToken
        /// The token is dead: delete it, unless it was registered again later.
        case deleteToken
        /// The credential may not send to that topic: the message fails.
        case failTopic
        /// The connection is used up: send again on another.
        case replaceConnection
        /// The provider token is too old: send again with a new one, on another connection.
        case renewProviderToken
        /// Provider tokens were changed too often: keep the old one, and send later.
        case keepProviderToken
        /// The credential is not accepted: send nothing with it until it is fixed.
        case pauseCredential
        /// Not now: send again later.
        case retryLater
    }

    struct Row: Sendable {
        let name: String
        let status: UInt16
        let action: Action
        let isRetryable: Bool
        let isAboutTopic: Bool

        init(
            _ name: String,
            _ status: UInt16,
            _ action: Action,
            retry isRetryable: Bool = false,
            topic isAboutTopic: Bool = false
        ) {
            self.name = name
            self.status = status
            self.action = action
            self.isRetryable = isRetryable
            self.isAboutTopic = isAboutTopic
        }
    }

    /// The reason's place in the table, or, from `firstUnknown` on, in the texts of its `Outcomes`.
    package let index: UInt16

    /// The first index of reasons that are not in the table.
    package static let firstUnknown: UInt16 = 0x8000

    package init(index: UInt16) { self.index = index }

    /// No reason was given.
    public static let none = Self(index: 0)
    /// The token is not a hexadecimal number. The push was not sent.
    public static let malformedToken = Self(index: 1)

    /// The topic or another field contains what a header cannot contain. The push was not sent.
    public static let malformedHeader = Self(index: 2)

    /// The token belongs to the other environment, or to no device.
    public static let badDeviceToken = Self(index: 4)

    /// The reason of that name, or nil if it is not in the table.
    public init?(name: String) {
        guard let index = Self.indices[name] else { return nil }
        self.index = index
    }

    /// Whether it is in the table.
    public var isKnown: Bool { index < Self.firstUnknown }

    /// Apple's name of it, or nil if it is not in the table: then `Outcomes.text(of:)` has it.
    public var name: String? { isKnown ? Self.table[Int(index)].name : nil }

    /// Whether the topic is wrong, in itself or for the credential or the device token.
    package var isAboutTopic: Bool { isKnown && Self.table[Int(index)].isAboutTopic }

    /// What to do about it, with that status.
    public func action(status: UInt16) -> Action {
        if isKnown, self != .none { return Self.table[Int(index)].action }
        return switch status {
        case 410: .deleteToken
        case 403: .pauseCredential
        case 429, 500...: .retryLater
        default: .failMessage
        }
    }

    /// Whether a push with that answer is worth a retry.
    public func isRetryable(status: UInt16) -> Bool {
        if isKnown, self != .none { return Self.table[Int(index)].isRetryable }
        return status == 429 || status == 403 || status >= 500
    }

    /// Every known reason of Apple's, with its status.
    public static var all: [(reason: Reason, status: UInt16)] {
        table.indices.dropFirst(3).map { (Self(index: UInt16($0)), table[$0].status) }
    }
}

extension Reason {
    /// Pushes that pause a credential are kept, unless Apple forbids sending them again.
    static let table: [Row] = [
        Row("", 0, .failMessage),
        Row("MalformedToken", 0, .failToken),
        Row("MalformedHeader", 0, .failMessage),
        Row("BadCollapseId", 400, .failMessage),
        Row("BadDeviceToken", 400, .failToken),
        Row("BadExpirationDate", 400, .failMessage),
        Row("BadMessageId", 400, .failMessage),
        Row("BadPriority", 400, .failMessage),
        Row("BadTopic", 400, .failMessage, topic: true),
        Row("DeviceTokenNotForTopic", 400, .failToken, topic: true),
        Row("DuplicateHeaders", 400, .failMessage),
        Row("IdleTimeout", 400, .replaceConnection, retry: true),
        Row("InvalidPushType", 400, .failMessage),
        Row("MissingDeviceToken", 400, .failToken),
        Row("MissingTopic", 400, .failMessage, topic: true),
        Row("PayloadEmpty", 400, .failMessage),
        Row("TopicDisallowed", 400, .failTopic, topic: true),
        Row("BadCertificate", 403, .pauseCredential, retry: true),
        Row("BadCertificateEnvironment", 403, .pauseCredential, retry: true),
        Row("BadEnvironmentKeyIdInToken", 403, .pauseCredential, retry: true),
        Row("BadEnvironmentKeyInToken", 403, .pauseCredential, retry: true),
        Row("ExpiredProviderToken", 403, .renewProviderToken, retry: true),
        Row("Forbidden", 403, .pauseCredential),
        Row("InvalidProviderToken", 403, .pauseCredential, retry: true),
        Row("MissingProviderToken", 403, .pauseCredential, retry: true),
        Row("UnrelatedKeyIdInToken", 403, .replaceConnection, retry: true),
        Row("BadPath", 404, .failMessage),
        Row("MethodNotAllowed", 405, .failMessage),
        Row("ExpiredToken", 410, .deleteToken),
        Row("Unregistered", 410, .deleteToken),
        Row("PayloadTooLarge", 413, .failMessage),
        Row("TooManyProviderTokenUpdates", 429, .keepProviderToken, retry: true),
        Row("TooManyRequests", 429, .retryLater, retry: true),
        Row("InternalServerError", 500, .retryLater, retry: true),
        Row("ServiceUnavailable", 503, .retryLater, retry: true),
        Row("Shutdown", 503, .replaceConnection, retry: true),
        // Broadcasts and channels. That an app may not broadcast says nothing about its other pushes.
        Row("BadChannelId", 400, .failMessage),
        Row("BadRequestParams", 400, .failMessage),
        Row("BadRequestPayload", 400, .failMessage),
        Row("BroadcastFeatureNotEnabled", 400, .failMessage),
        Row("CannotCreateChannelConfig", 400, .failMessage),
        Row("ChannelNotRegistered", 400, .failMessage),
        Row("FeatureNotEnabled", 400, .failMessage),
        Row("MissingChannelId", 400, .failMessage),
        Row("MissingChannelQueueSize", 400, .failMessage),
        Row("MissingPushType", 400, .failMessage),
        Row("TopicMismatch", 403, .failTopic, topic: true),
    ]

    static let indices: [String: UInt16] = [String: UInt16](
        uniqueKeysWithValues: table.indices.dropFirst().map { (table[$0].name, UInt16($0)) }
    )
}
