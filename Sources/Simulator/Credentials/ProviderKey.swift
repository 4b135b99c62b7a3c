import TLS

/// A key that signs provider tokens, as the simulator needs to know it: its public half, and whose it is.
///
/// Where any key is registered, only tokens of registered keys are believed, and each is verified with its key.
///
/// Where none is, the simulator learns keys by itself. An ES256 signature tells which (two) public keys it may come
/// from: those of a key's first token are remembered, and from the second token on there is one left. So a signer that
/// signs wrongly may get its first token accepted, and not its second; and whoever comes first with a key ID has it.
public struct ProviderKey: Sendable {
    /// The ten characters that Apple names the key by (`kid`).
    public let keyID: String
    /// The ten characters of the team (`iss`).
    public let teamID: String
    /// The one environment that the key is good for, or nil for both.
    public let environment: SimulatorConfiguration.Environment?
    let key: VerifyingKey

    /// A key from the text of an `AuthKey_….p8`, of which only the public half is kept, or of a public key in PEM.
    public init(
        pem: String,
        keyID: String,
        teamID: String,
        environment: SimulatorConfiguration.Environment? = nil
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
    }
}
