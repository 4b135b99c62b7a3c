import CarillonPushQueue

extension Command {
    static let appPause = change("app pause", "Stop sending for an app; its messages wait.", to: true) {
        $1 ? "Paused the app \($0)." : "The app \($0) was already paused."
    }

    static let appResume = change("app resume", "Resume sending for a paused app.", to: false) {
        $1 ? "Resumed the app \($0)." : "The app \($0) was not paused."
    }

    /// - Parameter sentence: of the name, and whether something was changed.
    private static func change(
        _ name: String,
        _ summary: String,
        to paused: Bool,
        _ sentence: @escaping @Sendable (String, Bool) -> String
    ) -> Command {
        Command(
            name,
            roles: ["carillon_worker"],
            summary: summary,
            arguments: [Argument("NAME", "The app.")],
            options: [.database]
        ) { invocation in
            let isChanged = try await DatabaseScope.with(invocation) { connection, _ in
                try await AppStore(connection).setPaused(paused, invocation.name)
            }
            invocation.console.print(sentence(invocation.name, isChanged))
            return .done
        }
    }
}
