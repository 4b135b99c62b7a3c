import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText

extension Command {
    static let feedback = Command(
        "feedback",
        roles: ["carillon_worker"],
        summary: "Delete dead tokens: run one feedback pass, or every pass that is due.",
        discussion: """
            Deletes each token that Apple reported dead and that has not been registered since, from carillon.tokens and from the
            tables named by carillon.watch_tokens, in small transactions. For apps with a legacy feedback service, it reads their
            list first.

            Workers run feedback passes themselves, unless they run with --feedback-interval 0s or --once. With --once, one pass
            runs now; otherwise this command runs the fleet's passes when due, until SIGTERM.
            """,
        options: [.oncePass, .dryRun, .app, .passInterval, .json, .database],
        exits: [
            .failed: "A list could not be read, or tokens could not be deleted from a table.",
            .tryAgain: "It was interrupted during a pass.",
        ],
        examples: ["carillon feedback --once", "carillon feedback --dry-run --app acme"],
        run: { invocation in
            let feedback = try FeedbackCommand(invocation)
            return try await DatabaseScope.with(invocation) { connection, loop in
                try await Interruption.cancelling(on: loop) { try await feedback.run(connection, loop) }
            }
        }
    )
}

private struct FeedbackCommand: Sendable {
    let invocation: Invocation
    let console: Console
    let settings: Settings
    private let lists: LegacyFeedbackCommandReader

    init(_ invocation: Invocation) throws(UsageError) {
        self.invocation = invocation
        console = invocation.console
        settings = invocation.settings
        lists = LegacyFeedbackCommandReader(log: console.log, database: settings.database)
        guard !settings.isOn(.once), !settings.isOn(.dryRun) else { return }
        if settings.text(.app) != nil {
            throw UsageError("--app needs --once or --dry-run: passes that are due run for all apps.")
        }
        if settings.duration(.feedbackInterval) == .zero {
            throw UsageError("carillon feedback needs a --feedback-interval above 0s; --once runs one pass now.")
        }
    }

    func run(_ connection: PostgresConnection, _ loop: EventLoop) async throws -> ExitStatus {
        if let app = settings.text(.app) { try await AppStore(connection).require(app) }
        if settings.isOn(.dryRun) {
            return show(try await ReapPreview.read(of: settings.text(.app), on: connection))
        }
        try await InstallationCheck.run(on: connection)
        if settings.isOn(.once) {
            let began = MonotonicInstant.now
            let reports = try await lists.read(of: settings.text(.app), on: connection, loop)
            let tally = try await pass(of: settings.text(.app), loop)
            return show(tally, unread: reports.compactMap(\.failure), in: .now - began)
        }
        try await keepOn(connection, loop)
        return .done
    }

    /// Runs one pass; throws when interrupted. It has a connection of its own, because triggers of others' tables run there.
    private func pass(of app: String?, _ loop: EventLoop) async throws -> ReapTally {
        var pass = ReapPass(of: app)
        try await DatabaseScope.with(invocation, on: loop) { connection in
            try await pass.run(on: connection, loop, whileTrue: { !Task.isCancelled })
        }
        try Task.checkCancellation()
        return pass.tally
    }

    /// Runs the passes that no worker of the fleet runs, until it is interrupted.
    private func keepOn(_ connection: PostgresConnection, _ loop: EventLoop) async throws {
        let interval = settings.duration(.feedbackInterval)
        while true {
            if try await FleetTask.feedback.take(every: interval, on: connection) {
                try await InstallationCheck.run(on: connection)
                _ = try await lists.read(of: nil, on: connection, loop)
                let began = MonotonicInstant.now
                let tally = try await pass(of: nil, loop)
                for event in WorkerEvent.feedbackPass(tally, in: .now - began) { console.log.write(event) }
            }
            do {
                try await loop.sleep(for: min(.seconds(5), interval / 2))
            } catch {
                return  // interrupted, which is how this ends
            }
        }
    }

    private func show(_ tables: [ReapPreview]) -> ExitStatus {
        invocation.show(tables.json) { console in
            console.print(
                TextTable(
                    tables,
                    .left("APP") { $0.app },
                    .left("TABLE") { $0.relation },
                    .right("DEAD TOKENS") { $0.tokens.map { Int($0).grouped } ?? "-" }
                )
            )
            for row in tables {
                guard let fault = row.fault else { continue }
                console.warn("\(row.relation) cannot be reaped: \(fault)".visible)
            }
        }
        return tables.contains { $0.fault != nil } ? .failed : .done
    }

    /// - Parameter unread: why legacy feedback lists were not read to their end; the log has said so.
    private func show(_ tally: ReapTally, unread: [String], in duration: Duration) -> ExitStatus {
        let apps = tally.deleted.sorted { $0.key < $1.key }
        if settings.isOn(.json) {
            console.print(json: [
                "reaped": tally.total, "by_app": JSONValue(tally.deleted),
                "feedback": tally.handled, "errors": unread + tally.faults, "seconds": duration.roundedSeconds,
            ])
        } else {
            let (tokens, rows) = (Counted.text(Int64(tally.total), "token"), Counted.text(Int64(tally.handled), "row"))
            let shares = apps.map { "\($0.key.visible): \($0.value.grouped)" }.joined(separator: ", ")
            console.print("Deleted \(tokens)\(shares.isEmpty ? "" : " (\(shares))"); handled \(rows) of feedback.")
            for fault in tally.faults {
                console.warn("Dead tokens could not be deleted from a table. \(fault)".visible)
            }
        }
        return unread.isEmpty && tally.faults.isEmpty ? .done : .failed
    }
}

extension ReapPreview: JSONConvertible {
    var json: JSONValue { ["app": app, "table": relation, "tokens": tokens, "error": fault] }
}
