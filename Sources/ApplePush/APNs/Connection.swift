extension APNs {
    /// A gateway and the credential to send with. This is a value; the sockets belong to the session.
    public struct Connection: Sendable {
        private let backend: any Backend
        private let isSingleUse: Bool

        /// Where pushes are sent.
        public let gateway: Gateway

        /// What authenticates the sender.
        public let credential: Credential

        init(backend: any Backend, gateway: Gateway, credential: Credential, isSingleUse: Bool) {
            self.backend = backend
            self.gateway = gateway
            self.credential = credential
            self.isSingleUse = isSingleUse
        }

        /// Connects, so that the next pushes are sent without delay. If no connection can be opened, the next `send` reports why.
        public func prepare() async {
            if !isSingleUse { await backend.prepare(for: gateway, with: credential) }
        }

        /// Sends every push of the batch, and returns an outcome for each. For senders of very many pushes.
        public func deliver(_ batch: consuming PushBatch) async -> Outcomes {
            guard isSingleUse else { return await backend.deliver(batch, to: gateway, with: credential) }
            let own = backend.separate()
            let outcomes = await own.deliver(batch, to: gateway, with: credential)
            await own.shutdown()
            return outcomes
        }

        func manage(_ request: ChannelRequest) async throws(ChannelError) -> ChannelRequest.Answer {
            guard isSingleUse else { return try await backend.manage(request, at: gateway, with: credential) }
            let own = backend.separate()
            do {
                let answer = try await own.manage(request, at: gateway, with: credential)
                await own.shutdown()
                return answer
            } catch {
                await own.shutdown()
                throw error
            }
        }

        func feedback() async throws(PushError) -> LegacyFeedbackList {
            try await backend.feedback(from: gateway, with: credential)
        }
    }
}
