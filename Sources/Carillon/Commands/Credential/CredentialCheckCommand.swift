import CarillonPushQueue
import CarillonSchema
import CarillonText

extension Command {
    static let credentialCheck = Command(
        "credential check",
        roles: ["carillon_worker"],
        summary: "Check the stored credentials, and say what is wrong with them.",
        arguments: [Argument("NAME", required: false, "The credential; by default, all of them.")],
        options: [.database],
        run: { invocation in
            let credentials = try await DatabaseScope.with(invocation) { connection, _ in
                let store = CredentialStore(connection)
                let names = invocation.arguments.isEmpty ? try await store.list().map(\.name) : invocation.arguments
                var checked: [StoredCredential] = []
                for name in names { checked.append(try await store.check(name)) }
                return checked
            }
            for credential in credentials {
                invocation.console.print(credential.finding(for: invocation.console.output))
            }
            return credentials.allSatisfy(\.isUsable) ? .done : .configuration
        }
    )
}

extension StoredCredential {
    fileprivate var isUsable: Bool { status == .ok || status == .expiring }

    fileprivate func finding(for stream: TextStream) -> String {
        let mark = isUsable ? stream.styled("ok", .green) : stream.styled("unusable", .red)
        let advice =
            switch status {
            case .expiring: " It expires soon: renew it."
            case .expired: " It has expired: renew it and import the new one."
            default: ""
            }
        return "\(name): \(mark): \((lastError ?? sentence).asSentence)\(advice)"
    }
}
