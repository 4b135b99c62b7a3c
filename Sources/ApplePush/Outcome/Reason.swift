/// Why APNs rejected a push: an index into a table of all known reasons.
///
/// The name of a reason that is not in the table is in `Outcomes.texts`, and its consequences follow from the status.
public struct Reason: Hashable, Sendable {
    /// What to do about a reason.
    public enum Action: String, Sendable, CaseIterable {
        /// The request is wrong: the message fails.
        case failMessage
        /// The token is wrong, or belongs to the other environment: the push fails. Do not delete the token because of it.
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
        case holdCredential
        /// Not now: send again later.
        case retryLater
    }

    struct Facts: Sendable {
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

    /// The reason's index in the table or, from `firstUnknown` on, in the texts of its `Outcomes`.
    package let index: UInt16

    /// The first index of reasons that are not in the table.
    package static let firstUnknown: UInt16 = 0x8000

    package init(index: UInt16) { self.index = index }

    /// No reason was given.
    public static let none = Self(index: 0)
    /// The token is not a hexadecimal number. The push was not sent.
    public static let malformedToken = Self(index: 1)

    /// The topic or another field contains a character that a header cannot contain. The push was not sent.
    public static let malformedHeader = Self(index: 2)

    /// The token belongs to the other environment, or to no device.
    public static let badDeviceToken = Self(index: 4)

    /// The reason with this name; nil if it is not in the table.
    public init?(name: String) {
        guard let index = Self.indices[name] else { return nil }
        self.index = index
    }

    /// Whether it is in the table.
    public var isKnown: Bool { index < Self.firstUnknown }

    /// Apple's name for it; nil if it is not in the table, in which case `Outcomes.text(of:)` returns it.
    public var name: String? { isKnown ? Self.table[Int(index)].name : nil }

    /// Whether the topic is wrong, in itself or for the credential or the device token.
    package var isAboutTopic: Bool { isKnown && Self.table[Int(index)].isAboutTopic }

    /// What to do about it, with that status.
    public func action(status: UInt16) -> Action {
        if isKnown, self != .none { return Self.table[Int(index)].action }
        return switch status {
        case 410: .deleteToken
        case 403: .holdCredential
        case 429, 500...: .retryLater
        default: .failMessage
        }
    }

    /// Whether a push with that answer is worth a retry.
    public func isRetryable(status: UInt16) -> Bool {
        if isKnown, self != .none { return Self.table[Int(index)].isRetryable }
        return status == 429 || status == 403 || status >= 500
    }

    /// Apple's known reasons, each with its status.
    public static var all: [(reason: Reason, status: UInt16)] {
        table.indices.dropFirst(3).map { (Self(index: UInt16($0)), table[$0].status) }
    }
}

extension Reason {
    /// New reasons go to the end: `malformedToken`, `malformedHeader` and `badDeviceToken` are places in this table, and the first three
    /// rows are not Apple's. Pushes whose rejection holds the credential are kept, unless Apple forbids sending them again.
    static let table: [Facts] = [
        Facts("", 0, .failMessage),
        Facts("MalformedToken", 0, .failToken),
        Facts("MalformedHeader", 0, .failMessage),
        Facts("BadCollapseId", 400, .failMessage),
        Facts("BadDeviceToken", 400, .failToken),
        Facts("BadExpirationDate", 400, .failMessage),
        Facts("BadMessageId", 400, .failMessage),
        Facts("BadPriority", 400, .failMessage),
        Facts("BadTopic", 400, .failMessage, topic: true),
        Facts("DeviceTokenNotForTopic", 400, .failToken, topic: true),
        Facts("DuplicateHeaders", 400, .failMessage),
        Facts("IdleTimeout", 400, .replaceConnection, retry: true),
        Facts("InvalidPushType", 400, .failMessage),
        Facts("MissingDeviceToken", 400, .failToken),
        Facts("MissingTopic", 400, .failMessage, topic: true),
        Facts("PayloadEmpty", 400, .failMessage),
        Facts("TopicDisallowed", 400, .failTopic, topic: true),
        Facts("BadCertificate", 403, .holdCredential, retry: true),
        Facts("BadCertificateEnvironment", 403, .holdCredential, retry: true),
        Facts("BadEnvironmentKeyIdInToken", 403, .holdCredential, retry: true),
        Facts("BadEnvironmentKeyInToken", 403, .holdCredential, retry: true),
        Facts("ExpiredProviderToken", 403, .renewProviderToken, retry: true),
        Facts("Forbidden", 403, .holdCredential),
        Facts("InvalidProviderToken", 403, .holdCredential, retry: true),
        Facts("MissingProviderToken", 403, .holdCredential, retry: true),
        Facts("UnrelatedKeyIdInToken", 403, .replaceConnection, retry: true),
        Facts("BadPath", 404, .failMessage),
        Facts("MethodNotAllowed", 405, .failMessage),
        Facts("ExpiredToken", 410, .deleteToken),
        Facts("Unregistered", 410, .deleteToken),
        Facts("PayloadTooLarge", 413, .failMessage),
        Facts("TooManyProviderTokenUpdates", 429, .keepProviderToken, retry: true),
        Facts("TooManyRequests", 429, .retryLater, retry: true),
        Facts("InternalServerError", 500, .retryLater, retry: true),
        Facts("ServiceUnavailable", 503, .retryLater, retry: true),
        Facts("Shutdown", 503, .replaceConnection, retry: true),
        // Broadcasts and channels. An app that may not broadcast may still send other pushes.
        Facts("BadChannelId", 400, .failMessage),
        Facts("BadRequestParams", 400, .failMessage),
        Facts("BadRequestPayload", 400, .failMessage),
        Facts("BroadcastFeatureNotEnabled", 400, .failMessage),
        Facts("CannotCreateChannelConfig", 400, .failMessage),
        Facts("ChannelNotRegistered", 400, .failMessage),
        Facts("FeatureNotEnabled", 400, .failMessage),
        Facts("MissingChannelId", 400, .failMessage),
        Facts("MissingChannelQueueSize", 400, .failMessage),
        Facts("MissingPushType", 400, .failMessage),
        Facts("TopicMismatch", 403, .failTopic, topic: true),
    ]

    static let indices: [String: UInt16] = [String: UInt16](
        uniqueKeysWithValues: table.indices.dropFirst().map { (table[$0].name, UInt16($0)) }
    )
}
