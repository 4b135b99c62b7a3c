import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let messageCancel = Command(
        "message cancel",
        roles: ["carillon_app"],
        summary: "Cancel the pushes of a message that have not been sent.",
        discussion: """
            Jobs that no worker has claimed are removed from the queue. A push in flight may still arrive; if it fails, it is not
            retried. The id of any of its jobs cancels the whole message. Without --app, the id is cancelled in every app that has
            it.
            """,
        arguments: [Argument("ID", "The id that enqueue or broadcast returned.")],
        options: [.app, .json, .database],
        exits: [.done: "Something was cancelled or is in flight.", .failed: "Nothing was left to cancel."],
        run: { invocation in
            let id = try MessageKey.id(invocation.name, invocation.command)
            let (jobs, messages) = try await DatabaseScope.with(invocation) { connection, _ in
                try await cancel(id, of: invocation.settings.text(.app), connection)
            }
            let waiting = messages.reduce(0) { $0 + $1.waiting }
            // The given id may be that of a job of a split message.
            let whole = messages.count == 1 ? messages[0].id : id
            if invocation.settings.isOn(.json) {
                invocation.console.print(json: [
                    "id": whole, "jobs": jobs, "cancelled": messages.reduce(0) { $0 + $1.ended.cancelled },
                    "waiting": waiting, "state": messages.count == 1 ? messages[0].state.rawValue : nil,
                ])
            } else if jobs > 0 {
                invocation.console.print("Cancelled \(Counted.text(jobs, "job")) of message \(whole).")
            }
            if jobs == 0, waiting == 0 {
                throw CommandError(
                    .failed,
                    "Message \(whole) has ended (\(Counted.list(messages.map(\.state.rawValue)))): nothing was left to cancel."
                )
            }
            if waiting > 0 {
                invocation.console.note(
                    "\(Counted.text(Int64(waiting), "push is", "pushes are")) in flight and may arrive; "
                        + "\(waiting == 1 ? "it is" : "they are") not retried."
                )
            }
            return .done
        }
    )

    private static let cancelMessage = Statement("message_cancel", "SELECT carillon.cancel($1, app => $2)::int8")

    /// Returns how many jobs were cancelled, and the state of the messages with that id afterwards.
    private static func cancel(
        _ id: Int64,
        of app: String?,
        _ connection: PostgresConnection
    ) async throws -> (Int64, [MessageStatus]) {
        // If the given id is that of a retry, it no longer exists after the cancel.
        let ids = Set(try await MessageStatus.all(id, of: app, from: connection).map(\.id))
        guard !ids.isEmpty else { throw MessageKey.unknown("\(id)", of: app) }
        let jobs = try await connection.query(cancelMessage, Parameters(id, app)) { rows in try rows.int64(0, 0) }
        var messages: [MessageStatus] = []
        for id in ids.sorted() { messages += try await MessageStatus.all(id, of: app, from: connection) }
        return (jobs, messages)
    }
}
