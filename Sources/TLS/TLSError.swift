import CarillonIO
import Glibc

/// What is wrong with a certificate, a key or a TLS connection.
package struct TLSError: CodedError {
    package enum Code: Sendable {
        // Credentials.

        /// The text contains no certificate, or one that cannot be read.
        case malformedCertificate
        /// The text contains no readable key.
        case malformedKey
        /// There is a certificate but no private key.
        case missingKey
        /// The private key belongs to another certificate.
        case keyMismatch
        /// The key is encrypted and no passphrase was given.
        case passphraseNeeded
        case wrongPassphrase
        /// The text is longer than any certificate or key.
        case tooLong
        /// Decrypting the key takes more work than is allowed.
        case tooCostly
        /// The kind of key cannot be used for this purpose.
        case unsupportedKey
        /// There was no memory to read it.
        case exhausted

        // Connections.

        /// No trusted authority issued the peer's certificate.
        case untrusted
        /// The peer's certificate is for another host.
        case wrongHostName
        case expired
        case notYetValid
        /// The peer sent an alert: see `alert`.
        case rejected
        /// The peers have no application protocol in common.
        case noProtocol
        /// The peer does not use TLS, or uses only an old version.
        case notTLS
        /// The connection ended without a close_notify: data may be missing.
        case truncated
        case reset
        case timedOut
        case cancelled
        case unresolvable
        case refused
        case unreachable
        /// Anything else; the message has OpenSSL's text.
        case other
    }

    package let code: Code
    package let message: String
    /// The kernel's or the network's error, if the failure was not in TLS.
    package let underlying: (any Error)?
    /// The TLS alert that the peer sent, if `code` is `rejected` or `noProtocol`.
    package let alert: UInt8?
    /// Whether the peer's alert is about this side's certificate, or about its absence.
    package let isAboutCertificate: Bool

    package init(_ code: Code, _ message: String, alert: UInt8? = nil, isAboutCertificate: Bool = false) {
        (self.code, self.message, underlying) = (code, message, nil)
        self.alert = alert
        self.isAboutCertificate = isAboutCertificate
    }

    /// There was no memory to read what is named.
    static func shortage(reading what: String) -> TLSError {
        TLSError(.exhausted, "\(what) could not be read: \(IOError.advice(onShortage: ENOMEM) ?? "")")
    }

    init(_ error: IOError) {
        code =
            switch error.code {
            case .unresolvable: .unresolvable
            case .refused: .refused
            case .unreachable: .unreachable
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .reset: .reset
            default: .other
            }
        (message, underlying) = (error.message, error)
        (alert, isAboutCertificate) = (nil, false)
    }
}
