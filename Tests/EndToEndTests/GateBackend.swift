import ApplePush
import CarillonIO

/// Lets its batches wait until it is opened.
struct GateBackend: RecordingBackend {
    let recorded = RecordedBackend()
    private let gate = Gate()

    private final class Gate: Sendable {
        let state = Guarded<(isOpen: Bool, isShut: Bool, waiting: [CheckedContinuation<Void, Never>])>(
            (false, false, [])
        )
        let (arrivals, arrived) = AsyncStream.makeStream(of: Int.self)
    }

    var arrivals: AsyncStream<Int> { gate.arrivals }

    func open() {
        let waiting = gate.state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        gate.arrived.yield(batch.count)
        await withCheckedContinuation { continuation in
            let isOpen = gate.state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        if gate.state.withLock({ $0.isShut }) {
            return Delivered(Outcomes(repeating: Outcome(.unknown), count: batch.count))
        }
        return await recorded.deliver(batch, to: gateway, with: credential, terms: terms)
    }

    func shutdown() async {
        gate.state.withLock { $0.isShut = true }
        self.open()
    }
}
