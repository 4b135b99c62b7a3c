import CarillonIO
import CarillonPostgres
import CarillonText

extension Command {
    static let webhookRemove = Command(
        "webhook remove",
        roles: [],
        summary: "Remove a webhook.",
        discussion: "Events that its receiver has not accepted are lost to it. Asks first, unless --yes is given.",
        arguments: [Argument("NAME", "The webhook.")],
        options: [.yes, .database],
        run: { invocation in
            try Confirmation(invocation: invocation).obtain(
                "Removing the webhook \(invocation.name) discards the events that its receiver has not accepted."
            )
            try await DatabaseScope.with(invocation) { connection, _ -> Void in
                try await connection.execute(remove, Parameters(invocation.name))
            }
            invocation.console.print("Removed the webhook \(invocation.name).")
            return .done
        }
    )

    static let webhookPause = change(
        "webhook pause",
        "Stop posting to a webhook; its events wait.",
        Statement("webhook_pause", "SELECT carillon.pause_webhook($1)")
    ) { $1 ? "Paused the webhook \($0)." : "The webhook \($0) was already paused." }

    static let webhookResume = change(
        "webhook resume",
        "Resume a paused webhook, or attempt one that fails at once.",
        Statement("webhook_resume", "SELECT carillon.resume_webhook($1)"),
        sends: true
    ) { $1 ? "Resumed the webhook \($0)." : "The webhook \($0) was not paused, and no attempt was delayed." }

    static let webhookRedeliver = Command(
        "webhook redeliver",
        roles: ["carillon_operator"],
        summary: "Post events to a webhook again.",
        discussion: """
            Posts the events of the last D again that are still stored for any consumer of the app, except broadcast_finished, with
            the same ids. New events come after them.
            """,
        arguments: [Argument("NAME", "The webhook.")],
        required: [.redeliverSince],
        options: [.json, .database],
        examples: ["carillon webhook redeliver crm --since 2h"],
        run: { invocation in
            let seconds = invocation.settings.durationIfAny(.redeliverSince)?.seconds ?? 0
            let count = try await DatabaseScope.with(invocation) { connection, _ in
                let parameters = Parameters(invocation.name, seconds)
                let count = try await connection.query(redeliver, parameters) { try $0.int64(0, 0) }
                try await invocation.warnOfCopy(connection)
                return count
            }
            invocation.show(["webhook": invocation.name, "events": count]) { console in
                console.print("\(Counted.text(count, "event")) will be posted to the webhook \(invocation.name) again.")
            }
            return .done
        }
    )

    /// - Parameters:
    ///   - sends: whether workers may send something after it.
    ///   - sentence: of the name, and whether something was changed.
    private static func change(
        _ name: String,
        _ summary: String,
        _ statement: Statement,
        sends: Bool = false,
        _ sentence: @escaping @Sendable (String, Bool) -> String
    ) -> Command {
        Command(
            name,
            roles: ["carillon_operator"],
            summary: summary,
            arguments: [Argument("NAME", "The webhook.")],
            options: [.database]
        ) { invocation in
            let isChanged = try await DatabaseScope.with(invocation) { connection, _ in
                let isChanged = try await connection.query(statement, Parameters(invocation.name)) { try $0.bool(0, 0) }
                if sends { try await invocation.warnOfCopy(connection) }
                return isChanged
            }
            invocation.console.print(sentence(invocation.name, isChanged))
            return .done
        }
    }

    private static let remove = Statement("webhook_remove", "SELECT carillon.remove_webhook($1)")

    private static let redeliver = Statement(
        "webhook_redeliver",
        "SELECT carillon.redeliver_webhook($1, clock_timestamp() - make_interval(secs => $2))"
    )
}
