import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import TestSupport
import Testing

@testable import Carillon

/// `carillon migrate`, where others are in the way and where rights are missing.
@Suite struct MigrateCommandTests {
    @Test(.shop)
    func `a way down that meets a lock says what it has done, whose lock it is, and continues the next time`()
        async throws
    {
        let other = try await PostgresConnection.connect(shop.database.url, application: "nightly")
        // The one that makes `feedback`.
        let locked = try #require(Migration.all.first { $0.name == "tokens" })
        let above = Migration.all.filter { $0.version > locked.version }.reversed()
        try await attempt {
            try await other.script("BEGIN; SELECT token FROM carillon.feedback")
            let stopped = try await shop.run("migrate", "down", "--to-version", "\(locked.version - 1)", "--yes")
            #expect(stopped.status == 1)
            #expect(stopped.output == above.map { "Undid \($0.title).\n" }.joined(), "\(stopped.output)")
            let holder = "process \(other.backendProcessID) (nightly, user postgres, idle in transaction)"
            #expect(stopped.errors.contains("Waiting for a lock, which \(holder) holds."), "\(stopped.errors)")
            #expect(stopped.errors.contains("run the command again"), "\(stopped.errors)")
            try await other.script("COMMIT")
            let done = try await shop.run("migrate", "down", "--to-version", "\(locked.version - 1)", "--yes")
            #expect(done.status == 0 && done.output == "Undid \(locked.title).\n", "\(done.output)\(done.errors)")
        } finally: {
            await other.close()
        }
    }

    @Test func `an owner who is no superuser is told all that one has to run, line by line, and once`() async throws {
        // Other tests create the roles, too, and not between the two runs if they are there.
        try await TestDatabase.with(.schema) { _ in }
        try await TestDatabase.connected(.nothing) { above, url in
            let (owner, web) = ("owner_\(above.backendProcessID)", "web_\(above.backendProcessID)")
            try await above.script("CREATE ROLE \(owner) LOGIN; CREATE ROLE \(web)")
            try await attempt {
                let environment = ["DATABASE_URL": url + "&user=\(owner)"]
                let refused = try await ProgramRun.run(["migrate", "up"], environment: environment)
                #expect(refused.status == 1 && refused.output.isEmpty, "\(refused.output)")
                let lines = refused.errors.split(separator: "\n").map(String.init)
                let commands = lines.filter { $0.hasSuffix(";") }
                #expect(commands.contains { $0.hasPrefix("GRANT CREATE ON DATABASE ") }, "\(refused.errors)")
                try await above.script(commands.joined(separator: "\n"))
                let done = try await ProgramRun.run(["migrate", "up"], environment: environment)
                #expect(done.status == 0, "\(done.errors)")
                let session = try await PostgresConnection.connect(url + "&user=\(owner)")
                try await attempt {
                    try await session.script("GRANT carillon_app, carillon_reader, carillon_worker TO \(web)")
                } finally: {
                    await session.close()
                }
            } finally: {
                try await above.script("DROP OWNED BY \(owner), \(web) CASCADE; DROP ROLE \(web); DROP ROLE \(owner)")
            }
        }
    }

    @Test func `of two that go up at once, each says what it applied itself, and what the other did`() async throws {
        try await TestDatabase.connected(.nothing) { other, url in
            try await TestLoop.with { loop in
                _ = try await Migrator(other).up(to: 1)
                // What another program holds while it applies a migration.
                try await other.script("BEGIN; LOCK TABLE carillon.schema_migrations IN SHARE UPDATE EXCLUSIVE MODE")
                try await TemporaryFolder.with { folder in
                    let up = try BackgroundProgram(["migrate", "up"], environment: ["DATABASE_URL": url], in: folder)
                    // Of this database: other tests wait for locks in theirs.
                    let waiting = Statement(
                        "waiting",
                        """
                        SELECT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'relation' AND NOT l.granted
                            AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
                        """
                    )
                    try await loop.eventually("it waits for its turn") {
                        try await other.query(waiting) { try $0.bool(0, 0) }
                    }
                    let script = try Migrator.sql(after: 1, to: 3).replacing("BEGIN;", with: "")
                    try await other.script(script.replacing("COMMIT;", with: "") + "COMMIT")
                    #expect(try await up.end(on: loop) == .status(0))
                    let lines = up.said.split(separator: "\n").filter { !$0.hasPrefix("Waiting for a lock") }
                    #expect(
                        lines.first == "Applied 0004_history."
                            && lines.last
                                == "Meanwhile another program applied 0002_apps and 0003_queue.",
                        "\(up.said)"
                    )
                }
            }
        }
    }

    @Test func `an option of many other commands is refused with those that this one takes`() async throws {
        let sql = try await ProgramRun.run(["migrate", "sql", "--database", "postgresql://localhost/x"])
        #expect(sql.status == 2)
        #expect(
            sql.errors.contains(
                "carillon migrate sql has no option --database. It takes --after, --to-version, --log-level and --log-format."
            ),
            "\(sql.errors)"
        )
    }
}
