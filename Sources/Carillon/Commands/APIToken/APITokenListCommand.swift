import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let apiTokenList = Command(
        "api-token list",
        roles: ["carillon_reader"],
        summary: "List the API tokens, without their secrets.",
        options: [.app, .json, .database],
        examples: ["carillon api-token list --app acme"],
        run: { invocation in
            let parameters = Parameters(invocation.settings.text(.app))
            let tokens: [APITokenRecord] = try await DatabaseScope.with(invocation) { connection, _ in
                try await connection.values(of: list, parameters)
            }
            invocation.show(tokens.json) { console in
                guard !tokens.isEmpty else {
                    console.print("There are no API tokens.")
                    return
                }
                let table = TextTable(
                    tokens,
                    .left("APP") { $0.app },
                    .left("NAME") { $0.name },
                    .left("RIGHTS") { $0.rights.joined(separator: ",") },
                    .left("EXPIRES") { $0.expiresAt?.text ?? "never" },
                    .left("LAST USED") { $0.lastUsedAt?.text ?? "-" }
                )
                console.print(table)
            }
            return .done
        }
    )

    private struct APITokenRecord: Record {
        let app: String
        let name: String
        let rights: [String]
        let expiresAt: Moment?
        let lastUsedAt: Moment?
        let json: JSONValue
    }

    private static let list = Statement(
        "api_token_list",
        """
        SELECT a.name AS app, t.name, t.rights, t.expires_at, t.last_used_at, t.created_at
        FROM carillon.api_tokens t JOIN carillon.apps a ON a.id = t.app_id
        WHERE $1::text IS NULL OR a.name = $1 ORDER BY a.name, t.name
        """
    )
}
