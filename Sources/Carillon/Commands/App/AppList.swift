import PushQueue

extension Command {
    static let appList = Command(
        "app",
        "list",
        summary: "List the apps.",
        options: [.json, .database],
        run: { invocation in
            let apps = try await DatabaseScope.with(invocation) { connection, _ in try await AppStore(connection).list()
            }
            if invocation.settings.isOn(.json) {
                invocation.console.print(.array(apps.map { .object($0.members) }))
                return .done
            }
            let table = TextTable(
                apps,
                .left("APP") { $0.name },
                .left("TOPIC") { $0.topic ?? "-" },
                .left("CREDENTIAL") { $0.credential ?? "-" },
                .left("GATEWAY") { $0.gateway ?? $0.environment },
                .left("STATE") { $0.isPaused ? "paused" : "active" }
            )
            invocation.console.print(table)
            for app in apps {
                guard let reason = app.pauseReason else { continue }
                invocation.console.print("\(app.name) is paused: \(reason.asSentence)".visible)
            }
            return .done
        }
    )
}

extension App {
    var members: [(String, JSONValue)] {
        [
            ("id", .int(Int64(id))), ("name", .string(self.name)), ("topic", JSONValue(self.topic)),
            ("credential", JSONValue(self.credential)), ("environment", .string(self.environment)),
            ("protocol", .string(self.protocol)), ("gateway", JSONValue(self.gateway)),
            ("feedback_gateway", JSONValue(self.feedbackGateway)), ("paused", .bool(isPaused)),
            ("paused_reason", JSONValue(pauseReason)),
            ("max_rate", self.maxRate.map { .int(Int64($0)) } ?? .null),
            ("max_attempts", .int(Int64(self.maxAttempts))),
            ("reap_bad_tokens", .bool(self.reapsBadTokens)),
        ]
    }
}
