import CarillonIO
import CarillonPostgres
import CarillonText

extension Command {
    static let apiTokenCreate = Command(
        "api-token create",
        roles: [],
        summary: "Create a token with which a program uses the HTTP API for one app, and print it.",
        discussion: """
            The token is shown only once: the database stores its SHA-256. --right names what it allows, and may be repeated:
            send enqueues, cancels and publishes; read tells what became of messages, and returns events; tokens registers,
            lists and removes device tokens, and sets badges; forget erases a person. docs/http.md describes the API.
            """,
        arguments: [Argument("NAME", "What the token is for.")],
        required: [.app],
        options: [
            .right, .expiresIn.help("Time after which the token is refused; never, unless given."), .json, .database,
        ],
        examples: [
            "carillon api-token create --app acme 'newsletter service'",
            "carillon api-token create --app acme --right send --right read --expires-in 90d shop",
        ],
        run: { invocation in
            let settings = invocation.settings
            let rights = settings.texts(.right)
            let parameters = Parameters(
                settings.required(.app),
                invocation.name,
                PostgresArray(rights.isEmpty ? ["send"] : rights),
                settings.durationIfAny(.expiresIn)?.seconds
            )
            let token = try await DatabaseScope.with(invocation) { connection, _ in
                try await connection.query(create, parameters) { rows in try rows.string(0, 0) }
            }
            invocation.show(["token": token]) { $0.print(token) }
            return .done
        }
    )

    private static let create = Statement(
        "api_token_create",
        """
        SELECT carillon.create_api_token(app => $1, name => $2, rights => $3,
            expires_at => now() + make_interval(secs => $4))
        """
    )
}
