import Postgres

/// Finds the apps that send nothing because they are paused or held.
struct AppChecks {
    let connection: PostgresConnection

    func run() async -> [Finding] {
        do {
            let apps: [AppStatus] = try await connection.values(of: AppStatus.statement)
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
                remedy: "Resume it: 'carillon app resume \(app.name)'."
            )
        }
        guard let reason = app.holdReason else { return nil }
        return .warning(
            "app",
            "The app \(app.name) cannot send, and \(waiting) \(app.depth == 1 ? "waits" : "wait"): \(reason)"
                .asSentence,
            remedy: "Fix that; workers try again by themselves, within a minute."
        )
    }
}
