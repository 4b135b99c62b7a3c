import PushQueue

extension Command {
    static let appRemove = Command(
        "app",
        "remove",
        summary: "Remove an app for which nothing waits, with its tokens.",
        discussion:
            "Says what goes with it, and does it with --yes or when a person on a terminal agrees. While messages "
            + "of the app wait or are in flight it is refused: let them be sent, or cancel them; and while workers serve "
            + "it: pause it, or stop them. What became of past messages stays in results and failures.",
        arguments: [Argument("NAME", "The app.")],
        options: [.yes, .database],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, _ in
                let store = AppStore(connection)
                let removal = try await store.removal(of: invocation.name)
                try Confirmation(invocation: invocation).obtain(
                    "Removing the app \(invocation.name) takes \(removal.losses) with it. \(removal.rest)"
                )
                try await store.remove(invocation.name)
                invocation.console.print("Removed the app \(invocation.name), with \(removal.losses).")
            }
            return .done
        }
    )
}

extension AppRemoval {
    fileprivate var losses: String {
        Counted.list(
            [Counted.text(tokens, "token"), Counted.text(feedback, "row of feedback", "rows of feedback")]
                + (dedupeKeys > 0 ? [Counted.text(dedupeKeys, "dedupe key")] : [])
                + (watchedTables > 0 ? [Counted.text(watchedTables, "watched table")] : [])
        )
    }

    fileprivate var rest: String {
        "\(Counted.text(history, "row of its history stays", "rows of its history stay")), under no name."
    }
}
