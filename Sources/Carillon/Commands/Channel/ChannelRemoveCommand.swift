import CarillonIO
import CarillonPostgres
import CarillonSchema

extension Command {
    static let channelRemove = Command(
        "channel remove",
        summary: "Request the removal of a channel, and wait until Apple has removed it.",
        discussion:
            "Messages to the channel that have not been sent fail as ChannelNotRegistered. With --wait 0s, the "
            + "command only makes the request. Exits with 75 when the channel was not removed in time; the request "
            + "remains.",
        arguments: [Argument("CHANNEL", "The reference or the id of the channel.")],
        required: [.app],
        options: [.channelWait, .yes, .database],
        examples: ["carillon channel remove --app shop match-7"],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, loop -> ExitStatus in
                let app = invocation.settings.text(.app) ?? ""
                let row = try await ChannelRecord.one(invocation.name, of: app, on: connection)
                try Confirmation(invocation: invocation).obtain(
                    "Removing the channel \(row.reference) of \(app) ends it for all devices that follow it."
                )
                try await connection.execute(remove, Parameters(app, row.reference))
                let wait = invocation.settings.duration(.channelWait)
                let end = MonotonicInstant.now + wait
                while let left = try await ChannelRecord.all(row.reference, of: app, from: connection).first,
                    left.reference == row.reference
                {
                    if wait == .zero {
                        invocation.console.print("Requested the removal of the channel \(row.reference).")
                        return .done
                    }
                    guard MonotonicInstant.now < end else {
                        throw CommandError(
                            .tryAgain,
                            "The channel \(row.reference) is not removed yet."
                                + (left.error.map { " The last attempt failed. \($0)" } ?? ""),
                            hint:
                                "Check that a worker is running and that the app is not paused. Run the command again to keep waiting."
                        )
                    }
                    try await loop.sleep(for: .milliseconds(200))
                }
                invocation.console.print("Removed the channel \(row.reference).")
                return .done
            }
        }
    )

    private static let remove = Statement("channel_remove", "SELECT carillon.remove_channel($1, $2)")
}
