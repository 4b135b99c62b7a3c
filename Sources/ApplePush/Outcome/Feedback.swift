public import FoundationEssentials

/// A dead device token.
///
/// Delete the token if it was last registered before `timestamp`. If it was registered again later, it is alive.
public struct Feedback: Hashable, Sendable {
    /// The device token in hexadecimal digits.
    public let token: String

    /// When APNs last knew the token to be dead: milliseconds since 1970, or nil if the gateway did not say.
    public let timestamp: Int64?

    /// The same time as a date.
    public var date: Date? { timestamp.map { Date(timeIntervalSince1970: Double($0) / 1000) } }

    /// An entry for one token.
    public init(token: String, timestamp: Int64?) {
        self.token = token
        self.timestamp = timestamp
    }
}
