/// What a sender proves to be with: a certificate with its key, or a key that signs provider tokens.
///
/// Both are made from text, wherever that came from; nothing is read from files. Two credentials are equal if
/// they prove the same.
public struct Credential: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable {
        case certificate
        case providerToken(ProviderTokens)
    }

    let kind: Kind

    /// A digest that tells credentials apart, and tells nothing else about them.
    public let digest: [UInt8]

    /// What can be read in the credential and is no secret.
    public let facts: Facts

    /// A certificate and its private key, as PEM text: the leaf first, then its chain. The key may be in the same
    /// text or apart, and may be encrypted.
    public init(certificate: String, privateKey: String? = nil, passphrase: String? = nil) throws(PushError) {
        self.kind = .certificate
        self.digest = Array(certificate.utf8)
        self.facts = Facts(notAfter: nil, topics: [])
    }

    /// A key that signs provider tokens, as Apple hands it out in a `.p8` file.
    ///
    /// - Parameters:
    ///   - signingKey: The text of the `.p8` file.
    ///   - keyID: The ten characters of the key's identifier.
    ///   - teamID: The ten characters of the team's identifier.
    ///   - supply: Where tokens come from, for fleets that share one; nil: this process mints its own.
    public init(
        signingKey: String,
        keyID: String,
        teamID: String,
        supply: ProviderToken.Supply? = nil
    ) throws(PushError) {
        let key = try ProviderTokenKey(signingKey: signingKey, keyID: keyID, teamID: teamID)
        self.kind = .providerToken(ProviderTokens(key: key, supply: supply))
        self.digest = Array(signingKey.utf8)
        self.facts = Facts(notAfter: nil, topics: [])
    }

    /// The topic that pushes of that kind go to where none is named: the certificate's own, if it allows for it.
    func topic(for type: PushType) -> String? {
        guard let bundle = self.facts.topics.first else { return nil }
        let topic = bundle + type.topicSuffix
        return self.facts.topics.contains(topic) ? topic : nil
    }

    /// Equal credentials have equal digests.
    public static func == (one: Self, other: Self) -> Bool { one.digest == other.digest }

    /// Hashes the digest.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.digest) }

    /// What kind of credential it is and whose. Never a secret.
    public var description: String {
        switch self.kind {
        case .certificate: "a certificate"
        case .providerToken(let tokens): "provider tokens of key \(tokens.key.keyID), team \(tokens.key.teamID)"
        }
    }
}
