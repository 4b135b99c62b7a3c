/// A provider token: what proves to APNs, for about an hour, that the sender holds the team's key.
public struct ProviderToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Where a credential gets its tokens from when a whole fleet shares one: called when there is none yet, when the
    /// one in use is due for renewal, and when the gateway called it too old (then that one is handed over). The key
    /// can mint a new one.
    public typealias Supply = @Sendable (ProviderTokenKey, _ refused: ProviderToken?) async throws -> ProviderToken

    /// The token as it goes into the header.
    public let jwt: String

    /// When it was made, in seconds since 1970.
    public let issuedAt: Int64

    /// A token that was minted before.
    public init(jwt: String, issuedAt: Int64) {
        self.jwt = jwt
        self.issuedAt = issuedAt
    }

    /// At what age a token is replaced, in seconds: Apple refuses those older than an hour.
    public static let renewalAge: Int64 = 50 * 60

    /// Below what age a token is not replaced, in seconds: Apple refuses new ones that come more often.
    public static let minimumAge: Int64 = 20 * 60

    /// How many seconds are left until it is due for renewal, at that time in seconds since 1970. A token from the
    /// future was made by a clock that is wrong, or read by one: it is not trusted for longer than a new one.
    func secondsToRenewal(at now: Int64) -> Int64 { min(self.issuedAt + Self.renewalAge - now, Self.renewalAge) }

    /// When it was made, and not the token itself, which is a secret.
    public var description: String { "a provider token made at \(self.issuedAt)" }

    /// No more than the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}
