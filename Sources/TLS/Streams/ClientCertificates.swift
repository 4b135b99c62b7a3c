import CarillonCOpenSSL

/// Whether a server asks its clients for certificates.
package enum ClientCertificates: Hashable, Sendable {
    /// It asks for no certificate.
    case ignored
    /// It asks, but a client may have none. Expired certificates are refused and, if an authority (PEM) is given, so are
    /// certificates that it did not issue.
    case requested(authority: String? = nil)
    /// The same, but a client without a certificate is refused.
    case required(authority: String? = nil)
}
