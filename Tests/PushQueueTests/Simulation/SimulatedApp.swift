import TLS

@testable import PushQueue

/// The apps of a simulation.
enum SimulatedApp {
    static let mostAttempts: Int32 = 8

    /// Both apps, with a credential that is real and never used.
    static let directory = Swift::Result {
        let key = try SigningKey.generate().pem
        let secret = AppRow.Secret(
            certificate: nil,
            privateKey: key,
            passphrase: nil,
            keyID: "ABCDE12345",
            teamID: "TEAM123456"
        )
        var directory = AppDirectory()
        _ = directory.read([Self.row(1, secret: secret), Self.row(2, secret: secret)], of: [1, 2])
        return directory
    }

    static func row(
        _ id: Int32,
        isPaused: Bool = false,
        gateway: String? = nil,
        secret: AppRow.Secret? = nil
    ) -> AppRow {
        AppRow(
            id: id,
            name: "app \(id)",
            topic: "org.example.app",
            environment: "production",
            protocol: "http2",
            gateway: gateway,
            gatewayAuthority: nil,
            isPaused: isPaused,
            mostRate: id == 2 ? 40 : nil,
            mostAttempts: Self.mostAttempts,
            certificate: 1,
            version: 1,
            secret: secret
        )
    }
}
