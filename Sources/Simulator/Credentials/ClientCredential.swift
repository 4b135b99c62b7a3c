/// How a connection proves who it is.
enum ClientCredential: Sendable {
    /// Each request brings a provider token.
    case providerToken
    /// The handshake brought a certificate, and any `authorization` is ignored.
    case certificate(Certificate)

    /// The topic of a request that names none: the one of a certificate that has no other.
    var onlyTopic: [UInt8]? {
        guard case .certificate(let certificate) = self, certificate.topics.count == 1 else { return nil }
        return certificate.topics[0]
    }

    /// What matters of a client certificate.
    struct Certificate: Sendable {
        /// What it may push to; empty for a certificate that names nothing, which may push anywhere.
        let topics: [[UInt8]]
        /// Set where the certificate is good for nothing here.
        let refusal: Refusal?

        init(topics: [String], refusal: Refusal? = nil) {
            self.topics = topics.map { Array($0.utf8) }
            self.refusal = refusal
        }

        func allows(_ topic: Span<UInt8>) -> Bool {
            if topics.isEmpty { return true }
            for known in topics where topic.equals(known.span) { return true }
            return false
        }
    }
}
