import Postgres

extension Command {
    static let appRemove = Command(
        "app",
        "remove",
        summary: "Remove an app for which nothing waits.",
        discussion: "While messages of the app wait or are in flight it is refused: pause it and cancel them, or let "
            + "them be sent. What became of past messages stays in results and failures.",
        arguments: [Argument("NAME", "The app.")],
        options: [.database],
        run: { invocation in
            var parameters = Parameters()
            parameters.append(invocation.name)
            let (waiting, removed) = try await DatabaseScope.with(invocation) { [parameters] connection, _ in
                let waiting = try await connection.query(AppRemove.waiting, parameters) { rows in
                    rows.isEmpty ? nil : try rows.bool(0, 0)
                }
                // An insert that commits in between is not lost: its rows end in failures, which say that the app is
                // unknown.
                let removed = waiting == false ? try await connection.execute(AppRemove.remove, parameters) : 0
                return (waiting, removed)
            }
            switch waiting {
            case true?:
                throw CommandError(
                    .failed,
                    "The app '\(invocation.name)' has messages that wait or are in flight.",
                    hint: "Cancel them with SELECT carillon.cancel(id) FROM carillon.pending, or let them be sent."
                )
            case false? where removed > 0:
                invocation.console.print("Removed the app \(invocation.name).")
                return .done
            default: throw CommandError.noApp(invocation.name)
            }
        }
    )
}

private enum AppRemove {
    static let waiting = Statement(
        "app_waiting",
        """
        SELECT EXISTS (SELECT FROM carillon.messages m WHERE m.app_id = a.id)
            OR EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = a.id)
            OR EXISTS (SELECT FROM carillon.inflight i WHERE i.app_id = a.id)
        FROM carillon.apps a WHERE a.name = $1
        """
    )
    static let remove = Statement("app_remove", "DELETE FROM carillon.apps WHERE name = $1")
}
