import CarillonIO
import CarillonPostgres
import CarillonText

extension Command {
    static let webhookAdd = Command(
        "webhook add",
        roles: [],
        summary: "Post what becomes of an app's pushes to a URL, and print the secret that signs the requests.",
        discussion: """
            Workers post batches of events as JSON, signed as Standard Webhooks specifies, until the receiver accepts them. Events
            contain device tokens and references. The secret is printed once: it cannot be shown again, but it can be replaced.

            The receiver must have a public address and use https. With --allow-private, it may have an address of this machine or
            of a private network, and use http.
            """,
        arguments: [Argument("NAME", "Your own name for the webhook.")],
        required: [.app, .receiver],
        options: [.eventKinds, .allowPrivate, .receiverCA, .json, .database],
        examples: [
            "carillon webhook add crm --app acme --url https://example.com/hooks/carillon",
            "carillon webhook add dead --app acme --url http://10.0.0.7:8080/ --allow-private --kinds token_dead",
        ],
        run: { invocation in
            let settings = invocation.settings
            let kinds = settings.texts(.eventKinds)
            let parameters = Parameters(
                invocation.name,
                settings.required(.app),
                settings.required(.receiver),
                kinds.isEmpty ? nil : kinds.joined(separator: ","),
                settings.isOn(.allowPrivate),
                try settings.text(.receiverCA).map(AppOptions.rootCertificate)
            )
            let secret = try await DatabaseScope.with(invocation) { connection, _ in
                let secret = try await connection.query(add, parameters) { rows in try rows.string(0, 0) }
                try await invocation.warnOfCopy(connection)
                return secret
            }
            show(secret, of: invocation, "Added the webhook \(invocation.name).")
            return .done
        }
    )

    static let webhookRotateSecret = Command(
        "webhook rotate-secret",
        roles: [],
        summary: "Replace the secret of a webhook, and print the new one.",
        discussion:
            "For the time of --keep-old, requests have a signature of each, so that receivers can change in between.",
        arguments: [Argument("NAME", "The webhook.")],
        options: [.keepOld, .json, .database],
        examples: ["carillon webhook rotate-secret crm --keep-old 2h"],
        run: { invocation in
            let parameters = Parameters(invocation.name, invocation.settings.duration(.keepOld).seconds)
            let secret = try await DatabaseScope.with(invocation) { connection, _ in
                try await connection.query(rotate, parameters) { rows in try rows.string(0, 0) }
            }
            show(secret, of: invocation, "Replaced the secret of the webhook \(invocation.name).")
            return .done
        }
    )

    private static let add = Statement(
        "webhook_add",
        "SELECT carillon.add_webhook($1, $2, $3, kinds => string_to_array($4, ','), allow_private => $5, ca => $6)"
    )

    private static let rotate = Statement(
        "webhook_rotate_secret",
        "SELECT carillon.rotate_webhook_secret($1, make_interval(secs => $2))"
    )

    /// The secret is on standard output alone, so that it can be redirected to a file.
    private static func show(_ secret: String, of invocation: Invocation, _ deed: String) {
        invocation.show(["webhook": invocation.name, "secret": secret]) { console in
            console.note(deed + " Its secret, which cannot be shown again:")
            console.print(secret)
        }
    }
}
