import ApplePush
import CarillonSchema
import CarillonText

extension Command {
    static let channelRead = Command(
        "channel read",
        roles: ["carillon_worker"],
        summary: "Ask Apple for the settings of a channel.",
        arguments: [Argument("CHANNEL", "The reference or the id of the channel.")],
        required: [.app],
        options: [.json, .database],
        examples: ["carillon channel read --app acme match-7"],
        run: { invocation in
            let app = invocation.settings.required(.app)
            let (id, policy) = try await DatabaseScope.with(invocation) { connection, _ in
                let row = try await ChannelRecord.all(invocation.name, of: app, from: connection).first
                if let row, row.id == nil {
                    throw CommandError(
                        .failed,
                        "Apple has not created the channel \(row.reference): it is \(row.state.rawValue)."
                    )
                }
                // A channel that is not recorded has no reference.
                let id = row?.id ?? invocation.name
                return try await ChannelService.with(app, on: connection) { service in
                    guard case .found(let policy) = try await service.ask(.read(ChannelID(id))) else {
                        throw CommandError(.failed, "Apple's answer does not describe the channel.")
                    }
                    return (id, policy)
                }
            }
            invocation.show(["app": app, "channel_id": id, "policy": policy.rawValue]) { console in
                let stored = policy == .lastMessage ? "the last message" : "no messages"
                console.print("The channel \(id) exists, and Apple stores \(stored).")
            }
            return .done
        }
    )
}
