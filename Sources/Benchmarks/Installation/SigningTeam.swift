import ApplePush
import ApplePushSimulator
import CarillonIO
import CarillonTLS

/// A team with a key that signs provider tokens, which authorize every push of a benchmark.
struct SigningTeam {
    static let keyID = "BENCHKEY01"
    static let teamID = "BENCHTEAM1"
    static let topic = "com.example.bench"

    private let key: SigningKey
    let credential: Credential

    init() throws {
        key = try SigningKey.generate()
        credential = try Credential(signingKey: key.pem, keyID: Self.keyID, teamID: Self.teamID)
    }

    /// The signing key as the text of a `.p8` file.
    var keyPEM: String { key.pem }

    /// The key with which the simulator verifies our provider tokens.
    func providerKey() throws -> ProviderKey {
        try ProviderKey(pem: key.publicKey.pem, keyID: Self.keyID, teamID: Self.teamID)
    }

    /// The header field with a new provider token: `h2load` cannot make one.
    func bearer() -> String {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(Self.keyID)"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"\#(Self.teamID)","iat":\#(WallClock.seconds)}"#.utf8))
        let signature = Base64URL.encode(key.sign(Array("\(header).\(claims)".utf8)))
        return "bearer \(header).\(claims).\(signature)"
    }
}
