import Postgres

/// How things stand: the apps and the workers.
struct StatusSnapshot: Sendable {
    let apps: [AppStatus]
    let workers: [WorkerStatus]

    static func read(from connection: PostgresConnection) async throws -> StatusSnapshot {
        StatusSnapshot(
            apps: try await connection.values(of: AppStatus.statement),
            workers: try await connection.values(of: WorkerStatus.statement)
        )
    }

    var json: JSONValue {
        .object([("apps", .array(apps.map(\.json))), ("workers", .array(workers.map(\.json)))])
    }

    func text(for stream: TextStream) -> String {
        var table = TextTable(
            ("APP", .left),
            ("STATE", .left),
            ("WAITING", .right),
            ("LATER", .right),
            ("IN FLIGHT", .right),
            ("OLDEST", .right),
            ("SENT/MIN", .right),
            ("FAILED/MIN", .right),
            ("SENT/H", .right),
            ("FAILED/H", .right),
            ("MOSTLY AS", .left),
            ("CREDENTIAL", .left)
        )
        for app in apps {
            table.add(
                app.name,
                app.isPaused ? "paused" : app.holdReason == nil ? "active" : "held",
                String(app.depth),
                String(app.scheduled),
                String(app.inFlight),
                app.oldestAge.map { DurationText.write(.seconds($0)) } ?? "-",
                String(app.sentLastMinute),
                String(app.failedLastMinute),
                String(app.sentLastHour),
                String(app.failedLastHour),
                app.failureReason ?? "-",
                "\(app.credential ?? "none") (\(app.credentialStatus ?? "not checked"))"
            )
        }
        var text = apps.isEmpty ? "There are no apps yet: add one with 'carillon app add'.\n" : table.text(for: stream)
        for app in apps {
            guard let reason = app.pauseReason else { continue }
            text += stream.styled("\(app.name.visible) is paused: ", .yellow) + reason.asSentence.visible + "\n"
        }
        for app in apps {
            guard let reason = app.holdReason else { continue }
            text += stream.styled("\(app.name.visible) cannot send: ", .yellow) + reason.asSentence.visible + "\n"
        }
        for app in apps {
            // What holds the app has been said.
            guard let error = app.credentialError, error != app.holdReason else { continue }
            text += stream.styled("\(app.name.visible): ", .yellow) + error.asSentence.visible + "\n"
        }
        text += "\n" + workersText(for: stream)
        return text
    }

    private func workersText(for stream: TextStream) -> String {
        guard !workers.isEmpty else { return stream.styled("No worker is running.\n", .yellow) }
        var table = TextTable(
            ("WORKER", .left),
            ("NUMBER", .right),
            ("VERSION", .left),
            ("UP", .right),
            ("LAST SEEN", .right),
            ("LEASE", .right),
            ("HOLDS", .right)
        )
        for worker in workers {
            table.add(
                worker.name,
                String(worker.number),
                worker.version ?? "?",
                DurationText.write(.seconds(worker.upFor)),
                worker.isAlive ? DurationText.write(.seconds(worker.silentFor)) + " ago" : "lost",
                DurationText.write(.seconds(worker.lease)),
                String(worker.claims)
            )
        }
        return table.text(for: stream)
    }
}
