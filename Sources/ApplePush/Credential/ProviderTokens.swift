import CarillonIO
import FoundationEssentials

/// The provider tokens of one key. A token is used until it is due for renewal, and all callers wait for the same renewal.
actor ProviderTokens {
    nonisolated let key: ProviderTokenKey
    private let supply: ProviderToken.Supply?
    private let clock: @Sendable () -> Int64
    private var token: ProviderToken?
    private var renewal: Task<ProviderToken, any Error>?

    /// - Parameter clock: returns the seconds since 1970.
    init(
        _ key: ProviderTokenKey,
        supply: ProviderToken.Supply? = nil,
        clock: @escaping @Sendable () -> Int64 = { WallClock.seconds }
    ) {
        self.key = key
        self.supply = supply
        self.clock = clock
    }

    /// - Parameter refused: the token that the gateway has refused as too old, if any.
    func current(refusing refused: ProviderToken?) async throws(PushError) -> ProviderToken {
        if let token = self.token, token != refused, token.secondsToRenewal(at: clock()) > 0 { return token }
        let renewal = self.renewal ?? renew(refusing: refused)
        do {
            return try await renewal.value
        } catch {
            throw PushError(.noProviderToken, "No provider token is available: \(error).", underlying: error)
        }
    }

    nonisolated func secondsToRenewal(of token: ProviderToken) -> Int64 { token.secondsToRenewal(at: clock()) }

    private func renew(refusing refused: ProviderToken?) -> Task<ProviderToken, any Error> {
        let renewal = Task {
            defer { self.renewal = nil }
            let token = try await supply?(key, refused) ?? mint()
            self.token = token
            return token
        }
        self.renewal = renewal
        return renewal
    }

    /// Keeps a young token even if it was refused, because APNs refuses frequent changes.
    private func mint() -> ProviderToken {
        let now = clock()
        if let token = self.token, (0..<ProviderToken.minimumAge).contains(now - token.issuedAt) { return token }
        return key.mint(at: now)
    }
}
