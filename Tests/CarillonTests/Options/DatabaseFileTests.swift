import CarillonIO
import CarillonPostgres
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// Where the database is, said by a file that changes, or by an argument that everybody can read.
@Suite struct DatabaseFileTests {
    /// Nothing of the login is let in until the new password is used. In two transactions, so that whoever comes back at once meets
    /// the new one.
    private func change(_ name: String, to password: String, _ shop: Shop) async throws {
        try await shop.database.run("ALTER ROLE \(name) PASSWORD '\(password)'")
        try await shop.database.run(
            "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.usename = '\(name)'"
        )
    }

    @Test(.shop) func `a worker continues with the password that its file has by then`() async throws {
        try await shop.withLogin(password: "canary-old") { address, name in
            let file = try shop.folder.write("url", "postgresql://\(name):canary-old@\(address)\n")
            try await TestLoop.with { loop in
                let worker = try BackgroundProgram(["worker", "--database-file", file], in: shop.folder)
                _ = try await worker.line(containing: "has started", on: loop)
                try await change(name, to: "canary-new", shop)
                _ = try await worker.line(containing: "password authentication failed", on: loop)
                // Whoever writes it may take it away first, and write it in pieces.
                try FileManager.default.removeItem(atPath: file)
                _ = try await worker.line(containing: "the file \(file): there is no such file", on: loop)
                _ = try shop.folder.write("url", "\n")
                _ = try await worker.line(containing: "The file \(file) is empty", on: loop)
                _ = try shop.folder.write("url", "postgresql://\(name):canary-new@\(address)\n")
                _ = try await worker.line(containing: "The database is back.", on: loop)
                try await shop.enqueue(3)
                try await loop.eventually("all are sent") {
                    try await shop.database.number("SELECT coalesce(sum(sent), 0)::int8 FROM carillon.results") == 3
                }
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
                #expect(!worker.said.contains("canary"))
            }
        }
    }

    @Test(.shop) func `watching continues with the password that its file has by then`() async throws {
        try await shop.withLogin(password: "old") { address, name in
            let file = try shop.folder.write("url", "postgresql://\(name):old@\(address)\n")
            try await TestLoop.with { loop in
                let watch = try BackgroundProgram(
                    ["status", "--watch", "--interval", "100ms"],
                    environment: ["DATABASE_URL_FILE": file],
                    in: shop.folder
                )
                _ = try await watch.line(containing: "No worker is running.", on: loop)
                _ = try shop.folder.write("url", "postgresql://\(name):new@\(address)\n")
                try await change(name, to: "new", shop)
                _ = try await watch.line(containing: "Trying again.", on: loop)
                try await shop.database.connection.script(
                    "INSERT INTO carillon.workers (name, lease_until) VALUES ('newcomer', now() + interval '1 hour')"
                )
                _ = try await watch.line(containing: "newcomer", on: loop)
                #expect(try await watch.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test func `of several databases in a file, each keeps its place`() throws {
        try TemporaryFolder.with { folder in
            let file = try folder.write("urls", "postgresql://a/one postgresql://b/two\n")
            let reader = SettingsReader(command: .worker, environment: ["CARILLON_DATABASE_FILE": file])
            let databases = try reader.read([]).databases.map(\.source)
            #expect(try databases.map { try $0.current() } == ["postgresql://a/one", "postgresql://b/two"])
            _ = try folder.write("urls", "postgresql://a/one postgresql://b/three\n")
            #expect(try databases.map { try $0.current() } == ["postgresql://a/one", "postgresql://b/three"])
            _ = try folder.write("urls", "postgresql://b/three\n")
            let error = #expect(throws: PostgresError.self) { try databases[1].current() }
            #expect(error?.message == "The file \(file) named 2 databases at the start, and names 1 now")
        }
    }

    @Test(.shop) func `a URL from a pipe is read only once`() async throws {
        let file = try shop.folder.write("url", TestLogin.worker.url(shop.database.url))
        // The command connects several times, and each time to the same.
        var command = ChildProcess.Command(
            "/bin/sh",
            ["-c", #"cat "$1" | "$0" worker --once --database-file /dev/stdin"#, try ProgramRun.path, file]
        )
        command.environment = ProgramRun.environment([:])
        command.error = .file(shop.folder.file("errors"))
        let child = try ChildProcess(command)
        let exit = try await TestLoop.with { try await child.wait(on: $0, until: .now + .seconds(180)) }
        let errors = try shop.folder.read("errors")
        #expect(exit == .status(0), "\(errors)")
    }

    @Test func `an empty file names no database`() async throws {
        try await TemporaryFolder.with { folder in
            let file = try folder.write("url", "\n")
            let run = try await ProgramRun.run(["status", "--database-file", file])
            #expect(run.status == 2)
            #expect(run.errors.contains("--database-file: The file \(file) is empty: write the database's URL into it"))
        }
    }

    @Test(.shop) func `a password in an argument is warned of, and not one in a variable or a file`() async throws {
        try await shop.withLogin(password: "canary") { address, name in
            let url = "postgresql://\(name):canary@\(address)"
            let warning =
                "--database has a password, which other users of this machine can read there: use --database-file or "
                + "DATABASE_URL."
            let status = try await ProgramRun.run(["status", "--database", url])
            #expect(status.status == 0 && status.errors == "warning: \(warning)\n")
            let worker = try await ProgramRun.run(["worker", "--once", "--database", url])
            let lines = worker.errors.split(separator: "\n")
            #expect(worker.status == 0 && lines.count { $0.contains(warning) } == 1)
            #expect(lines.first?.contains("\"level\":\"warning\"") == true && !worker.errors.contains("canary"))
            let file = try shop.folder.write("url", url)
            for (words, environment) in [
                (["status"], ["DATABASE_URL": url]), (["status", "--database-file", file], [:]),
                (["status", "--database", "postgresql://\(name)@\(address)"], ["PGPASSWORD": "canary"]),
            ] {
                let run = try await ProgramRun.run(words, environment: environment)
                #expect(run.status == 0 && run.errors == "", "\(words): \(run.errors)")
            }
        }
    }

    @Test func `a password of a proxy in an argument is warned of, and not shown`() async throws {
        let words = ["worker", "--once", "--database", "host=/nowhere"]
        let proxy = ["--webhook-proxy", "http://user:canary@127.0.0.1:1"]
        let run = try await ProgramRun.run(words + proxy)
        #expect(run.errors.contains("--webhook-proxy has a password, which other users of this machine can read there"))
        #expect(!run.errors.contains("canary"), "\(run.errors)")
    }

    @Test func `a secret that stands where the name of its file belongs is not repeated`() async throws {
        for words in [["--passphrase-file", "canary-secret"], ["--passphrase-file=canary/secret"]] {
            let run = try await ProgramRun.run(["credential", "import", "a", "--file", "b"] + words)
            #expect(run.status == 2)
            #expect(
                run.errors.contains("The file that --passphrase-file names cannot be used: there is no such file")
                    && !run.errors.contains("canary"),
                "\(run.errors)"
            )
        }
    }
}
