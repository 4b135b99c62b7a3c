import ApplePush
import CarillonIO

/// Answers at once, but for tokens that begin with `5100`: those end when they are released, or at a shutdown.
struct RemainderBackend: DelayingBackend {
    var recorded = RecordedBackend()
    private let held = Held()

    private final class Held: Sendable {
        let state = Guarded<(isReleased: Bool, rests: [(Remainder, Outcomes)])>((false, []))
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    }

    /// One for each delivery that has a rest.
    var arrivals: AsyncStream<Void> { held.arrivals }

    func release() {
        let rests = held.state.withLock { state in
            state.isReleased = true
            defer { state.rests = [] }
            return state.rests
        }
        for (rest, outcomes) in rests { rest.end(with: outcomes) }
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
        let rest = Remainder()
        held.state.withLock { $0.rests.append((rest, final)) }
        held.arrived.yield()
        return Delivered(early, rest: rest)
    }

    func shutdown() async { release() }
}
