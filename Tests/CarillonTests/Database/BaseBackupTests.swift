import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// The commands of docs/backup.md about base backups, with servers that are started from one.
@Suite struct BaseBackupTests {
    /// An installation with five jobs, whose server archives its log.
    private struct Original {
        let cluster: PrivateCluster
        let gateway: APNsSimulator
        let folder: TemporaryFolder
        /// Belongs to the user of the server.
        let place: String

        static func with(_ body: (Original) async throws -> Void) async throws {
            try await APNsSimulator.with {
                $0.recordsRequests = true
            } _: { gateway in
                try await TemporaryFolder.with { folder in
                    let place = folder.file("place")
                    for path in [place, place + "/archive"] {
                        mkdir(path, 0o755)
                        if let user = User(named: "postgres"), User.isRoot { chown(path, user.id, user.group) }
                    }
                    var settings = PrivateCluster.Settings.fast
                    settings.parameters["archive_mode"] = "on"
                    settings.parameters["archive_command"] = "cp '%p' '\(place)/archive/%f'"
                    let cluster = try await PrivateCluster.start(settings, data: place + "/data", on: TestLoop.shared)
                    try await attempt {
                        try await TestDatabase.migrate(cluster.url())
                        let original = Original(cluster: cluster, gateway: gateway, folder: folder, place: place)
                        try await original.open { database async throws in
                            try await database.connection.addApp("shop", topic: Shop.topic, to: gateway)
                            try await original.enqueue(5, in: database)
                        }
                        try await body(original)
                    } finally: {
                        await cluster.stop()
                    }
                }
            }
        }

        func open(_ body: (TestDatabase) async throws -> Void) async throws {
            try await TestDatabase.open(cluster.url(), body)
        }

        func enqueue(_ count: Int, in database: TestDatabase) async throws {
            let tokens = "ARRAY(SELECT lpad(to_hex(n), 64, '0') FROM generate_series(1, \(count)) n)"
            try await database.run("SELECT carillon.enqueue('shop', ARRAY[t], 'hi') FROM unnest(\(tokens)) t")
        }

        /// Runs commands, most of them of the page, on this server or on another one.
        func run(_ script: String, on other: PrivateCluster? = nil) async throws {
            let url = (other ?? cluster).url()
            try await BackupPageTests.bash(script, in: folder, ["DATABASE_URL": url, "DATABASE_COPY": url])
        }

        func runAsServer(_ script: String) async throws {
            try await BackupPageTests.bash(script, in: folder, ["DATABASE_URL": cluster.url()], asServerIn: place)
        }

        var sent: Int { get async { await gateway.receivedRequests().count } }
    }

    @Test
    func `after a recovery to a point in time, the command of the page lets nothing be sent twice`() async throws {
        try await Original.with { original in
            try await original.runAsServer(try BackupPageTests.commands(with: "pg_basebackup"))
            try await original.open { database async throws in
                try await original.enqueue(2, in: database)
                // What a worker has claimed that is gone.
                try await database.run(
                    """
                    WITH gone AS (
                        DELETE FROM carillon.messages WHERE id IN (SELECT m.id FROM carillon.messages m ORDER BY m.id LIMIT 2)
                        RETURNING *)
                    INSERT INTO carillon.inflight (worker_id, app_id, jobs)
                    SELECT 77, 1, array_agg(json_populate_record(NULL::carillon.job, to_json(g))) FROM gone g
                    """
                )
                // After its commit.
                try await database.run("SELECT pg_create_restore_point('noon')")
                try await original.run("carillon worker --once")
                #expect(await original.sent == 7)
                let log = try #require(try await database.value("SELECT pg_walfile_name(pg_switch_wal())"))
                try await TestLoop.shared.eventually("the server's log is archived") {
                    try await database.number(
                        "SELECT count(*) FROM pg_stat_archiver WHERE last_archived_wal >= '\(log)'"
                    )
                        == 1
                }
            }
            try await original.runAsServer(
                """
                touch backup/recovery.signal
                cat >> backup/postgresql.auto.conf <<'END'
                restore_command = 'cp "\(original.place)/archive/%f" "%p"'
                recovery_target_name = 'noon'
                recovery_target_action = 'promote'
                END
                mv data newer
                mv backup data
                """
            )
            try await original.cluster.restart()
            try await original.open { database async throws in
                // Before that, the server already answers.
                try await TestLoop.shared.eventually("the recovery is over") {
                    try await database.number("SELECT count(*) WHERE NOT pg_is_in_recovery()") == 1
                }
                #expect(try await database.number("SELECT count(*) FROM carillon.messages") == 5)
                #expect(try await database.number("SELECT count(*) FROM carillon.results") == 0)
            }
            try await original.run(try BackupPageTests.commands(with: "--expire-before now"))
            try await original.run("carillon worker --once")
            #expect(await original.sent == 7)
            try await original.open { database async throws in
                #expect(try await database.number("SELECT sum(expired) FROM carillon.results") == 7)
            }
        }
    }

    @Test(arguments: [false, true])
    func `a server that is started from a base backup sends nothing if it is disarmed, or not named as its original`(
        isNamed: Bool
    ) async throws {
        try await Original.with { original in
            if isNamed { try await original.run(try BackupPageTests.commands(with: "--installation production")) }
            try await original.runAsServer(try BackupPageTests.commands(with: "pg_basebackup"))
            let clone = try await PrivateCluster.start(.fast, data: original.place + "/backup", on: TestLoop.shared)
            try await attempt {
                if isNamed {
                    try await original.run("carillon worker --once && exit 1 || test $? = 78", on: clone)
                } else {
                    try await original.run(try BackupPageTests.commands(with: "This is a restored copy."), on: clone)
                    try await original.run("carillon worker --once", on: clone)
                }
                #expect(await original.sent == 0)
                try await TestDatabase.open(clone.url()) { database async throws in
                    #expect(try await database.number("SELECT count(*) FROM carillon.messages") == 5)
                }
            } finally: {
                await clone.stop()
            }
            let naming = isNamed ? try BackupPageTests.commands(with: "--installation production") : ""
            try await original.run(naming + "carillon worker --once")
            #expect(await original.sent == 5)
        }
    }
}
