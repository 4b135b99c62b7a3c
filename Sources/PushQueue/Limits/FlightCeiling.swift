import CarillonIO

/// A limit on pushes in flight that the workers of one process share. While one of them finds no room, the others are
/// limited to equal parts of it.
package final class FlightCeiling: Sendable {
    /// The ceiling, for one of the workers.
    package struct Member: Sendable {
        fileprivate let ceiling: FlightCeiling
        fileprivate let number: Int
    }

    private struct Account {
        var inFlight = 0
        /// Room reserved while the worker plans a claim.
        var reserved = 0
        /// Until when it counts as waiting for room.
        var waitsUntil: MonotonicInstant?
    }

    private let limit: Int
    private let accounts: Guarded<[Account]>

    package init(limit: Int, workers: Int) {
        self.limit = limit
        accounts = Guarded(Array(repeating: Account(), count: workers))
    }

    package func member(_ number: Int) -> Member { Member(ceiling: self, number: number) }
}

extension FlightCeiling.Member {
    /// How many more pushes this worker may claim. They stay reserved until it calls `record`.
    func reserve(inFlight pushes: Int, at now: MonotonicInstant) -> Int {
        ceiling.accounts.withLock { accounts in
            accounts[number].inFlight = pushes
            let left = ceiling.limit - accounts.reduce(0) { $0 + $1.inFlight + $1.reserved }
            let fair = max(1, ceiling.limit / accounts.count)
            if left <= 0, pushes < fair { accounts[number].waitsUntil = now + .seconds(1) }
            let isWanted = accounts.indices.contains { other in
                other != number && (accounts[other].waitsUntil.map { $0 > now } ?? false)
            }
            let room = max(0, isWanted ? min(left, fair - pushes) : left)
            accounts[number].reserved = room
            return room
        }
    }

    func record(inFlight pushes: Int) {
        ceiling.accounts.withLock { accounts in
            if pushes > accounts[number].inFlight { accounts[number].waitsUntil = nil }
            accounts[number].inFlight = pushes
            accounts[number].reserved = 0
        }
    }
}
