package import ApplePush
import CarillonPostgres

/// The text of a credential: a certificate with its key, or a signing key.
package struct CredentialText: Decodable, Equatable, Sendable {
    /// PEM, the leaf and its chain, perhaps with the key.
    package var certificate: String?
    /// PEM, or the text of a `.p8`.
    package var privateKey: String?
    package var passphrase: String?
    package var keyID: String?
    package var teamID: String?

    package init(
        certificate: String? = nil,
        privateKey: String? = nil,
        passphrase: String? = nil,
        keyID: String? = nil,
        teamID: String? = nil
    ) {
        self.certificate = certificate
        self.privateKey = privateKey
        self.passphrase = passphrase
        self.keyID = keyID
        self.teamID = teamID
    }

    /// Throws if the parts are not complete, or do not go together.
    package func credential() throws(SettingsError) -> Credential {
        do {
            if keyID != nil || teamID != nil { return try signingKey() }
            if let certificate {
                return try Credential(certificate: certificate, privateKey: privateKey, passphrase: passphrase)
            }
        } catch let error as PushError {
            throw SettingsError(error.code == .exhausted ? .exhausted : .invalid, error.message, underlying: error)
        } catch {
            throw SettingsError(error)
        }
        throw SettingsError(
            .invalid,
            privateKey == nil
                ? "A credential is a certificate with its key, or a signing key with its key id and team id."
                : "A key alone is not a credential: a signing key (.p8) needs its key id and team id, any other key needs its "
                    + "certificate."
        )
    }

    /// The same for a worker, as the hold of the apps with the credential.
    func usable() throws(Hold) -> Credential {
        do {
            return try credential()
        } catch {
            throw Hold(error.code == .exhausted ? .connection : .credential, error.message)
        }
    }

    /// For `carillon.credential_input`.
    func row(named name: String) -> CopyRows {
        var row = CopyRows()
        row.begin(columns: 6)
        for part in [name, certificate, privateKey, passphrase, keyID, teamID] { row.append(part) }
        return row
    }

    private func signingKey() throws -> Credential {
        guard let keyID, let teamID else {
            throw SettingsError(.invalid, "Key id and team id go together: a signing key needs both.")
        }
        guard let privateKey else {
            throw SettingsError(.invalid, "Key id and team id belong to a signing key (.p8), which is missing.")
        }
        if certificate != nil {
            throw SettingsError(
                .invalid,
                "A credential is a certificate or a signing key, not both: leave out the key id and team id, or the "
                    + "certificate."
            )
        }
        return try Credential(signingKey: privateKey, keyID: keyID, teamID: teamID)
    }
}

extension CredentialText: CustomStringConvertible, CustomReflectable {
    /// The kind of the credential, without secrets.
    package var description: String { keyID == nil ? "a certificate" : "a signing key" }

    package var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
