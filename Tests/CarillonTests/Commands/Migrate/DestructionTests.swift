import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonTLS
import TestSupport
import Testing

@testable import Carillon

/// What destroys asks first: it says what would go, in numbers, and does it with --yes only.
@Suite struct DestructionTests {
    private static let worker = """
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (7, 'host:1', now() + interval '1 hour')
        """

    @Test(.shop) func `removing an app says what goes with it, and needs a yes`() async throws {
        try await shop.database.connection.script(
            """
            SELECT carillon.register_token('shop', lpad(to_hex(n), 64, '0')) FROM generate_series(1, 1200) n;
            INSERT INTO carillon.results (message_id, app_id, sent) SELECT 9, a.id, 1 FROM carillon.apps a
            """
        )
        let asked = try await shop.run("app", "remove", "shop")
        #expect(asked.status == 2 && asked.errors.contains("1,200 tokens") && asked.errors.contains("--yes"))
        #expect(asked.errors.contains("1 row of its history stays"))
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.apps") == 1)
        let removed = try await shop.run("app", "remove", "shop", "--yes")
        #expect(removed.status == 0 && removed.output.contains("1,200 tokens"))
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 0)
    }

    @Test(.shop) func `an app that workers serve is not removed until it is paused`() async throws {
        try await shop.database.connection.script(Self.worker)
        let refused = try await shop.run("app", "remove", "shop", "--yes")
        #expect(refused.status == 1 && refused.errors.contains("host:1") && refused.errors.contains("app pause shop"))
        #expect(try await shop.run("app", "pause", "shop").status == 0)
        #expect(try await shop.run("app", "remove", "shop", "--yes").status == 0)
    }

    @Test(.shop)
    func `taking the schema down says how many rows go, needs a yes, and never happens under live workers`()
        async throws
    {
        try await shop.enqueue(1500)
        let asked = try await shop.run("migrate", "down", "--to-version", "0")
        #expect(asked.status == 2 && asked.errors.contains("carillon.messages (1,500 rows)"))
        #expect(asked.errors.contains("carillon.apps (1 row)") && asked.errors.contains("--yes"))
        try await shop.database.connection.script(Self.worker)
        let refused = try await shop.run("migrate", "down", "--to-version", "0", "--yes")
        #expect(refused.status == 1 && refused.errors.contains("host:1"))
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 1500)
        try await shop.database.connection.script(
            "UPDATE carillon.workers SET lease_until = now() - interval '1 second'"
        )
        // The second one finds neither functions nor views.
        #expect(try await shop.run("migrate", "down", "--to-version", "\(Migration.latest - 1)", "--yes").status == 0)
        #expect(try await shop.run("migrate", "down", "--to-version", "0", "--yes").status == 0)
        #expect(try await shop.run("migrate", "down", "--to-version", "0").output.contains("nothing to undo"))
    }

    @Test(.shop)
    func `going below isolation names the roles that lose access until the schema is up again`() async throws {
        let isolation = try #require(Migration.all.first { $0.name == "isolation" }).version
        let role = "held_\(shop.database.connection.backendProcessID)"
        try await shop.database.connection.script("CREATE ROLE \(role); SELECT carillon.isolate_app('shop', '\(role)')")
        try await attempt {
            let above = try await shop.run("migrate", "down", "--to-version", "\(isolation)")
            #expect(above.status == 2 && !above.errors.contains(role), "\(above.errors)")
            let asked = try await shop.run("migrate", "down", "--to-version", "\(isolation - 1)")
            #expect(
                asked.status == 2
                    && asked.errors.contains("\(role), isolated by isolate_app, loses access until"),
                "\(asked.errors)"
            )
            #expect(try await shop.run("migrate", "down", "--to-version", "\(isolation - 1)", "--yes").status == 0)
            #expect(try await shop.run("migrate", "up").status == 0)
            #expect(try await shop.run("check").output.contains("ok       isolation"))
        } finally: {
            try await shop.database.connection.script("DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }

    @Test func `requeueing without a filter says how many pushes that is, and needs a yes`() async throws {
        try await Shop.with(answers: ["bad=400:BadTopic"]) { shop in
            try await shop.database.connection.script(
                "SELECT carillon.enqueue('shop', ARRAY['\(Shop.token("bad1"))', '\(Shop.token("bad2"))'], 'hi')"
            )
            #expect(try await shop.drain().status == 0)
            let asked = try await shop.run("failures", "requeue")
            #expect(asked.status == 2 && asked.errors.contains("2 pushes") && asked.errors.contains("--yes"))
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 0)
            #expect(try await shop.run("failures", "requeue", "--yes").output == "Requeued 2 pushes.\n")
            #expect(try await shop.run("failures", "requeue").output == "Requeued 0 pushes.\n")
        }
    }

    @Test(.shop)
    func `a certificate for another topic is not put in the place of one in use without a yes`() async throws {
        try await shop.enqueue(3)
        let other = try CertificateAuthority(name: "Test").issue(commonName: "Test", topics: ["com.example.other"])
        let path = try shop.folder.write("other.pem", other.certificatePEM + other.privateKeyPEM)
        let asked = try await shop.run("credential", "import", "shop", "--file", path)
        #expect(asked.status == 2 && asked.errors.contains("com.example.other"))
        #expect(asked.errors.contains("shop (com.example.shop)") && asked.errors.contains("3 jobs"))
        #expect(try await shop.run("credential", "list").output.contains("com.example.shop"))
        #expect(try await shop.run("credential", "import", "shop", "--file", path, "--yes").status == 0)
        #expect(try await shop.run("credential", "list").output.contains("com.example.other"))
        // Nor one that lacks a further topic of the app.
        let both = try CertificateAuthority(name: "Test").issue(
            commonName: "Test",
            topics: [Shop.topic, "com.example.other"]
        )
        let wide = try shop.folder.write("both.pem", both.certificatePEM + both.privateKeyPEM)
        #expect(try await shop.run("credential", "import", "shop", "--file", wide).status == 0)
        try await shop.database.run("UPDATE carillon.apps SET topics = '{com.example.other,com.example.third}'")
        let narrow = try CertificateAuthority(name: "Test").issue(commonName: "Test", topics: [Shop.topic])
        let path2 = try shop.folder.write("narrow.pem", narrow.certificatePEM + narrow.privateKeyPEM)
        let askedAgain = try await shop.run("credential", "import", "shop", "--file", path2)
        #expect(
            askedAgain.status == 2 && askedAgain.errors.contains("shop (com.example.other)"),
            "\(askedAgain.errors)"
        )
        try await shop.database.run("UPDATE carillon.apps SET topics = NULL")
        // A renewal asks nothing, nor does it where an app had the wrong topic before.
        let same = try CertificateAuthority(name: "Test").issue(commonName: "Test", topics: [Shop.topic])
        let renewed = try shop.folder.write("same.pem", same.certificatePEM + same.privateKeyPEM)
        #expect(try await shop.run("credential", "import", "shop", "--file", renewed).status == 0)
        try await shop.database.connection.script(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id)
            SELECT 'wrong', 'com.example.wrong', certificate_id FROM carillon.apps
            """
        )
        #expect(try await shop.run("credential", "import", "shop", "--file", renewed).status == 0)
    }
}
