import CarillonIO

/// The requests that wait for events: few, because each asks the database again and again. One listening connection wakes them all.
final class WaitingRequests: Sendable {
    static let limit = 32
    static let tooMany = RequestError(
        status: .serviceUnavailable,
        detail: "Too many requests wait for events.",
        hint: "Try again later, or without the parameter wait."
    )

    private struct State {
        var bells: [Int: Bell] = [:]
        var last = 0
    }

    private let state = Guarded(State())

    /// Calls the body with a bell that rings when events were stored. Throws if too many requests wait already.
    func with<R>(_ body: (Bell) async throws -> R) async throws -> R {
        let bell = Bell()
        let number: Int? = state.withLock { state in
            guard state.bells.count < Self.limit else { return nil }
            state.last += 1
            state.bells[state.last] = bell
            return state.last
        }
        guard let number else { throw Self.tooMany }
        defer { _ = state.withLock { $0.bells.removeValue(forKey: number) } }
        return try await body(bell)
    }

    func ring() {
        for bell in state.withLock({ Array($0.bells.values) }) { bell.ring() }
    }
}
