/// A way to a gateway with a credential: a value, to be kept or made anew as you like. The sockets belong to the
/// session.
public struct Connection: Sendable {
    private let backend: any Backend
    private let isSingleUse: Bool

    /// Where it leads.
    public let gateway: Gateway

    /// What the sender proves to be with.
    public let credential: Credential

    init(backend: any Backend, gateway: Gateway, credential: Credential, isSingleUse: Bool) {
        self.backend = backend
        self.gateway = gateway
        self.credential = credential
        self.isSingleUse = isSingleUse
    }

    /// Sends every push of the batch and says what became of each: for senders of very many.
    public func deliver(_ batch: consuming PushBatch) async -> Outcomes {
        guard isSingleUse else {
            return await backend.deliver(batch, to: gateway, with: credential)
        }
        let own = backend.separate()
        let outcomes = await own.deliver(batch, to: gateway, with: credential)
        await own.shutdown()
        return outcomes
    }

    /// The tokens that the gateway reports dead.
    func feedback() async throws(PushError) -> FeedbackList {
        try await backend.feedback(from: gateway, with: credential)
    }
}
