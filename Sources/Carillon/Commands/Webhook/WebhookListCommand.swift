import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let webhookList = Command(
        "webhook list",
        roles: ["carillon_reader", "carillon_worker"],
        summary: "List the webhooks and their states.",
        options: [.json, .database],
        examples: ["carillon webhook list"],
        run: { invocation in
            let webhooks = try await DatabaseScope.with(invocation) { connection, _ in
                try await WebhookRecord.all(from: connection)
            }
            invocation.show(webhooks.json) { console in
                guard !webhooks.isEmpty else {
                    console.print("There are no webhooks.")
                    return
                }
                console.print(
                    TextTable(
                        webhooks,
                        .left("NAME") { $0.name.visible },
                        .left("APP") { $0.app.visible },
                        .left("URL") { $0.url },
                        .left("STATE") { $0.state.rawValue },
                        .right("WAITING") { String($0.events) },
                        .left("ACCEPTED") { $0.acceptedAt?.text ?? "-" },
                        .left("SINCE") { $0.since?.text ?? "-" },
                        .left("WHY") { $0.cause?.visible ?? "-" }
                    )
                )
            }
            return .done
        }
    )

    static let webhookShow = Command(
        "webhook show",
        roles: ["carillon_reader", "carillon_worker"],
        summary: "Show the settings and the state of a webhook.",
        arguments: [Argument("NAME", "The webhook.")],
        options: [.json, .database],
        examples: ["carillon webhook show crm --json"],
        run: { invocation in
            let found = try await DatabaseScope.with(invocation) { connection, _ in
                try await WebhookRecord.all(named: invocation.name, from: connection).first
            }
            guard let webhook = found else {
                throw CommandError(
                    .failed,
                    "There is no webhook named \(invocation.name).",
                    hint: "'carillon webhook list' lists them."
                )
            }
            invocation.show(webhook.json) { console in
                for (name, value) in webhook.lines { console.print(name.padding(to: 16) + value.visible) }
            }
            return .done
        }
    )
}

extension WebhookRecord {
    fileprivate var lines: [(String, String)] {
        [
            ("name", name), ("app", app), ("url", url), ("kinds", kinds?.joined(separator: ", ") ?? "all"),
            ("state", stateText(writing: \.text)), ("waiting", backlog), ("accepted", acceptedAt?.text ?? "never"),
            ("last error", lastError.map { "\($0), at \(failedAt?.text ?? "-")" } ?? "-"),
            ("next attempt", nextAttemptAt?.text ?? "-"),
        ]
    }
}
