import ApplePush
import CarillonIO

/// Sends over HTTP/2, but lets its batches wait until a credential has been replaced.
struct LateBackend: Backend {
    private let real = HTTP2Backend()
    private let state: State

    private final class State: Sendable {
        let isLate = Guarded<(now: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    }

    init() { state = State() }

    /// One for each batch, before it waits.
    var arrivals: AsyncStream<Void> { state.arrivals }

    func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        state.arrived.yield()
        await withCheckedContinuation { continuation in
            let isLate = state.isLate.withLock { isLate in
                if !isLate.now { isLate.waiting.append(continuation) }
                return isLate.now
            }
            if isLate { continuation.resume() }
        }
        return await real.deliver(batch, to: gateway, with: credential, terms: terms)
    }

    func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError) -> FeedbackList {
        try await real.feedback(from: gateway, with: credential)
    }

    func separate() -> Self { Self() }

    func outdate(idle: Duration) async {}

    func outdate(credential: Credential) async {
        await real.outdate(credential: credential)
        goOn()
    }

    func shutdown() async {
        await real.shutdown()
        goOn()
    }

    private func goOn() {
        let waiting = state.isLate.withLock { isLate in
            isLate.now = true
            defer { isLate.waiting = [] }
            return isLate.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
