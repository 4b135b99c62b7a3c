import CarillonIO

/// The requests that wait for events: few, because each asks the database again and again, and of one app half of them. One
/// listening connection wakes them all.
final class WaitingRequests: Sendable {
    struct Place: Sendable {
        let holder: String
        let bell: Bell
    }

    static let limit = 32
    static let share = limit / 2

    private struct State {
        var places: [Int: Place] = [:]
        var last = 0
    }

    private let state = Guarded(State())

    /// Calls the body with a bell that rings when events were stored. Throws if too many requests wait already.
    ///
    /// - Parameter holder: of the token: see `APIEndpoint`.
    func with<R>(_ holder: String, _ body: (Bell) async throws -> R) async throws -> R {
        let bell = Bell()
        guard let number = take(Place(holder: holder, bell: bell)) else {
            throw RequestError(
                status: .serviceUnavailable,
                detail: "Too many requests wait for events.",
                hint: "Try again later, or without the parameter wait."
            )
        }
        defer { free(number) }
        return try await body(bell)
    }

    /// Returns nil if there is no place.
    func take(_ place: Place) -> Int? {
        state.withLock { state in
            let ofHolder = state.places.values.count { $0.holder == place.holder }
            guard state.places.count < Self.limit, ofHolder < Self.share else { return nil }
            state.last += 1
            state.places[state.last] = place
            return state.last
        }
    }

    func free(_ number: Int) { _ = state.withLock { $0.places.removeValue(forKey: number) } }

    func ring() {
        for place in state.withLock({ Array($0.places.values) }) { place.bell.ring() }
    }
}
