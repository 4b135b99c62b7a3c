import CarillonTLS

/// The proof of a sender's identity: a certificate with its key, or a key that signs provider tokens.
///
/// Both are made from text; nothing is read from files. Credentials with the same certificate or key are equal.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    enum Kind: Sendable {
        case certificate(Identity)
        case providerToken(ProviderTokens)
    }

    let kind: Kind

    /// A digest that identifies the credential and reveals nothing about it.
    public let digest: [UInt8]

    /// The contents of the certificate. Empty for signing keys.
    public let facts: Facts

    /// A certificate with its chain and private key, as PEM text. The key may be in the same text or separate, and may be
    /// encrypted.
    public init(certificate: String, privateKey: String? = nil, passphrase: String? = nil) throws(PushError) {
        try self.init("certificate") {
            Self(try Identity(certificate: certificate, privateKey: privateKey, passphrase: passphrase))
        }
    }

    /// A certificate and its private key, as the bytes of PEM text, for callers that overwrite them afterwards.
    public init(certificate: [UInt8], privateKey: [UInt8]? = nil, passphrase: [UInt8]? = nil) throws(PushError) {
        try self.init("certificate") {
            Self(try Identity(certificate: certificate, privateKey: privateKey, passphrase: passphrase))
        }
    }

    private init(_ identity: Identity) {
        kind = .certificate(identity)
        digest = identity.digest
        facts = Facts(identity.leaf)
    }

    /// A key that signs provider tokens, from one of Apple's `.p8` files.
    ///
    /// - Parameters:
    ///   - signingKey: The text of the `.p8` file.
    ///   - keyID: The ten characters of the key's identifier.
    ///   - teamID: The ten characters of the team's identifier.
    ///   - supply: Supplies the tokens if several processes share them; nil if this process makes its own.
    public init(
        signingKey: String,
        keyID: String,
        teamID: String,
        supply: ProviderToken.Supply? = nil
    ) throws(PushError) {
        try self.init("signing key") {
            try Self(ProviderTokenKey(SigningKey(p8: signingKey), keyID: keyID, teamID: teamID), supply: supply)
        }
    }

    /// A key that signs provider tokens, as the bytes of a `.p8` file, for callers that overwrite them afterwards.
    public init(
        signingKey: [UInt8],
        keyID: String,
        teamID: String,
        supply: ProviderToken.Supply? = nil
    ) throws(PushError) {
        try self.init("signing key") {
            try Self(ProviderTokenKey(SigningKey(p8: signingKey), keyID: keyID, teamID: teamID), supply: supply)
        }
    }

    private init(_ key: ProviderTokenKey, supply: ProviderToken.Supply?) {
        kind = .providerToken(ProviderTokens(key, supply: supply))
        digest = key.digest
        facts = Facts()
    }

    /// The same credential with another supply of provider tokens. A certificate has none.
    package func supplied(by supply: @escaping ProviderToken.Supply) -> Self {
        guard case .providerToken(let tokens) = kind else { return self }
        return Self(tokens.key, supply: supply)
    }

    init(_ what: String, _ make: () throws -> Self) throws(PushError) {
        do {
            self = try make()
        } catch let error as PushError {
            throw error
        } catch {
            let words = "\(error)"
            // Some sentences already name what cannot be used.
            let isNamed = words.hasPrefix("the \(what) ")
            let sentence = isNamed ? "T\(words.dropFirst())." : "The \(what) cannot be used: \(words)."
            let isShortage = (error as? TLSError)?.code == .exhausted
            throw PushError(isShortage ? .exhausted : .invalidCredential, sentence, underlying: error)
        }
    }

    var identity: Identity? {
        if case .certificate(let identity) = kind { identity } else { nil }
    }

    /// The provider token of a signing key; nil for a certificate.
    func providerToken(refusing refused: ProviderToken?) async throws(PushError) -> ProviderToken? {
        guard case .providerToken(let tokens) = kind else { return nil }
        return try await tokens.current(refusing: refused)
    }

    /// The topic for messages of this type without one: the certificate's own topic, if the certificate contains it.
    func topic(for type: PushType) -> String? {
        guard let bundleID = facts.topics.first else { return nil }
        let topic = type.topic(of: bundleID)
        return facts.topics.contains(topic) ? topic : nil
    }

    /// Equal credentials have equal digests.
    public static func == (one: Self, other: Self) -> Bool { one.digest == other.digest }

    /// Hashes the digest.
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    /// The kind of credential and its owner, without secrets.
    public var description: String {
        switch kind {
        case .certificate(let identity): "the certificate of \(identity.leaf.subject)"
        case .providerToken(let tokens): "the signing key \(tokens.key.keyID) of team \(tokens.key.teamID)"
        }
    }

    /// Only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Credential {
    /// The contents of a certificate. All fields are empty for signing keys.
    public struct Facts: Hashable, Sendable {
        /// The subject of the certificate.
        public let subject: String?

        /// When the certificate becomes valid, in seconds since 1970.
        public let notBefore: Int64?

        /// When the certificate expires, in seconds since 1970. Signing keys do not expire.
        public let notAfter: Int64?

        /// The topics of the certificate, the app's own first.
        public let topics: [String]

        /// Whether Apple issued it.
        public let isApple: Bool

        /// Whether it has an extension of Apple's push certificates. Anyone can add one.
        package let isForPushes: Bool

        init() {
            subject = nil
            notBefore = nil
            notAfter = nil
            topics = []
            isApple = false
            isForPushes = false
        }

        init(_ leaf: CertificateFacts) {
            subject = leaf.subject
            notBefore = leaf.notBefore
            notAfter = leaf.notAfter
            topics = leaf.topics
            isApple = leaf.isApple
            isForPushes = leaf.isForPushes
        }
    }
}
