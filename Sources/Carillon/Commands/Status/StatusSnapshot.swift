import CarillonPostgres
import CarillonSchema
import CarillonText

/// What `status` shows of its databases.
struct StatusSnapshot: Sendable, JSONConvertible {
    /// What was read of one of them, or why it was not.
    struct Database: Sendable {
        /// Nil if it is the only one.
        let label: String?
        var apps: [AppStatus] = []
        var workers: [WorkerRecord] = []
        var failure: CommandError?

        /// A thing in this database, as JSON.
        fileprivate func json(of thing: some JSONConvertible) -> JSONValue {
            .joined(thing.json, label.map { ["database": $0] } ?? [:])
        }
    }

    let databases: [Database]

    private var areSeveral: Bool { databases.count > 1 }

    var json: JSONValue {
        let apps = databases.flatMap { database in database.apps.map { database.json(of: $0) } }
        let workers = databases.flatMap { database in database.workers.map { database.json(of: $0) } }
        let failures = databases.compactMap { database in
            database.failure.map { ["database": database.label, "error": $0.sentence, "hint": $0.hint] as JSONValue }
        }
        return .joined(["apps": apps, "workers": workers], areSeveral ? ["failures": failures] : [:])
    }

    func text(for stream: TextStream) -> String {
        let apps = databases.flatMap { database in database.apps.map { (database: database.label, app: $0) } }
        let table = TextTable(
            apps,
            areSeveral ? .left("DATABASE") { $0.database ?? "" } : nil,
            .left("APP") { $0.app.name },
            .left("STATE") { $0.app.state.rawValue },
            .right("READY") { $0.app.ready.text },
            .right("SCHEDULED") { $0.app.scheduled.text },
            .right("IN FLIGHT") { String($0.app.inFlight) },
            .right("OLDEST") { $0.app.oldestAge.map { DurationText.write(.seconds($0)) } ?? "-" },
            .right("SENT/MIN") { String($0.app.sentLastMinute) },
            .right("FAILED/MIN") { String($0.app.failedLastMinute) },
            .right("SENT/H") { String($0.app.sentLastHour) },
            .right("FAILED/H") { String($0.app.failedLastHour) },
            .left("MOSTLY AS") { $0.app.failureReason ?? "-" },
            .left("CREDENTIAL") {
                "\($0.app.credential ?? "none") (\($0.app.credentialStatus?.rawValue ?? "not checked"))"
            }
        )
        let isRead = databases.contains { $0.failure == nil }
        var text = ""
        if !apps.isEmpty {
            text = table.text(for: stream)
        } else if isRead {
            text = "There are no apps yet: add one with 'carillon app add'.\n"
        }
        func add(_ what: String, _ reason: (AppStatus) -> String?) {
            for (database, app) in apps {
                guard let reason = reason(app) else { continue }
                let name = (database.map { "\($0): " } ?? "") + app.name
                text += stream.styled("\(name.visible)\(what): ", .yellow) + reason.asSentence.visible + "\n"
            }
        }
        add(" is paused") { $0.pauseReason }
        add(" cannot send") { $0.holdReason }
        // The reason of a hold has been printed already.
        add("") { $0.credentialError == $0.holdReason ? nil : $0.credentialError }
        for database in databases {
            guard let failure = database.failure, let label = database.label else { continue }
            let reason = failure.sentence + (failure.hint.map { " " + $0 } ?? "")
            text += stream.styled("\(label.visible) cannot be read: ", .red) + reason.visible + "\n"
        }
        return isRead ? text + "\n" + workersText(for: stream) : text
    }

    private func workersText(for stream: TextStream) -> String {
        let workers = databases.flatMap { database in database.workers.map { (database: database.label, worker: $0) } }
        guard !workers.isEmpty else { return stream.styled("No worker is running.\n", .yellow) }
        let table = TextTable(
            workers,
            areSeveral ? .left("DATABASE") { $0.database ?? "" } : nil,
            .left("WORKER") { $0.worker.name },
            .right("ID") { String($0.worker.id) },
            .left("VERSION") { $0.worker.version ?? "?" },
            .left("STATE") { $0.worker.stateText },
            .right("UP") { DurationText.write(.seconds($0.worker.upFor)) },
            .right("HEARTBEAT") { DurationText.write(.seconds($0.worker.silentFor)) + " ago" },
            .right("LEASE") { DurationText.write(.seconds($0.worker.lease)) },
            .right("CLAIMS") { String($0.worker.claims) }
        )
        return table.text(for: stream)
    }
}
