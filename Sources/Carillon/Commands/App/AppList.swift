import CarillonPushQueue
import CarillonText

extension Command {
    static let appList = Command(
        "app list",
        summary: "List the apps.",
        options: [.json, .database],
        run: { invocation in
            let apps = try await DatabaseScope.with(invocation) { connection, _ in try await AppStore(connection).list()
            }
            if invocation.settings.isOn(.json) {
                invocation.console.print(json: apps.json)
                return .done
            }
            let table = TextTable(
                apps,
                .left("APP") { $0.name },
                .left("TOPIC") { $0.topic ?? "-" },
                .left("CREDENTIAL") { $0.credential ?? "-" },
                .left("GATEWAY") {
                    ($0.gateway ?? $0.environment.rawValue) + ($0.protocol == .binary ? " (binary)" : "")
                },
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

extension App: JSONConvertible {
    var json: JSONValue {
        [
            "id": id, "name": self.name, "topic": self.topic, "credential": self.credential,
            "environment": self.environment.rawValue,
            "protocol": self.protocol.rawValue, "gateway": self.gateway, "feedback_gateway": self.feedbackGateway,
            "channel_gateway": self.channelGateway, "remove_unknown_channels": self.removesUnknownChannels,
            "paused": isPaused,
            "paused_reason": pauseReason, "max_rate": self.maxRate, "max_per_device": self.maxPerDevice,
            "max_attempts": self.maxAttempts,
            "reap_bad_tokens": self.reapsBadTokens, "collapse_unknown": self.collapsesUnknown,
            "keep_unique_ids": self.keepsUniqueIDs,
        ]
    }
}
