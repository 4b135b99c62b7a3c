import CarillonPostgres
import CarillonSchema

extension Command {
    static let channelRemove = Command(
        "channel remove",
        roles: ["carillon_app"],
        summary: "Request the removal of a channel, and wait until Apple has removed it.",
        discussion:
            "Messages to the channel that have not been sent fail as ChannelNotRegistered. With --wait 0s, the "
            + "command only makes the request. Exits with 75 when the channel was not removed in time; the request "
            + "remains.",
        arguments: [Argument("CHANNEL", "The reference or the id of the channel.")],
        required: [.app],
        options: [.channelWait, .yes, .database],
        examples: ["carillon channel remove --app acme match-7"],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, loop -> ExitStatus in
                let app = invocation.settings.required(.app)
                let row = try await ChannelRecord.one(invocation.name, of: app, on: connection)
                try Confirmation(invocation: invocation).obtain(
                    "Removing the channel \(row.reference) of \(app) ends it for all devices that follow it."
                )
                try await connection.execute(remove, Parameters(app, row.reference))
                try await invocation.warnOfCopy(connection)
                let unfinished = "The channel \(row.reference) is not removed yet."
                let isRemoved = try await ChannelRecord.wait(invocation, on: loop, orSay: unfinished) {
                    // A reference that is gone may be the id of another channel.
                    try await ChannelRecord.all(row.reference, of: app, from: connection).prefix(1)
                        .first { $0.reference == row.reference }
                }
                let deed = isRemoved ? "Removed" : "Requested the removal of"
                invocation.console.print("\(deed) the channel \(row.reference).")
                return .done
            }
        }
    )

    private static let remove = Statement("channel_remove", "SELECT carillon.remove_channel($1, $2)")
}
