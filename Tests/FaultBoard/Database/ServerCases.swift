import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// Faults of the database server.
@Suite struct ServerCases {
    @Test func `D2: a database that restarts under load is used again soon after it is up`() async throws {
        try await Scene.with(on: .own(.crashSafe)) { scene in
            try await scene.fleet.started()
            try await scene.underLoad {
                for _ in 1...Board.sized(1, full: 5) {
                    try await scene.goesOn(500)
                    try await scene.cluster.restart(.fast)
                    try await scene.goesOn(within: Board.sized(.seconds(60), full: .seconds(5)))
                }
            }
            try await scene.finish()
        }
    }

    @Test func `D3: a database that crashes under load loses nothing that was committed`() async throws {
        try await Scene.with(on: .own(.crashSafe)) { scene in
            let crashes = Board.sized(1, full: 5)
            try await scene.fleet.started(2, ["--max-in-flight", "500"])
            try await scene.underLoad {
                for _ in 1...crashes {
                    try await scene.goesOn(500)
                    try await scene.cluster.restart(.immediate)
                    try await scene.goesOn(within: Board.sized(.seconds(60), full: .seconds(5)))
                }
            }
            // Claims are committed asynchronously: after a crash their rows are back, and are sent again.
            try await scene.finish(duplicates: crashes * 2 * 500)
        }
    }

    @Test func `D8: after a failover workers find the server that accepts writes, and flood none`() async throws {
        var settings = PrivateCluster.Settings.fast
        settings.parameters = ["default_transaction_read_only": "on"]
        try await TestLoop.with { loop in
            let standby = try await PrivateCluster.start(settings, on: loop)
            let login = TestLogin.worker.rawValue
            try await TestDatabase.open(standby.url()) { database in
                try await database.run("BEGIN READ WRITE; CREATE ROLE \(login) LOGIN; COMMIT")
            }
            try await Scene.with(on: .own(.fast)) { scene in
                let url =
                    "host=\(standby.folder),\(scene.cluster.folder) port=\(standby.port),\(scene.cluster.port) "
                    + "user=\(login) dbname=\(scene.database)"
                let worker = try scene.fleet.start(database: url)
                try await worker.started()
                try await scene.enqueue(500)
                try await scene.requests(500)
                // As if it had become a standby: open sessions stay, and refuse writes.
                try await scene.client.run("ALTER SYSTEM SET default_transaction_read_only = on")
                try await scene.client.run("SELECT pg_reload_conf()")
                try await worker.says("The connection to the database was lost")
                try await scene.eventually(
                    "the worker was not ready",
                    within: Board.sized(.seconds(30), full: .seconds(5))
                ) {
                    await !worker.isReady()
                }
                // Each wait is up to twice as long as the one before.
                #expect(try await worker.metric("carillon_database_errors_total", restsFor: .milliseconds(500)) <= 12)
                try await scene.client.run("ALTER SYSTEM RESET default_transaction_read_only")
                try await scene.client.run("SELECT pg_reload_conf()")
                try await worker.says("The database is back", within: Board.sized(.seconds(60), full: .seconds(15)))
                await scene.client.close()
                try await scene.enqueue(500)
                try await scene.finish()
            }
            await standby.stop()
        }
    }

    @Test(.scene, .enabled(if: User.isRoot, "mounting a small disk takes root"))
    func `D10: a full disk delays results, and makes none wrong`() async throws {
        try await Self.withDisk(in: scene.folder) { disk in
            try await scene.client.run("CREATE TABLESPACE \(scene.database) LOCATION '\(disk)'")
            try await scene.client.run(
                """
                DO $$ DECLARE part regclass; BEGIN
                    FOR part IN SELECT i.inhrelid::regclass FROM pg_inherits i
                        WHERE i.inhparent = 'carillon.results'::regclass
                    LOOP EXECUTE format('ALTER TABLE %s SET TABLESPACE \(scene.database)', part); END LOOP;
                END $$;
                CREATE TABLE filler (x text) TABLESPACE \(scene.database)
                """
            )
            let full = await #expect(throws: PostgresError.self) {
                try await scene.client.run(
                    "INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 100000)"
                )
            }
            #expect(full?.sqlState == "53100")
            let worker = try await scene.fleet.started(["--max-in-flight", "300"])
            try await scene.enqueue(2000)
            try await worker.says("A statement failed and will be tried again")
            try await scene.eventually("it has tried again and again") {
                try await worker.metric("carillon_database_errors_total") >= 3
            }
            // It claims no more than it can hold, and counts only recorded pushes as sent.
            #expect(scene.record.requests <= 300)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.results") == 0)
            try await scene.client.run("DROP TABLE filler")
            try await scene.finish()
            try await scene.client.run("DROP SCHEMA carillon CASCADE")
            try await scene.client.run("DROP TABLESPACE \(scene.database)")
        }
    }

    /// A file system of a few megabytes in memory, for the server's user.
    private static func withDisk(
        in folder: TemporaryFolder,
        _ body: (_ path: String) async throws -> Void
    ) async throws {
        let path = folder.file("disk")
        mkdir(path, 0o755)
        try await Self.run("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", path])
        try await attempt {
            let user = try #require(User(named: "postgres") ?? User(named: "nobody"))
            chown(path, user.id, user.group)
            try await body(path)
        } finally: {
            try await Self.run("umount", ["--lazy", path])
        }
    }

    private static func run(_ program: String, _ arguments: [String]) async throws {
        let exit = try await ChildProcess(ChildProcess.Command(program, arguments)).wait(on: TestLoop.shared)
        if exit != .status(0) { throw IOError(.forbidden, "\(program) ended with \(exit)") }
    }
}
