package import IO

/// What is wrong with a certificate, a key or a TLS connection.
package struct TLSError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, to be compared; more kinds may come.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        // Credentials.

        /// The text holds no certificate, or one that cannot be read.
        package static let malformedCertificate = Code(description: "malformedCertificate")
        /// The text holds no key that can be read.
        package static let malformedKey = Code(description: "malformedKey")
        /// There is a certificate, and no private key anywhere.
        package static let missingKey = Code(description: "missingKey")
        /// The private key belongs to another certificate.
        package static let keyMismatch = Code(description: "keyMismatch")
        /// The key is encrypted and no passphrase was given.
        package static let passphraseNeeded = Code(description: "passphraseNeeded")
        /// The passphrase does not open the key.
        package static let wrongPassphrase = Code(description: "wrongPassphrase")
        /// The text is longer than any certificate or key.
        package static let tooLong = Code(description: "tooLong")
        /// The key asks for more work than opening any key takes.
        package static let tooCostly = Code(description: "tooCostly")
        /// A key of a kind that cannot be used for this.
        package static let unsupportedKey = Code(description: "unsupportedKey")

        // Connections.

        /// No authority that is trusted vouches for the peer.
        package static let untrusted = Code(description: "untrusted")
        /// The peer's certificate is for another host.
        package static let wrongHostName = Code(description: "wrongHostName")
        /// The peer's certificate is past its end.
        package static let expired = Code(description: "expired")
        /// The peer's certificate is from the future.
        package static let notYetValid = Code(description: "notYetValid")
        /// The peer sent an alert: it does not want us; `alert` says why.
        package static let rejected = Code(description: "rejected")
        /// The peers have no application protocol in common.
        package static let noProtocol = Code(description: "noProtocol")
        /// The peer speaks something else than TLS, or an old TLS.
        package static let notTLS = Code(description: "notTLS")
        /// The connection ended without the peer saying so in TLS; data may be missing.
        package static let truncated = Code(description: "truncated")
        /// The connection was broken off.
        package static let reset = Code(description: "reset")
        package static let timedOut = Code(description: "timedOut")
        package static let cancelled = Code(description: "cancelled")
        package static let unresolvable = Code(description: "unresolvable")
        package static let refused = Code(description: "refused")
        package static let unreachable = Code(description: "unreachable")
        /// Anything else; the message carries the library's own words.
        package static let other = Code(description: "other")
    }

    package let code: Code
    /// A sentence for people: what is wrong and, where we know it, what to do. Never a secret.
    package let message: String
    /// The TLS alert that the peer sent, where `code` is `rejected` or `noProtocol`.
    package let alert: UInt8?
    /// Whether the peer found fault with the certificate that it was shown, or with none: what else it says by an alert is
    /// no verdict on that.
    package let isAboutCertificate: Bool
    /// What the kernel or the network said, where it was not TLS that failed.
    package let underlying: IOError?

    package init(
        _ code: Code,
        _ message: String,
        alert: UInt8? = nil,
        isAboutCertificate: Bool = false,
        underlying: IOError? = nil
    ) {
        self.code = code
        self.message = message
        self.alert = alert
        self.isAboutCertificate = isAboutCertificate
        self.underlying = underlying
    }

    package init(_ error: IOError) {
        let code: Code =
            switch error.code {
            case .unresolvable: .unresolvable
            case .refused: .refused
            case .unreachable: .unreachable
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .reset: .reset
            default: .other
            }
        self.init(code, error.message, underlying: error)
    }

    package var description: String { self.message }
}
