import PushQueue

extension Command {
    static let appSet = Command(
        "app",
        "set",
        summary: "Change the settings of an app; running workers follow within a second.",
        discussion: "Changes the settings that are given and leaves the others. --clear removes a setting; "
            + "--reap-bad-tokens=false turns that one off. 'carillon app show' shows all settings.",
        arguments: [Argument("NAME", "The app.")],
        options: [.rename, .topic, .credential] + AppOptions.all + [.clear, .database],
        examples: [
            "carillon app set shop --credential shop-2027 --max-rate 500",
            "carillon app set shop --gateway localhost:2197 --gateway-ca ca.pem",
            "carillon app set shop --clear gateway --clear max-rate",
        ],
        run: { try await AppSet(invocation: $0).run() }
    )
}

private struct AppSet {
    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let change = try change()
        guard !change.isEmpty else {
            throw UsageError(
                "carillon app set needs something to change, such as --topic or --max-rate.",
                command: invocation.command.words
            )
        }
        let (app, credential) = try await DatabaseScope.with(invocation) { connection, _ in
            let app = try await AppStore(connection).change(invocation.name, change)
            return (app, try await CredentialStore(connection).list().first { $0.name == app.credential })
        }
        AppOptions.warn(invocation.console, of: app.topic, with: credential)
        invocation.console.print("Changed the app \(app.name).")
        return .done
    }

    private func change() throws -> AppChange {
        let settings = invocation.settings
        let options = AppOptions(settings: settings)
        var change = AppChange()
        let cleared = settings.texts(.clear)
        if let twice = [Option.topic, .gateway, .gatewayCA, .feedbackGateway, .maxRate]
            .first(where: { cleared.contains($0.flag) && settings.isChosen($0) })
        {
            throw UsageError(
                "--clear \(twice.flag) and --\(twice.flag) contradict each other: give one of them.",
                command: invocation.command.words
            )
        }
        change.cleared = Set(cleared.compactMap(AppChange.Clearable.init))
        change.name = settings.text(.rename)
        change.topic = settings.text(.topic)
        change.credential = settings.text(.credential)
        change.environment = settings.isChosen(.environment) ? settings.text(.environment) : nil
        change.protocol = settings.isChosen(.protocol) ? settings.text(.protocol) : nil
        change.gateway = try options.gateway()
        change.gatewayCA = try options.gatewayCA()
        change.feedbackGateway = try options.feedbackGateway()
        change.maxRate = settings.countIfAny(.maxRate).map(Int32.init)
        change.maxAttempts = settings.countIfAny(.maxAttempts).map(Int32.init)
        change.reapsBadTokens = settings.isChosen(.reapBadTokens) ? settings.isOn(.reapBadTokens) : nil
        return change
    }
}
