import CarillonTLS

/// A registered key that signs provider tokens: its public half, its key ID and its team.
///
/// If any key is registered, only provider tokens of registered keys are accepted, and each is verified with its key.
///
/// If none is registered, the simulator learns keys from provider tokens. An ES256 signature usually fits two public keys, which
/// are remembered with the key ID; the second provider token rules out one of them. So a wrong signature may be accepted in a key's
/// first provider token but not in its second, and a key ID belongs to its first user.
public struct ProviderKey: Sendable {
    /// Apple's ID of the key, ten characters (`kid`).
    public let keyID: String
    /// The team's ID, ten characters (`iss`).
    public let teamID: String
    /// The one environment that the key is for; nil for both.
    public let environment: SimulatorConfiguration.Environment?
    /// The bundle IDs of a topic-specific key; empty for a key of the whole team.
    public let topics: [String]
    let key: VerifyingKey

    /// A key from the text of an `AuthKey_\….p8`, of which only the public half is kept, or from a public key in PEM.
    public init(
        pem: String,
        keyID: String,
        teamID: String,
        environment: SimulatorConfiguration.Environment? = nil,
        topics: [String] = []
    ) throws(SimulatorError) {
        do {
            key = try VerifyingKey(pem: pem)
        } catch {
            throw SimulatorError(
                .badKey,
                "The key \(keyID) cannot be read: \(error.message). It takes the text of an AuthKey .p8 or a public key in PEM.",
                underlying: error
            )
        }
        self.keyID = keyID
        self.teamID = teamID
        self.environment = environment
        self.topics = topics
    }
}
