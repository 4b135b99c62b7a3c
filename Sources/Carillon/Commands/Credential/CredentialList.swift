import PushQueue

extension Command {
    static let credentialList = Command(
        "credential",
        "list",
        summary: "List the credentials, without their secrets.",
        options: [.json, .database],
        run: { invocation in
            let credentials = try await DatabaseScope.with(invocation) { connection, _ in
                try await CredentialStore(connection).list()
            }
            if invocation.settings.isOn(.json) {
                invocation.console.print(.array(credentials.map(\.json)))
                return .done
            }
            var table = TextTable(
                ("CREDENTIAL", .left),
                ("KIND", .left),
                ("TOPICS", .left),
                ("EXPIRES", .left),
                ("STATUS", .left),
                ("APPS", .left)
            )
            for credential in credentials {
                table.add(
                    credential.name,
                    credential.keyID.map { "key \($0)" } ?? "certificate",
                    credential.topics.isEmpty ? "-" : credential.topics.joined(separator: ","),
                    credential.notAfter.map(UnixTimeText.day) ?? "-",
                    credential.status ?? "not checked",
                    credential.apps.isEmpty ? "-" : credential.apps.map(\.listed).joined(separator: ",")
                )
            }
            invocation.console.print(table)
            return .done
        }
    )
}

extension StoredCredential {
    fileprivate var json: JSONValue {
        .object([
            ("name", .string(name)), ("kind", .string(kind.rawValue)), ("key_id", JSONValue(keyID)),
            ("team_id", JSONValue(teamID)), ("topics", .array(topics.map { .string($0) })),
            ("not_after", JSONValue(notAfter.map(UnixTimeText.day))), ("status", JSONValue(status)),
            ("last_error", JSONValue(lastError)), ("apps", .array(apps.map { .string($0) })),
        ])
    }
}
