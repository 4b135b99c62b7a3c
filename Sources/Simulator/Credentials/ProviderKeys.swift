import CarillonTLS

/// The keys whose provider tokens are accepted, by key ID.
struct ProviderKeys {
    /// What is known about an unregistered key from its provider tokens.
    private struct Learnt {
        let teamID: String
        /// Uncompressed points: usually two after the first provider token, and one after the second.
        var candidates: [[UInt8]]
    }

    /// Enough for any test, but too few for made-up key IDs to exhaust memory.
    private static let learntLimit = 10_000

    private let environment: SimulatorConfiguration.Environment
    private let isPedantic: Bool
    private let registered: [String: ProviderKey]
    private var learnt: [String: Learnt] = [:]
    /// The signatures of accepted provider tokens.
    private var seen: Set<[UInt8]> = []

    init(_ keys: [ProviderKey], environment: SimulatorConfiguration.Environment, isPedantic: Bool) {
        self.environment = environment
        self.isPedantic = isPedantic
        registered = Dictionary(keys.map { ($0.keyID, $0) }, uniquingKeysWith: { $1 })
    }

    var acceptedTokens: Int { seen.count }

    mutating func verify(_ token: PresentedToken) throws(APNsRefusal) {
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

    func topics(of keyID: String) -> [[UInt8]] { registered[keyID]?.topics.map { Array($0.utf8) } ?? [] }

    /// Whether a connection of one key also accepts the other's provider tokens. Keys of a team are related if both are for the
    /// whole team, or if both are topic-specific and share a topic. Unregistered keys are not related.
    func areRelated(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        guard let one = registered[one], let other = registered[other], one.teamID == other.teamID else { return false }
        if one.topics.isEmpty || other.topics.isEmpty { return one.topics.isEmpty && other.topics.isEmpty }
        return !Set(one.topics).isDisjoint(with: other.topics)
    }

    private mutating func learn(_ token: PresentedToken) throws(APNsRefusal) {
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
