import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonTLS
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// What PostgreSQL's log holds when it logs every statement with its parameters, as many installations set it.
@Suite struct ServerLogTests {
    private static let logsAll = """
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET log_statement = ''all''', current_database());
            EXECUTE format('ALTER DATABASE %I SET log_min_duration_statement = 0', current_database());
            EXECUTE format('ALTER DATABASE %I SET log_parameter_max_length = -1', current_database());
            EXECUTE format('ALTER DATABASE %I SET log_parameter_max_length_on_error = -1', current_database());
            EXECUTE format('ALTER DATABASE %I SET log_error_verbosity = ''verbose''', current_database());
        END $$
        """
    private static let (keyID, teamID) = ("ABC123DEFG", "DEF123GHIJ")
    /// Of no other test, because all of them share the server and its log.
    private static let topic = "com.example.logged"

    /// A line of each certificate and key in a PEM that differs from key to key.
    private static func middles(_ pem: String) throws -> [String] {
        let lines = pem.split(separator: "\n")
        let beginnings = lines.indices.filter { lines[$0].hasPrefix("-----BEGIN") }
        try #require(!beginnings.isEmpty)
        return try beginnings.map { String(try #require(lines.dropFirst($0 + 2).first { !$0.hasPrefix("-----") })) }
    }

    private static let refusal = "canary refusal"
    private static let refuseAll = """
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN RAISE EXCEPTION ''\(refusal) of %'', TG_TABLE_NAME; END';
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON carillon.certificates FOR EACH ROW EXECUTE FUNCTION public.refuse();
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON carillon.provider_tokens FOR EACH ROW EXECUTE FUNCTION public.refuse()
        """

    @Test func `no key, certificate, passphrase, provider token or password is in the log of the server, or in ours`()
        async throws
    {
        let key = try SigningKey.generate()
        let (passphrase, password) = ("canary-passphrase-4711", "canary-password-4711")
        let exportToken = "canary-export-token-4711"
        try await Shop.with({
            $0.providerKeys = [try ProviderKey(pem: key.pem, keyID: Self.keyID, teamID: Self.teamID)]
        }) { shop in
            try await shop.database.run(Self.logsAll)
            var said = ""
            func run(_ words: String...) async throws {
                let run = try await shop.run(words)
                #expect(run.status == 0, "\(words): \(run.errors)")
                said += run.output + run.errors
            }
            // Each command that writes a credential, twice: it is inserted, and replaced.
            let p8 = try shop.folder.write("AuthKey.p8", key.pem)
            let pem = try PyapnsClient.certificate(Self.topic)
            let pems = try shop.folder.write("topic.pem", pem)
            for _ in 0..<2 {
                try await run(
                    "credential",
                    "import",
                    "key",
                    "--file",
                    p8,
                    "--key-id",
                    Self.keyID,
                    "--team-id",
                    Self.teamID,
                    "--yes"
                )
                try await run("credential", "import", "pem", "--file", pems, "--yes")
            }
            let exporting = try shop.folder.write("export-token", exportToken)
            for _ in 0..<2 {
                let words = [
                    "metrics", "set-token", "shop", "--export-token-file", exporting, "--expires", "2100-01-01",
                ]
                let set = try await shop.run(words + ["--team-id", Self.teamID])
                #expect(set.status == 0, "\(set.errors)")
                said += set.output + set.errors
            }
            try await run("credential", "check", "key")
            try await run("app", "set", "shop", "--credential", "key")
            // A passphrase is stored with the key that it opens; one that is too long is refused.
            try await shop.database.session { session in
                let store = CredentialStore(session.connection)
                let text = CredentialText(certificate: pem, privateKey: nil, passphrase: passphrase)
                try await store.save(text, as: "secret")
                let long = CredentialText(
                    certificate: pem,
                    passphrase: passphrase + String(repeating: "x", count: 5000)
                )
                let error = await #expect(throws: SettingsError.self) { try await store.save(long, as: "secret") }
                #expect(error?.message == "A passphrase may be at most 4,096 bytes long.")
            }
            // Errors of PostgreSQL say nothing of what they refuse.
            try await shop.database.run(Self.refuseAll)
            let signing = ["key", "--file", p8, "--key-id", Self.keyID, "--team-id", Self.teamID]
            for words in [signing, ["pem", "--file", pems]] {
                let refused = try await shop.run(["credential", "import"] + words + ["--yes"])
                #expect(refused.status == 1 && refused.errors.contains("Canary refusal of certificates"))
                said += refused.output + refused.errors
            }
            try await shop.database.run("DROP TRIGGER refuse ON carillon.certificates")
            // The secrets of a webhook, which PostgreSQL makes, are printed, and sign what a worker posts.
            let (url, kinds) = ("https://127.0.0.1:1/", "sent")
            let hooks = [
                ["add", "crm", "--app", "shop", "--url", url, "--kinds", kinds, "--allow-private"],
                ["rotate-secret", "crm"],
            ]
            var hookSecrets: [String] = []
            for words in hooks {
                let run = try await shop.run(["webhook"] + words)
                hookSecrets += run.output.matches(of: /whsec_[A-Za-z0-9+\/=]+/).map { String($0.output) }
                said += run.errors
            }
            #expect(hookSecrets.count == 2)
            // A worker mints a provider token, and sends with it once it can be stored.
            let worker = try shop.start("worker", "--log-level", "debug")
            try await TestLoop.with { loop in
                try await shop.enqueue(3)
                try await loop.eventually("the provider token was refused") {
                    try await !TestCluster.log(with: Self.refusal + " of provider_tokens").isEmpty
                }
                try await shop.database.run("DROP TRIGGER refuse ON carillon.provider_tokens")
                try await loop.eventually("the pushes are sent") { await shop.gateway.receivedRequests().count == 3 }
                _ = try await worker.line(containing: "A webhook fails", on: loop)
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
            said += worker.said
            let other = try PyapnsClient.certificate("com.example.other")
            try await PyapnsClient.with(shop.database.url, in: shop.folder, ["--add-apps"]) { client, program, _ in
                #expect(await client.call("provision", "other", other, "sandbox").isNothing)
                said += program.said
            }
            let file = try shop.folder.write("password", password)
            try await DashboardClient.with(shop.database.url, in: shop.folder, ["--password-file", file]) {
                dashboard,
                _ in
                _ = await dashboard.post("/login", "password=\(password)")
                _ = await dashboard.get("/")
            }
            let tokens = Set(await shop.gateway.receivedRequests().compactMap(\.authorization)).compactMap {
                $0.split(separator: " ").last.map(String.init)
            }
            #expect(tokens.count == 1)
            let texts = tokens + [passphrase, password, exportToken] + hookSecrets
            let secrets = try [key.pem, pem, other].flatMap(Self.middles) + texts
            let known = try await TestCluster.log(with: Self.topic)
            #expect(!known.isEmpty, "the server logs nothing, so this proves nothing")
            for secret in secrets {
                #expect(try await TestCluster.log(with: secret).isEmpty, "PostgreSQL's log says \(secret)")
                #expect(!said.contains(secret), "our log says \(secret)")
            }
        }
    }
}
