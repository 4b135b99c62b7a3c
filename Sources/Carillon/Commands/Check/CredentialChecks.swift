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
        return credentials.map(Self.line) + (await CheckLine.of("topic") { try await mismatches(credentials) })
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

    private static func line(_ credential: StoredCredential) -> CheckLine {
        let text = "\(credential.name): " + (credential.lastError ?? credential.sentence).asSentence
        let renewal =
            "Renew it, and import it: 'carillon credential import \(credential.name.shellQuoted)'. Workers use it within seconds."
        return switch credential.status {
        case .ok: .ok(text)
        case .rejected:
            .failed(
                text,
                remedy: "Import one that APNs accepts: 'carillon credential import \(credential.name.shellQuoted)'."
            )
        case .expiring: .warning(text + " It expires soon.", remedy: renewal)
        case .expired where !credential.apps.isEmpty: .failed(text + " It has expired.", remedy: renewal)
        case .expired:
            .warning(
                text + " It has expired, and no app uses it.",
                remedy: "Remove it or import a new one."
            )
        default:
            .failed(
                text,
                remedy: "Import it again: 'carillon credential import \(credential.name.shellQuoted)'."
            )
        }
    }
}
