import CarillonTLS

/// Why something was not sent. An answer from APNs is not an error; it is in the `Result`.
public struct PushError: Error, Sendable, CustomStringConvertible {
    /// A kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The message cannot be encoded.
        public static let invalidMessage = Self("invalidMessage")
        /// The certificate, key or signing key cannot be used.
        public static let invalidCredential = Self("invalidCredential")
        /// There was no memory to read the credential.
        public static let exhausted = Self("exhausted")
        /// The gateway's address or root certificate cannot be used.
        public static let invalidGateway = Self("invalidGateway")
        /// No connection could be opened: no such host, connection refused, or no answer in time.
        public static let unreachable = Self("unreachable")
        /// The server's certificate is not trusted.
        public static let untrusted = Self("untrusted")
        /// The gateway did not accept the credential while connecting.
        public static let refused = Self("refused")
        /// The gateway has seen too many new provider tokens and accepts only the old one for a while.
        public static let throttled = Self("throttled")
        /// The peer does not speak HTTP/2, or violates it.
        public static let notHTTP2 = Self("notHTTP2")
        /// No provider token is available.
        public static let noProviderToken = Self("noProviderToken")
        /// The only connection has no room for the push now: see ``HTTP2Configuration/isSingleConnection``.
        public static let blocked = Self("blocked")
        /// The only connection has ended: see ``HTTP2Configuration/isSingleConnection``.
        public static let closed = Self("closed")
        /// No connection accepted the push in time.
        public static let timedOut = Self("timedOut")
        /// The task was cancelled, or its permit to send ended.
        public static let cancelled = Self("cancelled")
        /// The session was shut down.
        public static let shutDown = Self("shutDown")
        /// The backend has no such service.
        public static let unsupported = Self("unsupported")
    }

    /// The kind of failure.
    public let code: Code

    /// Whether the same call may succeed later without any change: there was no connection, no room, no memory or no provider token.
    public var isRetryable: Bool {
        [.exhausted, .unreachable, .timedOut, .throttled, .noProviderToken, .blocked].contains(code)
    }

    /// A sentence: what is wrong, and what to do about it. It never contains a secret.
    public let message: String

    /// The error that caused this one, if there is one.
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

    static func blocked(_ gateway: Gateway) -> Self {
        Self(
            .blocked,
            "The connection to \(gateway) has no room for the push now: send it again when others have ended."
        )
    }

    static func closed(_ gateway: Gateway) -> Self {
        Self(.closed, "The only connection to \(gateway) has ended: make another session to send more.")
    }

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
            // The credential has already been parsed, so this is about the gateway's root certificate.
            case .malformedCertificate, .tooLong: .invalidGateway
            default: .unreachable
            }
        let reason = "\(error)"
        let end = reason.hasSuffix("?") ? "" : "."
        self.init(code, "There is no connection to \(gateway): \(reason)\(end)", underlying: error)
    }
}
