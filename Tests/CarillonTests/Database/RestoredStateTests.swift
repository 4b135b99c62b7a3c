import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// The database behind a name is replaced by another state of itself, which may know nothing of what was sent since.
@Suite struct RestoredStateTests {
    /// - Parameter isRecovered: The backup is restored as to a point in time, and so begins another timeline.
    @Test(arguments: [false, true])
    func `a worker says that the database went back, once, and nothing after restarts`(isRecovered: Bool) async throws {
        try await TemporaryFolder.with { folder in
            let place = folder.file("place")
            mkdir(place, 0o755)
            if let user = User(named: "postgres"), User.isRoot { chown(place, user.id, user.group) }
            let cluster = try await PrivateCluster.start(.fast, data: place + "/data", on: TestLoop.shared)
            try await attempt {
                try await TestDatabase.migrate(cluster.url())
                try await TestLoop.with { loop in
                    let worker = try BackgroundProgram(
                        ["worker", "--lease", "2s"],
                        environment: ["DATABASE_URL": TestLogin.worker.url(cluster.url())],
                        in: folder
                    )
                    _ = try await worker.line(containing: "The worker has started", on: loop)
                    try await Self.run(["pg_basebackup", "-D", place + "/backup", "-c", "fast"], on: cluster)
                    if isRecovered {
                        let settings = "touch '\(place)/backup/recovery.signal'; echo \"restore_command = 'false'\" >>"
                        try await Self.run(
                            ["sh", "-c", "\(settings) '\(place)/backup/postgresql.auto.conf'"],
                            on: cluster
                        )
                    }
                    try await Self.run(
                        ["psql", "-qc", "CREATE TABLE more AS SELECT generate_series(1, 100000)"],
                        on: cluster
                    )
                    try await Self.waitForHeartbeats(in: cluster, on: loop)
                    for mode: PrivateCluster.StopMode in [.fast, .immediate] {
                        try await cluster.restart(mode)
                        try await Self.waitForHeartbeats(in: cluster, on: loop)
                    }
                    rename(place + "/data", place + "/newer")
                    rename(place + "/backup", place + "/data")
                    try await cluster.restart()
                    let line = try await worker.line(containing: "an older state", on: loop)
                    #expect(line.contains("may be sent again") && line.contains("error"), "\(line)")
                    try await Self.waitForHeartbeats(in: cluster, on: loop)
                    #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
                    #expect(worker.said.split(separator: "\n").count { $0.contains("an older state") } == 1)
                }
            } finally: {
                await cluster.stop()
            }
        }
    }

    @Test func `a worker continues by itself with a standby that was promoted, and warns of the other timeline`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let place = folder.file("place")
            mkdir(place, 0o755)
            if let user = User(named: "postgres"), User.isRoot { chown(place, user.id, user.group) }
            let primary = try await PrivateCluster.start(.fast, on: TestLoop.shared)
            try await attempt {
                try await TestDatabase.migrate(primary.url())
                try await Self.run(["pg_basebackup", "-D", place + "/standby", "-R", "-c", "fast"], on: primary)
                let standby = try await PrivateCluster.start(.fast, data: place + "/standby", on: TestLoop.shared)
                try await attempt {
                    try await Self.promote(standby, of: primary, in: folder)
                } finally: {
                    await standby.stop()
                }
            } finally: {
                await primary.stop()
            }
        }
    }

    private static func promote(
        _ standby: PrivateCluster,
        of primary: PrivateCluster,
        in folder: TemporaryFolder
    ) async throws {
        let hosts = "postgresql:///postgres?host=\(primary.folder),\(standby.folder)"
        let both = ["DATABASE_URL": hosts + "&port=\(primary.port),\(standby.port)&user=postgres"]
        let tokens = "ARRAY(SELECT lpad(to_hex(n), 64, '0') FROM generate_series(1, 5) n)"
        let sent = "SELECT coalesce(sum(r.sent), 0) FROM carillon.results r"
        try await APNsSimulator.with {
            $0.recordsRequests = true
        } _: { gateway in
            try await TestLoop.with { loop in
                try await TestDatabase.open(primary.url()) { database in
                    try await database.connection.addApp("shop", topic: Shop.topic, to: gateway)
                    try await database.run("SELECT carillon.enqueue('shop', \(tokens), 'hi')")
                }
                let worker = try BackgroundProgram(
                    ["worker", "--lease", "5s"],
                    environment: both.mapValues { TestLogin.worker.url($0) },
                    in: folder
                )
                _ = try await worker.line(containing: "has started", on: loop)
                // The first one tells the worker where the database is.
                try await Self.waitForHeartbeats(in: primary, on: loop)
                try await TestDatabase.open(standby.url()) { database in
                    try await loop.eventually("the standby knows what was sent") {
                        try await database.number(sent) == 5
                    }
                    await primary.stop(.immediate)
                    try await database.run("SELECT pg_promote()")
                    try await database.run("SELECT carillon.enqueue('shop', \(tokens), 'hi')")
                    let line = try await worker.line(containing: "another timeline", on: loop)
                    #expect(line.contains("warning") && !line.contains("an older state"), "\(line)")
                    try await loop.eventually("the worker sends on") {
                        try await database.number(sent) == 10
                    }
                }
                #expect(await gateway.receivedRequests().count == 10)
                let adopted = try await ProgramRun.run(["adopt"], environment: both)
                #expect(adopted.output == "Pushes are already sent from this database.\n", "\(adopted.errors)")
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
                #expect(!worker.said.contains("is a copy"), "\(worker.said)")
            }
        }
    }

    private static func waitForHeartbeats(in cluster: PrivateCluster, on loop: EventLoop) async throws {
        let connection = try await PostgresConnection.connect(cluster.url())
        try await attempt {
            let beats = "SELECT coalesce(max(w.id), 0) * 1000000 + coalesce(max(w.beat), 0) FROM carillon.workers w"
            let first = try await connection.query(beats, Parameters()) { try $0.int64(0, 0) }
            try await loop.eventually("the worker sends heartbeats") {
                try await connection.query(beats, Parameters()) { try $0.int64(0, 0) } >= first + 3
            }
        } finally: {
            await connection.close()
        }
    }

    /// A program of PostgreSQL, as the user of the server.
    private static func run(_ words: [String], on cluster: PrivateCluster) async throws {
        var command = ChildProcess.Command(try PrivateCluster.program(words[0]), Array(words.dropFirst()))
        command.environment = ProgramRun.environment([
            "PGHOST": cluster.folder, "PGPORT": "\(cluster.port)", "PGUSER": "postgres",
        ])
        if User.isRoot { command.user = User(named: "postgres") }
        command.directory = "/"
        let exit = try await TestLoop.with { loop in
            try await ChildProcess(command).wait(on: loop, until: .now + .seconds(60))
        }
        #expect(exit == .status(0), "\(words)")
    }
}
