import CarillonIO
import CarillonPostgres
import CarillonWeb
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// Secrets that can be recognised, given in every way there is, and errors provoked with them: none of them is printed,
/// logged or served.
@Suite struct SecretOutputTests {
    /// Everything that was said, each with what said it.
    private struct Hearing {
        var said: [(by: String, text: String)] = []

        mutating func heard(_ text: String, by speaker: String) {
            #expect(!text.isEmpty, "\(speaker) said nothing, so this proves nothing")
            said.append((speaker, text))
        }

        mutating func heard(_ run: ProgramRun, by speaker: String) {
            heard(run.output + run.errors, by: speaker)
        }

        func expectNone(of secrets: [String]) {
            for (speaker, text) in said {
                for secret in secrets { #expect(!text.contains(secret), "\(speaker) says “\(secret)”: \(text)") }
            }
        }
    }

    @Test(.shop) func `no output has a database password, however it is given and whatever is wrong`() async throws {
        var hearing = Hearing()
        try await shop.withLogin(password: "canary-right") { address, name in
            let passfile = try shop.folder.write("passfile", "*:*:*:*:canary-passfile\n")
            chmod(passfile, 0o600)
            let place = try #require(address.split(separator: "/").first)
            let ways: [(way: String, environment: [String: String])] = [
                ("URL", ["DATABASE_URL": "postgresql://\(name):canary-url@\(address)"]),
                ("wrong scheme", ["DATABASE_URL": "postgre://\(name):canary-scheme@\(address)"]),
                ("raw @", ["DATABASE_URL": "postgresql://\(name):canary@canary@\(address)"]),
                ("raw space", ["DATABASE_URL": "postgresql://\(name):canary 100%@\(address)"]),
                ("query", ["DATABASE_URL": "postgresql://\(address)?user=\(name)&password=canary-query"]),
                (
                    "unknown option",
                    ["DATABASE_URL": "postgresql://\(address)?user=\(name)&pasword=x&password=canary"]
                ),
                ("keywords", ["DATABASE_URL": "host=\(place) user=\(name) password='canary words'"]),
                ("nobody there", ["DATABASE_URL": "postgresql://\(name):canary-nobody@127.0.0.1:1/none"]),
                (
                    "a list by commas",
                    ["DATABASE_URL": "postgresql://u:canary-one@h/a,postgresql://u:canary-two@h/b"]
                ),
                (
                    "PGPASSWORD",
                    ["DATABASE_URL": "postgresql://\(name)@\(address)", "PGPASSWORD": "canary-variable"]
                ),
                ("PGPASSFILE", ["DATABASE_URL": "postgresql://\(name)@\(address)", "PGPASSFILE": passfile]),
                ("no database", ["DATABASE_URL": "postgresql://\(name):canary-right@\(place)/nothing"]),
            ]
            for (way, environment) in ways {
                for words in [
                    ["status", "--json"], ["check"], ["check", "--json"], ["worker", "--once"],
                    ["migrate", "status"],
                    ["worker", "--once", "--log-format", "text", "--log-level", "debug"],
                ] {
                    let run = try await ProgramRun.run(words, environment: environment)
                    #expect(run.status != 0, "\(way): \(words)")
                    hearing.heard(run, by: "\(words) with \(way)")
                }
            }
            // It is let in, and lacks rights or something else.
            for words in [
                ["app", "add", "x", "--credential", "none"], ["migrate", "down", "--yes"], ["app", "show", "y"],
            ] {
                let run = try await ProgramRun.run(
                    words,
                    environment: ["DATABASE_URL": "postgresql://\(name):canary-right@\(address)"]
                )
                #expect(run.status != 0, "\(words)")
                hearing.heard(run, by: "\(words)")
            }
        }
        hearing.expectNone(of: ["canary"])
    }

    @Test(.shop) func `no output has a passphrase or a private key from files, variables or rows`() async throws {
        var hearing = Hearing()
        let certificate = try shop.folder.write("cert.pem", CredentialFixtures.certificate)
        let key = try shop.folder.write("key.pem", CredentialFixtures.encryptedKey)
        let wrong = try shop.folder.write("wrong", "canary-wrong\n")
        let bundle = shop.folder.file("bird.p12")
        try CredentialFixtures.bundle.write(to: URL(filePath: bundle))
        let right = try shop.folder.write("right", CredentialFixtures.passphrase + "\n")
        let long = try shop.folder.write("long", String(repeating: "canary-long ", count: 500))
        let files = ["credential", "import", "bird", "--file", certificate, "--key", key]
        let nowhere = ["--database", "postgresql://u:canary-none@127.0.0.1:1/none"]
        let imports: [(words: [String], environment: [String: String])] = [
            (files + ["--passphrase-file", wrong], [:]), (files + ["--passphrase-file", long], [:]),
            (files + ["--passphrase", "canary-argument"], [:]), (files + ["--passphrase=canary-argument"], [:]),
            (files, ["CARILLON_PASSPHRASE": "canary-variable"]), (files, ["CARILLON_PASSPHRASE_FILE": wrong]),
            (files, ["CARILLON_PASSPHRAS": "canary-misspelt"]),
            (["credential", "import", "bird", "--file", bundle, "--passphrase-file", wrong], [:]),
            (files + ["--passphrase-file", right] + nowhere, [:]),
            (files + ["--passphrase-file", right, "--key-id", "ABC123DEFG"], [:]),
            (["credential", "import", "shop"] + files.dropFirst(3) + ["--passphrase-file", right], [:]),
        ]
        for (words, environment) in imports {
            let run = try await ProgramRun.run(
                words,
                environment: ["DATABASE_URL": shop.database.url].merging(environment) { $1 }
            )
            #expect(run.status != 0, "\(words): \(run.output)")
            hearing.heard(run, by: "\(words) \(environment)")
        }
        // The limit of the table, whose error quotes the row in its details.
        let row = "INSERT INTO carillon.certificates (name, certificate, private_key, passphrase) VALUES "
        let quoted = await #expect(throws: PostgresError.self) {
            try await shop.database.connection.script(row + "('long', 'x', 'y', repeat('canary ', 1000))")
        }
        hearing.heard("\(try #require(quoted))", by: "the limit of a passphrase")
        let secretLine = String(try #require(CredentialFixtures.encryptedKey.split(separator: "\n").dropFirst(2).first))
        // As somebody inserts them by hand.
        try await shop.database.connection.script(
            """
            UPDATE carillon.certificates SET certificate = '\(CredentialFixtures.certificate)',
                private_key = '\(CredentialFixtures.encryptedKey)', passphrase = 'canary-wrong', status = NULL;
            \(row) ('spoilt', 'canary-certificate', 'canary-key', 'canary-pass'), ('empty', NULL, 'canary', NULL)
            """
        )
        try await shop.enqueue(2)
        for words in [
            ["worker", "--once", "--log-level", "debug"], ["credential", "check"],
            ["credential", "check", "--json"],
            ["credential", "list"], ["credential", "list", "--json"], ["check"], ["check", "--json"], ["status"],
            ["status", "--json"], ["app", "show", "shop"], ["app", "list", "--json"], ["message", "show", "1"],
            ["feedback", "--once"],
        ] {
            hearing.heard(try await shop.run(words), by: "\(words)")
        }
        hearing.expectNone(of: ["canary", secretLine])
    }

    @Test(.shop) func `no output of a running worker has a password, not even while it is wrong`() async throws {
        try await shop.database.connection.script(
            "UPDATE carillon.certificates SET private_key = 'canary-key', passphrase = 'canary-pass', status = NULL"
        )
        try await shop.enqueue(2)
        var hearing = Hearing()
        try await shop.withLogin(password: "canary-right") { address, name in
            try await TestLoop.with { loop in
                let worker = try BackgroundProgram(
                    ["worker", "--http", "127.0.0.1:0", "--log-level", "debug"],
                    environment: ["DATABASE_URL": "postgresql://\(name):canary-right@\(address)"],
                    in: shop.folder
                )
                let line = try await worker.line(containing: "metrics are served", on: loop)
                let port = line.split(separator: "\"port\":")[1].prefix { $0.isNumber }
                _ = try await worker.line(containing: #""kind":"credential""#, on: loop)
                let probe = HealthProbe(address: try #require(Address("127.0.0.1:\(port)")), timeout: .seconds(30))
                hearing.heard(try await probe.ask("/metrics").body, by: "/metrics of a bad credential")
                // In two transactions: a worker that comes back at once meets the new password.
                try await shop.database.run("ALTER ROLE \(name) PASSWORD 'canary-other'")
                try await shop.database.run(
                    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.usename = '\(name)'"
                )
                _ = try await worker.line(containing: "password authentication failed", on: loop)
                for path in ["/readyz", "/metrics", "/livez"] {
                    let body = try await probe.ask(path).body
                    hearing.heard(body, by: path)
                    // Whoever may ask is not told which server, role or error it is.
                    #expect(!body.contains("authentication") && !body.contains(name), "\(path): \(body)")
                }
                _ = try await worker.end(by: SIGTERM, on: loop)
                hearing.heard(worker.said, by: "the log")
            }
        }
        hearing.expectNone(of: ["canary"])
    }

    @Test func `a role whose password is the product's name can be told what to do`() async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            // The role may not make roles, so it is told who should, in words that hold its password.
            let name = "shop_\(UInt32.random(in: 0...UInt32.max))"
            try await connection.script("CREATE ROLE \(name) LOGIN PASSWORD 'carillon'")
            try await attempt {
                let run = try await ProgramRun.run(
                    ["migrate", "up"],
                    environment: ["DATABASE_URL": url + "&user=\(name)&password=carillon"]
                )
                #expect(run.status != 0 && run.errors.contains("carillon") && !run.errors.contains("***"))
            } finally: {
                try await connection.script("DROP OWNED BY \(name); DROP ROLE \(name)")
            }
        }
    }
}
