import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let messageShow = Command(
        "message show",
        roles: ["carillon_app", "carillon_reader"],
        summary: "Show the state of a message: which pushes were sent, failed or wait, and why.",
        discussion:
            "Takes the id that enqueue returned, or --reference, which reads the whole queue and may find several "
            + "messages. Shows a whole message, however many jobs it has. Lists tokens that failed or still wait, "
            + "at most 1,000; in an app with --keep-unique-ids, also tokens that were sent.",
        arguments: [Argument("ID", required: false, "The id of the message or broadcast.")],
        options: [.reference, .app, .json, .database],
        examples: ["carillon message show 81724", "carillon message show --reference order-7 --json"],
        run: { invocation in
            let key = try MessageKey(invocation)
            let messages = try await DatabaseScope.with(invocation) { connection, _ in
                try await key.find(on: connection)
            }
            invocation.show(messages.map(\.json).json) { console in
                for message in messages { show(message, on: console) }
            }
            return .done
        }
    )

    private static func show(_ message: MessageStatus, on console: Console) {
        console.print(
            "Message \(message.id) of \(message.app?.visible ?? "an app that is gone")"
                + (message.reference.map { ", reference \($0.visible)" } ?? "") + ": \(message.condition)"
        )
        console.print(
            "  \(Counted.text(message.tokens, "token")): \(message.counts); \(Counted.text(message.attempts ?? 0, "attempt"))"
        )
        for (name, time) in [("enqueued", message.createdAt), ("finished", message.finishedAt)] {
            if let time { console.print("  \(name) \(time.text)") }
        }
        let tokens = message.tokenOutcomes
        for token in tokens { console.print("  \(token.line.visible)") }
        let more = message.ended.failed + message.waiting - tokens.count { !$0.wasSent }
        if more > 0 { console.print("  and \(more.grouped) more that failed or wait") }
    }
}
