import CarillonPushQueue

extension Command {
    static let credentialRemove = Command(
        "credential remove",
        roles: [],
        summary: "Remove a credential that no app uses.",
        arguments: [Argument("NAME", "The credential.")],
        options: [.database],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, _ in
                try await CredentialStore(connection).remove(invocation.name)
            }
            invocation.console.print("Removed the credential \(invocation.name).")
            return .done
        }
    )
}
