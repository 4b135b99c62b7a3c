import CarillonPushQueue

extension Command {
    static let appAdd = Command(
        "app add",
        roles: [],
        summary: "Add an app: its topic, its credential, and its gateway.",
        arguments: [Argument("NAME", "The name to give to carillon.enqueue.")],
        required: [.topic, .credential],
        options: AppOptions.all + [.database],
        examples: [
            "carillon app add acme --topic com.example.acme --credential acme",
            "carillon app add try --topic com.example.try --credential try --gateway localhost:2197 --gateway-ca ca.pem",
        ],
        run: { try await AppAddCommand(invocation: $0).run() }
    )
}

private struct AppAddCommand {
    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let settings = invocation.settings
        let gateways: [Option] = [.gateway, .feedbackGateway, .channelGateway, .otherGateway]
        guard settings.text(.gatewayCA) == nil || gateways.contains(where: { settings.text($0) != nil }) else {
            throw UsageError(
                "--gateway-ca is the root certificate for --gateway: give that too. Apple's gateways need no --gateway-ca."
            )
        }
        let options = try AppOptions(settings)
        let (app, credential) = try await DatabaseScope.with(invocation) { connection, _ in
            let app = try await AppStore(connection).add(invocation.name, options.apply)
            return (app, try await CredentialStore(connection).ifAny(named: app.settings.credential))
        }
        AppOptions.warn(invocation.console, of: app, with: credential)
        invocation.console.print("Added the app \(app.name).")
        return .done
    }
}
