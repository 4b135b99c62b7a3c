import ApplePush
import Synchronization

/// Hands each push to a relay of your company, which sends it to Apple.
final class RelayBackend: Backend {
    /// Sends one push. Returns nil if the relay did not answer, also because the task was cancelled; throws if it cannot be
    /// reached.
    typealias Relay = @Sendable (_ token: String, _ id: PushID, _ payload: [UInt8]) async throws(PushError) -> Outcome?

    private let relay: Relay
    /// The deliveries under way; nil after the shutdown.
    private let flights = Mutex<[ObjectIdentifier: (flight: RelayFlight, task: Task<Void, Never>)]?>([:])

    init(_ relay: @escaping Relay) { self.relay = relay }

    func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        let flight = RelayFlight(batch, permit: terms.permit)
        let remainder = Remainder { flight.cancel() }
        // Before anything is sent, so that no cancellation comes too early to be seen.
        return await withTaskCancellationHandler {
            start(flight, remainder)
            guard let interval = terms.returnAfter else { return Delivered(await remainder.outcomes()) }
            return await flight.delivered(after: interval, remainder)
        } onCancel: {
            flight.cancel()
        }
    }

    private func start(_ flight: RelayFlight, _ remainder: Remainder) {
        let id = ObjectIdentifier(flight)
        flights.withLock { flights in
            if flights == nil { flight.shutDown() }
            let task = Task {
                remainder.end(with: await flight.run(relay))
                self.flights.withLock { $0?[id] = nil }
            }
            flights?[id] = (flight, task)
        }
    }

    func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError) -> LegacyFeedbackList {
        throw PushError(
            .unsupported,
            "The relay keeps no list of dead tokens: the answer to a push says that its token is dead."
        )
    }

    /// There is no connection to share.
    func separate() -> RelayBackend { RelayBackend(relay) }

    /// There is no connection to close.
    func outdate(idle: Duration) async {}

    func shutdown() async {
        let open = flights.withLock { $0.take() } ?? [:]
        for (flight, task) in open.values {
            flight.shutDown()
            task.cancel()
        }
        for (_, task) in open.values { await task.value }
    }
}
