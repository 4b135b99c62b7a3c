package import CarillonIO

/// Sends pushes to APNs over HTTP/2, on connections that stay open: one pool for each gateway and credential.
///
/// A changed credential is a different credential with its own connections. The old connections close after
/// ``HTTP2Configuration/idleTimeout``, or after ``outdate(credential:)``.
public final class HTTP2Backend: Backend {
    private let configuration: HTTP2Configuration
    private let pools: ConnectionPools
    private let channelConnections: ChannelConnections

    /// A backend that creates connections and threads when something is sent.
    public convenience init(_ configuration: HTTP2Configuration = HTTP2Configuration()) {
        self.init(configuration, loops: nil)
    }

    /// A backend on loops that belong to another owner.
    package init(_ configuration: HTTP2Configuration, loops: EventLoopGroup?) {
        configuration.check.enforce()
        self.configuration = configuration
        pools = ConnectionPools(
            configuration.pool,
            threads: configuration.threads,
            observer: configuration.observer,
            on: loops
        ) { gateway in
            HTTP2Wire(gateway, configuration)
        }
        channelConnections = ChannelConnections(configuration, beside: pools)
    }

    /// Sends every push of the batch, on those terms.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        await pools.deliver(batch, to: gateway, with: credential, terms)
    }

    /// Connects, unless a connection already accepts pushes.
    public func prepare(for gateway: Gateway, with credential: Credential) async {
        await pools.prepare(for: gateway, with: credential)
    }

    /// Reads the list of a gateway of the legacy feedback service, over a connection that is used for nothing else.
    public func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError)
        -> LegacyFeedbackList
    {
        try await pools.feedback(from: gateway, with: credential, longestSilence: configuration.requestTimeout)
    }

    /// Asks a channel service, on a connection that is kept for further requests.
    public func manage(
        _ request: ChannelRequest,
        at gateway: Gateway,
        with credential: Credential
    ) async throws(ChannelError) -> ChannelRequest.Answer {
        try await channelConnections.ask(request, of: gateway, with: credential)
    }

    /// A backend with the same configuration and its own connections.
    public func separate() -> HTTP2Backend { HTTP2Backend(configuration, loops: pools.sharedLoops) }

    /// Closes connections that have been idle for longer than this.
    public func outdate(idle: Duration) async {
        await channelConnections.outdate(idle: idle)
        await pools.outdate(idle: idle)
    }

    /// Closes the connections of a replaced credential as soon as the pushes in flight on them have ended.
    public func outdate(credential: Credential) async {
        await channelConnections.outdate(credential: credential)
        await pools.outdate(credential: credential)
    }

    /// Closes every connection and ends the threads. Pushes that have not ended end at once.
    public func shutdown() async {
        await channelConnections.shutdown()
        await pools.shutdown()
    }

    package var traffic: Traffic { pools.traffic }
}
