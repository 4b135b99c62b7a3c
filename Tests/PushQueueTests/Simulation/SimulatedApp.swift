import CarillonTLS

@testable import CarillonPushQueue

/// The apps of a simulation.
enum SimulatedApp {
    static let maxAttempts: Int32 = 8

    /// Both apps, with a credential that is real and never used.
    static let directory = Swift::Result {
        let key = try SigningKey.generate().pem
        let secret = CredentialText(privateKey: key, keyID: "ABCDE12345", teamID: "TEAM123456")
        var directory = AppDirectory()
        _ = directory.read([Self.row(1, secret: secret), Self.row(2, secret: secret)], of: [1, 2])
        return directory
    }

    /// The apps of a worker that has read none. Every secret that it reads gives the same credential, which is made only once.
    static let unread = Swift::Result {
        let key = try SigningKey.generate().pem
        let credential = try CredentialText(privateKey: key, keyID: "ABCDE12345", teamID: "TEAM123456").usable()
        return AppDirectory(reading: { _ in credential })
    }

    static func row(
        _ id: Int32,
        isPaused: Bool = false,
        gateway: String? = nil,
        secret: CredentialText? = nil
    ) -> AppWithSecret {
        var settings = AppSettings(name: "app \(id)")
        settings.topic = "org.example.app"
        settings.gateway = gateway
        settings.maxRate = id == 2 ? 40 : nil
        settings.maxPerDevice = id == 2 ? 3 : nil
        settings.maxAttempts = Self.maxAttempts
        return AppWithSecret(
            app: App(id: id, settings: settings, certificateID: 1, isPaused: isPaused),
            version: 1,
            secret: secret
        )
    }
}
