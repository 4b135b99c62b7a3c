import CarillonSchema
import CarillonText

extension Command {
    static let channelList = Command(
        "channel list",
        roles: ["carillon_app", "carillon_reader", "carillon_worker"],
        summary: "List the recorded channels and their states.",
        options: [.app, .json, .database],
        examples: ["carillon channel list --app acme"],
        run: { invocation in
            let channels = try await DatabaseScope.with(invocation) { connection, _ in
                try await ChannelRecord.all(of: invocation.settings.text(.app), from: connection)
            }
            invocation.show(channels.json) { console in
                guard !channels.isEmpty else {
                    console.print("There are no channels.")
                    return
                }
                let table = TextTable(
                    channels,
                    .left("APP") { $0.app },
                    .left("REFERENCE") { $0.reference },
                    .left("CHANNEL") { $0.id ?? "-" },
                    .left("STORES") { $0.storage },
                    .left("STATE") { $0.state.rawValue },
                    .left("ERROR") { $0.error ?? "-" }
                )
                console.print(table)
            }
            return .done
        }
    )
}
