import CarillonPushQueue

extension Command {
    static let appPause = Command(
        "app pause",
        summary: "Stop sending for an app; its messages wait.",
        arguments: [Argument("NAME", "The app.")],
        options: [.database],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, _ in
                _ = try await AppStore(connection).pause(invocation.name)
            }
            invocation.console.print("Paused the app \(invocation.name).")
            return .done
        }
    )

    static let appResume = Command(
        "app resume",
        summary: "Resume sending for a paused app.",
        arguments: [Argument("NAME", "The app.")],
        options: [.database],
        run: { invocation in
            try await DatabaseScope.with(invocation) { connection, _ in
                _ = try await AppStore(connection).resume(invocation.name)
            }
            invocation.console.print("Resumed the app \(invocation.name).")
            return .done
        }
    )
}
