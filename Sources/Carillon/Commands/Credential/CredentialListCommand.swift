import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText

extension Command {
    static let credentialList = Command(
        "credential list",
        roles: ["carillon_worker"],
        summary: "List the credentials, without their secrets.",
        options: [.json, .database],
        run: { invocation in
            let credentials = try await DatabaseScope.with(invocation) { connection, _ in
                try await CredentialStore(connection).list()
            }
            invocation.show(credentials.json) { console in
                let table = TextTable(
                    credentials,
                    .left("CREDENTIAL") { $0.name },
                    .left("KIND") { $0.keyID.map { "key \($0)" } ?? "certificate" },
                    .left("TOPICS") { $0.topics.isEmpty ? "-" : $0.topics.joined(separator: ",") },
                    .left("EXPIRES") { $0.notAfter?.day ?? "-" },
                    .left("STATUS") { $0.status?.rawValue ?? "not checked" },
                    .left("APPS") { $0.apps.isEmpty ? "-" : $0.apps.map(\.listed).joined(separator: ",") }
                )
                console.print(table)
            }
            return .done
        }
    )
}

extension String {
    /// Quoted if it would be ambiguous in a list with commas: any text can be a name.
    fileprivate var listed: String {
        let isPlain = !contains { $0 == "," || $0 == "\"" || $0.isWhitespace }
        return isPlain ? self : "\"" + replacing("\"", with: "\\\"") + "\""
    }
}

extension StoredCredential: JSONConvertible {
    var json: JSONValue {
        [
            "name": name, "kind": kind.rawValue, "key_id": keyID, "team_id": teamID, "topics": topics,
            "not_after": notAfter, "status": status?.rawValue, "last_error": lastError, "apps": apps,
        ]
    }
}
