package import ApplePushSimulator
package import CarillonPostgres
import CarillonPushQueue

extension PostgresConnection {
    /// Adds an app that sends to a simulator with a push certificate of the simulator's authority.
    /// - Parameters:
    ///   - suffixes: of push types whose topics the certificate has, too.
    ///   - gateway: where the app sends instead.
    ///   - root: whom the app trusts instead.
    package nonisolated func addApp(
        _ name: String,
        topic: String,
        to simulator: APNsSimulator,
        suffixes: [String] = [],
        gateway: String? = nil,
        root: String? = nil
    ) async throws {
        let issued = try simulator.issueCertificate(topics: [topic] + suffixes.map { topic + $0 })
        try await CredentialStore(self).save(
            CredentialText(certificate: issued.certificate, privateKey: issued.privateKey),
            as: name
        )
        try await AppStore(self).add(name) { app in
            app.topic = topic
            app.credential = name
            app.gateway = gateway ?? "localhost:\(simulator.port)"
            app.gatewayCA = root ?? simulator.rootPEM
        }
    }
}
