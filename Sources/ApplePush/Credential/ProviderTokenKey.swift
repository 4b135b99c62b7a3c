import CarillonTLS
import CarillonText

/// The key that signs a team's provider tokens.
public struct ProviderTokenKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The key's identifier.
    public let keyID: String

    /// The team's identifier.
    public let teamID: String

    private let signingKey: SigningKey

    init(_ signingKey: SigningKey, keyID: String, teamID: String) throws(PushError) {
        try Self.check(keyID, is: "key identifier")
        try Self.check(teamID, is: "team identifier")
        self.signingKey = signingKey
        self.keyID = keyID
        self.teamID = teamID
    }

    private static func check(_ text: String, is what: String) throws(PushError) {
        guard text.utf8.count == 10, text.utf8.allSatisfy(\.isLetterOrDigit) else {
            throw PushError(
                .invalidCredential,
                "The \(what) is ten letters and digits, as Apple's developer pages show it beside the key."
            )
        }
    }

    /// Makes a new token.
    ///
    /// - Parameter now: The time in seconds since 1970.
    public func mint(at now: Int64) -> ProviderToken {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(now)}"#.utf8))
        let signature = Base64URL.encode(signingKey.sign(Array("\(header).\(claims)".utf8)))
        return ProviderToken(jwt: "\(header).\(claims).\(signature)", issuedAt: now)
    }

    package var digest: [UInt8] {
        let identity = Array("\(keyID) \(teamID) \(signingKey.publicKey.pem)".utf8)
        // Safe: the array stays alive and unchanged during the call.
        return unsafe Digest.sha256(identity.span.bytes)
    }

    /// The identifiers of the key and the team. The key is a secret.
    public var description: String { "the signing key \(keyID) of team \(teamID)" }

    /// Only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
