import CarillonTLS
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// What `provision` stores, and what it leaves as it is.
@Suite struct PyapnsProvisionTests {
    private typealias Client = PyapnsClient

    /// A service that adds apps, and a client of it.
    private func with(
        _ words: (Shop) throws -> [String] = { _ in [] },
        _ body: (Shop, PyapnsClient) async throws -> Void
    ) async throws {
        try await Shop.with { shop in
            let words = try ["--add-apps"] + words(shop)
            try await PyapnsClient.with(shop.database.url, in: shop.folder, words) { client, _, _ in
                try await body(shop, client)
            }
        }
    }

    private static func replacing(_ shop: Shop) throws -> [String] {
        ["--replace-credentials", "--access-token-file", try shop.folder.write("token", token + "\n")]
    }

    private static let token = "0123456789abcdef"

    /// A service that replaces certificates, and a client that may make it do so.
    private func withReplacing(_ body: (Shop, PyapnsClient) async throws -> Void) async throws {
        try await with(Self.replacing) { try await body($0, $1.with(Self.token)) }
    }

    private static let apps = """
        SELECT a.name, a.topic, a.environment, a.gateway IS NULL, c.name FROM carillon.apps a
        JOIN carillon.certificates c ON c.id = a.certificate_id ORDER BY a.id
        """
    private static let versions =
        "SELECT a.xmin, c.xmin FROM carillon.apps a, carillon.certificates c ORDER BY a.id, c.id"

    @Test
    func `provision adds an app, writes nothing when it is the same, and takes a newer certificate`() async throws {
        try await withReplacing { shop, client in
            let first = try Client.certificate("com.example.news", days: 100)
            #expect(await client.call("provision", "news", first, "sandbox", "<int>15</int>").isNothing)
            let shopRow = "(shop,com.example.shop,production,f,shop)"
            let newsRow = "(news,com.example.news,sandbox,t,news)"
            #expect(try await shop.database.rows(Self.apps) == [shopRow, newsRow])
            let versions = try await shop.database.rows(Self.versions)
            #expect(await client.call("provision", "news", first, "sandbox", "15").isNothing)
            #expect(try await shop.database.rows(Self.versions) == versions)
            let second = try Client.certificate("com.example.news", days: 200)
            #expect(await client.call("provision", "news", second, "sandbox", "<double>1.5</double>").isNothing)
            // A client that starts with the old one undoes nothing.
            #expect(await client.call("provision", "news", first, "sandbox").isNothing)
            #expect(try await shop.database.rows(Self.apps) == [shopRow, newsRow])
            #expect(try await shop.database.value(Self.newsCertificate) == second)
        }
    }

    private static let newsCertificate = "SELECT certificate FROM carillon.certificates WHERE name = 'news'"

    @Test func `provision changes neither the topic nor the environment of an app`() async throws {
        try await with { shop, client in
            let text = try Client.certificate("com.example.news", days: 100)
            #expect(await client.call("provision", "news", text, "sandbox").isNothing)
            let versions = try await shop.database.rows(Self.versions)
            let other = try Client.certificate("com.example.weather", days: 200)
            for (certificate, environment, reason) in [
                (other, "sandbox", "has the topic com.example.news, and this certificate is for com.example.weather"),
                (text, "production", "carillon app set news --environment production"),
            ] {
                let answer = await client.call("provision", "news", certificate, environment)
                #expect(answer.faultCode == 8002 && answer.contains(reason), "\(answer)")
            }
            #expect(try await shop.database.rows(Self.versions) == versions)
        }
    }

    @Test func `provision keeps a signing key, and what was imported under the app's name`() async throws {
        try await with { shop, client in
            let key = try Client.authority.get().issue(commonName: "key").privateKeyPEM
            try await shop.database.run(
                """
                INSERT INTO carillon.certificates (name, private_key, key_id, team_id)
                VALUES ('key', '\(key)', 'ABC123DEFG', 'DEF123GHIJ');
                UPDATE carillon.apps SET certificate_id = (SELECT id FROM carillon.certificates WHERE name = 'key')
                """
            )
            let versions = try await shop.database.rows(Self.versions)
            #expect(await client.call("provision", "shop", try Client.certificate(Shop.topic), "production").isNothing)
            let answer = await client.call("provision", "key", try Client.certificate("com.example.key"), "production")
            #expect(answer.faultCode == 8002 && answer.contains("because it is a signing key"), "\(answer)")
            #expect(try await shop.database.rows(Self.versions) == versions)
        }
    }

    @Test(.shop) func `without --replace-credentials it adds apps, and replaces no certificate`() async throws {
        try await with { shop, client in
            let first = try Client.certificate("com.example.news", days: 100)
            #expect(await client.call("provision", "news", first, "sandbox").isNothing)
            #expect(
                await client.call("provision", "news", try Client.certificate("com.example.news"), "sandbox").isNothing
            )
            #expect(try await shop.database.value(Self.newsCertificate) == first)
        }
        let refused = try await shop.run("pyapns", "--port", "0", "--replace-credentials")
        #expect(refused.status == 2 && refused.errors.contains("--access-token-file"), "\(refused.errors)")
    }

    @Test(.shop) func `without --add-apps it adds no app, and accepts those that exist`() async throws {
        let text = try Client.certificate("com.example.news")
        let versions = try await shop.database.rows(Self.versions)
        for words in [[], try Self.replacing(shop)] {
            try await Client.with(shop.database.url, in: shop.folder, words) { client, _, _ in
                let client = client.with(Self.token)
                let answer = await client.call("provision", "news", text, "sandbox")
                #expect(answer.faultCode == 8002 && answer.contains("with --add-apps"), "\(answer)")
                #expect(answer.contains("carillon app add"), "\(answer)")
                let older = try Client.certificate(Shop.topic, days: 100)
                #expect(await client.call("provision", "shop", older, "production").isNothing)
            }
        }
        #expect(try await shop.database.rows(Self.versions) == versions)
    }

    @Test func `a self-signed certificate with the app's topic replaces none, and adds no app`() async throws {
        try await withReplacing { shop, client in
            let first = try Client.certificate("com.example.news", days: 100)
            #expect(await client.call("provision", "news", first, "sandbox").isNothing)
            let versions = try await shop.database.rows(Self.versions)
            let forged = try Client.selfSigned("com.example.news")
            // A certificate with the extensions, whose key the caller need not have, does not help as part of the chain.
            let chain = String(first[..<(try #require(first.firstRange(of: "-----BEGIN PRIVATE")).lowerBound)])
            for (app, text) in [("news", forged), ("weather", forged), ("news", chain + forged)] {
                let answer = await client.call("provision", app, text, "sandbox")
                #expect(answer.faultCode == 8002 && answer.contains("none of the extensions"), "\(answer)")
            }
            #expect(try await shop.database.rows(Self.versions) == versions)
            #expect(try await shop.database.value(Self.newsCertificate) == first)
        }
    }

    /// Every program on this machine reaches a loopback address.
    @Test func `on a loopback address too, nobody provisions without the access token`() async throws {
        try await with(Self.replacing) { shop, client in
            let owner = client.with(Self.token)
            let first = try Client.certificate("com.example.news", days: 100)
            #expect(await owner.call("provision", "news", first, "sandbox").isNothing)
            let versions = try await shop.database.rows(Self.versions)
            let second = try Client.certificate("com.example.news", days: 200)
            for other in [client, client.with("0123456789abcdeg")] {
                for app in ["news", "weather"] {
                    let response = await other.exchange(Client.text(of: "provision", [app, second, "sandbox"]))
                    #expect(response.hasPrefix("HTTP/1.1 401 "), "\(response)")
                }
            }
            #expect(try await shop.database.rows(Self.versions) == versions)
            #expect(try await shop.database.value(Self.newsCertificate) == first)
            #expect(await owner.call("provision", "news", second, "sandbox").isNothing)
            #expect(try await shop.database.value(Self.newsCertificate) == second)
        }
    }

    @Test func `an app with a gateway of its own takes a certificate of any issuer`() async throws {
        try await withReplacing { shop, client in
            let text = try Client.selfSigned(Shop.topic)
            #expect(await client.call("provision", "shop", text, "production").isNothing)
            let stored = "SELECT certificate FROM carillon.certificates WHERE name = 'shop'"
            #expect(try await shop.database.value(stored) == text)
        }
    }

    @Test
    func `the credential of another app is not replaced, and a certificate without a topic is refused`() async throws {
        for isReplacing in [false, true] {
            try await with({ isReplacing ? try Self.replacing($0) : [] }) { shop, client in
                let client = isReplacing ? client.with(Self.token) : client
                // The credential of another app has the name of an app that is new.
                try await shop.database.run("UPDATE carillon.certificates SET name = 'bank'")
                let before = try await shop.database.rows(Self.versions)
                let answer = await client.call("provision", "bank", try Client.certificate(Shop.topic), "production")
                #expect(answer.faultCode == 8002 && answer.contains("bank"), "\(answer)")
                let plain = try Client.authority.get().issue(commonName: "no topic")
                let text = plain.certificatePEM + plain.privateKeyPEM
                let other = await client.call("provision", "new", text, "production")
                #expect(other.faultCode == 8002 && other.contains("for no topic"), "\(other)")
                #expect(try await shop.database.rows(Self.versions) == before)
            }
        }
    }

    @Test(.shop) func `the log says what a provision has changed`() async throws {
        let words = try ["--add-apps"] + Self.replacing(shop)
        try await PyapnsClient.with(shop.database.url, in: shop.folder, words) { client, program, loop in
            let client = client.with(Self.token)
            for days in [100, 200, 100] {
                let text = try Client.certificate("com.example.news", days: Int64(days))
                #expect(await client.call("provision", "news", text, "sandbox").isNothing)
            }
            for (line, parts) in [
                ("An app was added.", [#""credential":"news","topic":"com.example.news","environment":"sandbox""#]),
                ("An app was changed.", [#""earlier_credential":"news""#, #""earlier_expires":"#]),
                ("keeps its credential", ["its certificate is valid for longer"]),
            ] {
                let said = try await program.line(containing: line, on: loop)
                #expect(parts.allSatisfy { said.contains($0) }, "\(said)")
            }
        }
    }

    @Test func `a file is read once, from the named folder, and nothing is revealed about others`() async throws {
        try await with({ shop in
            mkdir(shop.folder.file("apns"), 0o755)
            return ["--certificate-folder", shop.folder.file("apns")]
        }) { shop, client in
            let pem = try Client.certificate("com.example.news")
            let path = try shop.folder.write("apns/apns.pem", pem)
            #expect(await client.call("provision", "news", path, "sandbox").isNothing)
            #expect(
                try await shop.database.number(
                    "SELECT count(*) FROM carillon.certificates WHERE certificate LIKE '%BEGIN%'"
                )
                    == 2
            )
            // Kubernetes mounts a secret so.
            mkdir(shop.folder.file("apns/..1"), 0o755)
            _ = try shop.folder.write("apns/..1/tls.pem", pem)
            symlink("..1", shop.folder.file("apns/..data"))
            symlink("..data/tls.pem", shop.folder.file("apns/tls.pem"))
            #expect(await client.call("provision", "news", shop.folder.file("apns/tls.pem"), "sandbox").isNothing)
            let outside = try shop.folder.write("outside.pem", pem)
            symlink(outside, shop.folder.file("apns/link.pem"))
            var answers: Set<String> = []
            for path in [
                outside, shop.folder.file("apns/link.pem"), shop.folder.file("apns/../outside.pem"),
                shop.folder.file("apns/missing.pem"), "apns.pem", shop.folder.file("apns"),
                try shop.folder.write("apns/text", "x"),
            ] {
                let answer = await client.call("provision", "other", path, "sandbox")
                #expect(answer.faultCode == 8002 && answer.contains("cannot be read"), "\(answer)")
                answers.insert(answer)
            }
            #expect(answers.count == 1)
        }
        try await with { shop, client in
            let path = try shop.folder.write("apns.pem", try Client.certificate("com.example.news"))
            let answer = await client.call("provision", "news", path, "sandbox")
            #expect(answer.faultCode == 8002 && answer.contains("--certificate-folder"), "\(answer)")
        }
    }

    @Test func `provision at the same time from many processes adds one app`() async throws {
        try await with { shop, client in
            let text = try Client.certificate("com.example.news")
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<8 { group.addTask { await client.call("provision", "news", text, "sandbox") } }
                for await answer in group { #expect(answer.isNothing, "\(answer)") }
            }
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.apps") == 2)
        }
    }

    @Test func `a credential that other apps use is not changed`() async throws {
        try await withReplacing { shop, client in
            try await shop.database.run(
                """
                INSERT INTO carillon.apps (name, topic, certificate_id) SELECT 'other', topic, certificate_id FROM carillon.apps
                """
            )
            let versions = try await shop.database.rows(Self.versions)
            let answer = await client.call("provision", "shop", try Client.certificate(Shop.topic), "production")
            #expect(answer.faultCode == 8002 && answer.contains("is used by other too"), "\(answer)")
            #expect(try await shop.database.rows(Self.versions) == versions)
        }
    }
}
