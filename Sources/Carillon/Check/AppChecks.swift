import Postgres

/// Looks for apps that send nothing though nothing is broken: paused ones, and ones that workers hold.
struct AppChecks {
    let connection: PostgresConnection

    func run() async -> [Finding] {
        do {
            let apps = try await connection.query(AppStatus.statement) { rows in
                try rows.indices.map { row in try AppStatus(rows, row) }
            }
            return apps.compactMap(Self.finding)
        } catch {
            return [.failed("app", error)]
        }
    }

    private static func finding(_ app: AppStatus) -> Finding? {
        let waiting = Counted.text(app.depth, "job")
        if app.isPaused {
            let reason = app.pauseReason.map { ": \($0)" } ?? "."
            return .warning(
                "app",
                "The app \(app.name) is paused, and \(waiting) \(app.depth == 1 ? "waits" : "wait")\(reason)"
                    .asSentence,
                remedy: "'carillon app resume \(app.name)'."
            )
        }
        guard let reason = app.holdReason else { return nil }
        return .warning(
            "app",
            "The app \(app.name) cannot send, and \(waiting) \(app.depth == 1 ? "waits" : "wait"): \(reason)"
                .asSentence,
            remedy: "Mend what it names; workers try again by themselves, within a minute."
        )
    }
}
