import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// `carillon check`, as a user runs it.
@Suite struct CheckCommandTests {
    @Test(.shop) func `a good installation has a line for everything, and ends with 0`() async throws {
        let check = try await shop.run("check")
        #expect(check.status == 0, "\(check.output)")
        for line in [
            "ok       database      PostgreSQL", "ok       migrations", "ok       roles", "ok       plans",
            "ok       clock", "ok       retries", "ok       autovacuum", "ok       vacuum",
            "ok       workers       No worker is running.",
            "ok       maintenance", "ok       consumers",
            "ok       gateway       localhost:",
        ] {
            #expect(check.output.contains(line), "\(line)\n\(check.output)")
        }
        // The tests' server is set up to be fast.
        #expect(check.output.contains("warning  durability"))
        #expect(check.output.contains("No session has held a lock on Carillon's tables for long."))
        #expect(check.output.contains("shop: "))
        let json = try await shop.run("check", "--json")
        #expect(json.output.hasPrefix(#"{"findings":[{"subject":"database","condition":"ok","sentence":"PostgreSQL "#))
    }

    @Test(.shop) func `while jobs wait, a missing worker is a warning that says what to do`() async throws {
        try await shop.enqueue(1)
        let check = try await shop.run("check")
        let warning = "warning  workers       No worker is running, and jobs wait.\n         → Start 'carillon worker',"
        #expect(check.status == 0 && check.output.contains(warning), "\(check.output)")
    }

    @Test(.shop) func `check names each problem, and how to solve it`() async throws {
        try await shop.database.connection.script(
            """
            DROP INDEX carillon.scheduled_by_time;
            ALTER TABLE carillon.messages RESET (autovacuum_vacuum_scale_factor);
            UPDATE carillon.certificates SET certificate = 'nothing'
            """
        )
        let check = try await shop.run("check")
        #expect(check.status == 78)
        #expect(check.output.contains("failed   plans"))
        #expect(check.output.contains("carillon migrate sql"))
        #expect(check.output.contains("warning  autovacuum"))
        #expect(check.output.contains("failed   credential"))
        #expect(check.output.contains("carillon credential import"))
    }

    @Test(.shop)
    func `apps that send nothing are named: paused ones, and ones with a certificate for another topic`() async throws {
        try await shop.enqueue(3)
        try await shop.database.connection.script(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca)
            SELECT 'other', 'com.elsewhere', certificate_id, gateway, gateway_ca FROM carillon.apps;
            UPDATE carillon.apps SET paused = true, paused_reason = 'a sale' WHERE name = 'shop';
            REVOKE EXECUTE ON FUNCTION carillon.cancel FROM carillon_app
            """
        )
        let check = try await shop.run("check")
        #expect(check.status == 0, "\(check.output)")
        #expect(check.output.contains("shop is paused, and 3 jobs wait: a sale."))
        try await shop.database.connection.script(
            """
            WITH gone AS (DELETE FROM carillon.messages RETURNING *)
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT id, app_id, tokens, payload, now() + interval '1 day' FROM gone
            """
        )
        let later = try await shop.run("check").output
        #expect(later.contains("shop is paused, and 0 jobs wait (3 more scheduled for later): a sale."), "\(later)")
        #expect(check.output.contains("other: The certificate shop is for com.example.shop, not for com.elsewhere"))
        #expect(check.output.contains("revoked: EXECUTE on carillon.cancel(bigint,text,text,text) for carillon_app."))
    }

    @Test(.shop) func `check writes nothing`() async throws {
        try await shop.database.connection.script(
            """
            UPDATE carillon.certificates SET status = NULL, last_error = 'as it was';
            DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
            END $$
            """
        )
        let before = try await shop.database.number("SELECT sum(xmin::text::bigint)::bigint FROM carillon.certificates")
        let check = try await shop.run("check")
        #expect(check.status == 0, "\(check.output)")
        #expect(check.output.contains("accepts no writes from this login"))
        for line in ["ok       credential", "ok       plans", "ok       gateway"] {
            #expect(check.output.contains(line), "\(line)\n\(check.output)")
        }
        #expect(
            try await shop.database.number("SELECT sum(xmin::text::bigint)::bigint FROM carillon.certificates")
                == before
        )
    }

    @Test(.shop) func `maintenance that fails or is not done, and rows without a partition, are told`() async throws {
        try await shop.database.connection.script(
            "UPDATE carillon.maintenance SET last_success = now() - interval '4 hours'"
        )
        let late = try await shop.run("check")
        #expect(late.output.contains("warning  maintenance   Maintenance last ran 4h"), "\(late.output)")
        try await shop.database.connection.script("CALL carillon.maintain()")
        #expect(try await shop.run("check").output.contains("ok       maintenance"))
        try await shop.database.connection.script(
            "INSERT INTO carillon.results (message_id, app_id, finished_at) VALUES (1, 1, now() - interval '30 days')"
        )
        let rest = try await shop.run("check")
        #expect(rest.output.contains("1 row of carillon.results lies in its default partition"), "\(rest.output)")
        try await shop.database.connection.script(
            """
            UPDATE carillon.maintenance SET last_failure = now(), last_error = 'the disk sings'
            WHERE (action, target) = ('make', 'results')
            """
        )
        let failing = try await shop.run("check")
        #expect(failing.status == 0 && failing.output.contains("warning  maintenance"))
        #expect(
            failing.output.contains("The maintenance step 'make results' fails: the disk sings."),
            "\(failing.output)"
        )
    }

    @Test(.shop) func `a consumer that takes nothing is named, and how to end it`() async throws {
        try await shop.database.connection.script(
            """
            SELECT carillon.subscribe('shop', 'it''s mine');
            SELECT carillon.note_dead(a.id, '{aa,bb}', ARRAY[now(), now()]) FROM carillon.apps a WHERE a.name = 'shop';
            UPDATE carillon.untaken_events SET at = now() - interval '26 hours'
            """
        )
        let check = try await shop.run("check")
        #expect(check.status == 0, "\(check.output)")
        for text in [
            "warning  consumers     2 events of shop wait for the consumer it's mine, the oldest for 1d 2h.",
            "or run SELECT carillon.unsubscribe('shop', 'it''s mine').",
        ] {
            #expect(check.output.contains(text), "\(check.output)")
        }
        try await shop.database.connection.script("SELECT carillon.take_events('it''s mine')")
        #expect(try await shop.run("check").output.contains("ok       consumers"))
    }

    @Test(.shop) func `a webhook that is paused or has failed for long is named, and how to resume it`() async throws {
        try await shop.database.connection.script(
            """
            SELECT carillon.add_webhook('crm', 'shop', 'https://example.com/');
            SELECT carillon.note_dead(a.id, '{aa,bb}', ARRAY[now(), now()]) FROM carillon.apps a WHERE a.name = 'shop'
            """
        )
        #expect(try await shop.run("check").output.contains("ok       webhooks"))
        try await shop.database.connection.script(
            """
            UPDATE carillon.webhooks SET failing_since = now() - interval '2 hours', failed_at = now(),
                last_error = 'the receiver answered 500'
            """
        )
        let failing = try await shop.run("check").output
        #expect(failing.contains("warning  webhooks      The webhook crm of shop has been failing since"), "\(failing)")
        #expect(failing.contains("the receiver answered 500. 2 events wait"), "\(failing)")
        try await shop.database.connection.script("SELECT carillon.pause_webhook('crm', 'a sale', 'anna')")
        let paused = try await shop.run("check").output
        #expect(paused.contains("The webhook crm of shop has been paused since "), "\(paused)")
        #expect(paused.contains(" UTC by anna: a sale. 2 events wait"), "\(paused)")
        #expect(paused.contains("run 'carillon webhook resume crm'"), "\(paused)")
    }

    @Test func `a user without rights is told which, and a missing schema how to make it`() async throws {
        try await Shop.with { shop in
            try await shop.database.connection.script("CREATE ROLE \(Self.nobody) LOGIN")
            let url = shop.database.url.split(separator: "user=postgres", omittingEmptySubsequences: false)
                .joined(separator: "user=\(Self.nobody)")
            let refused = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": url])
            #expect(refused.status == 78 && refused.output.contains("carillon_worker"), "\(refused.output)")
            try await shop.database.connection.script("GRANT carillon_worker TO \(Self.nobody)")
            let allowed = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": url])
            #expect(allowed.status == 0 && allowed.output.contains("has the rights of a worker"), "\(allowed.output)")
            for unseen in ["row locks", "transactions"] {
                let end = "; \(unseen) of other users are seen only with pg_read_all_stats."
                #expect(allowed.output.contains(end), "\(allowed.output)")
            }
            try await shop.database.connection.script("REVOKE INSERT ON carillon.results FROM carillon_worker")
            let lacking = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": url])
            #expect(lacking.status == 78 && lacking.output.contains("INSERT on carillon.results"), "\(lacking.output)")
            // A right that two roles have granted is recorded once.
            try await shop.database.connection.script(
                """
                BEGIN; GRANT SELECT ON carillon.results TO \(Self.nobody) WITH GRANT OPTION; SET ROLE \(Self.nobody);
                GRANT SELECT ON carillon.results TO carillon_reader; RESET ROLE; SELECT carillon.record_rights(); ROLLBACK
                """
            )
            // Whatever the right, and whosever it is.
            for (revoke, missing) in [
                ("ALL ON carillon.holds FROM carillon_worker", "DELETE on carillon.holds for carillon_worker"),
                ("SELECT (name) ON carillon.apps FROM carillon_app", "SELECT (name) on carillon.apps for carillon_app"),
                ("USAGE ON SCHEMA carillon FROM carillon_app", "USAGE on schema carillon for carillon_app"),
                ("EXECUTE ON FUNCTION carillon.limit_app FROM carillon_operator", "carillon.limit_app("),
            ] {
                try await shop.database.connection.script("BEGIN; REVOKE \(revoke)")
                let missed: [String] = try await shop.database.connection.values(of: CheckStatements.missingGrants)
                try await shop.database.connection.script("ROLLBACK")
                #expect(missed.contains { $0.contains(missing) }, "\(revoke): \(missed)")
            }
        }
        try await TestDatabase.unconnected(.nothing) { url in
            let missing = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": url])
            #expect(missing.status == 78 && missing.output.contains("carillon migrate up"))
        }
    }

    @Test func `who can read private keys because of default privileges is named, with the command that ends it`()
        async throws
    {
        try await TestDatabase.connected(.nothing) { connection, url in
            let role = "reporting_\(connection.backendProcessID)"
            try await connection.script(
                "CREATE ROLE \(role); ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO \(role)"
            )
            try await attempt {
                try await TestDatabase.migrate(url)
                let open = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": url]).output
                #expect(open.contains("warning  keys          Private keys can also be read by \(role),"), "\(open)")
                let command = try #require(
                    open.firstMatch(of: /(REVOKE ALL ON carillon\.certificates, .*)\./)?.output.1
                )
                try await connection.script(String(command))
                let closed = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": url]).output
                #expect(closed.contains("ok       keys"), "\(closed)")
                #expect(
                    closed.contains("By default privileges, \(role) can read tables of later versions"),
                    "\(closed)"
                )
            } finally: {
                try await connection.script("DROP OWNED BY \(role); DROP ROLE \(role)")
            }
        }
    }

    @Test(.shop) func `a role that was isolated and is gone is named, with the command that ends it`() async throws {
        let role = "gone_\(shop.database.connection.backendProcessID)"
        try await shop.database.connection.script("CREATE ROLE \(role); SELECT carillon.isolate_app('shop', '\(role)')")
        #expect(try await shop.run("check").output.contains("ok       isolation"))
        // As after restoring a dump before its roles existed.
        try await shop.database.connection.script("REVOKE USAGE ON SCHEMA carillon FROM carillon_tenant")
        let lacking = try await shop.run("check").output
        #expect(lacking.contains("USAGE on schema carillon for carillon_tenant"), "\(lacking)")
        try await shop.database.connection.script("SELECT carillon.enforce_isolation(true)")
        #expect(try await shop.run("check").output.contains("ok       grants"))
        // As unisolate_app in another database of the cluster does.
        try await shop.database.connection.script("REVOKE carillon_tenant FROM \(role)")
        let revoked = try await shop.run("check").output
        #expect(revoked.contains("\(role), isolated to the app shop, no longer has carillon_tenant"), "\(revoked)")
        let mending = try #require(revoked.firstMatch(of: /SELECT carillon\.isolate_app\([^)]*\)/)?.output)
        try await shop.database.connection.script(String(mending))
        #expect(try await shop.run("check").output.contains("ok       isolation"))
        try await shop.database.connection.script("DROP ROLE \(role)")
        let check = try await shop.run("check")
        #expect(check.status == 0 && check.output.contains("warning  isolation"), "\(check.output)")
        let command = try #require(check.output.firstMatch(of: /SELECT carillon\.unisolate_app\([^)]*\)/)?.output)
        try await shop.database.connection.script(String(command))
        #expect(try await shop.run("check").output.contains("ok       isolation"))
    }

    @Test(.shop)
    func `isolation that is off while a role is isolated is named, with the command for it`() async throws {
        let role = "held_\(shop.database.connection.backendProcessID)"
        try await shop.database.connection.script("CREATE ROLE \(role); SELECT carillon.isolate_app('shop', '\(role)')")
        try await attempt {
            #expect(try await shop.run("check").output.contains("ok       isolation"))
            for hole in [
                "ALTER TABLE carillon.results DISABLE ROW LEVEL SECURITY",
                "ALTER TABLE carillon.channels DISABLE ROW LEVEL SECURITY",
                "DROP POLICY own_apps ON carillon.failures; ALTER TABLE carillon.failures DISABLE ROW LEVEL SECURITY",
                "UPDATE carillon.apps SET is_guarded = false",
            ] {
                try await shop.database.connection.script(hole)
                let check = try await shop.run("check")
                #expect(check.status == 78 && check.output.contains("failed   isolation"), "\(check.output)")
                #expect(check.output.contains(role), "\(check.output)")
                let command = check.output.firstMatch(of: /SELECT carillon\.enforce_isolation\([^)]*\)/)?.output
                try await shop.database.connection.script(String(try #require(command, "\(check.output)")))
                #expect(try await shop.run("check").output.contains("ok       isolation"))
            }
            // What isolate_app refuses may be granted later.
            for (wider, hole) in [
                ("GRANT carillon_reader TO \(role)", "\(role) is a member of carillon_reader."),
                ("ALTER ROLE \(role) BYPASSRLS", "\(role) bypasses row-level security."),
            ] {
                try await shop.database.connection.script(wider)
                let check = try await shop.run("check")
                #expect(check.status == 78 && check.output.contains("can reach other apps: \(hole)"), "\(check.output)")
                let command = check.output.firstMatch(of: /run (REVOKE \w+ FROM \w+|ALTER ROLE [\w ]+)/)?.output.1
                try await shop.database.connection.script(String(try #require(command, "\(check.output)")))
                #expect(try await shop.run("check").output.contains("ok       isolation"))
            }
        } finally: {
            try await shop.database.connection.script("DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }

    @Test(.shop)
    func `a function that would give triggers more rights than they should have is named, and stops no worker`()
        async throws
    {
        #expect(try await shop.run("check").output.contains("ok       reaper"))
        try await shop.database.connection.script(
            """
            CREATE TABLE devices (token text, updated timestamptz);
            INSERT INTO devices VALUES ('aa', '2020-01-01Z');
            GRANT SELECT, DELETE ON devices TO carillon_reaper;
            SELECT carillon.watch_tokens('shop', 'devices', 'token', 'updated');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, 'aa', '2020-01-02Z');
            ALTER FUNCTION carillon.as_reaper OWNER TO CURRENT_USER
            """
        )
        let check = try await shop.run("check")
        #expect(check.status == 78 && check.output.contains("failed   reaper"), "\(check.output)")
        #expect(check.output.contains("carillon.as_reaper belongs to postgres, not to carillon_reaper."))
        // The worker says so too, deletes nothing there, and sends all the same.
        try await TestLoop.with { loop in
            let worker = try shop.start("worker", "--feedback-interval", "1s")
            let warning = try await worker.line(
                containing: "Dead tokens could not be deleted from a watched table",
                on: loop
            )
            #expect(warning.contains("Have a superuser, or "), "\(warning)")
            try await shop.enqueue(1)
            try await loop.eventually("the push is sent") {
                try await shop.database.number("SELECT count(*) FROM carillon.results WHERE sent = 1") == 1
            }
            #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
        }
        #expect(try await shop.database.number("SELECT count(*) FROM devices") == 1)
        let line = try #require(check.output.firstMatch(of: /Have a superuser.* run: (.*)\./)?.output.1)
        try await shop.database.connection.script(String(line))
        #expect(try await shop.run("check").output.contains("ok       reaper"))
        #expect(try await shop.run("feedback", "--once").status == 0)
        #expect(try await shop.database.number("SELECT count(*) FROM devices") == 0)
    }

    private static let nobody = "check_nobody"

    @Test func `check exits with 69 if the database or a gateway cannot be reached`() async throws {
        try await Shop.with(address: "localhost:1") { shop in
            let check = try await shop.run("check")
            #expect(check.status == 69 && check.output.contains("failed   gateway"), "\(check.output)")
        }
        let nowhere = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": "host=/nonexistent dbname=d"])
        #expect(nowhere.status == 69 && nowhere.output.contains("failed   database"))
        // Another authority than the gateway's own.
        let stranger = try APNsSimulator(SimulatorConfiguration())
        try await Shop.with(root: stranger.rootPEM) { shop in
            let check = try await shop.run("check")
            #expect(check.status == 78 && check.output.contains("gateway_ca"), "\(check.output)")
        }
    }
}
