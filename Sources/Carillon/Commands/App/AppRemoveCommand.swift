import CarillonPushQueue
import CarillonText

extension Command {
    static let appRemove = Command(
        "app remove",
        roles: [],
        summary: "Remove an app that has nothing left to send, and its tokens.",
        discussion:
            "Says what is deleted with the app, and asks first, unless --yes is given. An app with messages that wait or "
            + "are in flight is not removed: wait until they are sent, or cancel them; the error shows the statement. An app that workers are serving is "
            + "not removed either: pause it or stop the workers. Results and failures remain.",
        arguments: [Argument("NAME", "The app.")],
        options: [.yes, .database],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, _ in
                let store = AppStore(connection)
                let removal = try await store.removal(of: invocation.name)
                try Confirmation(invocation: invocation).obtain(
                    "Removing the app \(invocation.name) deletes \(removal.losses). \(removal.rest)"
                )
                try await store.remove(invocation.name)
                invocation.console.print("Removed the app \(invocation.name), \(removal.losses).")
            }
            return .done
        }
    )
}

extension AppStore.Removal {
    fileprivate var losses: String {
        Counted.list(
            [Counted.text(tokens, "token"), Counted.text(feedback, "row of feedback", "rows of feedback")]
                + (dedupeKeys > 0 ? [Counted.text(dedupeKeys, "dedupe key")] : [])
                + (watchedTables > 0 ? [Counted.text(watchedTables, "watched table")] : [])
                + (webhooks > 0 ? [Counted.text(webhooks, "webhook")] : [])
                + (roles > 0 ? [Counted.text(roles, "limit of a role to it", "limits of roles to it")] : [])
        )
    }

    fileprivate var rest: String {
        "\(Counted.text(history, "row of its history stays", "rows of its history stay"))."
    }
}
