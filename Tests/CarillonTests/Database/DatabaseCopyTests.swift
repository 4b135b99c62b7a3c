import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// A copy of a database does not send what the original sends, until its owner adopts it.
@Suite(.shop) struct DatabaseCopyTests {
    /// Restores a dump of the shop's database into another one.
    private static func withCopy(of shop: Shop, _ body: (Shop) async throws -> Void) async throws {
        try await TestDatabase.with(.nothing) { database in
            try await Self.restore(shop.database.url, into: database.url, in: shop.folder)
            try await body(shop.on(database))
        }
    }

    private static func restore(_ original: String, into copy: String, in folder: TemporaryFolder) async throws {
        let dump = try PrivateCluster.program("pg_dump")
        let psql = try PrivateCluster.program("psql")
        var command = ChildProcess.Command(
            "/bin/sh",
            ["-c", "'\(dump)' -n carillon -d '\(original)' | '\(psql)' -qX -v ON_ERROR_STOP=1 -d '\(copy)'"]
        )
        command.output = .nothing
        command.error = .file(folder.file("restored"))
        let child = try ChildProcess(command)
        let exit = try await TestLoop.with { loop in try await child.wait(on: loop, until: .now + .seconds(180)) }
        let said = try folder.read("restored")
        #expect(exit == .status(0), "\(said)")
    }

    /// Creates a database with the shop's as its template, in the same cluster. PostgreSQL allows no session in the original
    /// meanwhile.
    private static func withTemplateCopy(of shop: Shop, _ body: (Shop) async throws -> Void) async throws {
        let name = try #require(try await shop.database.value("current_database()"))
        await shop.database.connection.close()
        let cluster = try await TestCluster.shared
        try await TestDatabase.open(cluster.url()) { administration in
            try await TestLoop.shared.eventually("the session is over") {
                try await administration.number("SELECT count(*) FROM pg_stat_activity WHERE datname = '\(name)'") == 0
            }
            try await administration.run("CREATE DATABASE \(name)_copy TEMPLATE \(name)")
            try await attempt {
                try await TestDatabase.open(cluster.url(database: "\(name)_copy")) { try await body(shop.on($0)) }
            } finally: {
                try await administration.run("DROP DATABASE \(name)_copy WITH (FORCE)")
            }
        }
    }

    /// A cluster like those of some managed servers: the owner of a database may not read its identifier, or the end of its log.
    private static func withManagedCluster(_ body: (PrivateCluster) async throws -> Void) async throws {
        let cluster = try await PrivateCluster.start(.fast, on: TestLoop.shared)
        try await attempt {
            // New databases are copies of this one.
            try await TestDatabase.open(cluster.url(database: "template1")) { administration in
                try await administration.run(
                    """
                    CREATE ROLE admin LOGIN CREATEROLE;
                    REVOKE EXECUTE ON FUNCTION pg_control_system(), pg_current_wal_flush_lsn() FROM PUBLIC
                    """
                )
                for name in ["shop", "copy"] { try await administration.run("CREATE DATABASE \(name) OWNER admin") }
            }
            try await TestDatabase.migrate(Self.owner(of: "shop", in: cluster))
            try await body(cluster)
        } finally: {
            await cluster.stop()
        }
    }

    private static func owner(of database: String, in cluster: PrivateCluster) -> String {
        cluster.url(database: database).replacing("user=postgres", with: "user=admin")
    }

    private static func expectRefusals(in copy: Shop) async throws {
        for words in [
            ["worker", "--once"], ["feedback", "--once"], ["pyapns", "--port", "0"],
            ["channel", "sync", "--app", "shop"],
        ] {
            let run = try await copy.run(words)
            #expect(run.status == 78 && run.errors.contains("this database is a copy"), "\(words): \(run.errors)")
            #expect(run.errors.contains("carillon adopt"))
        }
        #expect(try await copy.run("check").output.contains("this database is a copy"))
    }

    /// A worker has claimed the first two jobs.
    /// - Parameter leaseEnd: In how long its lease ends.
    private static func claimTwo(in shop: Shop, leaseEnd: String) async throws {
        try await shop.database.run(
            """
            WITH gone AS (DELETE FROM carillon.messages WHERE id <= 2 RETURNING *)
            INSERT INTO carillon.inflight (id, worker_id, app_id, jobs)
            SELECT 5, 77, 1, array_agg(json_populate_record(NULL::carillon.job, to_json(g))) FROM gone g;
            INSERT INTO carillon.workers (id, name, lease_until) VALUES (77, 'far', now() + interval '\(leaseEnd)')
            """
        )
    }

    private static func place(of shop: Shop) async throws -> (oid: Int, cluster: String) {
        let oid = try await shop.database.number("SELECT oid FROM pg_database WHERE datname = current_database()")
        let cluster = try await shop.database.value("SELECT system_identifier::text FROM pg_control_system()")
        return (oid, "the cluster \(cluster ?? "")")
    }

    @Test func `every command that sends refuses a restored dump until it is adopted`() async throws {
        try await shop.enqueue(5)
        try await shop.database.run("UPDATE carillon.messages SET created_at = '2026-01-02T03:04:05Z' WHERE id = 1")
        // At the time of the backup.
        try await Self.claimTwo(in: shop, leaseEnd: "1 hour")
        try await Self.withCopy(of: shop) { copy in
            try await Self.expectRefusals(in: copy)
            #expect(try await copy.run("migrate", "up").status == 0)
            #expect(await shop.gateway.receivedRequests().isEmpty)
            let asked = try await copy.run("adopt")
            #expect(
                asked.status == 2
                    && asked.output.contains("Here wait 3 ready jobs, 0 scheduled and 2 that workers have claimed")
            )
            #expect(asked.output.contains("claimed; the oldest is from 2026-01-02T03:04:05Z."), "\(asked.output)")
            let (home, here) = (try await Self.place(of: shop), try await Self.place(of: copy))
            #expect(
                asked.output.contains("So far, pushes have been sent from the database \(home.oid) of \(home.cluster).")
            )
            let name = try await copy.database.value("current_database()") ?? ""
            #expect(asked.output.contains("This is the database \(here.oid) (\(name)) of \(here.cluster)."))
            #expect(home.oid != here.oid)
            #expect(asked.errors.contains("Add --yes"))
            #expect(try await copy.run("worker", "--once").status == 78)
            let adopted = try await copy.run("adopt", "--yes")
            #expect(
                adopted.status == 0 && adopted.output.contains("Pushes are now sent from this database."),
                "\(adopted.errors)"
            )
            #expect(try await copy.drain().status == 0)
            #expect(await shop.gateway.receivedRequests().count == 5)
            #expect(try await copy.run("adopt").output.contains("already"))
        }
    }

    /// A worker of the original finds the copy at its address, and holds all until it is adopted.
    @Test func `a database that was made from another as its template is a copy`() async throws {
        try await shop.enqueue(5)
        let home = try await Self.place(of: shop)
        try await Self.withTemplateCopy(of: shop) { copy in
            let here = try await Self.place(of: copy)
            #expect(home.cluster == here.cluster && home.oid != here.oid)
            try await Self.expectRefusals(in: copy)
            #expect(await shop.gateway.receivedRequests().isEmpty)
            try await TestLoop.with { loop in
                let file = try shop.folder.write("url", TestLogin.worker.url(shop.database.url))
                let worker = try BackgroundProgram(
                    ["worker", "--lease", "10s", "--database-file", file],
                    in: shop.folder
                )
                let sent = "SELECT coalesce(sum(sent), 0) FROM carillon.results"
                try await TestDatabase.open(shop.database.url) { original in
                    try await loop.eventually("the original sends") { try await original.number(sent) == 5 }
                }
                _ = try shop.folder.write("url", TestLogin.worker.url(copy.database.url))
                try await copy.database.connection.script(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname || '_copy' = current_database()"
                )
                let line = try await worker.line(containing: "this database is a copy", on: loop)
                #expect(line.contains("database \(home.oid) of") && line.contains("database \(here.oid) of"), "\(line)")
                #expect(try await copy.database.number("SELECT count(*) FROM carillon.messages") == 5)
                #expect(await shop.gateway.receivedRequests().count == 5)
                #expect(try await copy.run("adopt", "--yes").status == 0)
                try await loop.eventually("the worker sends") { try await copy.database.number(sent) == 5 }
                #expect(await shop.gateway.receivedRequests().count == 10)
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    /// The databases of two clusters may have the same OID.
    @Test func `a database that differs from the original only in its cluster is a copy`() async throws {
        try await shop.enqueue(5)
        try await Self.claimTwo(in: shop, leaseEnd: "1 hour")
        try await shop.database.run("UPDATE carillon.installation SET system_identifier = system_identifier + 1")
        try await Self.expectRefusals(in: shop)
        #expect(await shop.gateway.receivedRequests().isEmpty)
        #expect(try await shop.run("adopt", "--yes").status == 0)
        #expect(try await shop.drain().status == 0)
        #expect(await shop.gateway.receivedRequests().count == 5, "including the jobs that were claimed")
        #expect(try await shop.run("adopt").output.contains("already"))
    }

    @Test func `where a server hides its identifier, the number of the database alone tells a copy`() async throws {
        try await Self.withManagedCluster { cluster in
            let original = cluster.url(database: "shop")
            try await TestDatabase.open(Self.owner(of: "shop", in: cluster)) { database in
                try await database.connection.addApp("shop", topic: Shop.topic, to: shop.gateway)
                try await shop.on(database).enqueue(5)
            }
            try await Self.restore(original, into: cluster.url(database: "copy"), in: shop.folder)
            try await TestDatabase.open(Self.owner(of: "copy", in: cluster)) { database in
                let copy = shop.on(database)
                try await Self.expectRefusals(in: copy)
                #expect(await shop.gateway.receivedRequests().isEmpty)
                #expect(try await copy.run("adopt", "--yes").status == 0)
                try await TestLoop.with { loop in
                    let worker = try copy.start("worker", "--lease", "2s")
                    try await loop.eventually("the worker sends") {
                        await shop.gateway.receivedRequests().count == 5
                    }
                    try await loop.eventually("heartbeats succeed") {
                        try await database.number("SELECT max(w.beat) FROM carillon.workers w") >= 3
                    }
                    #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
                    #expect(!worker.said.contains("\"level\":\"error\""), "\(worker.said)")
                    #expect(!worker.said.contains("timeline"), "\(worker.said)")
                }
            }
            // The first databases of two new clusters have one number.
            try await Self.withManagedCluster { other in
                try await TestDatabase.open(other.url(database: "shop")) { database in
                    try await database.run("DROP SCHEMA carillon CASCADE")
                    try await Self.restore(original, into: database.url, in: shop.folder)
                    #expect(try await database.number("SELECT count(*) FROM carillon.messages") == 5)
                    #expect(try await database.value("carillon.installation_fault()") == nil)
                }
            }
        }
    }

    @Test func `messages older than a given time expire in the adopted copy, and are not sent`() async throws {
        try await shop.enqueue(5)
        try await shop.database.run("UPDATE carillon.messages SET created_at = '2026-01-01' WHERE id <= 3")
        try await Self.withCopy(of: shop) { copy in
            let adopted = try await copy.run("adopt", "--yes", "--expire-before", "2026-02-01T00:00:00Z")
            #expect(
                adopted.status == 0 && adopted.output.contains("3 jobs expire"),
                "\(adopted.output)\(adopted.errors)"
            )
            #expect(try await copy.drain().status == 0)
            #expect(await shop.gateway.receivedRequests().count == 2)
            #expect(try await copy.database.number("SELECT sum(expired) FROM carillon.results") == 3)
        }
        try await Self.withCopy(of: shop) { copy in
            let wrong = try await copy.run("adopt", "--expire-before", "soon")
            #expect(wrong.status == 2 && wrong.errors.contains("--expire-before"))
            let adopted = try await copy.run("adopt", "--yes", "--expire-before", "now")
            #expect(adopted.output.contains("5 jobs expire"))
        }
    }

    /// The database behind a name may be replaced by a backup while workers run.
    @Test func `a worker that reconnects to a copy claims nothing there`() async throws {
        try await TestLoop.with { loop in
            let worker = try shop.start("worker", "--lease", "2s")
            _ = try await worker.line(containing: "The worker has started", on: loop)
            try await shop.database.run("UPDATE carillon.installation SET database_oid = database_oid + 1")
            // In one transaction: no session that the worker has now sees the rows.
            try await shop.database.run(
                """
                INSERT INTO carillon.messages (app_id, tokens, payload)
                SELECT a.id, ARRAY[lpad(to_hex(n), 64, '0')], '{"aps":{}}' FROM carillon.apps a, generate_series(1, 3) n;
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'carillon %'
                """
            )
            _ = try await worker.line(containing: "this database is a copy", on: loop)
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 3)
            #expect(await shop.gateway.receivedRequests().isEmpty)
            #expect(try await shop.run("adopt", "--yes").status == 0)
            try await loop.eventually("the worker sends") {
                await shop.gateway.receivedRequests().count == 3
            }
            #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
        }
    }

    /// Behind a pooler, the server can be another one although no connection of the worker was lost.
    @Test func `a worker notices with a heartbeat that its database is a copy`() async throws {
        try await TestLoop.with { loop in
            let worker = try shop.start("worker", "--lease", "2s")
            _ = try await worker.line(containing: "The worker has started", on: loop)
            try await shop.database.run("UPDATE carillon.installation SET database_oid = database_oid + 1")
            _ = try await worker.line(containing: "this database is a copy", on: loop)
            try await shop.enqueue(3)
            #expect(try await shop.run("check").output.contains("this database is a copy"))
            #expect(await shop.gateway.receivedRequests().isEmpty)
            #expect(try await shop.run("adopt", "--yes").status == 0)
            try await loop.eventually("the worker sends") {
                await shop.gateway.receivedRequests().count == 3
            }
            #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
        }
    }

    /// Each piece of long work has a connection of its own. The database's address may have changed since the others were opened.
    @Test func `a connection of its own that leads to a copy does no work there`() async throws {
        try await Self.withCopy(of: shop) { copy in
            try await copy.database.run(
                """
                INSERT INTO carillon.tokens (app_id, token, last_update) VALUES (1, repeat('ab', 32), '2026-01-01');
                INSERT INTO carillon.feedback (app_id, token, reason, unregistered_at, seen_at)
                VALUES (1, repeat('ab', 32), 'Unregistered', now(), now())
                """
            )
            try await TestLoop.with { loop in
                let file = try shop.folder.write("url", TestLogin.worker.url(shop.database.url))
                let worker = try BackgroundProgram(
                    ["worker", "--feedback-interval", "1s", "--database-file", file],
                    in: shop.folder
                )
                _ = try await worker.line(containing: "The worker has started", on: loop)
                _ = try shop.folder.write("url", TestLogin.worker.url(copy.database.url))
                _ = try await worker.line(containing: "this database is a copy", on: loop)
                #expect(try await copy.database.number("SELECT count(*) FROM carillon.tokens") == 1)
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test func `a running pyapns enqueues nothing in a copy`() async throws {
        try await PyapnsClient.with(shop.database.url, in: shop.folder) { client, program, loop in
            let token = Shop.token("ab")
            #expect(await client.call("notify", "shop", token, PyapnsClient.hello("one")).isNothing)
            try await shop.database.run("UPDATE carillon.installation SET database_oid = database_oid + 1")
            for answer in [
                await client.call("notify", "shop", token, PyapnsClient.hello("two")),
                await client.call("feedback", "shop"),
            ] {
                #expect(answer.contains("The call had no effect"), "\(answer)")
            }
            _ = try await program.line(containing: "his database is a copy", on: loop)
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 1)
        }
    }

    @Test func `an installation whose row is lost sends again after what the worker says to do`() async throws {
        try await shop.enqueue(1)
        try await shop.database.run("DELETE FROM carillon.installation")
        let run = try await shop.run("worker", "--once")
        let insert = "INSERT INTO carillon.installation DEFAULT VALUES"
        #expect(run.errors.contains(insert) && run.errors.contains("carillon adopt"), "\(run.errors)")
        try await shop.database.run(insert)
        #expect(try await shop.run("adopt", "--yes").status == 0)
        #expect(try await shop.drain().status == 0)
        #expect(await shop.gateway.receivedRequests().count == 1)
    }

    /// An older state of the same database has its numbers, too. What workers held when it was saved has not been settled there.
    @Test func `messages older than a given time expire in a restored database, including claimed jobs`() async throws {
        try await shop.enqueue(5)
        // For APNs to deliver at once or never, which is no limit to the wait here.
        try await shop.database.run("UPDATE carillon.messages SET expires_at = 'epoch' WHERE id IN (1, 3)")
        try await shop.database.run("UPDATE carillon.messages SET created_at = 'infinity' WHERE id IN (2, 4)")
        try await Self.claimTwo(in: shop, leaseEnd: "-1 hour")
        let adopted = try await shop.run("adopt", "--yes", "--expire-before", "now")
        #expect(adopted.output.contains("5 jobs expire"), "\(adopted.output)\(adopted.errors)")
        #expect(try await shop.drain().status == 0)
        #expect(await shop.gateway.receivedRequests().isEmpty)
    }

    /// Nothing tells whether that worker has stopped.
    @Test func `the claims of a worker with a lease do not expire, and the command says so`() async throws {
        try await shop.enqueue(5)
        try await Self.claimTwo(in: shop, leaseEnd: "10 minutes")
        let early = try await shop.run("adopt", "--yes", "--expire-before", "now")
        #expect(
            early.output.contains("3 jobs expire") && early.output.contains("2 jobs do not expire"),
            "\(early.output)"
        )
        try await shop.database.run("UPDATE carillon.workers SET lease_until = now()")
        let late = try await shop.run("adopt", "--yes", "--expire-before", "now")
        #expect(late.output.contains("2 jobs expire") && !late.output.contains("not expire"), "\(late.output)")
        #expect(try await shop.drain().status == 0)
        #expect(await shop.gateway.receivedRequests().isEmpty)
    }

    /// A clone of a disk has the numbers of the original, and only a name tells them apart.
    @Test func `a named installation serves only programs that give its name`() async throws {
        try await shop.enqueue(1)
        let worker = TestLogin.worker.url(shop.database.url)
        let named = ["DATABASE_URL": worker + "&options=-ccarillon.installation%3Dproduction"]
        let early = try await ProgramRun.run(["worker", "--once"], environment: named)
        #expect(early.status == 78 && early.errors.contains("this installation is not named"), "\(early.errors)")
        #expect(try await shop.run("adopt", "--yes", "--installation", "production").status == 0)
        let unnamed = try await shop.run("worker", "--once")
        #expect(
            unnamed.status == 78 && unnamed.errors.contains("this installation is named 'production'"),
            "\(unnamed.errors)"
        )
        #expect(try await ProgramRun.run(["worker", "--once"], environment: named).status == 0)
        #expect(await shop.gateway.receivedRequests().count == 1)
        #expect(try await shop.run("adopt", "--yes", "--installation", "").status == 0)
        #expect(try await shop.drain().status == 0)
    }
}
