import ApplePush
import CarillonIO

/// Answers at once, but for tokens that begin with `5100`: those end when they are released, or at a shutdown.
struct RemainderBackend: DelayingBackend {
    var recorded = RecordedBackend()
    private let held = Held()

    private final class Held: Sendable {
        let state = Guarded<(isReleased: Bool, remainders: [(Remainder, Outcomes)])>((false, []))
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    }

    /// One for each delivery that has a remainder.
    var arrivals: AsyncStream<Void> { held.arrivals }

    func release() {
        let remainders = held.state.withLock { state in
            state.isReleased = true
            defer { state.remainders = [] }
            return state.remainders
        }
        for (remainder, outcomes) in remainders { remainder.end(with: outcomes) }
    }

    func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        let slow = (0..<batch.count).filter { batch.token(of: $0).hasPrefix("5100") }
        let final = await recorded.deliver(batch, to: gateway, with: credential, terms: terms).outcomes
        guard !slow.isEmpty, !held.state.withLock({ $0.isReleased }) else { return Delivered(final) }
        var early = final
        for place in slow { early[place] = .pending }
        let remainder = Remainder()
        held.state.withLock { $0.remainders.append((remainder, final)) }
        held.arrived.yield()
        return Delivered(early, remainder: remainder)
    }

    func shutdown() async { release() }
}
