/// The key that signs a team's provider tokens.
public struct ProviderTokenKey: Sendable {
    /// The key's identifier.
    public let keyID: String

    /// The team's identifier.
    public let teamID: String

    init(signingKey: String, keyID: String, teamID: String) throws(PushError) {
        self.keyID = keyID
        self.teamID = teamID
    }

    /// Makes a new token.
    ///
    /// - Parameter now: The time in seconds since 1970, by the best clock there is.
    public func mint(at now: Int64) throws(PushError) -> ProviderToken {
        ProviderToken(jwt: "", issuedAt: now)
    }
}
