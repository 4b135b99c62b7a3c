import CarillonTLS

/// How a connection authenticates.
enum ClientCredential: Sendable {
    /// By the provider token of each request.
    case providerToken
    /// By the certificate of the handshake. Any `authorization` is ignored.
    case certificate(Certificate)

    struct Certificate: Sendable {
        /// The topics that it may push to; empty for a certificate that names none, which may push to any.
        let topics: [[UInt8]]
        /// Why each push is refused; nil for a usable certificate.
        let refusal: APNsRefusal?

        init(topics: [String], refusal: APNsRefusal? = nil) {
            self.topics = topics.map { Array($0.utf8) }
            self.refusal = refusal
        }

        func allows(_ topic: Span<UInt8>) -> Bool {
            if topics.isEmpty { return true }
            for known in topics where topic.equals(known.span) { return true }
            return false
        }
    }

    /// The topic of a request that names none: the certificate's, if it has exactly one.
    var onlyTopic: [UInt8]? {
        guard case .certificate(let certificate) = self, certificate.topics.count == 1 else { return nil }
        return certificate.topics[0]
    }

    /// The credential of a handshake at `now`, in seconds since 1970.
    ///
    /// Any certificate is accepted: Apple's, the simulator's own or a self-signed one. Its topics, its environments and its
    /// first day decide what it may do. An expired one is refused in the handshake.
    init(_ facts: CertificateFacts?, environment: SimulatorConfiguration.Environment, now: Int64) {
        guard let facts else {
            self = .providerToken
            return
        }
        let needed: CertificateFacts.Environments = environment == .sandbox ? .sandbox : .production
        var refusal: APNsRefusal?
        if now < facts.notBefore {
            refusal = .badCertificate
        } else if !facts.environments.isEmpty, !facts.environments.contains(needed) {
            refusal = .badCertificateEnvironment
        }
        self = .certificate(Certificate(topics: facts.topics, refusal: refusal))
    }
}
