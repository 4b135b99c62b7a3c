import CarillonPostgres
import CarillonText

extension Command {
    static let apiTokenRemove = Command(
        "api-token remove",
        roles: [],
        summary: "Remove an API token. Requests that use it are refused from then on.",
        arguments: [Argument("NAME", "The name of the token.")],
        required: [.app],
        options: [.database],
        examples: ["carillon api-token remove --app acme 'newsletter service'"],
        run: { invocation in
            let app = invocation.settings.required(.app)
            let parameters = Parameters(app, invocation.name)
            let isRemoved = try await DatabaseScope.with(invocation) { connection, _ in
                try await connection.query(remove, parameters) { rows in try rows.bool(0, 0) }
            }
            guard isRemoved else {
                throw CommandError(
                    .failed,
                    "The app \(app) has no API token \(invocation.name).",
                    hint: "'carillon api-token list --app \(app.shellQuoted)' lists them."
                )
            }
            invocation.console.print("Removed the API token \(invocation.name).")
            return .done
        }
    )

    private static let remove = Statement("api_token_remove", "SELECT carillon.remove_api_token($1, $2)")
}
