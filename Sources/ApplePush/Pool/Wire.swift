import CarillonIO

/// What a pool's connections speak.
protocol Wire: Sendable {
    /// What the client offers in the TLS handshake (ALPN); empty: nothing.
    var alpn: [String] { get }

    /// Whether a gateway must choose one of these.
    var requiresALPN: Bool { get }

    /// Throws if the gateway speaks something else, by what it chose in the TLS handshake.
    func check(_ chosen: String?, of gateway: Gateway) throws(PushError)

    /// What is said on a new connection.
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
