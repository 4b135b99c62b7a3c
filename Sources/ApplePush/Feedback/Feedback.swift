/// A token that is dead, and since when that is known.
///
/// Delete the token if it was last registered before `timestamp`, strictly: one that was registered again later is
/// alive.
public struct Feedback: Hashable, Sendable {
    /// The device token in hexadecimal digits.
    public let token: String

    /// When APNs last knew the token to be dead: milliseconds since 1970, or nil if the gateway did not say.
    public let timestamp: Int64?

    /// A report of one token.
    public init(token: String, timestamp: Int64?) {
        self.token = token
        self.timestamp = timestamp
    }
}
