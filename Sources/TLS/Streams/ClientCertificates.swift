import CarillonCOpenSSL

/// What a server asks of its clients.
package enum ClientCertificates: Hashable, Sendable {
    /// It asks for no certificate.
    case ignored
    /// It asks; a client may have none. An expired one is refused, and with an authority (PEM), any that it did not issue.
    case requested(authority: String? = nil)
    /// The same, but a client without a certificate is refused.
    case required(authority: String? = nil)
}
