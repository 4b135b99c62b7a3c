/// Sends to each gateway over its own transport: see ``Gateway/transport``.
public struct TransportBackend: Backend {
    private let http2: HTTP2Backend
    private let binary: BinaryBackend

    /// A backend that uses these two, and shuts them down when it is shut down.
    public init(http2: HTTP2Backend, binary: BinaryBackend) {
        self.http2 = http2
        self.binary = binary
    }

    private func backend(of gateway: Gateway) -> any Backend {
        switch gateway.transport {
        case .http2: http2
        case .binary: binary
        }
    }

    /// Sends every push of the batch, on those terms.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        await backend(of: gateway).deliver(batch, to: gateway, with: credential, terms: terms)
    }

    /// Connects, unless a connection already accepts pushes.
    public func prepare(for gateway: Gateway, with credential: Credential) async {
        await backend(of: gateway).prepare(for: gateway, with: credential)
    }

    /// Reads the list of a gateway of the legacy feedback service, which is the same for both transports.
    public func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError)
        -> LegacyFeedbackList
    {
        try await http2.feedback(from: gateway, with: credential)
    }

    /// Asks a channel service, which exists only for HTTP/2.
    public func manage(
        _ request: ChannelRequest,
        at gateway: Gateway,
        with credential: Credential
    ) async throws(ChannelError) -> ChannelRequest.Answer {
        try await http2.manage(request, at: gateway, with: credential)
    }

    /// A backend of the same kind with its own connections.
    public func separate() -> Self { Self(http2: http2.separate(), binary: binary.separate()) }

    /// Closes connections that have been idle for longer than this.
    public func outdate(idle: Duration) async {
        await http2.outdate(idle: idle)
        await binary.outdate(idle: idle)
    }

    /// Closes the connections of a replaced credential as soon as the pushes in flight on them have ended.
    public func outdate(credential: Credential) async {
        await http2.outdate(credential: credential)
        await binary.outdate(credential: credential)
    }

    /// Closes every connection and ends the threads. Pushes that have not ended end at once.
    public func shutdown() async {
        await http2.shutdown()
        await binary.shutdown()
    }

    package var traffic: Traffic {
        var traffic = http2.traffic
        traffic += binary.traffic
        return traffic
    }
}
