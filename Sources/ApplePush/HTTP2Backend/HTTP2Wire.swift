import CarillonIO

/// The wire for HTTP/2, the protocol of Apple's gateways.
struct HTTP2Wire: Wire {
    let alpn = ["h2"]
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
        var life = configuration.life
        life.age = life.age * Double.random(in: 1...2)
        return try HTTP2Conversation(
            authority: authority,
            terms,
            sending: deliveries,
            life: life,
            deadlines: configuration.deadlines,
            requestTimeout: configuration.requestTimeout,
            topicBindingAge: configuration.topicBindingAge,
            at: now
        )
    }
}
