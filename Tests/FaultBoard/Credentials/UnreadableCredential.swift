import TestSupport

/// Unusable contents of a credential's row, as SQL for its columns.
struct UnreadableCredential: Sendable {
    let certificate: String
    let privateKey: String?
    var passphrase: String?
    var isSigningKey = false
    /// Its `last_error`.
    let sentence: String

    /// All of them.
    /// - Parameters:
    ///   - certificate: a good one, of another key than `key`.
    static func all(beside certificate: String, _ key: String) -> [UnreadableCredential] {
        [
            Self(
                certificate: certificate,
                privateKey: TestKeys.encrypted,
                passphrase: Self.secret,
                sentence: "the passphrase does not open the private key"
            ), Self(certificate: certificate, privateKey: TestKeys.encrypted, sentence: "is encrypted"),
            Self(certificate: "PEM? \u{1F511}", privateKey: key, sentence: "certificate"),
            Self(certificate: certificate, privateKey: Self.garbage, sentence: "cannot be read"),
            Self(certificate: Self.garbage, privateKey: key, sentence: "certificate"),
            Self(certificate: certificate, privateKey: nil, sentence: "there is no private key"),
            // N13: a key of another certificate.
            Self(certificate: certificate, privateKey: key, sentence: "does not belong to the certificate"),
            Self(certificate: "", privateKey: TestKeys.p384, isSigningKey: true, sentence: "on P-256"),
            Self(certificate: "", privateKey: Self.garbage, isSigningKey: true, sentence: "cannot be read"),
            Self(certificate: "", privateKey: "no key at all", isSigningKey: true, sentence: "not a private key"),
        ]
    }

    /// The SQL that writes it into the row of that name.
    func update(of name: String) -> String {
        func quoted(_ text: String?) -> String { text.map(OddRow.quoted) ?? "NULL" }
        return """
            UPDATE carillon.certificates SET certificate = \(quoted(certificate.isEmpty ? nil : certificate)),
                private_key = \(quoted(privateKey)), passphrase = \(quoted(passphrase)),
                key_id = \(quoted(isSigningKey ? Scene.keyID : nil)),
                team_id = \(quoted(isSigningKey ? Scene.teamID : nil))
            WHERE name = \(quoted(name))
            """
    }

    /// Not the passphrase of the key.
    static let secret = "canary-passphrase-17"

    private static let garbage = """
        -----BEGIN PRIVATE KEY-----
        bm90IGEga2V5IGF0IGFsbA==
        -----END PRIVATE KEY-----
        -----BEGIN CERTIFICATE-----
        bm90IGEgY2VydGlmaWNhdGU=
        -----END CERTIFICATE-----
        """
}
