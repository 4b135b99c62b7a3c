/// What carries pushes to a gateway. `HTTP2Backend` is the one for every day, `RecordedBackend` plays given answers
/// in tests.
public protocol Backend: Sendable {
    /// Sends every push of the batch, on those terms, and says what became of each, in the order of the batch. It always
    /// returns: whatever goes wrong on the way is an outcome too.
    func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered

    /// Sees to it that pushes which are handed over next go out at once: for senders who have to keep to a time. Returns as
    /// soon as a connection takes pushes, or when there is none to be had for now: then a delivery says why.
    func prepare(for gateway: Gateway, with credential: Credential) async

    /// The tokens that a gateway of the feedback service reports dead, over a connection of its own. Reading clears the
    /// gateway's list.
    func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError) -> FeedbackList

    /// A backend of the same kind that shares no connection with this one.
    func separate() -> Self

    /// Closes the connections that have been idle for longer than that, never one in use.
    func outdate(idle: Duration) async

    /// Closes the connections of a credential that was replaced as soon as what is in flight on them has ended.
    func outdate(credential: Credential) async

    /// Closes every connection. What is still on its way ends at once, and nothing is sent afterwards.
    func shutdown() async
}

extension Backend {
    /// Leaves it to the first delivery to connect.
    public func prepare(for gateway: Gateway, with credential: Credential) async {}

    /// Leaves them to close when they have been idle for long enough.
    public func outdate(credential: Credential) async {}

    /// Sends every push of the batch, without any terms, and says what became of each.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential
    ) async -> Outcomes {
        await deliver(batch, to: gateway, with: credential, terms: DeliveryTerms()).outcomes
    }
}
