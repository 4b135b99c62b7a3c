import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText

/// Checks that each credential can be read, that its key fits, and how long it is valid.
struct CredentialChecks {
    let connection: PostgresConnection

    func run() async throws -> [CheckLine] {
        let store = CredentialStore(connection)
        let credentials = try await store.inspect()
        guard !credentials.isEmpty else {
            return [
                .warning(
                    "There is no credential yet.",
                    remedy: "Import one: 'carillon credential import NAME --file FILE'."
                )
            ]
        }
        let now = try await connection.query(CheckStatements.now) { rows in try rows.moment(0, 0) }
        let lines = credentials.map { Self.line($0, at: now) }
        return lines + (await CheckLine.of("topic") { try await mismatches(credentials) })
    }

    /// Apps whose certificate does not cover one of their topics.
    private func mismatches(_ credentials: [StoredCredential]) async throws -> [CheckLine] {
        try await AppStore(connection).list().flatMap { app -> [CheckLine] in
            let credential = credentials.first { $0.name == app.settings.credential }
            return (credential?.mismatches(with: app) ?? []).map { mismatch in
                .warning(
                    "\(app.name): \(mismatch)",
                    remedy:
                        "Run 'carillon app set \(app.name.shellQuoted)' with other topics, or import the certificate of "
                        + "that topic."
                )
            }
        }
    }

    private static func line(_ credential: StoredCredential, at now: Moment) -> CheckLine {
        // The row of a rejected one may say infinity.
        let left = credential.notAfter.map { ($0.microseconds &- now.microseconds) / 1_000_000 }
        let finding = credential.status?.finding(
            of: credential.name,
            expiresIn: left,
            error: credential.lastError,
            isUsed: !credential.apps.isEmpty
        )
        guard let finding else { return .ok("\(credential.name): " + credential.sentence.asSentence) }
        // A worker can use one that expires soon.
        return finding.severity == .critical && credential.status != .expiring
            ? .failed(finding.sentence, remedy: finding.remedy) : .warning(finding.sentence, remedy: finding.remedy)
    }
}
