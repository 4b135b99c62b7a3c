/// The state of one connection: its credential and its provider tokens so far. Requests and the time are passed to it.
struct AuthenticationState {
    private struct Accepted {
        let token: PresentedToken
        var changedAt: Double?
    }

    /// How many seconds Apple accepts a provider token, and how many must pass between two of them.
    static let tokenLife = 3600.0
    static let tokenRest = 1200.0
    /// How many seconds a provider's clock may be ahead.
    static let clockSkew = 60.0

    let credential: ClientCredential
    let service: GatewayService
    /// The provider token of each key, beginning with the connection's first key.
    private var accepted: [Accepted] = []
    /// The bytes of the accepted `authorization` value, which need no second check.
    private var acceptedBytes: [UInt8] = []
    private var acceptedUntil = 0.0
    private var bound: BoundTopics?
    private var topicsOfKey: [[UInt8]] = []
    var requests = 0

    init(credential: ClientCredential, service: GatewayService) {
        self.credential = credential
        self.service = service
    }

    /// Whether the connection has shown a good credential. Until then it may have one stream.
    var isTrusted: Bool {
        switch credential {
        case .certificate: true
        case .providerToken: !accepted.isEmpty
        }
    }

    /// The topics of this connection, bound by its first push to those known then; `count` is how many there are now.
    mutating func bind(_ count: Int) -> BoundTopics {
        if let bound { return bound }
        let first = BoundTopics(known: count, ofKey: topicsOfKey)
        bound = first
        return first
    }

    /// Checks the credential of one request at `now`, in seconds since 1970.
    mutating func refusalOfCredential(
        _ authorization: Span<UInt8>,
        isPresent: Bool,
        now: Double,
        keys: inout ProviderKeys
    ) -> APNsRefusal? {
        if case .certificate(let certificate) = credential { return certificate.refusal }
        guard isPresent else { return .missingProviderToken }
        if now < acceptedUntil, authorization.equals(acceptedBytes.span) { return nil }
        do throws(APNsRefusal) {
            let token = try PresentedToken(authorization: authorization)
            try admit(token, now: now, keys: &keys)
            acceptedBytes = authorization.array
            acceptedUntil = token.issuedAt + Self.tokenLife
            return nil
        } catch {
            return error
        }
    }

    private mutating func admit(_ token: PresentedToken, now: Double, keys: inout ProviderKeys) throws(APNsRefusal) {
        guard token.issuedAt <= now + Self.clockSkew else {
            // A time in milliseconds is a thousand times as large.
            throw token.issuedAt > 100 * now ? .tokenInMilliseconds : .tokenFromFuture
        }
        try keys.verify(token)
        guard now < token.issuedAt + Self.tokenLife else { throw .expiredProviderToken }
        if let first = accepted.first?.token {
            guard token.teamID == first.teamID else { throw .otherTeam }
            guard keys.areRelated(token.keyID, first.keyID) else { throw .unrelatedKeyIDInToken }
        }
        topicsOfKey = keys.topics(of: token.keyID)
        bound?.ofKey = topicsOfKey
        guard let index = accepted.firstIndex(where: { $0.token.keyID == token.keyID }) else {
            accepted.append(Accepted(token: token))
            return
        }
        let current = accepted[index]
        // The same token may be used again after a token of another key.
        if token.signature == current.token.signature { return }
        if let changedAt = current.changedAt, now - changedAt < Self.tokenRest { throw .tooManyProviderTokenUpdates }
        let age = abs(token.issuedAt - current.token.issuedAt)
        guard age >= Self.tokenRest else { throw .tooManyProviderTokenUpdates }
        accepted[index] = Accepted(token: token, changedAt: now)
    }
}
