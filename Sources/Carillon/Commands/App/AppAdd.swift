import ApplePush
import PushQueue
import TLS

extension Command {
    static let appAdd = Command(
        "app",
        "add",
        summary: "Add an app: a topic, the credential to send with, and where to send to.",
        arguments: [Argument("NAME", "The name that carillon.enqueue will know the app by.")],
        required: [.topic, .credential],
        options: [.environment, .gateway, .gatewayCA, .protocol, .maxRate, .maxAttempts, .reapBadTokens, .database],
        examples: [
            "carillon app add shop --topic com.example.shop --credential shop",
            "carillon app add try --topic com.example.try --credential try --gateway localhost:2197 --gateway-ca ca.pem",
        ],
        run: { try await AppAdd(invocation: $0).run() }
    )
}

private struct AppAdd {
    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let app = try newApp()
        let credential = try await DatabaseScope.with(invocation) { connection, _ in
            try await AppStore(connection).add(app)
            return try await CredentialStore(connection).list().first { $0.name == app.credential }
        }
        if let credential, let topic = app.topic, !credential.allows(topic) {
            invocation.console.warn(
                "The certificate \(credential.name) is for \(credential.topics.joined(separator: ", ")), not for "
                    + "\(topic); APNs will refuse to send."
            )
        }
        invocation.console.print("Added the app \(app.name).")
        return .done
    }

    private func newApp() throws -> NewApp {
        let settings = invocation.settings
        return NewApp(
            name: invocation.name,
            topic: settings.text(.topic),
            credential: settings.text(.credential),
            environment: settings.text(.environment) ?? "production",
            protocol: settings.text(.protocol) ?? "http2",
            gateway: try gateway(),
            gatewayCA: try gatewayCA(),
            maxRate: settings.countIfAny(.maxRate).map(Int32.init),
            maxAttempts: settings.countIfAny(.maxAttempts).map(Int32.init),
            reapsBadTokens: settings.isOn(.reapBadTokens)
        )
    }

    private func gateway() throws -> String? {
        guard let text = invocation.settings.text(.gateway) else { return nil }
        do {
            return try Gateway(text).description
        } catch {
            throw UsageError("--gateway takes an address such as localhost:2197, not '\(text)'.")
        }
    }

    private func gatewayCA() throws -> String? {
        guard let path = invocation.settings.text(.gatewayCA) else { return nil }
        guard invocation.settings.text(.gateway) != nil else {
            throw UsageError(
                "--gateway-ca is the root of --gateway, and there is none; Apple's roots are the system's."
            )
        }
        let text = try SmallFile.read(path).text
        do {
            _ = try TLSContext.client(trust: .pem(text))
        } catch {
            throw CommandError(
                .configuration,
                "The file \(path) holds no root certificate in PEM: \(error.message)",
                hint:
                    "It begins with -----BEGIN CERTIFICATE-----; 'carillon simulator --ca-out FILE' writes such a one."
            )
        }
        return text
    }
}

extension StoredCredential {
    /// Whether a push to the topic, or to one that Apple derives from it, may be sent with it. Where it does not say, it
    /// may.
    fileprivate func allows(_ topic: String) -> Bool {
        topics.isEmpty || topics.contains { topic == $0 || topic.hasPrefix($0 + ".") }
    }
}
