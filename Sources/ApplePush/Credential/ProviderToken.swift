/// A provider token: what proves to APNs, for about an hour, that the sender holds the team's key.
public struct ProviderToken: Hashable, Sendable, CustomStringConvertible {
    /// Where a credential gets its tokens from when a whole fleet shares one: called when there is none yet, when the
    /// one in use is due for renewal, and when the gateway refused it (then that one is handed over). The key can
    /// mint a new one.
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

    /// Apple refuses tokens older than an hour, and new ones more often than every 20 minutes.
    public static let renewalAge: Int64 = 50 * 60
    /// How long a token must be used at the least.
    public static let minimumAge: Int64 = 20 * 60

    /// Whether the token is due for renewal, at that time in seconds since 1970.
    public func isDue(at now: Int64) -> Bool { now - self.issuedAt >= Self.renewalAge || self.issuedAt - now > 60 }

    /// When it was made, and not the token itself: that is a secret.
    public var description: String { "a provider token of \(self.issuedAt)" }
}
