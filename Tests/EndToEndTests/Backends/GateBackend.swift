import ApplePush
import CarillonIO
import TestSupport

/// Lets its batches wait until it is opened.
struct GateBackend: DelayingBackend {
    let recorded = RecordedBackend()
    private let gate = Gate()
    private let state = State()

    private final class State: Sendable {
        let isShut = Guarded(false)
        let (arrivals, arrived) = AsyncStream.makeStream(of: Int.self)
    }

    var arrivals: AsyncStream<Int> { state.arrivals }

    func open() { gate.open() }

    func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        state.arrived.yield(batch.count)
        await gate.pass()
        if state.isShut.withLock({ $0 }) {
            return Delivered(Outcomes(repeating: Outcome(.unknown), count: batch.count))
        }
        return await recorded.deliver(batch, to: gateway, with: credential, terms: terms)
    }

    func shutdown() async {
        state.isShut.withLock { $0 = true }
        gate.open()
    }
}
