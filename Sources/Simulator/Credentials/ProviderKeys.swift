import TLS

/// The keys whose provider tokens are believed, by key ID.
struct ProviderKeys {
    /// A key that nobody registered: what its tokens have told of it so far.
    private struct Learnt {
        let teamID: String
        /// Uncompressed points. Two after a first token as a rule, one from the second on.
        var candidates: [[UInt8]]
    }

    private struct Registered {
        let key: VerifyingKey
        let teamID: String
        let environment: SimulatorConfiguration.Environment?
    }

    /// Enough for any test, too few to fill the memory with made-up key IDs.
    private static let learntLimit = 10_000

    private let environment: SimulatorConfiguration.Environment
    private let isPedantic: Bool
    private var registered: [String: Registered] = [:]
    private var learnt: [String: Learnt] = [:]
    /// Accepted tokens by signature, to count the different ones.
    private var seen: Set<[UInt8]> = []

    init(_ keys: [ProviderKey], environment: SimulatorConfiguration.Environment, isPedantic: Bool = false) {
        self.environment = environment
        self.isPedantic = isPedantic
        for key in keys {
            registered[key.keyID] = Registered(key: key.key, teamID: key.teamID, environment: key.environment)
        }
    }

    /// How many different provider tokens were good.
    var goodTokens: Int { seen.count }

    /// Believes the token, or throws the reason why not.
    mutating func verify(_ token: ProviderToken) throws(Refusal) {
        if isPedantic, let oddity = token.oddity { throw oddity }
        if registered.isEmpty {
            try learn(token)
        } else {
            guard let known = registered[token.keyID] else { throw .unknownKey }
            guard known.teamID == token.teamID else { throw .unknownTeam }
            guard known.key.isValid(signature: token.signature, for: token.signedBytes) else { throw .tokenSignature }
            if let only = known.environment, only != environment { throw .badEnvironmentKeyIDInToken }
        }
        seen.insert(token.signature)
    }

    private mutating func learn(_ token: ProviderToken) throws(Refusal) {
        let digest = Digest.sha256(token.signedBytes.span.bytes)
        let candidates = P256Recovery.publicKeys(signature: token.signature, digest: digest)
        guard !candidates.isEmpty else { throw .tokenSignature }
        guard var known = learnt[token.keyID] else {
            guard learnt.count < Self.learntLimit else { throw .invalidProviderToken }
            learnt[token.keyID] = Learnt(teamID: token.teamID, candidates: candidates)
            return
        }
        known.candidates.removeAll { !candidates.contains($0) }
        guard known.teamID == token.teamID, !known.candidates.isEmpty else { throw .keyTaken }
        learnt[token.keyID] = known
    }
}
