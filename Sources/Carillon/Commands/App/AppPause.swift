import Postgres

extension Command {
    static let appPause = Command(
        "app",
        "pause",
        summary: "Stop sending for an app; what is enqueued waits.",
        arguments: [Argument("NAME", "The app.")],
        options: [.database],
        run: { try await setPaused(true, $0) }
    )

    static let appResume = Command(
        "app",
        "resume",
        summary: "Go on sending for an app that was paused.",
        arguments: [Argument("NAME", "The app.")],
        options: [.database],
        run: { try await setPaused(false, $0) }
    )

    private static let statement = Statement("app_pause", "UPDATE carillon.apps SET paused = $2 WHERE name = $1")

    private static func setPaused(_ isPaused: Bool, _ invocation: Invocation) async throws -> ExitStatus {
        var parameters = Parameters()
        parameters.append(invocation.name)
        parameters.append(isPaused)
        let changed = try await DatabaseScope.with(invocation) { [parameters] connection, _ in
            try await connection.execute(statement, parameters)
        }
        guard changed > 0 else { throw CommandError.noApp(invocation.name) }
        invocation.console.print("\(isPaused ? "Paused" : "Resumed") the app \(invocation.name).")
        return .done
    }
}

extension CommandError {
    static func noApp(_ name: String) -> CommandError {
        CommandError(
            .failed,
            "There is no app named '\(name)'.",
            hint: "'carillon app list' shows those there are; 'carillon app add' adds one."
        )
    }
}
