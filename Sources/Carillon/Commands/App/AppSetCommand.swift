import CarillonPushQueue

extension Command {
    static let appSet = Command(
        "app set",
        roles: [],
        summary: "Change the settings of an app; running workers apply them within a second.",
        discussion:
            "Changes only the settings that are given. --clear removes a setting; --reap-bad-tokens=false turns "
            + "that one off. 'carillon app show' shows all settings.",
        arguments: [Argument("NAME", "The app.")],
        options: AppOptions.changes + [.database],
        examples: [
            "carillon app set acme --credential acme-2027 --max-rate 500",
            "carillon app set acme --gateway localhost:2197 --gateway-ca ca.pem",
            "carillon app set acme --clear gateway --clear max-rate",
        ],
        run: { try await AppSetCommand(invocation: $0).run() }
    )
}

private struct AppSetCommand {
    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let settings = invocation.settings
        guard AppOptions.changes.contains(where: { settings.isChosen($0) }) else {
            throw UsageError("carillon app set needs something to change, such as --topic or --max-rate.")
        }
        if let twice = AppOptions.clearable.first(where: {
            settings.texts(.clear).contains($0.flag) && settings.isChosen($0)
        }) {
            throw UsageError("--clear \(twice.flag) and --\(twice.flag) contradict each other: give one of them.")
        }
        let options = try AppOptions(settings)
        let (app, credential) = try await DatabaseScope.with(invocation) { connection, _ in
            let app = try await AppStore(connection).change(invocation.name, options.apply)
            return (app, try await CredentialStore(connection).ifAny(named: app.settings.credential))
        }
        AppOptions.warn(invocation.console, of: app, with: credential)
        invocation.console.print("Changed the app \(app.name).")
        return .done
    }
}
