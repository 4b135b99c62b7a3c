import ApplePush
import Glibc
import Simulator
import TLS

/// A team of our own, with a key that signs its provider tokens: what every push of a benchmark is authorized by.
struct Team {
    static let keyID = "BENCHKEY01"
    static let teamID = "BENCHTEAM1"
    static let topic = "com.example.bench"

    private let key: SigningKey
    let credential: Credential

    init() throws {
        self.key = try SigningKey.generate()
        self.credential = try Credential(signingKey: self.key.pem, keyID: Self.keyID, teamID: Self.teamID)
    }

    /// The signing key as the text of a `.p8` file.
    var keyPEM: String { self.key.pem }

    /// What the simulator has to know to believe our provider tokens.
    func providerKey() throws -> ProviderKey {
        try ProviderKey(pem: self.key.publicKey.pem, keyID: Self.keyID, teamID: Self.teamID)
    }

    /// A provider token made now, as the header carries it: `h2load` cannot make one.
    func bearer() -> String {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(Self.keyID)"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"\#(Self.teamID)","iat":\#(time(nil))}"#.utf8))
        let signature = Base64URL.encode(self.key.sign(Array("\(header).\(claims)".utf8)))
        return "bearer \(header).\(claims).\(signature)"
    }
}
