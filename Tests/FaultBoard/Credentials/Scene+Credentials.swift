import ApplePushSimulator
import CarillonPostgres
import CarillonPushQueue
import CarillonTLS

@testable import ApplePush

extension Scene {
    static let keyID = "BOARD12345"
    static let teamID = "TEAM567890"

    /// Gives the app a signing key.
    func sign(with key: SigningKey) async throws {
        try await client.session { connection in
            _ = try await CredentialStore(connection).save(
                CredentialText(privateKey: key.pem, keyID: Self.keyID, teamID: Self.teamID),
                as: Self.app
            )
        }
    }

    /// Stores a provider token as if the fleet had made it that many seconds ago. Returns the value of its header.
    /// - Parameter age: how old the database believes it to be.
    func keep(_ key: SigningKey, mintedBefore seconds: Int, age: Int? = nil) async throws -> String {
        let now = try await client.number("SELECT extract(epoch FROM clock_timestamp())")
        let token = try ProviderTokenKey(key, keyID: Self.keyID, teamID: Self.teamID).mint(at: Int64(now - seconds))
        try await client.run(
            """
            INSERT INTO carillon.provider_tokens (certificate_id, jwt, issued_at)
            SELECT c.id, '\(token.jwt)', to_timestamp(\(now - (age ?? seconds)))
            FROM carillon.certificates c WHERE c.name = '\(Self.app)'
            """
        )
        return "bearer \(token.jwt)"
    }

    /// A column of the app's credential.
    func credential(_ column: String) async throws -> String {
        try await client.text("SELECT c.\(column) FROM carillon.certificates c WHERE c.name = '\(Self.app)'")
    }
}

extension Scene {
    /// Writes a certificate into the app's row by plain SQL, as an operator without the program would.
    func write(_ certificate: String, _ privateKey: String) async throws {
        try await client.run(
            """
            UPDATE carillon.certificates SET certificate = \(OddRow.quoted(certificate)),
                private_key = \(OddRow.quoted(privateKey)), passphrase = NULL, key_id = NULL, team_id = NULL
            WHERE name = '\(Self.app)'
            """
        )
    }

    /// Replaces the app's certificate, and waits until a connection was made with the new one.
    func replaceCertificate(name: String, within limit: Duration = Board.sized(.seconds(60), full: .seconds(10)))
        async throws
    {
        let before = await simulator.statistics().connections
        let issued = try simulator.issueCertificate(topics: [Self.topic], commonName: name)
        try await write(issued.certificate, issued.privateKey)
        try await eventually("a connection was made with \(name)", within: limit) {
            await simulator.statistics().connections > before
        }
    }

    /// Waits until the app's credential has that status.
    func credential(is status: String, within limit: Duration = .seconds(180)) async throws {
        try await eventually("the credential is \(status)", within: limit) {
            try await credential("status") == status
        }
    }

    /// What `app_status` says of the app.
    func status(_ column: String) async throws -> String {
        try await client.text("SELECT s.\(column) FROM carillon.app_status s WHERE s.app = '\(Self.app)'")
    }
}
