extension Credential {
    /// What can be read in a credential and is no secret.
    public struct Facts: Hashable, Sendable {
        /// Until when the certificate is valid, in seconds since 1970; nil for signing keys, which do not expire.
        public let notAfter: Int64?

        /// The topics that the certificate may send to; empty if it does not say, and for signing keys.
        public let topics: [String]
    }
}
