import Postgres

extension Command {
    static let messageCancel = Command(
        "message",
        "cancel",
        summary: "Take back what no worker has claimed of a message or broadcast.",
        discussion:
            "What is in flight lands, and is not tried again. Ends with 0 when something was taken back, with 1 when "
            + "there was nothing left to take back. Without --app it takes back the messages of that id of every app.",
        arguments: [Argument("ID", "The id that enqueue returned.")],
        options: [.app, .json, .database],
        run: { invocation in
            let id = try MessageKey.id(invocation.name, invocation.command)
            let (jobs, after) = try await DatabaseScope.with(invocation) { connection, _ in
                try await cancel(id, of: invocation.settings.text(.app), connection)
            }
            if invocation.settings.isOn(.json) {
                invocation.console.print(
                    .object([
                        ("id", .int(id)), ("jobs", .int(jobs)), ("cancelled", .int(Int64(after.cancelled))),
                        ("waiting", .int(Int64(after.waiting))), ("state", .string(after.state)),
                    ])
                )
            } else if jobs > 0 {
                invocation.console.print("Took back \(Counted.text(jobs, "job")) of message \(id).")
            }
            if jobs == 0, after.waiting == 0 {
                throw CommandError(.failed, "Nothing of message \(id) was left to take back: \(after.sentence)")
            }
            if after.waiting > 0 {
                invocation.console.note(
                    "\(Counted.text(Int64(after.waiting), "push", "pushes")) of it \(after.waiting == 1 ? "is" : "are") in "
                        + "flight; what does not arrive is not tried again."
                )
            }
            return .done
        }
    )

    private static let cancelAll = Statement("message_cancel", "SELECT carillon.cancel_broadcast($1, $2)::int8")

    private static func cancel(
        _ id: Int64,
        of app: String?,
        _ connection: PostgresConnection
    ) async throws -> (Int64, MessageProgress) {
        guard try await MessageProgress.read(id, of: app, on: connection) != nil else {
            throw MessageKey.unknown("\(id)")
        }
        var parameters = Parameters()
        parameters.append(id)
        parameters.append(app)
        let jobs = try await connection.query(cancelAll, parameters) { rows in try rows.int64(0, 0) }
        guard let after = try await MessageProgress.read(id, of: app, on: connection) else {
            throw MessageKey.unknown("\(id)")
        }
        return (jobs, after)
    }
}
