import TLS

@testable import Simulator

/// A provider with a key of its own, who mints tokens well or badly.
struct TestProvider {
    let key: SigningKey
    var keyID = "ABC123DEFG"
    var teamID = "DEF123GHIJ"

    init(keyID: String = "ABC123DEFG", teamID: String = "DEF123GHIJ") throws {
        self.key = try SigningKey.generate()
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

    func registered(environment: SimulatorConfiguration.Environment? = nil) throws -> ProviderKey {
        try ProviderKey(pem: key.pem, keyID: keyID, teamID: teamID, environment: environment)
    }
}
