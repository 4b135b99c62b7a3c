import TLS

/// Why something could not be sent, or not even be tried. An answer of APNs is no error: it is in the `Result`.
public struct PushError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The message cannot be put on the wire as it is.
        public static let invalidMessage = Self("invalidMessage")
        /// The certificate, key or signing key cannot be used.
        public static let invalidCredential = Self("invalidCredential")
        /// The gateway's address or trust root cannot be used.
        public static let invalidGateway = Self("invalidGateway")
        /// No connection could be made: no such host, refused, or no answer in time.
        public static let unreachable = Self("unreachable")
        /// The server could not prove to be the gateway.
        public static let untrusted = Self("untrusted")
        /// The gateway did not accept the credential while connecting.
        public static let refused = Self("refused")
        /// The gateway has seen too many new provider tokens, and wants the old one for a while.
        public static let throttled = Self("throttled")
        /// The peer does not speak HTTP/2 as it should.
        public static let notHTTP2 = Self("notHTTP2")
        /// No provider token could be had.
        public static let noProviderToken = Self("noProviderToken")
        /// No connection took it in time.
        public static let timedOut = Self("timedOut")
        /// Whoever wanted it sent has gone, or may not send any more.
        public static let cancelled = Self("cancelled")
        /// The session was shut down.
        public static let shutDown = Self("shutDown")
        /// The backend has no such service.
        public static let unsupported = Self("unsupported")
    }

    /// What kind of failure it is.
    public let code: Code

    /// A sentence: what is wrong, and what to do about it. It never holds a secret.
    public let message: String

    /// The error below this one, if there is one.
    public let underlying: (any Error)?

    /// An error of that kind.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// The sentence.
    public var description: String { message }
}

extension PushError {
    static let shutDown = PushError(.shutDown, "The session was shut down: make a new one to send more.")

    /// Why no connection to the gateway could be made.
    init(connectingTo gateway: Gateway, _ error: any Error) {
        if let error = error as? PushError {
            self = error
            return
        }
        let code: Code =
            switch (error as? TLSError)?.code {
            case .untrusted, .wrongHostName, .expired, .notYetValid: .untrusted
            case .rejected where (error as? TLSError)?.isAboutCertificate == true: .refused
            case .noProtocol, .notTLS: .notHTTP2
            // The credential was parsed before, so this is the gateway's trust root.
            case .malformedCertificate, .tooLong: .invalidGateway
            default: .unreachable
            }
        self.init(code, "There is no connection to \(gateway): \(error).", underlying: error)
    }
}
