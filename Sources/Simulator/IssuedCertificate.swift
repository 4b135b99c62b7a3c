/// A client certificate with its key, both in PEM.
public struct IssuedCertificate: Sendable {
    /// The certificate.
    public let certificate: String
    /// Its private key, unencrypted.
    public let privateKey: String
}
