import IO

/// Which provider token is in use, and when another has to be asked for: a value that asks nobody itself.
struct Authorizations {
    /// For how long a gateway is believed that calls a token too old which it has just got instead of another.
    static let lastWord: Duration = .seconds(60)
    /// How soon is asked again where a token is in use and no other was to be had.
    private static let patience: Duration = .seconds(5)

    private(set) var current: Authorization?
    private var due: MonotonicInstant?
    private var restsUntil: MonotonicInstant?

    /// Whether a token has to be asked for, be one in use or not.
    func isDue(at now: MonotonicInstant) -> Bool {
        guard current != nil, let due = self.due else { return true }
        return now >= due && !isAtRest(at: now)
    }

    private func isAtRest(at now: MonotonicInstant) -> Bool { restsUntil.map { now < $0 } ?? false }

    /// Here is one to be used for so long.
    mutating func adopt(_ authorization: Authorization, for time: Duration) {
        current = authorization
        due = authorization.since + max(.seconds(1), time)
    }

    /// None was to be had. The one in use, if there is one, stays.
    mutating func failed(at now: MonotonicInstant) {
        if current != nil { due = now + Self.patience }
    }

    /// The gateway has seen too many new tokens: until it will take another, the one in use has to do.
    mutating func rest(at now: MonotonicInstant) { restsUntil = now + .seconds(ProviderToken.minimumAge) }

    /// The gateway called that token too old. True: it is in use no more, and another has to be asked for.
    mutating func refused(_ token: ProviderToken, at now: MonotonicInstant) -> Bool {
        // Another connection may have said so before, and it was replaced already.
        guard let current = self.current, current.token == token else { return false }
        if isAtRest(at: now) {
            self.current = Authorization(token: token, isRenewed: true, since: current.since)
            return false
        }
        if current.isRenewed, now - current.since < Self.lastWord { return false }
        self.current = nil
        return true
    }
}
