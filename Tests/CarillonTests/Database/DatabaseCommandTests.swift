import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonTLS
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

/// The commands against a real database, as a user runs them.
@Suite struct DatabaseCommandTests {
    private static func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

    /// A database with the schema, and a way to run the program on it.
    private func withSchema(
        _ body: (_ run: (String) async throws -> ProgramRun, _ folder: TemporaryFolder, _ url: String) async throws
            ->
            Void
    ) async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            _ = try await Migrator(connection).up()
            try await TemporaryFolder.with { folder in
                let run = { (line: String) in
                    try await ProgramRun.run(Self.words(line), environment: ["DATABASE_URL": url])
                }
                try await body(run, folder, url)
            }
        }
    }

    private func importCertificate(
        _ name: String,
        in folder: TemporaryFolder,
        _ run: (String) async throws -> ProgramRun
    ) async throws {
        let pair = try CertificateAuthority(name: "Test").issue(commonName: "Test", topics: ["com.example.\(name)"])
        let path = try folder.write("\(name).pem", pair.certificatePEM + pair.privateKeyPEM)
        let done = try await run("credential import \(name) --file \(path)")
        #expect(done.status == 0)
        #expect(done.errors.contains("not Apple's"))
    }

    @Test func `the schema goes up, down and up again, and status says what is missing`() async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            let environment = ["DATABASE_URL": url]
            func run(_ line: String) async throws -> ProgramRun {
                try await ProgramRun.run(["migrate"] + Self.words(line), environment: environment)
            }
            let missing = try await run("status")
            #expect(missing.status == 78 && missing.errors.contains("carillon migrate up"))
            let up = try await run("up")
            #expect(up.status == 0 && up.output.contains("Applied 0001_schema."))
            #expect(try await run("up").output.contains("up to date"))
            #expect(try await run("status").status == 0)
            let json = try await run("status --json").output
            #expect(json.contains(/"applied_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/), "\(json)")
            #expect(try await run("down --yes").status == 0)
            let outdated = try await run("status")
            #expect(outdated.status == 78 && outdated.errors.contains("lacks"))
            #expect(try await run("down --to-version 0 --yes").status == 0)
            #expect(try await run("up").status == 0)
            #expect(try await run("up --to-version 9999").status == 2)
        }
    }

    @Test func `the printed migrations make the same schema`() async throws {
        let sql = try await ProgramRun.run(["migrate", "sql"]).output
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script(sql)
            try await SchemaCheck.run(on: connection)
        }
    }

    @Test func `a schema from a newer program is refused, and named`() async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            _ = try await Migrator(connection).up()
            try await connection.script("INSERT INTO carillon.schema_migrations (version, name) VALUES (999, 'future')")
            let run = try await ProgramRun.run(["migrate", "up"], environment: ["DATABASE_URL": url])
            #expect(run.status == 78)
            #expect(run.errors.contains("999") && run.errors.contains("future"))
        }
    }

    @Test func `without the schema a command says how to make it`() async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            for words in [
                ["app", "list"], ["credential", "list"], ["status"], ["send", "--app", "a", "--token", "aa"],
            ] {
                let run = try await ProgramRun.run(words, environment: ["DATABASE_URL": url])
                #expect(run.status == 78, "\(words)")
                #expect(run.errors.contains("migrate up"))
            }
        }
    }

    @Test func `a database that does not exist is named`() async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            let run = try await ProgramRun.run(["app", "list"], environment: ["DATABASE_URL": url + "_not"])
            #expect(run.status == 78)
            #expect(run.errors.contains("does not exist"))
        }
    }

    @Test func `a certificate is imported, listed, checked and removed, and its key is never shown`() async throws {
        try await withSchema { run, folder, _ in
            try await importCertificate("shop", in: folder, run)
            let list = try await run("credential list")
            #expect(list.output.contains("com.example.shop") && list.output.contains("ok"))
            let json = try await run("credential list --json")
            #expect(json.output.contains("\"topics\":[\"com.example.shop\"]"))
            #expect(json.output.contains(/"not_after":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/), "\(json.output)")
            #expect(!json.output.contains("PRIVATE"))
            #expect(try await run("credential check").status == 0)
            #expect(try await run("credential check nobody").status == 1)
            #expect(
                try await run("app add shop --topic com.example.shop --credential shop").status == 0
            )
            let used = try await run("credential remove shop")
            #expect(used.status == 1 && used.errors.contains("used by shop"))
            #expect(try await run("app remove shop --yes").status == 0)
            #expect(try await run("credential remove shop").status == 0)
        }
    }

    @Test func `a p12 and an encrypted key are imported with their passphrase from a file`() async throws {
        try await withSchema { run, folder, _ in
            let passphrase = try folder.write("passphrase", CredentialFixtures.passphrase + "\n")
            let bundle = folder.file("cert.p12")
            try CredentialFixtures.bundle.write(to: .init(filePath: bundle))
            let first = try await run("credential import one --file \(bundle) --passphrase-file \(passphrase)")
            #expect(first.status == 0 && first.output.contains("com.example.fixture"))
            let certificate = try folder.write("cert.pem", CredentialFixtures.certificate)
            let key = try folder.write("key.pem", CredentialFixtures.encryptedKey)
            let second = try await run(
                "credential import two --file \(certificate) --key \(key) --passphrase-file \(passphrase)"
            )
            #expect(second.status == 0)
            for text in [first.output, first.errors, second.output, second.errors] { #expect(!text.contains("canary")) }
            #expect(try await run("credential check").status == 0)
        }
    }

    @Test func `an expired certificate is refused with its day`() async throws {
        try await withSchema { run, folder, _ in
            let expired = try CertificateAuthority(name: "Test").issue(commonName: "old", notAfter: 1_700_000_000)
            let path = try folder.write("cert.pem", expired.certificatePEM + expired.privateKeyPEM)
            let done = try await run("credential import old --file \(path)")
            #expect(done.status == 78)
            #expect(done.errors.contains("expired on 2023-11-14"))
            #expect(try await run("credential list --json").output == "[]\n")
        }
    }

    @Test func `an app is added once, paused, resumed and removed`() async throws {
        try await withSchema { run, folder, _ in
            try await importCertificate("shop", in: folder, run)
            let root = try folder.write("ca.pem", CredentialFixtures.certificate)
            let added = try await run(
                "app add shop --topic com.example.shop --credential shop --gateway localhost:2197 --gateway-ca \(root) "
                    + "--environment sandbox"
            )
            #expect(added.status == 0 && added.errors == "")
            let again = try await run("app add shop --topic x --credential shop")
            #expect(again.status == 1 && again.errors.contains("already"))
            #expect(try await run("app list").output.contains("localhost:2197"))
            #expect(try await run("app pause shop").output == "Paused the app shop.\n")
            #expect(try await run("app pause shop").output == "The app shop was already paused.\n")
            #expect(try await run("app list --json").output.contains("\"paused\":true"))
            #expect(try await run("app resume shop").output == "Resumed the app shop.\n")
            #expect(try await run("app resume shop").output == "The app shop was not paused.\n")
            #expect(try await run("app remove shop --yes").status == 0)
            let gone = try await run("app pause shop")
            #expect(gone.status == 1 && gone.errors.contains("no app named shop"))
        }
    }

    @Test func `an app that cannot work is refused`() async throws {
        try await withSchema { run, folder, _ in
            try await importCertificate("shop", in: folder, run)
            let unknown = try await run("app add a --topic com.example.shop --credential nobody")
            #expect(unknown.status == 1 && unknown.errors.contains("no credential named nobody"))
            let gateway = try await run("app add a --topic t --credential shop --gateway nowhere")
            #expect(gateway.status == 2 && gateway.errors.contains("localhost:2197"))
            let root = try folder.write("ca.pem", "nonsense")
            let untrusted = try await run(
                "app add a --topic t --credential shop --gateway localhost:1 --gateway-ca \(root)"
            )
            #expect(untrusted.status == 78 && untrusted.errors.contains("ca.pem"))
            let other = try await run("app add a --topic com.example.other --credential shop")
            #expect(other.status == 0 && other.errors.contains("APNs will refuse"))
        }
    }

    @Test func `sending says which argument is wrong, and enqueues nothing`() async throws {
        try await withSchema { run, folder, url in
            try await importCertificate("shop", in: folder, run)
            _ = try await run("app add shop --topic com.example.shop --credential shop")
            let unknown = try await run("send --app nobody --token aabb --alert hi")
            #expect(unknown.status == 1 && unknown.errors.contains("nobody") && unknown.errors.contains("shop"))
            for words in [
                ["--token", "xyz", "--alert", "hi"], ["--token", "aabb", "--payload", "{"],
                ["--token", "aabb", "--alert", "hi", "--payload", "{}"],
                ["--token", "aabb", "--alert", "hi", "--priority", "7"],
            ] {
                let done = try await ProgramRun.run(
                    ["send", "--app", "shop"] + words,
                    environment: ["DATABASE_URL": url]
                )
                #expect(done.status == 2, "\(words)")
                #expect(done.output == "" && done.errors != "")
            }
            #expect(try await run("status --json").output.contains("\"ready\":0"))
        }
    }

    @Test func `a push that no worker takes is tried again by somebody else`() async throws {
        try await withSchema { run, folder, _ in
            try await importCertificate("shop", in: folder, run)
            _ = try await run("app add shop --topic com.example.shop --credential shop")
            let done = try await run("send --app shop --token aabb --alert hi --wait 50ms")
            #expect(done.status == 75)
            #expect(done.errors.contains("still enqueued") && done.errors.contains("worker"))
            let status = try await run("status")
            #expect(status.output.contains("shop") && status.output.contains("No worker is running"))
            #expect(try await run("app remove shop --yes").status == 1)
        }
    }
}
