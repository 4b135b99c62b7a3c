import CarillonPushQueue

extension Command {
    static let appPause = change("app pause", "Stop sending for an app; its messages wait.", "Paused") { apps, name in
        try await apps.pause(name)
    }

    static let appResume = change("app resume", "Resume sending for a paused app.", "Resumed") { apps, name in
        try await apps.resume(name)
    }

    private static func change(
        _ name: String,
        _ summary: String,
        _ deed: String,
        _ change: @escaping @Sendable (AppStore, String) async throws -> App
    ) -> Command {
        Command(
            name,
            roles: ["carillon_worker"],
            summary: summary,
            arguments: [Argument("NAME", "The app.")],
            options: [.database]
        ) { invocation in
            _ = try await DatabaseScope.with(invocation) { connection, _ in
                try await change(AppStore(connection), invocation.name)
            }
            invocation.console.print("\(deed) the app \(invocation.name).")
            return .done
        }
    }
}
