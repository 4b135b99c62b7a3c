import TLS

/// A credential as the table `certificates` holds it: strings, whatever file they once came from.
struct StoredCredential: Sendable {
    var certificate: String?
    var privateKey: String?
    var passphrase: String?
    var keyID: String?
    var teamID: String?

    /// What was found out about a credential that can be used.
    enum Verdict: Sendable {
        case certificate(CertificateFacts)
        case signingKey(keyID: String, teamID: String)

        /// Seconds since 1970; nil for what does not expire.
        var notAfter: Int64? {
            if case .certificate(let facts) = self { return facts.notAfter }
            return nil
        }

        var topics: [String] {
            if case .certificate(let facts) = self { return facts.topics }
            return []
        }
    }

    /// Looks at it as a worker would, and throws what a worker would trip over.
    func check() throws(TLSError) -> Verdict {
        if let keyID, let teamID {
            _ = try SigningKey(p8: privateKey ?? "")
            return .signingKey(keyID: keyID, teamID: teamID)
        }
        let identity = try Identity(certificate: certificate ?? "", privateKey: privateKey, passphrase: passphrase)
        return .certificate(identity.leaf)
    }
}

/// How long a credential is still good for.
enum CredentialStatus: String {
    case ok, expiring, expired

    /// From thirty days before the end on people are warned.
    static let warning: Int64 = 30 * 86_400

    init(notAfter: Int64?, now: Int64) {
        switch notAfter {
        case let end? where end <= now: self = .expired
        case let end? where end - now <= Self.warning: self = .expiring
        default: self = .ok
        }
    }
}
