/// What a server asks of its clients.
package enum ClientCertificates: Hashable, Sendable {
    /// It asks for no certificate.
    case ignored
    /// It asks; a client may have none. With an authority (PEM), one that it did not issue is refused.
    case requested(authority: String? = nil)
    /// It asks, and refuses a client that has none. With an authority (PEM), one that it did not issue is refused.
    case required(authority: String? = nil)
}
