import Postgres

extension Command {
    static let messageShow = Command(
        "message",
        "show",
        summary: "Show where a message is, why it is tried again, and what became of it.",
        discussion:
            "By the id that enqueue returned, or by --reference, which reads the whole queue and may find several. "
            + "A send that was cut into jobs is one message. Tokens that are not listed were sent. Two apps may have messages "
            + "of one id or reference: --app names the one.",
        arguments: [Argument("ID", required: false, "The id of the message or broadcast.")],
        options: [.reference, .app, .json, .database],
        examples: ["carillon message show 81724", "carillon message show --reference order-7 --json"],
        run: { invocation in
            let key = try MessageKey(invocation)
            let messages = try await DatabaseScope.with(invocation) { connection, _ in
                try await key.find(on: connection)
            }
            if invocation.settings.isOn(.json) {
                invocation.console.print("[" + messages.map(\.json).joined(separator: ",") + "]")
            } else {
                for message in messages { show(message, on: invocation.console) }
            }
            return .done
        }
    )

    private static func show(_ message: MessageProgress, on console: Console) {
        console.print(
            "Message \(message.id) of \(message.app?.visible ?? "an app that is gone")"
                + (message.reference.map { ", reference \($0.visible)" } ?? "") + ": \(message.sentence)"
        )
        console.print(
            "  " + Counted.text(message.tokens, "token") + ": \(message.sent) sent, \(message.failed) failed, "
                + "\(message.expired) expired, \(message.cancelled) cancelled, \(message.waiting) waiting; "
                + Counted.text(message.attempts, "attempt")
        )
        for (name, time) in [("enqueued", message.createdAt), ("finished", message.finishedAt)] {
            if let time { console.print("  \(name) \(UnixTimeText.text(time))") }
        }
        for token in message.tokenLines { console.print("  \(token.visible)") }
    }
}
