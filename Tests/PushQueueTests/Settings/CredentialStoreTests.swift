import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonTLS
import TestSupport
import Testing

@Suite struct CredentialStoreTests {
    private static let authority = Swift::Result { try CertificateAuthority(name: "Test authority") }

    private static func certificate(
        topics: [String] = ["com.example.demo"],
        notAfter: Int64? = nil
    ) throws -> CredentialText {
        let authority = try self.authority.get()
        let issued =
            try notAfter.map {
                try authority.issue(commonName: "Apple Push Services: demo", topics: topics, notAfter: $0)
            } ?? authority.issue(commonName: "Apple Push Services: demo", topics: topics)
        return CredentialText(certificate: issued.certificatePEM, privateKey: issued.privateKeyPEM)
    }

    private static func signingKey() throws -> CredentialText {
        CredentialText(privateKey: try SigningKey.generate().pem, keyID: "ABCDE12345", teamID: "TEAM123456")
    }

    @Test(.demo) func `a certificate is stored with its facts`() async throws {
        let store = CredentialStore(database.connection)
        let text = try Self.certificate()
        let stored = try await store.save(text, as: "push")
        #expect(stored.kind == .certificate)
        #expect(stored.topics == ["com.example.demo"])
        #expect(stored.status == .ok && stored.lastError == nil)
        #expect(stored.notAfter != nil)
        #expect(
            try await database.value("SELECT certificate FROM carillon.certificates WHERE name = 'push'")
                == text.certificate
        )
        #expect(try await store.list().map(\.name) == ["main", "push"])
    }

    @Test(.demo) func `a signing key is stored with its ids, without expiry`() async throws {
        let stored = try await CredentialStore(database.connection).save(try Self.signingKey(), as: "key")
        #expect(stored.kind == .token && stored.keyID == "ABCDE12345" && stored.teamID == "TEAM123456")
        #expect(stored.notAfter == nil && stored.topics.isEmpty && stored.status == .ok)
    }

    @Test(.demo) func `saving again replaces the text, the facts and the provider token`() async throws {
        let store = CredentialStore(database.connection)
        let first = try await store.save(try Self.signingKey(), as: "push")
        try await database.run("INSERT INTO carillon.provider_tokens VALUES (\(first.id), 'jwt', now())")
        try await database.run(
            "UPDATE carillon.certificates SET status = 'rejected', last_error = 'x' WHERE name = 'push'"
        )
        let soon = try #require(
            Int64(try await database.value("SELECT extract(epoch FROM now())::bigint + 86400") ?? "")
        )
        let second = try await store.save(
            try Self.certificate(topics: ["a.b", "a.b.voip"], notAfter: soon),
            as: "push"
        )
        #expect(second.id == first.id && second.kind == .certificate && second.keyID == nil)
        #expect(
            second.status == .expiring && second.lastError == nil && second.notAfter?.microseconds == soon * 1_000_000
        )
        #expect(second.topics.contains("a.b.voip"))
        #expect(try await database.rows("TABLE carillon.provider_tokens").isEmpty)
    }

    @Test(.demo) func `changing a key by SQL clears the status, and other changes do not`() async throws {
        let stored = try await CredentialStore(database.connection).save(try Self.certificate(), as: "push")
        try await database.run(
            "UPDATE carillon.certificates SET name = 'renamed', last_error = 'x' WHERE name = 'push'"
        )
        let state = "SELECT status, last_error, topics FROM carillon.certificates WHERE id = \(stored.id)"
        #expect(try await database.rows(state) == ["(ok,x,{com.example.demo})"])
        try await database.run("UPDATE carillon.certificates SET passphrase = 'new' WHERE id = \(stored.id)")
        #expect(try await database.rows(state) == ["(,,)"])
    }

    @Test(.demo) func `parts that do not go together are refused with a sentence, and not stored`() async throws {
        let whole = try Self.certificate()
        let other = try Self.certificate()
        let key = try Self.signingKey()
        let refusals: [(CredentialText, String)] = [
            (CredentialText(), "a certificate with its key"),
            (CredentialText(privateKey: whole.privateKey), "A key alone is not a credential"),
            (CredentialText(certificate: whole.certificate), "key"),
            (CredentialText(certificate: whole.certificate, privateKey: other.privateKey), "key"),
            (CredentialText(certificate: "garbage", privateKey: whole.privateKey), "certificate"),
            (CredentialText(privateKey: key.privateKey, keyID: "ABCDE12345"), "go together"),
            (CredentialText(privateKey: key.privateKey, teamID: "TEAM123456"), "go together"),
            (CredentialText(keyID: "ABCDE12345", teamID: "TEAM123456"), "is missing"),
            (
                CredentialText(privateKey: key.privateKey, keyID: "short", teamID: "TEAM123456"),
                "ten letters and digits"
            ),
            (CredentialText(privateKey: "garbage", keyID: "ABCDE12345", teamID: "TEAM123456"), "signing key"),
            (
                CredentialText(
                    certificate: whole.certificate,
                    privateKey: key.privateKey,
                    keyID: "ABCDE12345",
                    teamID: "TEAM123456"
                ), "not both"
            ),
            (try Self.certificate(notAfter: 1_000_000_000), "expired on 2001-09-09"),
        ]
        let store = CredentialStore(database.connection)
        for (text, part) in refusals {
            let error = await #expect(throws: SettingsError.self, "\(part)") {
                try await store.save(text, as: "push")
            }
            #expect(error?.code == .invalid)
            #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
            if let secret = text.privateKey?.split(separator: "\n").dropFirst().first {
                #expect(error?.message.contains(secret) == false)
            }
        }
        let unnamed = await #expect(throws: SettingsError.self) { try await store.save(whole, as: "") }
        #expect(unnamed?.message == "A credential needs a name.")
        #expect(try await store.list().map(\.name) == ["main"])
    }

    @Test(.demo) func `a check records its result`() async throws {
        let store = CredentialStore(database.connection)
        let bad = try await store.check("main")
        #expect(bad.status == .invalid)
        #expect(bad.lastError?.contains("certificate") == true)
        try await store.save(try Self.certificate(), as: "main")
        #expect(try await store.check("main").status == .ok)
        let error = await #expect(throws: SettingsError.self) { try await store.check("nope") }
        #expect(error?.code == .unknownName)
        #expect(error?.message == "There is no credential named nope. Known credentials: main.")
    }

    @Test(.demo) func `a credential in use is not removed, and the error names its apps`() async throws {
        let store = CredentialStore(database.connection)
        let error = await #expect(throws: SettingsError.self) { try await store.remove("main") }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("used by demo") == true)
        try await AppStore(database.connection).remove("demo")
        try await store.remove("main")
        #expect(try await store.list().isEmpty)
        await #expect(throws: SettingsError.self) { try await store.remove("main") }
    }

    @Test func `a printed credential has no secret`() throws {
        let text = try Self.certificate()
        #expect("\(text)" == "a certificate")
        #expect(String(reflecting: text) == "a certificate")
        #expect(!String(describing: Mirror(reflecting: text).children.map { $0 }).contains("KEY"))
    }
}
