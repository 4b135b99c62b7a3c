import IO

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

    /// When it is due for renewal, where another clock than this machine's decides.
    private let due: MonotonicInstant?

    /// A token that was minted before.
    ///
    /// - Parameters:
    ///   - jwt: The text of the header field, without `bearer`.
    ///   - issuedAt: When it was made, in seconds since 1970.
    ///   - renewsIn: How long until it is due for renewal, for suppliers that go by a better clock than this machine's;
    ///     nil: fifty minutes after it was made, by this one.
    public init(jwt: String, issuedAt: Int64, renewsIn: Duration? = nil) {
        self.jwt = jwt
        self.issuedAt = issuedAt
        due = renewsIn.map { .now + $0 }
    }

    /// The same token, whenever it is due.
    public static func == (one: Self, other: Self) -> Bool { one.jwt == other.jwt && one.issuedAt == other.issuedAt }

    /// Hashes the token.
    public func hash(into hasher: inout Hasher) { hasher.combine(jwt) }

    /// At what age a token is replaced, in seconds: Apple refuses those older than an hour.
    public static let renewalAge: Int64 = 50 * 60

    /// Below what age a token is not replaced, in seconds: Apple refuses new ones that come more often.
    public static let minimumAge: Int64 = 20 * 60

    /// How many seconds are left until it is due for renewal, at that time in seconds since 1970. A token from the
    /// future was made by a clock that is wrong, or read by one: it is not trusted for longer than a new one.
    func secondsToRenewal(at now: Int64) -> Int64 {
        if let due { return (due - .now).components.seconds }
        return min(issuedAt + Self.renewalAge - now, Self.renewalAge)
    }

    /// When it was made, and not the token itself, which is a secret.
    public var description: String { "a provider token made at \(issuedAt)" }

    /// No more than the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
