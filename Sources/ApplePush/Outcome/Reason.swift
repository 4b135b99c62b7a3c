/// Why APNs said no: an index into one table of everything that is known about the reasons.
///
/// A reason that is not in the table keeps its text in `Outcomes.texts` and is judged by its status.
public struct Reason: Hashable, Sendable {
    /// What follows from a reason.
    public enum Action: String, Sendable, CaseIterable {
        /// The request is wrong: the message fails, the token is fine.
        case failMessage
        /// The token looks wrong, or belongs to the other environment: it fails, and should not be deleted for it.
        case failToken
        /// The token is dead: delete it, unless it was registered again later.
        case deleteToken
        /// The credential may not send to that topic: fail, and tell somebody.
        case failTopic
        /// The connection is used up: send again on another.
        case replaceConnection
        /// The provider token is too old: mint another, and send again on another connection.
        case renewProviderToken
        /// Provider tokens were changed too often: keep the old one, and send later.
        case keepProviderToken
        /// The credential is no good: send nothing with it until it is mended.
        case pauseCredential
        /// Not now: send again later.
        case retryLater
    }

    /// One row of the table.
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

    /// Where the indices of reasons begin that are in no table.
    package static let firstUnknown: UInt16 = 0x8000

    package init(index: UInt16) { self.index = index }

    /// No reason was given.
    public static let none = Self(index: 0)
    /// The token is no hexadecimal number; it was never sent.
    public static let malformedToken = Self(index: 1)

    /// The topic or another field holds what no header can hold; it was never sent.
    public static let malformedHeader = Self(index: 2)

    /// The token is not of this environment, or of no device at all.
    public static let badDeviceToken = Self(index: 4)

    /// The reason that APNs calls so, or nil where the table has none.
    public init?(name: String) {
        guard let index = Self.indices[name] else { return nil }
        self.index = index
    }

    /// Whether the table has a row for it.
    public var isKnown: Bool { index < Self.firstUnknown }

    /// What APNs calls it, or nil if it is in no table: then `Outcomes.text(of:)` has the words.
    public var name: String? { isKnown ? Self.table[Int(index)].name : nil }

    /// Whether the topic is wrong: for the credential, for the device token, or in itself.
    package var isAboutTopic: Bool { isKnown && Self.table[Int(index)].isAboutTopic }

    /// What follows from it, with that status.
    public func action(status: UInt16) -> Action {
        if isKnown, self != .none { return Self.table[Int(index)].action }
        return switch status {
        case 410: .deleteToken
        case 403: .pauseCredential
        case 429, 500...: .retryLater
        default: .failMessage
        }
    }

    /// Whether a push that was answered so is worth another try.
    public func isRetryable(status: UInt16) -> Bool {
        if isKnown, self != .none { return Self.table[Int(index)].isRetryable }
        return status == 429 || status == 403 || status >= 500
    }

    /// Every known reason with its status, as the documentation lists them.
    public static var all: [(reason: Reason, status: UInt16)] {
        table.indices.dropFirst(3).map { (Self(index: UInt16($0)), table[$0].status) }
    }
}
