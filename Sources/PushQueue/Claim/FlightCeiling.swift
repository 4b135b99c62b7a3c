import IO

/// A bound that several workers of one process share: all together have no more pushes in flight.
///
/// Counted by the claim. While one of them has found no room, none of the others takes more than an equal part.
package final class FlightCeiling: Sendable {
    /// A worker's part of it.
    package struct Share: Sendable {
        let ceiling: FlightCeiling
        let place: Int
    }

    private struct State {
        var held: [Int]
        /// Until when each counts as one that waits.
        var waitsUntil: [MonotonicInstant?]
    }

    private let limit: Int
    private let state: Guarded<State>

    package init(limit: Int, workers: Int) {
        self.limit = limit
        self.state = Guarded(
            State(held: .init(repeating: 0, count: workers), waitsUntil: .init(repeating: nil, count: workers))
        )
    }

    package func share(_ place: Int) -> Share { Share(ceiling: self, place: place) }

    fileprivate func room(at place: Int) -> Int {
        self.state.withLock { state in
            let now = MonotonicInstant.now
            let left = self.limit - state.held.reduce(0, +)
            let part = max(1, self.limit / state.held.count)
            if left <= 0, state.held[place] < part { state.waitsUntil[place] = now + .seconds(1) }
            let isWanted = state.waitsUntil.indices.contains { other in
                other != place && (state.waitsUntil[other].map { $0 > now } ?? false)
            }
            return max(0, isWanted ? min(left, part - state.held[place]) : left)
        }
    }

    fileprivate func take(_ pushes: Int, at place: Int) {
        self.state.withLock { state in
            state.held[place] += pushes
            state.waitsUntil[place] = nil
        }
    }

    fileprivate func give(_ pushes: Int, at place: Int) {
        self.state.withLock { $0.held[place] -= pushes }
    }
}

extension FlightCeiling.Share {
    /// How many more pushes this worker may have in flight.
    var room: Int { self.ceiling.room(at: self.place) }

    func take(_ pushes: Int) { self.ceiling.take(pushes, at: self.place) }
    func give(_ pushes: Int) { self.ceiling.give(pushes, at: self.place) }
}
