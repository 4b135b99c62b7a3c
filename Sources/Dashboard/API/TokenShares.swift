import CarillonIO

/// The places for requests that wait for events, of which each API token may have half.
final class TokenShares: Sendable {
    static let share = WaitingRequests.limit / 2

    /// By the digest of the token.
    private let taken = Guarded<[String: Int]>([:])

    /// Returns false if there is no place.
    func take(_ digest: String) -> Bool {
        taken.withLock { taken in
            guard taken.values.reduce(0, +) < WaitingRequests.limit, taken[digest, default: 0] < Self.share else {
                return false
            }
            taken[digest, default: 0] += 1
            return true
        }
    }

    func free(_ digest: String) {
        taken.withLock { taken in
            let rest = taken[digest, default: 1] - 1
            taken[digest] = rest > 0 ? rest : nil
        }
    }
}
