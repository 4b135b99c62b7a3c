/// What may stand in a credential's row and is none, as plain SQL for its columns.
struct UnreadableCredential: Sendable {
    let certificate: String
    let privateKey: String?
    var passphrase: String?
    var isSigningKey = false
    /// What is said of it.
    let sentence: String

    /// All of them.
    /// - Parameters:
    ///   - certificate: a good one, which `key` does not belong to.
    static func all(beside certificate: String, _ key: String) -> [UnreadableCredential] {
        [
            Self(
                certificate: certificate,
                privateKey: Self.encryptedKey,
                passphrase: Self.secret,
                sentence: "the passphrase does not open the private key"
            ), Self(certificate: certificate, privateKey: Self.encryptedKey, sentence: "is encrypted"),
            Self(certificate: "PEM? \u{1F511}", privateKey: key, sentence: "certificate"),
            Self(certificate: certificate, privateKey: Self.garbage, sentence: "cannot be read"),
            Self(certificate: Self.garbage, privateKey: key, sentence: "certificate"),
            Self(certificate: certificate, privateKey: nil, sentence: "there is no private key"),
            // N13: a key, and not the certificate's.
            Self(certificate: certificate, privateKey: key, sentence: "does not belong to the certificate"),
            Self(certificate: "", privateKey: Self.p384Key, isSigningKey: true, sentence: "on P-256"),
            Self(certificate: "", privateKey: Self.garbage, isSigningKey: true, sentence: "cannot be read"),
            Self(certificate: "", privateKey: "no key at all", isSigningKey: true, sentence: "not a private key"),
        ]
    }

    /// How to write it into the row of that name.
    func update(of name: String) -> String {
        func quoted(_ text: String?) -> String { text.map(OddRow.quoted) ?? "NULL" }
        return """
            UPDATE carillon.certificates SET certificate = \(quoted(self.certificate.isEmpty ? nil : self.certificate)),
                private_key = \(quoted(self.privateKey)), passphrase = \(quoted(self.passphrase)),
                key_id = \(quoted(self.isSigningKey ? Scene.keyID : nil)),
                team_id = \(quoted(self.isSigningKey ? Scene.teamID : nil))
            WHERE name = \(quoted(name))
            """
    }

    /// Not the passphrase of the key below.
    static let secret = "canary-passphrase-17"

    private static let garbage = """
        -----BEGIN PRIVATE KEY-----
        bm90IGEga2V5IGF0IGFsbA==
        -----END PRIVATE KEY-----
        -----BEGIN CERTIFICATE-----
        bm90IGEgY2VydGlmaWNhdGU=
        -----END CERTIFICATE-----
        """

    private static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiq3qowri1ivwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHhsdOs+Zv5m9/xi7exdCSAEgZA7
        vjid7OCMAX4uB3fGIiIsj5Rp6nyIV6s38RmoSlpBHxlcaVSvwDpOwKrNnFa7tshf
        8Q/uKraANgEPP7v6SCkPEeOfe2LDD7RdM+AGUIbDb3r+d1V3LSj1okjOFW6t8Tcz
        PzH9n4VtFw2L213VKIkP0XH9AwtW+67/7AtaPhYZMzioTPQNpQJuF7Z6Apx05vo=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    private static let p384Key = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCVPE4lXty2PYExyPnn
        VhFruM0LDfWhAaSf5g0HvXcPnwPahX62mVer2pC2TL48AmShZANiAAReWeccUMtn
        jYDisG31x8FTzUP3xuWxnqrJAFw9n4/dUuHehIeUGgPU+UTrpjtlVwvw+61JqZXv
        /8HMxjpv2p57Z5sGf4NHiA4UQi+XOXqW6wbP6j8dXO/yUXQSS+S0bmo=
        -----END PRIVATE KEY-----
        """
}
