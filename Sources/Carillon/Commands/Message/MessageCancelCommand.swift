import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let messageCancel = Command(
        "message cancel",
        roles: ["carillon_app"],
        summary: "Cancel pushes that have not been sent: of a message, or to a person.",
        discussion: """
            Jobs that no worker has claimed are removed from the queue. A push in flight may still arrive; if it fails, it is not
            retried. The id of any of its jobs cancels the whole message, and --reference cancels all messages with that
            reference. --owner cancels the pushes to the tokens of an owner, and no others of the same messages. Without --app,
            this is done in every app.
            """,
        arguments: [Argument("ID", required: false, "The id that enqueue or broadcast returned.")],
        options: [.reference, .owner, .app, .json, .database],
        exits: [.done: "Something was cancelled or is in flight.", .failed: "Nothing was left to cancel."],
        examples: ["carillon message cancel 81724", "carillon message cancel --app acme --owner user-42"],
        run: { invocation in
            let settings = invocation.settings
            let owner = settings.text(.owner).flatMap { $0.isEmpty ? nil : $0 }
            let given = [invocation.arguments.first, settings.text(.reference), owner].compactMap(\.self)
            guard given.count == 1 else {
                throw UsageError("\(invocation.command.title) takes one of ID, --reference and --owner.")
            }
            if let owner { return try await cancel(to: owner, invocation) }
            let key = try MessageKey(invocation)
            let (jobs, before, messages) = try await DatabaseScope.with(invocation) { connection, _ in
                try await cancel(key, connection)
            }
            let waiting = messages.reduce(0) { $0 + $1.waiting }
            // The given id may be that of a job of a split message.
            let whole: Int64? = messages.count == 1 ? messages[0].id : key.id
            if settings.isOn(.json) {
                invocation.console.print(json: [
                    "id": whole, "jobs": jobs, "cancelled": messages.reduce(0) { $0 + $1.ended.cancelled },
                    "waiting": waiting, "state": messages.count == 1 ? messages[0].state.rawValue : nil,
                ])
            } else if jobs > 0 {
                invocation.console.print("Cancelled \(Counted.text(jobs, "job")) of \(cancelled(before)).")
            }
            if jobs == 0, waiting == 0 {
                let states = Counted.list(messages.map(\.state.rawValue))
                throw CommandError(
                    .failed,
                    (whole.map { "Message \($0) has" } ?? "The messages have")
                        + " ended (\(states)): nothing was left to cancel."
                )
            }
            noteInFlight(Amount(Int64(waiting), .exact), invocation.console)
            return .done
        }
    )

    private static let cancelMessages = Statement(
        "message_cancel",
        "SELECT carillon.cancel($1, app => $2, reference => $3, owner => $4)::int8"
    )

    /// As in "message 7; 2 others had ended".
    private static func cancelled(_ before: [MessageStatus]) -> String {
        let open = before.filter { $0.waiting > 0 }
        let ended = before.count - open.count
        let what = open.count == 1 ? "message \(open[0].id)" : Counted.text(Int64(open.count), "message")
        return ended == 0 ? what : what + "; \(Counted.text(Int64(ended), "other")) had ended"
    }

    /// Returns how many jobs were cancelled, and the state of the messages before and afterwards.
    private static func cancel(
        _ key: MessageKey,
        _ connection: PostgresConnection
    ) async throws -> (Int64, [MessageStatus], [MessageStatus]) {
        let before = try await key.find(on: connection)
        // If the given id is that of a retry, it no longer exists after the cancel.
        let ids = Set(before.map(\.id))
        let jobs = try await cancel(Parameters(key.id, key.app, key.reference, String?.none), connection)
        var messages: [MessageStatus] = []
        for id in ids.sorted() {
            messages += try await MessageStatus.all(id, reference: nil, of: key.app, from: connection)
        }
        return (jobs, before, messages)
    }

    private static func cancel(to owner: String, _ invocation: Invocation) async throws -> ExitStatus {
        let app = invocation.settings.text(.app)
        let (jobs, inFlight) = try await DatabaseScope.with(invocation) { connection, _ -> (Int64, Amount) in
            let jobs = try await cancel(Parameters(Int64?.none, app, String?.none, String?.some(owner)), connection)
            let inFlight = try await connection.query(pushesInFlight, Parameters(owner, app, maxTraced)) { rows in
                Amount(try rows.int64(0, 0), Amount.Precision(isCut: try rows.bool(0, 1)))
            }
            return (jobs, inFlight)
        }
        guard jobs + inFlight.value > 0 else {
            throw CommandError(.failed, "No push to the owner \(owner.visible) waits or is in flight.")
        }
        invocation.show([
            "owner": owner, "jobs": jobs, "waiting": inFlight.value, "waiting_precision": inFlight.precision,
        ]) { console in
            if jobs > 0 {
                console.print("Cancelled the pushes to \(owner.visible) in \(Counted.text(jobs, "job")).")
            }
        }
        noteInFlight(inFlight, invocation.console)
        return .done
    }

    /// How many tokens of an owner, and jobs of them, a trace of an app shows: `carillon.max_traced()`.
    private static let maxTraced: Int64 = 20

    /// How many there are to an owner, and whether there may be more. Nothing else of what a trace reads is wanted.
    private static let pushesInFlight = Statement(
        "owner_in_flight",
        """
        SELECT coalesce(sum(k.pushes), 0)::int8, coalesce(bool_or(k.pushes >= $3 OR k.tokens > $3), false)
        FROM carillon.apps a CROSS JOIN LATERAL (
            SELECT (SELECT count(*) FROM carillon.trace(a.name, owner => $1, max_rows_read => 1) t
                    WHERE t.event = 'in flight') AS pushes,
                (SELECT count(*) FROM (
                    SELECT FROM carillon.tokens o WHERE o.app_id = a.id AND o.owner = $1 LIMIT $3 + 1) few) AS tokens
        ) k WHERE a.name = coalesce($2, a.name)
        """
    )

    private static func noteInFlight(_ pushes: Amount, _ console: Console) {
        guard pushes.value > 0 else { return }
        let are = pushes.precision.prefixed(Counted.text(pushes.value, "push is", "pushes are"))
        console.note(
            "\(are) in flight and may arrive; \(pushes.value == 1 && pushes.precision == .exact ? "it is" : "they are") not retried."
        )
    }

    private static func cancel(_ parameters: Parameters, _ connection: PostgresConnection) async throws -> Int64 {
        try await connection.query(cancelMessages, parameters) { rows in try rows.int64(0, 0) }
    }
}
