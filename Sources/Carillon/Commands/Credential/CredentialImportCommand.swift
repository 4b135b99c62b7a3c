import ApplePush
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonTLS
import CarillonText

extension Command {
    static let credentialImport = Command(
        "credential import",
        roles: [],
        summary: "Check a certificate or signing key, and store it in the database.",
        discussion:
            "Reads the files once; workers read only the database. Importing under an existing name replaces that "
            + "credential, and running workers use the new one within seconds. If apps use the credential and the "
            + "new certificate does not cover their topics, the command asks first, unless --yes is given.",
        arguments: [Argument("NAME", "The name to give to 'app add --credential'.")],
        required: [.file],
        options: [.key, .keyID, .teamID, .passphrase, .yes, .database],
        examples: [
            "carillon credential import acme --file acme.p12 --passphrase-file passphrase.txt",
            "carillon credential import acme --file cert.pem --key key.pem",
            "carillon credential import team --file AuthKey_ABC123DEFG.p8 --key-id ABC123DEFG --team-id DEF123GHIJ",
        ],
        run: { try await CredentialImportCommand(invocation: $0).run() }
    )
}

private struct CredentialImportCommand {
    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let text = try read()
        let stored = try await DatabaseScope.with(invocation) { connection, _ in
            try await agree(to: text, connection)
            return try await CredentialStore(connection).save(text, as: invocation.name)
        }
        if stored.status == .expiring, let end = stored.notAfter {
            invocation.console.warn("The certificate expires on \(end.day); renew it soon.")
        }
        if let certificate = text.certificate, let facts = try? CertificateFacts(pem: certificate), !facts.isApple {
            invocation.console.warn(
                "The certificate is not Apple's (issued by \(facts.issuer)). A simulator or a private gateway may accept "
                    + "it; APNs will refuse it."
            )
        }
        invocation.console.print("Imported \(invocation.name): \(stored.sentence)")
        return .done
    }

    /// Asks for confirmation if the new certificate does not cover a topic of an app that uses the credential.
    private func agree(to text: CredentialText, _ connection: PostgresConnection) async throws {
        let topics = try text.credential().facts.topics
        let current = try await CredentialStore(connection).ifAny(named: invocation.name)
        let apps = try await AppStore(connection).list().filter { $0.settings.credential == invocation.name }
        let lost = apps.map { app in
            // If the stored certificate does not cover a topic either, nothing gets worse.
            let lost = app.allTopics.filter {
                StoredCredential.allows($0, among: current?.topics ?? []) && !StoredCredential.allows($0, among: topics)
            }
            return (app: app, topics: lost)
        }.filter { !$0.topics.isEmpty }
        guard !lost.isEmpty else { return }
        let names = Counted.list(lost.map { "\($0.name) (\($1.joined(separator: ", ")))" })
        let waiting = try await AppStore(connection).pending(of: lost.map(\.app))
        try Confirmation(invocation: invocation).obtain(
            "The new certificate is for \(Counted.list(topics)), so APNs would refuse the pushes of "
                + "\(lost.count == 1 ? "an app that uses" : "\(lost.count) apps that use") \(invocation.name): \(names). "
                + "\(Counted.text(waiting, "job is", "jobs are")) waiting."
        )
    }

    /// The content of the files, checked before the database is used.
    private func read() throws -> CredentialText {
        let settings = invocation.settings
        let path = settings.required(.file)
        do {
            let text = try CredentialFile(
                path: path,
                bytes: SmallFile.read(path).bytes,
                keyPath: settings.text(.key),
                keyBytes: settings.text(.key).map { path throws(FileError) in try SmallFile.read(path).bytes },
                keyID: settings.text(.keyID),
                teamID: settings.text(.teamID),
                passphrase: settings.text(.passphrase)
            ).read()
            _ = try text.credential()
            return text
        } catch let error as TLSError {
            let status: ExitStatus = error.code == .exhausted ? .tryAgain : .configuration
            throw CommandError(status, error.message.asSentence, hint: Self.hint(for: error))
        } catch let error as SettingsError {
            let cause = (error.underlying as? PushError)?.underlying as? TLSError
            let status: ExitStatus = error.code == .exhausted ? .tryAgain : .configuration
            throw CommandError(status, error.message.asSentence, hint: cause.flatMap(Self.hint))
        }
    }

    private static func hint(for error: TLSError) -> String? {
        switch error.code {
        case .passphraseNeeded, .wrongPassphrase: "Put the passphrase into a file and name that with --passphrase-file."
        case .missingKey: "Name the file of the key with --key."
        default: nil
        }
    }
}
