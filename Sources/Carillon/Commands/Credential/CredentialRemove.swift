import Postgres

extension Command {
    static let credentialRemove = Command(
        "credential",
        "remove",
        summary: "Remove a credential that no app uses.",
        arguments: [Argument("NAME", "The credential.")],
        options: [.database],
        run: { invocation in
            var parameters = Parameters()
            parameters.append(invocation.name)
            do {
                let removed = try await DatabaseScope.with(invocation) { [parameters] connection, _ in
                    try await connection.execute(credentialRemoval, parameters)
                }
                guard removed > 0 else { throw CommandError.noCredential(invocation.name) }
            } catch let error as PostgresError where error.sqlState == SQLState.foreignKeyViolation {
                throw CommandError(
                    .failed,
                    "The credential '\(invocation.name)' is in use by an app.",
                    hint: "'carillon app list' shows by which; remove that app first, or import a new credential "
                        + "under the same name to replace this one."
                )
            }
            invocation.console.print("Removed the credential \(invocation.name).")
            return .done
        }
    )

    private static let credentialRemoval = Statement(
        "credential_remove",
        "DELETE FROM carillon.certificates WHERE name = $1"
    )
}
