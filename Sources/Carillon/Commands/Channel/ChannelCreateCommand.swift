import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText

extension Command {
    static let channelCreate = Command(
        "channel create",
        roles: ["carillon_app"],
        summary: "Request a channel for Live Activities, wait until Apple has created it, and print its id.",
        discussion:
            "REFERENCE is your own name for the channel; by default, it is random. If the channel exists, its id "
            + "is printed and no other is created. With --wait 0s, the command only makes the request. Exits with "
            + "75 when the channel was not created in time; the request remains.",
        arguments: [Argument("REFERENCE", required: false, "Your own name for the channel.")],
        required: [.app],
        options: [.policy, .channelWait, .json, .database],
        examples: [
            "carillon channel create --app acme match-7",
            "carillon channel create --app acme --policy 1 --json match-8",
        ],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, loop in
                try await ChannelCreateCommand(invocation: invocation, connection: connection, loop: loop).run()
            }
        }
    )
}

private struct ChannelCreateCommand {
    private static let request = Statement(
        "channel_request",
        "SELECT carillon.request_channel($1, $2, coalesce($3, gen_random_uuid()::text))"
    )

    let invocation: Invocation
    let connection: PostgresConnection
    let loop: EventLoop

    /// The reference, if one was given.
    private var given: String? { invocation.arguments.first }

    func run() async throws -> ExitStatus {
        let app = invocation.settings.required(.app)
        let policy: Int64 = invocation.settings.text(.policy) == "1" ? 1 : 0
        let parameters = Parameters(app, policy, given)
        let reference = try await connection.query(Self.request, parameters) { try $0.string(0, 0) }
        try await invocation.warnOfCopy(connection)
        let row = try await wait(for: reference, of: app)
        if invocation.settings.isOn(.json) {
            invocation.console.print(json: row.json)
        } else if let channel = row.id {
            invocation.console.print(channel)
            if given == nil { invocation.console.note("Its reference is \(reference).") }
        } else {
            invocation.console.print("Requested the channel \(reference).")
        }
        return .done
    }

    private func wait(for reference: String, of app: String) async throws -> ChannelRecord {
        var row = try await ChannelRecord.one(reference, of: app, on: connection)
        let unfinished = "The channel \(reference) is requested, but not created yet."
        _ = try await ChannelRecord.wait(invocation, on: loop, orSay: unfinished) {
            row = try await ChannelRecord.one(reference, of: app, on: connection)
            guard row.state != .failed, row.state != .missing else {
                throw CommandError(.failed, "The channel \(reference) was not created. \(row.error ?? "")".asSentence)
            }
            return row.state == .ready ? nil : row
        }
        return row
    }
}
