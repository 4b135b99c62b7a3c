import CarillonPushQueue
import CarillonSchema
import CarillonText

extension Command {
    static let appList = Command(
        "app list",
        roles: ["carillon_worker"],
        summary: "List the apps.",
        options: [.json, .database],
        run: { invocation in
            let (apps, held) = try await DatabaseScope.with(invocation) { connection, _ in
                let store = AppStore(connection)
                return (try await store.list(), try await store.held())
            }
            invocation.show(apps.map { $0.json.without("gateway_ca") }.json) { console in
                let table = TextTable(
                    apps,
                    .left("APP") { $0.name },
                    .left("TOPIC") { ($0.settings.topic ?? "-") + ($0.settings.topics.map { " +\($0.count)" } ?? "") },
                    .left("CREDENTIAL") { $0.settings.credential ?? "-" },
                    .left("GATEWAY") {
                        ($0.settings.gateway ?? $0.settings.environment.rawValue)
                            + ($0.settings.protocol == .binary ? " (binary)" : "")
                    },
                    .left("STATE") {
                        AppStatus.State(isPaused: $0.isPaused, isHeld: held.contains($0.id)).rawValue
                    }
                )
                console.print(table)
                for app in apps {
                    guard let reason = app.pausedReason else { continue }
                    console.print("\(app.name) is paused: \(reason.asSentence)".visible)
                }
            }
            return .done
        }
    )
}

extension App: JSONConvertible {
    var json: JSONValue {
        let settings = AppSetting.all.map { ($0.column, $0.json(self.settings)) }
        return .joined(
            ["id": id],
            .object(settings),
            ["credential": self.settings.credential, "paused": isPaused, "paused_reason": pausedReason]
        )
    }
}
