import FoundationEssentials
import Postgres
import TLS

extension Command {
    static let credentialImport = Command(
        "credential",
        "import",
        summary: "Store a certificate or signing key in the database, after a check.",
        discussion: "The files are read once; workers read the database only. Importing under a name that exists "
            + "replaces that credential, and running workers take up the new one within seconds.",
        arguments: [Argument("NAME", "The name that 'app add --credential' will know it by.")],
        required: [.file],
        options: [.key, .keyID, .teamID, .passphrase, .database],
        examples: [
            "carillon credential import shop --file shop.p12 --passphrase-file passphrase.txt",
            "carillon credential import shop --file cert.pem --key key.pem",
            "carillon credential import team --file AuthKey_ABC123DEFG.p8 --key-id ABC123DEFG --team-id DEF123GHIJ",
        ],
        run: { try await CredentialImport(invocation: $0).run() }
    )
}

private struct CredentialImport {
    private static let store = Statement(
        "credential_store",
        """
        INSERT INTO carillon.certificates AS c (name, certificate, private_key, passphrase, key_id, team_id)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (name) DO UPDATE SET certificate = excluded.certificate, private_key = excluded.private_key,
            passphrase = excluded.passphrase, key_id = excluded.key_id, team_id = excluded.team_id
        RETURNING xmax <> 0
        """
    )

    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let (credential, verdict) = try readAndCheck()
        var parameters = Parameters()
        parameters.append(invocation.name)
        parameters.append(credential.certificate)
        parameters.append(credential.privateKey)
        parameters.append(credential.passphrase)
        parameters.append(credential.keyID)
        parameters.append(credential.teamID)
        let wasThere = try await DatabaseScope.with(invocation) { [parameters] connection, _ in
            let wasThere = try await connection.query(Self.store, parameters) { rows in try rows.bool(0, 0) }
            try await CredentialTable.note(invocation.name, verdict, on: connection)
            return wasThere
        }
        invocation.console.print("\(wasThere ? "Replaced" : "Imported") \(invocation.name): \(verdict.sentence)")
        return .done
    }

    private func readAndCheck() throws -> (StoredCredential, StoredCredential.Verdict) {
        do {
            let credential = try read()
            return (credential, try check(credential))
        } catch let error as TLSError {
            throw CommandError(.configuration, error.message.asSentence, hint: Self.hint(for: error.code))
        }
    }

    private static func hint(for code: TLSError.Code) -> String? {
        switch code {
        case .passphraseNeeded, .wrongPassphrase: "Put the passphrase into a file and name that with --passphrase-file."
        case .missingKey: "Name the file of the key with --key."
        default: nil
        }
    }

    private func read() throws -> StoredCredential {
        let settings = invocation.settings
        let path = settings.text(.file) ?? ""
        return try CredentialFile(
            path: path,
            bytes: SmallFile.read(path).bytes,
            keyPath: settings.text(.key),
            keyBytes: settings.text(.key).map { path throws(FileError) in try SmallFile.read(path).bytes },
            keyID: settings.text(.keyID),
            teamID: settings.text(.teamID),
            passphrase: settings.text(.passphrase)
        ).read()
    }

    private func check(_ credential: StoredCredential) throws -> StoredCredential.Verdict {
        let verdict = try credential.check()
        guard case .certificate(let facts) = verdict else { return verdict }
        switch CredentialStatus(notAfter: facts.notAfter, now: Int64(Date.now.timeIntervalSince1970)) {
        case .expired:
            throw CommandError(
                .configuration,
                "The certificate of \(facts.subject) expired on \(UnixDay.text(facts.notAfter)).",
                hint: "Renew it at developer.apple.com, and import the new one."
            )
        case .expiring:
            invocation.console.warn("The certificate expires on \(UnixDay.text(facts.notAfter)); renew it soon.")
        case .ok: break
        }
        if !facts.isApple {
            invocation.console.warn(
                "The certificate is not Apple's (issued by \(facts.issuer)): it is good for a simulator or a private "
                    + "gateway, and APNs will refuse it."
            )
        }
        return verdict
    }
}
