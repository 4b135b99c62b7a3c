import CarillonTLS

@testable import ApplePushSimulator

/// A provider with its own key, which signs good and bad provider tokens.
struct TestProvider {
    let key: SigningKey
    var keyID = "ABC123DEFG"
    var teamID = "DEF123GHIJ"

    init(keyID: String = "ABC123DEFG", teamID: String = "DEF123GHIJ") throws {
        key = try SigningKey.generate()
        self.keyID = keyID
        self.teamID = teamID
    }

    /// The value of `authorization`.
    func authorization(issuedAt: Int64) -> String {
        authorization(
            header: #"{"alg":"ES256","kid":"\#(keyID)"}"#,
            claims: #"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#
        )
    }

    func authorization(header: String, claims: String) -> String {
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        return "bearer \(signed)." + Base64URL.encode(key.sign(Array(signed.utf8)))
    }

    /// A provider token as Apple's command-line sample makes it. Its signature is the DER of `openssl dgst -sha256 -sign`.
    func appleSample(issuedAt: Int64) -> String {
        let header = Base64URL.encode(Array(#"{ "alg": "ES256", "kid": "\#(keyID)" }"#.utf8))
        let claims = Base64URL.encode(Array(#"{ "iss": "\#(teamID)", "iat": \#(issuedAt) }"#.utf8))
        let signature = ES256.der(raw: key.sign(Array("\(header).\(claims)".utf8))) ?? []
        return "bearer \(header).\(claims).\(Base64URL.encode(signature))"
    }

    func registered(
        environment: SimulatorConfiguration.Environment? = nil,
        topics: [String] = []
    ) throws -> ProviderKey {
        try ProviderKey(pem: key.pem, keyID: keyID, teamID: teamID, environment: environment, topics: topics)
    }
}
