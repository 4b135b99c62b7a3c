import CarillonIO

/// Tracks which provider token is in use and when another must be fetched. A value; it fetches nothing itself.
struct Authorizations {
    /// How long a renewed token stays in use even if the gateway refuses it as too old.
    static let minimumUse: Duration = .seconds(60)
    /// How long to wait after a failed fetch while a token is in use.
    private static let retryInterval: Duration = .seconds(5)

    private(set) var current: Authorization?
    private var due: MonotonicInstant?
    private var keptUntil: MonotonicInstant?

    /// Whether a token must be fetched, even if one is in use.
    func isDue(at now: MonotonicInstant) -> Bool {
        guard current != nil, let due = self.due else { return true }
        return now >= due && !isKept(at: now)
    }

    private func isKept(at now: MonotonicInstant) -> Bool { keptUntil.map { now < $0 } ?? false }

    mutating func adopt(_ authorization: Authorization, for time: Duration) {
        current = authorization
        due = authorization.since + max(.seconds(1), time)
    }

    /// No token could be fetched. The one in use, if any, stays.
    mutating func failed(at now: MonotonicInstant) {
        if current != nil { due = now + Self.retryInterval }
    }

    /// The gateway has seen too many new tokens: the current one stays in use until the gateway will accept another. If each such
    /// answer prolonged this, the current one could expire.
    mutating func keepCurrent(at now: MonotonicInstant) {
        if !isKept(at: now) { keptUntil = now + .seconds(ProviderToken.minimumAge) }
    }

    /// The gateway refused this token as too old. Returns true if it is no longer in use and another must be fetched.
    mutating func refused(_ token: ProviderToken, at now: MonotonicInstant) -> Bool {
        // It may have been replaced already, after the same answer on another connection.
        guard let current = self.current, current.token == token else { return false }
        if isKept(at: now) {
            self.current = Authorization(token: token, isRenewed: true, since: current.since)
            return false
        }
        if current.isRenewed, now - current.since < Self.minimumUse { return false }
        self.current = nil
        return true
    }
}
