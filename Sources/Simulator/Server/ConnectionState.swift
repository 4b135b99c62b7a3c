/// What one connection has shown so far, and what follows from it: credential, team, streams, its end.
///
/// No socket, no clock: requests and the time go in, refusals and changes come out.
struct ConnectionState {
    /// The provider token in use on this connection.
    private struct Accepted {
        let keyID: String
        let teamID: String
        let issuedAt: Double
        var changedAt: Double?
    }

    /// How long Apple believes a provider token, and how seldom it wants a new one; seconds.
    static let tokenLife = 3600.0
    static let tokenRest = 1200.0
    /// How far a provider's clock may be ahead.
    static let clockSkew = 60.0

    let credential: ClientCredential
    private var accepted: Accepted?
    /// The very bytes of the accepted `authorization` value: the same bytes need no second look.
    private var acceptedBytes: [UInt8] = []
    private var acceptedUntil = 0.0
    private(set) var requests = 0

    init(credential: ClientCredential) {
        self.credential = credential
    }

    /// Whether the connection has shown a good credential: until then it may have one stream.
    var isTrusted: Bool {
        switch credential {
        case .certificate: true
        case .providerToken: accepted != nil
        }
    }

    mutating func requestReceived() {
        requests += 1
    }

    /// Judges the credential of one request at `now`, in seconds since 1970.
    mutating func refusalOfCredential(
        _ authorization: Span<UInt8>,
        isPresent: Bool,
        now: Double,
        keys: inout ProviderKeys
    ) -> Refusal? {
        if case .certificate(let certificate) = credential { return certificate.refusal }
        guard isPresent else { return .missingProviderToken }
        if now < acceptedUntil, authorization.equals(acceptedBytes.span) { return nil }
        do throws(Refusal) {
            let token = try ProviderToken(authorization: authorization)
            try admit(token, now: now, keys: &keys)
            acceptedBytes = authorization.array
            acceptedUntil = token.issuedAt + Self.tokenLife
            return nil
        } catch {
            return error
        }
    }

    private mutating func admit(_ token: ProviderToken, now: Double, keys: inout ProviderKeys) throws(Refusal) {
        guard token.issuedAt <= now + Self.clockSkew else {
            // Milliseconds of today lie a thousand times as far from 1970.
            throw token.issuedAt > 100 * now ? .tokenInMilliseconds : .tokenFromFuture
        }
        try keys.verify(token)
        guard now < token.issuedAt + Self.tokenLife else { throw .expiredProviderToken }
        guard let current = accepted else {
            accepted = Accepted(keyID: token.keyID, teamID: token.teamID, issuedAt: token.issuedAt)
            return
        }
        // A connection belongs to the team, and the key, of its first push.
        guard token.teamID == current.teamID else { throw .otherTeam }
        guard token.keyID == current.keyID else { throw .unrelatedKeyIDInToken }
        // Too often: the last change was a moment ago, or the new token was made a moment after the old one.
        if let changedAt = current.changedAt, now - changedAt < Self.tokenRest { throw .tooManyProviderTokenUpdates }
        guard abs(token.issuedAt - current.issuedAt) >= Self.tokenRest else { throw .tooManyProviderTokenUpdates }
        accepted = Accepted(
            keyID: current.keyID,
            teamID: current.teamID,
            issuedAt: token.issuedAt,
            changedAt: now
        )
    }
}
