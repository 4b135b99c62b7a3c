import CarillonIO

/// The protocol that a pool's connections speak.
protocol Wire: Sendable {
    /// The protocols that the client offers in the TLS handshake (ALPN); empty for none.
    var alpn: [String] { get }

    /// Whether a gateway must choose one of these.
    var requiresALPN: Bool { get }

    /// Throws if the protocol chosen in the TLS handshake shows that the gateway speaks something else.
    func check(_ chosen: String?, of gateway: Gateway) throws(PushError)

    /// The conversation of a new connection.
    func conversation(
        _ terms: ConversationTerms,
        sending deliveries: DeliveryQueue,
        at now: MonotonicInstant
    ) throws -> any Conversation
}

extension Wire {
    var requiresALPN: Bool { true }

    func check(_ chosen: String?, of gateway: Gateway) throws(PushError) {}
}
