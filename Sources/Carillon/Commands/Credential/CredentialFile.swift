import CarillonPushQueue
import CarillonTLS

/// Reads credential files in any of the usual formats, and returns the strings that are stored.
struct CredentialFile {
    let path: String
    let bytes: [UInt8]
    let keyPath: String?
    let keyBytes: [UInt8]?
    let keyID: String?
    let teamID: String?
    let passphrase: String?

    func read() throws -> CredentialText {
        let labels = PEM(bytes).blocks.map(\.label)
        if labels.contains(where: { $0.hasSuffix("CERTIFICATE") }) { return try certificate() }
        if labels.contains(where: { $0.hasSuffix("PRIVATE KEY") }) { return try signingKey() }
        // DER begins with a sequence, and so does a file exported from a Mac's keychain.
        if bytes.first == 0x30 { return try bundle() }
        throw CommandError(
            .configuration,
            "The file \(path) has no credential that can be read.",
            hint: "Give a certificate in PEM (-----BEGIN CERTIFICATE-----), a .p12, or Apple's AuthKey_....p8."
        )
    }

    private func certificate() throws -> CredentialText {
        try refuseKeyID(for: "a certificate")
        return CredentialText(
            certificate: String(decoding: bytes, as: UTF8.self),
            privateKey: keyBytes.map { String(decoding: $0, as: UTF8.self) },
            passphrase: passphrase
        )
    }

    private func bundle() throws -> CredentialText {
        try refuseKeyID(for: "a .p12")
        if keyPath != nil { throw UsageError("--key cannot be combined with a .p12, which contains its key.") }
        let (certificate, privateKey) = try PKCS12.open(bytes, passphrase: Array((passphrase ?? "").utf8))
        // The strings are decrypted, so the passphrase is no longer needed.
        return CredentialText(certificate: certificate, privateKey: privateKey)
    }

    private func signingKey() throws -> CredentialText {
        if let keyPath {
            throw UsageError("\(path) is a private key, and so is \(keyPath): --file takes the certificate.")
        }
        guard let keyID = keyID ?? keyIDInName, let teamID else {
            throw UsageError(
                "\(path) is a private key alone. For a signing key (.p8) give --key-id and --team-id too; "
                    + "for a certificate's key give the certificate with --file and the key with --key."
            )
        }
        try Self.check(keyID, "--key-id")
        try Self.check(teamID, "--team-id")
        return CredentialText(privateKey: String(decoding: bytes, as: UTF8.self), keyID: keyID, teamID: teamID)
    }

    /// Apple puts the key ID into the file name: AuthKey_ABC123DEFG.p8.
    private var keyIDInName: String? {
        guard let name = path.split(separator: "/").last, name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else {
            return nil
        }
        let id = String(name.dropFirst("AuthKey_".count).dropLast(".p8".count))
        return Self.isIdentifier(id) ? id : nil
    }

    private func refuseKeyID(for what: String) throws {
        guard keyID != nil || teamID != nil else { return }
        throw UsageError("--key-id and --team-id belong to a signing key (.p8), and \(path) is \(what).")
    }

    static func check(_ identifier: String, _ flag: String) throws {
        guard !isIdentifier(identifier) else { return }
        throw UsageError(
            "\(flag) takes the ten capital letters and digits that Apple shows for it, not '\(identifier)'."
        )
    }

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10 && text.allSatisfy { $0.isASCII && ($0.isUppercase || $0.isNumber) }
    }
}
