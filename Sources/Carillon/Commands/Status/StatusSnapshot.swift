import CarillonPostgres
import CarillonSchema
import CarillonText

struct StatusSnapshot: Sendable, JSONConvertible {
    let apps: [AppStatus]
    let workers: [WorkerRecord]

    static func read(from connection: PostgresConnection) async throws -> StatusSnapshot {
        StatusSnapshot(
            apps: try await AppStatus.all(from: connection),
            workers: try await WorkerRecord.all(from: connection)
        )
    }

    var json: JSONValue { ["apps": apps, "workers": workers] }

    func text(for stream: TextStream) -> String {
        let table = TextTable(
            apps,
            .left("APP") { $0.name },
            .left("STATE") { $0.state.rawValue },
            .right("READY") { $0.ready.text },
            .right("SCHEDULED") { $0.scheduled.text },
            .right("IN FLIGHT") { String($0.inFlight) },
            .right("OLDEST") { $0.oldestAge.map { DurationText.write(.seconds($0)) } ?? "-" },
            .right("SENT/MIN") { String($0.sentLastMinute) },
            .right("FAILED/MIN") { String($0.failedLastMinute) },
            .right("SENT/H") { String($0.sentLastHour) },
            .right("FAILED/H") { String($0.failedLastHour) },
            .left("MOSTLY AS") { $0.failureReason ?? "-" },
            .left("CREDENTIAL") { "\($0.credential ?? "none") (\($0.credentialStatus?.rawValue ?? "not checked"))" }
        )
        var text = apps.isEmpty ? "There are no apps yet: add one with 'carillon app add'.\n" : table.text(for: stream)
        func add(_ what: String, _ reason: (AppStatus) -> String?) {
            for app in apps {
                guard let reason = reason(app) else { continue }
                text += stream.styled("\(app.name.visible)\(what): ", .yellow) + reason.asSentence.visible + "\n"
            }
        }
        add(" is paused") { $0.pauseReason }
        add(" cannot send") { $0.holdReason }
        // The reason of a hold has been printed already.
        add("") { $0.credentialError == $0.holdReason ? nil : $0.credentialError }
        text += "\n" + workersText(for: stream)
        return text
    }

    private func workersText(for stream: TextStream) -> String {
        guard !workers.isEmpty else { return stream.styled("No worker is running.\n", .yellow) }
        let table = TextTable(
            workers,
            .left("WORKER") { $0.name },
            .right("ID") { String($0.id) },
            .left("VERSION") { $0.version ?? "?" },
            .left("STATE") { $0.stateText },
            .right("UP") { DurationText.write(.seconds($0.upFor)) },
            .right("HEARTBEAT") { DurationText.write(.seconds($0.silentFor)) + " ago" },
            .right("LEASE") { DurationText.write(.seconds($0.lease)) },
            .right("CLAIMS") { String($0.claims) }
        )
        return table.text(for: stream)
    }
}
