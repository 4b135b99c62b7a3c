import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText

extension Command {
    static let channelSync = Command(
        "channel sync",
        roles: ["carillon_worker"],
        summary: "Compare the recorded channels of an app with Apple's list.",
        discussion:
            "A recorded channel that Apple no longer has becomes missing. A channel that Apple has but that is "
            + "not recorded is unknown: a worker died before it could record the channel, or another database, a "
            + "person or another program created it; Apple does not say which. Unknown channels that a worker of "
            + "this database is known to have created are removed. The others are listed; --remove-unknown removes "
            + "those that were first seen longer ago than --grace. Use it only if nothing else creates channels for "
            + "the app. Workers do the same once a day: see 'app set --remove-unknown-channels'.",
        required: [.app],
        options: [.removeUnknown, .grace, .json, .database],
        examples: ["carillon channel sync --app acme", "carillon channel sync --app acme --remove-unknown --grace 2d"],
        run: { invocation in
            let app = invocation.settings.required(.app)
            let rule = ChannelSync.Removal(
                includesUnknown: invocation.settings.isOn(.removeUnknown),
                grace: invocation.settings.duration(.grace)
            )
            let (entries, removed, failure) = try await DatabaseScope.with(invocation) { connection, _ in
                // A copy does not know the channels that the original has made since.
                try await InstallationCheck.run(on: connection)
                return try await ChannelService.with(app, on: connection) { service in
                    let sync = ChannelSync(service.site, through: service.backend)
                    let entries: [ChannelSync.Entry]
                    switch try await sync.compare(on: connection) {
                    case .success(let found): entries = found
                    case .failure(let error): throw CommandError(error)
                    }
                    let gone = try await sync.remove(entries, rule, on: connection)
                    return (entries, Set(gone.removed), gone.failure)
                }
            }
            invocation.show(entries.map { $0.json(isRemoved: removed.contains($0.channelID ?? "")) }.json) { console in
                show(entries, removed, on: console)
            }
            if let failure { throw CommandError(failure) }
            return .done
        }
    )

    private static func show(_ entries: [ChannelSync.Entry], _ removed: Set<String>, on console: Console) {
        func isRemoved(_ entry: ChannelSync.Entry) -> Bool { entry.channelID.map(removed.contains) ?? false }
        let odd = entries.filter { $0.state == .unknown || $0.state == .missing }
        if !odd.isEmpty {
            console.print(
                TextTable(
                    odd,
                    .left("CHANNEL") { $0.channelID ?? "-" },
                    .left("REFERENCE") { $0.reference ?? "-" },
                    .left("STATE") { isRemoved($0) ? "removed" : $0.state.rawValue },
                    .left("FIRST SEEN") { $0.firstSeenAt?.text ?? "-" }
                )
            )
        }
        let ready = Int64(entries.count { $0.state == .ready })
        let unknown = Int64(odd.count { $0.state == .unknown && !isRemoved($0) })
        let missing = Int64(odd.count { $0.state == .missing })
        console.print(
            "\(Counted.text(ready, "channel")) ready, \(missing) missing at Apple, \(unknown) unknown, "
                + "\(removed.count) removed."
        )
    }
}

extension ChannelSync.Entry {
    fileprivate func json(isRemoved: Bool) -> JSONValue {
        [
            "channel_id": channelID, "reference": reference, "state": isRemoved ? "removed" : state.rawValue,
            "ours": isOurs,
            "first_seen_at": firstSeenAt,
        ]
    }
}
