import CarillonIO

/// The wire for the legacy binary protocol.
final class BinaryWire: Wire {
    let requiresHTTP2 = false
    let configuration: BinaryConfiguration
    /// Shared, so that one connection learns from another.
    let window: Guarded<WindowSize>

    init(_ configuration: BinaryConfiguration) {
        self.configuration = configuration
        window = Guarded(WindowSize(first: configuration.firstWindow, limit: configuration.window))
    }

    func check(_ chosen: String?, of gateway: Gateway) throws(PushError) {
        if LegacyProtocols.isHTTP2(chosen) { throw LegacyProtocols.notBinary(gateway) }
    }

    func conversation(
        _ terms: ConversationTerms,
        sending deliveries: DeliveryQueue,
        at now: MonotonicInstant
    ) throws -> any Conversation {
        let maximumAge = configuration.maximumAge * Double.random(in: 1...2)
        return BinaryConversation(of: self, sending: deliveries, maximumAge: maximumAge)
    }
}
