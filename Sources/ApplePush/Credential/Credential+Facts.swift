import TLS

extension Credential {
    /// What can be read in a certificate and is no secret; all of it empty for signing keys, which say nothing.
    public struct Facts: Hashable, Sendable {
        /// Whom the certificate is for.
        public let subject: String?

        /// From when on the certificate is valid, in seconds since 1970.
        public let notBefore: Int64?

        /// Until when the certificate is valid, in seconds since 1970. Signing keys do not expire.
        public let notAfter: Int64?

        /// The topics that the certificate may send to, the app's own first; empty if it does not say.
        public let topics: [String]

        /// Whether Apple issued it.
        public let isApple: Bool

        init() {
            subject = nil
            notBefore = nil
            notAfter = nil
            topics = []
            isApple = false
        }

        init(_ leaf: CertificateFacts) {
            subject = leaf.subject
            notBefore = leaf.notBefore
            notAfter = leaf.notAfter
            topics = leaf.topics
            isApple = leaf.isApple
        }
    }
}
