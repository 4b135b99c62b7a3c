import TLS

/// What a sender proves to be with: a certificate with its key, or a key that signs provider tokens.
///
/// Both are made from text, wherever that came from; nothing is read from files. Two credentials are equal if they
/// prove the same.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    enum Kind: Sendable {
        case certificate(Identity)
        case providerToken(ProviderTokens)
    }

    let kind: Kind

    /// A digest that tells credentials apart, and tells nothing else about them.
    public let digest: [UInt8]

    /// What can be read in the credential and is no secret.
    public let facts: Facts

    /// A certificate and its private key, as PEM text: the leaf and its chain. The key may be in the same text or
    /// apart, and may be encrypted.
    public init(certificate: String, privateKey: String? = nil, passphrase: String? = nil) throws(PushError) {
        do {
            self.init(try Identity(certificate: certificate, privateKey: privateKey, passphrase: passphrase))
        } catch {
            throw Self.invalid("certificate", error)
        }
    }

    /// A certificate and its private key, as the bytes of PEM text, for callers that overwrite them afterwards.
    public init(certificate: [UInt8], privateKey: [UInt8]? = nil, passphrase: [UInt8]? = nil) throws(PushError) {
        do {
            self.init(try Identity(certificate: certificate, privateKey: privateKey, passphrase: passphrase))
        } catch {
            throw Self.invalid("certificate", error)
        }
    }

    private init(_ identity: Identity) {
        kind = .certificate(identity)
        digest = identity.digest
        facts = Facts(identity.leaf)
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
        do {
            try self.init(ProviderTokenKey(SigningKey(p8: signingKey), keyID: keyID, teamID: teamID), supply: supply)
        } catch {
            throw Self.invalid("signing key", error)
        }
    }

    /// A key that signs provider tokens, as the bytes of a `.p8` file, for callers that overwrite them afterwards.
    public init(
        signingKey: [UInt8],
        keyID: String,
        teamID: String,
        supply: ProviderToken.Supply? = nil
    ) throws(PushError) {
        do {
            try self.init(ProviderTokenKey(SigningKey(p8: signingKey), keyID: keyID, teamID: teamID), supply: supply)
        } catch {
            throw Self.invalid("signing key", error)
        }
    }

    private init(_ key: ProviderTokenKey, supply: ProviderToken.Supply?) {
        kind = .providerToken(ProviderTokens(key, supply: supply))
        digest = key.digest
        facts = Facts()
    }

    /// The same credential, whose provider tokens come from there. A certificate needs none.
    package func supplied(by supply: @escaping ProviderToken.Supply) -> Self {
        guard case .providerToken(let tokens) = kind else { return self }
        return Self(tokens.key, supply: supply)
    }

    private static func invalid(_ what: String, _ error: any Error) -> PushError {
        error as? PushError ?? PushError(.invalidCredential, "The \(what) cannot be used: \(error).", underlying: error)
    }

    /// The certificate to show, if it is one.
    var identity: Identity? {
        if case .certificate(let identity) = kind { identity } else { nil }
    }

    /// The topic that pushes of that kind go to where none is named: the certificate's own, if it allows for it.
    func topic(for type: PushType) -> String? {
        guard let bundle = facts.topics.first else { return nil }
        let topic = bundle + type.topicSuffix
        return facts.topics.contains(topic) ? topic : nil
    }

    /// Equal credentials have equal digests.
    public static func == (one: Self, other: Self) -> Bool { one.digest == other.digest }

    /// Hashes the digest.
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    /// What kind of credential it is and whose. Never a secret.
    public var description: String {
        switch kind {
        case .certificate(let identity): "the certificate of \(identity.leaf.subject)"
        case .providerToken(let tokens): "the signing key \(tokens.key.keyID) of team \(tokens.key.teamID)"
        }
    }

    /// No more than the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
