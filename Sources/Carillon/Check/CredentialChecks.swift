import IO
import Postgres
import PushQueue

/// Looks at the credentials as a worker would: whether each can be read, its key fits, and until when it is valid.
struct CredentialChecks {
    let connection: PostgresConnection

    func run() async -> [Finding] {
        let store = CredentialStore(connection)
        do {
            let credentials = try await store.list()
            guard !credentials.isEmpty else {
                return [
                    .warning(
                        "credential",
                        "There is none yet.",
                        remedy: "Import one: 'carillon credential import NAME --file FILE'."
                    )
                ]
            }
            var findings: [Finding] = []
            for credential in credentials { findings.append(Self.finding(try await store.check(credential.name))) }
            return findings
        } catch {
            return [.failed("credential", error)]
        }
    }

    private static func finding(_ credential: StoredCredential) -> Finding {
        let text = "\(credential.name): " + (credential.lastError ?? credential.sentence).asSentence
        let renewal = "Renew it and 'carillon credential import \(credential.name)'; workers use it within seconds."
        return switch credential.status {
        case "ok": .ok("credential", text)
        case "expiring": .warning("credential", text + " It expires soon.", remedy: renewal)
        case "expired" where !credential.apps.isEmpty: .failed("credential", text + " It has expired.", remedy: renewal)
        case "expired":
            .warning(
                "credential",
                text + " It has expired, and no app uses it.",
                remedy: "Remove it or import a new one."
            )
        default:
            .failed("credential", text, remedy: "Import it again: 'carillon credential import \(credential.name)'.")
        }
    }
}
