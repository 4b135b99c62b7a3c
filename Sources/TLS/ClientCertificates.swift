/// What a server asks of its clients.
package enum ClientCertificates: Hashable, Sendable {
    /// It asks for no certificate.
    case ignored
    /// It asks; a client may have none. One that has expired is refused, and with an authority (PEM), one that it did not
    /// issue.
    case requested(authority: String? = nil)
    /// It asks, and refuses a client that has none. One that has expired is refused, and with an authority (PEM), one that
    /// it did not issue.
    case required(authority: String? = nil)
}
