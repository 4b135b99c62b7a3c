import FoundationEssentials
import Postgres
import TLS

extension Command {
    static let credentialCheck = Command(
        "credential",
        "check",
        summary: "Look at stored credentials as a worker would, and say what is wrong with each.",
        arguments: [Argument("NAME", required: false, "One credential; without it all of them.")],
        options: [.database],
        run: { try await CredentialCheck(invocation: $0).run() }
    )
}

private struct CredentialCheck {
    private static let load = Statement(
        "credential_load",
        """
        SELECT name, certificate, private_key, passphrase, key_id, team_id FROM carillon.certificates
        WHERE $1::text IS NULL OR name = $1 ORDER BY name
        """
    )

    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let isSound = try await DatabaseScope.with(invocation) { connection, _ in
            var isSound = true
            for (name, credential) in try await load(on: connection) {
                if try await !check(name, credential, on: connection) { isSound = false }
            }
            return isSound
        }
        return isSound ? .done : .configuration
    }

    private func load(on connection: PostgresConnection) async throws -> [(String, StoredCredential)] {
        var parameters = Parameters()
        parameters.append(invocation.arguments.first)
        let found = try await connection.query(Self.load, parameters) { rows in
            try rows.indices.map { row in
                (
                    try rows.string(row, 0),
                    StoredCredential(
                        certificate: try rows.stringIfPresent(row, 1),
                        privateKey: try rows.stringIfPresent(row, 2),
                        passphrase: try rows.stringIfPresent(row, 3),
                        keyID: try rows.stringIfPresent(row, 4),
                        teamID: try rows.stringIfPresent(row, 5)
                    )
                )
            }
        }
        if let name = invocation.arguments.first, found.isEmpty { throw CommandError.noCredential(name) }
        return found
    }

    /// Says a line and writes the verdict down. Whether the credential can be used.
    private func check(
        _ name: String,
        _ credential: StoredCredential,
        on connection: PostgresConnection
    ) async throws -> Bool {
        let verdict: StoredCredential.Verdict
        do {
            verdict = try credential.check()
        } catch {
            invocation.console.print("\(name): \(mark(false)) \(error.message.asSentence)")
            try await CredentialTable.note(name, problem: error.message, on: connection)
            return false
        }
        try await CredentialTable.note(name, verdict, on: connection)
        let now = Int64(Date.now.timeIntervalSince1970)
        let status = CredentialStatus(notAfter: verdict.notAfter, now: now)
        let advice =
            switch status {
            case .ok: ""
            case .expiring: " It expires soon: renew it."
            case .expired: " It has expired: renew it and import the new one."
            }
        invocation.console.print("\(name): \(mark(status != .expired)) \(verdict.sentence.asSentence)\(advice)")
        return status != .expired
    }

    private func mark(_ isSound: Bool) -> String {
        let output = invocation.console.output
        return isSound ? output.styled("ok", .green) : output.styled("unusable", .red)
    }
}

extension CommandError {
    static func noCredential(_ name: String) -> CommandError {
        CommandError(
            .failed,
            "There is no credential named '\(name)'.",
            hint: "'carillon credential list' shows those there are; 'carillon credential import' adds one."
        )
    }
}
