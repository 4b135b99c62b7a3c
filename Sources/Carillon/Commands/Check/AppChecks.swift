import CarillonPostgres
import CarillonSchema
import CarillonText

/// Finds apps that are paused or held, and apps most of whose pushes fail.
struct AppChecks {
    let connection: PostgresConnection

    func run() async throws -> [Finding] {
        let apps = try await AppStatus.all(from: connection)
        return apps.compactMap(Self.finding) + apps.compactMap(Self.failing)
    }

    private static func finding(_ app: AppStatus) -> Finding? {
        let scheduled = app.later.value > 0 ? " (\(app.later.text) more scheduled for later)" : ""
        let waiting = app.ready.text + (app.ready.value == 1 ? " job waits" : " jobs wait") + scheduled
        if app.isPaused {
            let reason = app.pauseReason.map { ": \($0)" } ?? "."
            return .warning(
                "The app \(app.name) is paused, and \(waiting)\(reason)"
                    .asSentence,
                remedy: "Resume it: 'carillon app resume \(app.name.shellQuoted)'."
            )
        }
        guard let reason = app.holdReason else { return nil }
        return .warning(
            "The app \(app.name) cannot send, and \(waiting): \(reason)"
                .asSentence,
            remedy: "Fix the cause; workers try again by themselves within a minute."
        )
    }

    /// Reports an app most of whose pushes fail. The reason of a paused app is reported elsewhere.
    private static func failing(_ app: AppStatus) -> Finding? {
        guard let reason = app.failureReason, !app.isPaused, app.failedLastHour > app.sentLastHour else { return nil }
        let ended = app.failedLastHour + app.sentLastHour
        return .warning(
            "Of \(Counted.text(ended, "push", "pushes")) of the app \(app.name) in the last hour, "
                + "\(app.failedLastHour == ended ? "all" : String(app.failedLastHour)) failed, most of them as \(reason).",
            remedy: ReasonText.remedy(for: reason, of: app.name)
                ?? "See which: 'carillon failures list --app \(app.name.shellQuoted)'."
        )
    }
}
