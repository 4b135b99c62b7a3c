import ApplePush
import TestSupport

/// Sends over HTTP/2, but lets its batches wait until a credential has been replaced.
struct GatedHTTP2Backend: Backend {
    private let real = HTTP2Backend(.longTimeouts)
    private let replacement = Gate()
    private let stream = AsyncStream.makeStream(of: Void.self)

    /// One for each batch, before it waits.
    var arrivals: AsyncStream<Void> { stream.stream }

    func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        stream.continuation.yield()
        await replacement.pass()
        return await real.deliver(batch, to: gateway, with: credential, terms: terms)
    }

    func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError) -> LegacyFeedbackList {
        try await real.feedback(from: gateway, with: credential)
    }

    func separate() -> Self { Self() }

    func outdate(idle: Duration) async {}

    func outdate(credential: Credential) async {
        await real.outdate(credential: credential)
        replacement.open()
    }

    func shutdown() async {
        await real.shutdown()
        replacement.open()
    }
}
