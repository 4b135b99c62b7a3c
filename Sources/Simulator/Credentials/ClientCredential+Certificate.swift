import TLS

extension ClientCredential {
    /// What a handshake showed at `now`, in seconds since 1970.
    ///
    /// Any certificate is taken, Apple's, the simulator's own or a self-made one, and what stands in it decides: the
    /// topics that it names (any, where it names none), the environments, and from when on. One that has expired is
    /// refused in the handshake.
    init(_ facts: CertificateFacts?, environment: SimulatorConfiguration.Environment, now: Int64) {
        guard let facts else {
            self = .providerToken
            return
        }
        let needed: CertificateFacts.Environments = environment == .sandbox ? .sandbox : .production
        var refusal: Refusal?
        if now < facts.notBefore {
            refusal = .badCertificate
        } else if !facts.environments.isEmpty, !facts.environments.contains(needed) {
            refusal = .badCertificateEnvironment
        }
        self = .certificate(Certificate(topics: facts.topics, refusal: refusal))
    }
}
