extension APNs {
    /// Receives events about connections and pushes, for logs and metrics: see ``HTTP2Configuration/observer``.
    ///
    /// Its methods are called on the connections' thread, so they must return at once: for example, count, or yield to a stream. By
    /// default each does nothing.
    public protocol Observer: Sendable {
        /// A connection was opened.
        func connectionOpened(to gateway: Gateway)

        /// A connection has ended or could not be opened.
        func connectionEnded(_ end: EndedConnection)

        /// A delivery has ended: every push of a message or a batch has its outcome.
        func deliveryEnded(_ delivery: EndedDelivery)
    }

    /// A connection that has ended, or could not be made.
    public struct EndedConnection: Sendable {
        /// The gateway that it went to.
        public let gateway: Gateway
        /// Whether it was open: the TLS handshake had succeeded.
        public let wasOpen: Bool
        /// How many pushes were answered on this connection.
        public let answered: Int
        /// How many pushes were reported as accepted because the gateway stayed silent, before it reported that it had discarded
        /// them or turned out not to speak the protocol. Always 0 over HTTP/2.
        public let refuted: Int
        /// A word for the reason, for metrics.
        ///
        /// - No longer needed: `idle`, `spare`, `aged`, `replaced` (the credential), `shutdown`.
        /// - Used up, or ended by the gateway: `used_up`, `closed`, `goaway`, `exhausted`; over the binary protocol
        ///   `refused_push`, `gateway_shutdown`, `barrier`.
        /// - Failed: `unconnected`, `refused` (the credential), `broken`, `silent`, `stalled`, `starved`, `window_closed`,
        ///   `not_binary`, and over HTTP/2 the names of violations.
        public let reason: String
        /// The error that ended it; nil if it was no longer needed.
        public let error: PushError?
    }

    /// A delivery whose pushes all have their outcomes.
    public struct EndedDelivery: Sendable {
        /// The gateway that it went to.
        public let gateway: Gateway
        /// The time from the call to the last outcome.
        public let duration: Duration
        /// The outcomes, in the order of the pushes.
        public let outcomes: Outcomes
    }
}

extension APNs.Observer {
    /// Does nothing.
    public func connectionOpened(to gateway: Gateway) {}

    /// Does nothing.
    public func connectionEnded(_ end: APNs.EndedConnection) {}

    /// Does nothing.
    public func deliveryEnded(_ delivery: APNs.EndedDelivery) {}
}
