import CarillonIO

/// A provider token: a signed text that authenticates the sender to APNs for about an hour.
public struct ProviderToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Supplies the tokens of a credential that several processes share. It is called when there is no token, when the current one
    /// is due for renewal, and when the gateway has refused the current one as too old, which is then passed as `refused`. The key
    /// can mint a new token.
    public typealias Supply = @Sendable (ProviderTokenKey, _ refused: ProviderToken?) async throws -> ProviderToken

    /// The token as sent in the header.
    public let jwt: String

    /// When it was issued, in seconds since 1970.
    public let issuedAt: Int64

    /// When it is due for renewal, if the supply said so.
    private let due: MonotonicInstant?

    /// An existing token.
    ///
    /// - Parameters:
    ///   - jwt: The text of the header field, without `bearer`.
    ///   - issuedAt: When it was issued, in seconds since 1970.
    ///   - renewsIn: How long until it is due for renewal, for supplies with a better clock than this machine's; nil for fifty
    ///     minutes after `issuedAt`.
    public init(jwt: String, issuedAt: Int64, renewsIn: Duration? = nil) {
        self.jwt = jwt
        self.issuedAt = issuedAt
        due = renewsIn.map { .now + $0 }
    }

    /// Compares the tokens, but not when they are due.
    public static func == (one: Self, other: Self) -> Bool { one.jwt == other.jwt && one.issuedAt == other.issuedAt }

    /// Hashes the token.
    public func hash(into hasher: inout Hasher) { hasher.combine(jwt) }

    /// The age at which a token is replaced, in seconds: Apple refuses tokens older than an hour.
    public static let renewalAge: Int64 = 50 * 60

    /// The age below which a token is not replaced, in seconds: Apple refuses more frequent changes.
    public static let minimumAge: Int64 = 20 * 60

    /// How many seconds remain until renewal, at `now` in seconds since 1970. A token from the future, which means that a clock is
    /// wrong, is used no longer than a new one.
    func secondsToRenewal(at now: Int64) -> Int64 {
        if let due { return (due - .now).components.seconds }
        return min(issuedAt + Self.renewalAge - now, Self.renewalAge)
    }

    /// When it was issued. The token is a secret.
    public var description: String { "a provider token issued at \(issuedAt)" }

    /// Only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
