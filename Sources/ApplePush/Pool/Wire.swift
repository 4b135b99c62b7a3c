import CarillonIO

/// The protocol that a pool's connections speak.
protocol Wire: Sendable {
    /// Whether a gateway must choose HTTP/2, which the client offers in the TLS handshake (ALPN).
    var requiresHTTP2: Bool { get }

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
    var requiresHTTP2: Bool { true }

    func check(_ chosen: String?, of gateway: Gateway) throws(PushError) {}
}
