/// Sends pushes to a gateway. `HTTP2Backend` is the usual backend; `RecordedBackend` returns given answers, for tests.
public protocol Backend: Sendable {
    /// Sends every push of the batch, and returns an outcome for each, in the order of the batch. Errors are outcomes too.
    func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered

    /// Connects, so that the next pushes are sent without delay. Returns when a connection accepts pushes or when none can be
    /// opened; in that case the next delivery returns the error.
    func prepare(for gateway: Gateway, with credential: Credential) async

    /// Reads the list of dead tokens of a gateway of the legacy feedback service. Reading clears the gateway's list.
    func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError) -> LegacyFeedbackList

    /// Asks a channel service to create, read, remove or list channels.
    func manage(
        _ request: ChannelRequest,
        at gateway: Gateway,
        with credential: Credential
    ) async throws(ChannelError) -> ChannelRequest.Answer

    /// A backend of the same kind that shares no connection with this one.
    func separate() -> Self

    /// Closes connections that have been idle for longer than this.
    func outdate(idle: Duration) async

    /// Closes the connections of a replaced credential as soon as the pushes in flight on them have ended.
    func outdate(credential: Credential) async

    /// Closes every connection. Pushes that have not ended end at once, and nothing is sent afterwards.
    func shutdown() async
}

extension Backend {
    /// Does nothing: the first delivery connects.
    public func prepare(for gateway: Gateway, with credential: Credential) async {}

    /// Throws: the backend does not manage channels.
    public func manage(
        _ request: ChannelRequest,
        at gateway: Gateway,
        with credential: Credential
    ) async throws(ChannelError) -> ChannelRequest.Answer {
        throw ChannelError(.unsupported, "This backend manages no channels: use HTTP2Backend.")
    }

    /// Does nothing: the connections close once they have been idle long enough.
    public func outdate(credential: Credential) async {}

    /// Sends every push of the batch without terms, and returns an outcome for each.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential
    ) async -> Outcomes {
        await deliver(batch, to: gateway, with: credential, terms: DeliveryTerms()).outcomes
    }
}
