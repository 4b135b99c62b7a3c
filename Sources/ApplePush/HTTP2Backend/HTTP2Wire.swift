import CarillonIO

/// The wire for HTTP/2, the protocol of Apple's gateways.
struct HTTP2Wire: Wire {
    private let authority: String
    private let configuration: HTTP2Configuration

    init(_ gateway: Gateway, _ configuration: HTTP2Configuration) {
        authority = gateway.authority
        self.configuration = configuration
    }

    func conversation(
        _ terms: ConversationTerms,
        sending deliveries: DeliveryQueue,
        at now: MonotonicInstant
    ) throws -> any Conversation {
        try HTTP2Conversation(
            authority: authority,
            configuration,
            terms,
            sending: deliveries,
            maximumAge: configuration.maximumAge * Double.random(in: 1...2),
            at: now
        )
    }
}
