import ApplePush
import ApplePushSimulator

/// What the examples need around them.
enum Test {
    /// A signing key that nobody uses.
    static let p8 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgf5BA16rBh3WnLWeh
        GQdMtiZ+15LGHkhvCRIjdPofG7WhRANCAASU1sAxl5HolaXF2tu9Iekz/g0KxTBt
        UvdKYqMYbiHp++EvZPJSk3SThhFgqUbOS8XexAuYUrJXFNAzEd9W6JcQ
        -----END PRIVATE KEY-----
        """

    static func credential() throws -> Credential {
        try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
    }

    /// A simulator around an example.
    static func withSimulator(
        _ configuration: SimulatorConfiguration,
        _ body: (APNsSimulator, Gateway) async throws -> Void
    ) async throws {
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        do {
            try await body(simulator, Gateway(host: "localhost", port: simulator.port, trust: .pem(simulator.rootPEM)))
            await simulator.stop()
        } catch {
            await simulator.stop()
            throw error
        }
    }
}

/// What the examples call: functions of somebody's app.
final class App {
    private(set) var forgotten: [String] = []
    private(set) var retries: [[String]] = []
    private(set) var reports: [String] = []

    func forget(_ token: String, unlessRegisteredAfter timestamp: Int64?) { forgotten.append(token) }
    func later(_ message: APNs.Message, after seconds: Int = 0) { retries.append(message.tokens) }
    func later(_ token: String) { retries.append([token]) }
    func report(_ text: String) { reports.append(text) }
    func warn(before expiry: Int64) { reports.append("\(expiry)") }
}
