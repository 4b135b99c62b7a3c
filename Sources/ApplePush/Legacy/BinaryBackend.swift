package import CarillonIO

/// Sends pushes over the legacy binary protocol (commands 0, 1 and 2). Apple has switched it off; private gateways and
/// simulators still speak it.
///
/// The gateway does not confirm pushes, so a push counts as accepted when a later one is refused or when no error has arrived for
/// ``BinaryConfiguration/quietPeriod``. The credential must be a certificate.
public final class BinaryBackend: Backend {
    private let configuration: BinaryConfiguration
    private let pools: ConnectionPools

    /// A backend that creates connections and threads when something is sent.
    public convenience init(_ configuration: BinaryConfiguration = BinaryConfiguration()) {
        self.init(configuration, loops: nil)
    }

    /// A backend on loops that belong to another owner.
    package init(_ configuration: BinaryConfiguration, loops: EventLoopGroup?) {
        configuration.check.enforce()
        self.configuration = configuration
        pools = ConnectionPools(
            configuration.pool,
            threads: configuration.threads,
            observer: configuration.observer,
            on: loops
        ) { _ in
            BinaryWire(configuration)
        }
    }

    /// Sends every push of the batch, on those terms.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        guard credential.identity != nil else {
            var outcomes = Outcomes(repeating: OutcomeRules.outcome(of: .neverSubmitted), count: batch.count)
            outcomes.connectFailure = PushError(
                .invalidCredential,
                "The binary protocol takes certificates only: send with a certificate, or over HTTP/2."
            )
            return Delivered(outcomes)
        }
        return await pools.deliver(batch, to: gateway, with: credential, terms)
    }

    /// Connects, unless a connection already accepts pushes.
    public func prepare(for gateway: Gateway, with credential: Credential) async {
        if credential.identity != nil { await pools.prepare(for: gateway, with: credential) }
    }

    /// Reads the list of a gateway of the legacy feedback service, over a connection that is used for nothing else.
    public func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError)
        -> LegacyFeedbackList
    {
        try await pools.feedback(from: gateway, with: credential, longestSilence: configuration.writeTimeout)
    }

    /// A backend with the same configuration and its own connections.
    public func separate() -> BinaryBackend { BinaryBackend(configuration, loops: pools.sharedLoops) }

    /// Closes connections that have been idle for longer than this.
    public func outdate(idle: Duration) async { await pools.outdate(idle: idle) }

    /// Closes the connections of a replaced credential as soon as the pushes in flight on them have ended.
    public func outdate(credential: Credential) async { await pools.outdate(credential: credential) }

    /// Closes every connection and ends the threads. Pushes that have not ended end at once.
    public func shutdown() async { await pools.shutdown() }

    package var traffic: Traffic { pools.traffic }
}
