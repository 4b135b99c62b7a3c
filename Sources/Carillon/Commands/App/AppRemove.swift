import PushQueue

extension Command {
    static let appRemove = Command(
        "app",
        "remove",
        summary: "Remove an app for which nothing waits, with its tokens.",
        discussion: "While messages of the app wait or are in flight it is refused: let them be sent, or cancel them. "
            + "What became of past messages stays in results and failures.",
        arguments: [Argument("NAME", "The app.")],
        options: [.database],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, _ in
                try await AppStore(connection).remove(invocation.name)
            }
            invocation.console.print("Removed the app \(invocation.name).")
            return .done
        }
    )
}
