import CarillonPostgres
import TestSupport
import Testing

/// What roles can lock that have no rights on our tables, and that none of ours waits for.
@Suite(.demo) struct StrangerLockTests {
    private static let setUp = """
        INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES
            (100, 1, '{aa}', '{}', now()), (101, 1, '{aa}', '{}', 'infinity')
        """

    /// Every login may take advisory locks, and hold them for ever.
    @Test func `no function takes an advisory lock`() async throws {
        let users = """
            SELECT string_agg(p.proname, ' ' ORDER BY p.proname) FROM pg_proc p
            WHERE p.pronamespace = 'carillon'::regnamespace AND p.prosrc ~ 'advisory_(xact_)?lock'
            """
        #expect(try await database.value(users) == nil)
    }

    /// A role of the schema may name its tables, and so can take the locks of statements that it cannot run.
    @Test func `a role that can name the lock of cancels cannot make a cancel or a retry wait`() async throws {
        try await database.run(Self.setUp)
        try await holding("cancelling") { app, _ in
            try await database.run("SET lock_timeout = '100ms'; SELECT carillon.promote(10)")
            #expect(try await database.rows("SELECT id FROM carillon.messages") == ["(100)"])
            #expect(try await database.value("carillon.cancel_messages('{100,101}')") == "2")
            // It can take no lock that they would wait for.
            await #expect(throws: (any Error).self) {
                try await app.run("LOCK TABLE carillon.cancelling IN SHARE MODE")
            }
        }
    }

    @Test func `a role that can name the table of isolated roles cannot make isolate_app or unisolate_app wait`()
        async throws
    {
        try await holding("app_roles") { _, role in
            try await database.run("CREATE ROLE \(role)_isolated; SET lock_timeout = '100ms'")
            try await attempt {
                try await database.run("SELECT carillon.isolate_app('demo', '\(role)_isolated')")
                try await database.run("SELECT carillon.unisolate_app('demo', '\(role)_isolated')")
            } finally: {
                try await database.run("DROP ROLE \(role)_isolated")
            }
        }
    }

    /// Runs the body while a role with `carillon_app` holds the strongest lock on a table that it can take by its name.
    private func holding(_ table: String, _ body: (TestDatabase, _ role: String) async throws -> Void) async throws {
        try await database.session { app in
            let role = "app_\(database.connection.backendProcessID)"
            try await app.run("CREATE ROLE \(role) IN ROLE carillon_app")
            try await attempt {
                try await app.run(
                    """
                    GRANT TEMPORARY ON DATABASE \(try await database.value("quote_ident(current_database())") ?? "") TO \(role);
                    SET ROLE \(role); SET check_function_bodies = off; BEGIN;
                    CREATE FUNCTION pg_temp.delete_all() RETURNS void BEGIN ATOMIC DELETE FROM carillon.\(table); END
                    """
                )
                // Databases of other tests have tables with the same number.
                let mode = """
                    SELECT l.mode FROM pg_locks l
                    WHERE l.relation = 'carillon.\(table)'::regclass AND l.pid = pg_backend_pid()
                    """
                #expect(try await app.rows(mode) == ["(RowExclusiveLock)"])
                try await body(app, role)
            } finally: {
                try await app.run("ROLLBACK; RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role)")
            }
        }
    }

    @Test func `apps have their rows to lock, and only the owner can lock them`() async throws {
        let locks =
            "SELECT app_id, count(*), min(lock_number), max(lock_number) FROM carillon.app_locks GROUP BY app_id"
        #expect(try await database.rows(locks) == ["(1,66,0,65)"])
        let granted = """
            SELECT g.grantee::regrole FROM pg_class c, aclexplode(c.relacl) g
            WHERE c.oid IN ('carillon.app_locks'::regclass, 'carillon.cancelling'::regclass) AND g.grantee <> c.relowner
            """
        #expect(try await database.rows(granted) == [])
        try await database.run("DELETE FROM carillon.apps")
        #expect(try await database.rows(locks) == [])
    }

    @Test func `two calls that requeue the same failures requeue each once`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.failures (app_id, message_id, token, reason) SELECT 1, i, 'aa', 'Unqueued'
            FROM generate_series(1, 20) i;
            INSERT INTO carillon.failed_messages (app_id, message_id, lane, payload, push_type, on_unknown)
            SELECT 1, i, 1, '{}', 'alert', 'retry' FROM generate_series(1, 20) i
            """
        )
        try await database.run("BEGIN")
        #expect(try await database.value("carillon.requeue_failures('demo')") == "20")
        async let other = database.session { try await $0.value("carillon.requeue_failures('demo')") }
        try await database.seesBlocked("requeue_failures")
        try await database.run("COMMIT")
        #expect(try await other == "0")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "20")
    }
}
