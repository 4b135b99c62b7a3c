import CarillonIO
import CarillonPostgres
import CarillonSchema
import TestSupport
import Testing

/// Changes of tables. All that name the table wait behind the lock that these wait for.
@Suite(.demo) struct StrongLockTests {
    /// When each session began to wait for a table that it wants to change.
    private static let attempts = """
        SELECT l.pid, l.waitstart FROM pg_locks l
        WHERE NOT l.granted AND l.mode IN ('AccessExclusiveLock', 'ShareUpdateExclusiveLock') AND l.waitstart IS NOT NULL
            AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        """

    /// Does something behind attempts to lock a table, and does not wait long for any of them.
    private static func behindAttempts(
        _ count: Int = 2,
        in database: TestDatabase,
        _ body: (TestDatabase) async throws -> Void
    ) async throws {
        try await database.session { other in
            try await other.run("SET lock_timeout = '10s'")
            var attempts: Set<String> = []
            try await TestLoop.shared.eventually("\(count) attempts", every: .milliseconds(5)) {
                let waiting = try await other.rows(Self.attempts)
                guard !attempts.isSuperset(of: waiting) else { return false }
                attempts.formUnion(waiting)
                try await body(other)
                return attempts.count >= count
            }
        }
    }

    /// In a transaction that does not end before the body.
    private static func using(
        _ sql: String,
        in database: TestDatabase,
        _ body: (TestDatabase) async throws -> Void
    ) async throws {
        try await database.session { user in
            try await user.run("BEGIN; \(sql)")
            try await body(user)
            try await user.run("ROLLBACK")
        }
    }

    private static let enqueue = "SELECT carillon.enqueue('demo', '{aa}', 'x')"

    private static func withRoles(
        of database: TestDatabase,
        _ body: (_ one: String, _ other: String) async throws -> Void
    ) async throws {
        let (one, other) = (
            "one_\(database.connection.backendProcessID)", "other_\(database.connection.backendProcessID)"
        )
        try await database.run("CREATE ROLE \(one); CREATE ROLE \(other)")
        try await attempt {
            try await body(one, other)
        } finally: {
            try await database.run("DROP OWNED BY \(one), \(other); DROP ROLE \(one), \(other)")
        }
    }

    @Test func `while isolate_app waits for a transaction, others enqueue, and it is done when that has ended`()
        async throws
    {
        try await Self.withRoles(of: database) { role, _ in
            try await Self.using(Self.enqueue, in: database) { user in
                async let isolated: Void = database.session {
                    try await $0.run("SELECT carillon.isolate_app('demo', '\(role)')")
                }
                try await Self.behindAttempts(in: database) { other in
                    try await other.run("SELECT carillon.enqueue('demo', '{bb}', 'x')")
                }
                try await user.run("COMMIT")
                try await isolated
            }
            #expect(try await database.value("SELECT bool_and(is_guarded) FROM carillon.apps") == "true")
            #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "3")
        }
    }

    @Test func `a vacuum that isolate_app waits for stops no enqueue`() async throws {
        try await Self.withRoles(of: database) { role, _ in
            try await Self.using("LOCK TABLE carillon.messages IN SHARE UPDATE EXCLUSIVE MODE", in: database) {
                vacuum in
                async let isolated: Void = database.session {
                    try await $0.run("SELECT carillon.isolate_app('demo', '\(role)')")
                }
                try await Self.behindAttempts(1, in: database) { other in try await other.run(Self.enqueue) }
                try await vacuum.run("COMMIT")
                try await isolated
            }
            #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "1")
        }
    }

    @Test func `two calls that isolate the first roles at the same time both succeed`() async throws {
        try await Self.withRoles(of: database) { first, second in
            try await Self.using(Self.enqueue, in: database) { user in
                async let one: Void = database.session {
                    try await $0.run("SELECT carillon.isolate_app('demo', '\(first)')")
                }
                async let two: Void = database.session {
                    try await $0.run("SELECT carillon.isolate_app('demo', '\(second)')")
                }
                try await TestLoop.shared.eventually("both wait") {
                    try await database.number(
                        """
                        SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database()
                            AND a.query LIKE 'SELECT carillon.isolate_app%' AND a.state = 'active'
                            AND a.query_start < clock_timestamp() - interval '500 milliseconds'
                        """
                    ) == 2
                }
                try await user.run("COMMIT")
                try await one
                try await two
            }
            #expect(try await database.value("SELECT count(*) FROM carillon.app_roles") == "2")
        }
    }

    @Test
    func `a way down that waits for a transaction lets others read, and continues when that has ended`() async throws {
        try await Self.using("SELECT token FROM carillon.feedback", in: database) { user in
            async let undone = database.session { try await Migrator($0.connection).down(to: 5).map(\.version) }
            try await Self.behindAttempts(in: database) { other in
                try await other.run("SELECT token FROM carillon.feedback")
            }
            try await user.run("COMMIT")
            #expect(try await undone == Migration.all.map(\.version).filter { $0 > 5 }.reversed())
        }
    }

    @Test
    func `a partition is dropped when a transaction that uses it has ended, and others read until then`() async throws {
        try await database.run(
            """
            CREATE TABLE carillon.results_20200101 PARTITION OF carillon.results
                FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z')
            """
        )
        try await Self.using("SELECT FROM carillon.results", in: database) { user in
            async let dropped = database.session { worker async throws -> [String] in
                let step = "SELECT changed, error FROM carillon.maintain_step('drop', 'results')"
                var done = try await worker.rows(step)
                for _ in 0..<100 where done != ["(1,)"] { done = try await worker.rows(step) }
                return done
            }
            try await Self.behindAttempts(in: database) { other in
                try await other.run("SELECT FROM carillon.results")
            }
            try await user.run("COMMIT")
            #expect(try await dropped == ["(1,)"])
        }
    }

    @Test
    func `a table that stays in use is named with its user, and neither a lock nor a setting is left`() async throws {
        try await Self.using("LOCK TABLE carillon.messages IN SHARE MODE", in: database) { user in
            try await database.run("SET lock_timeout = '7s'; BEGIN; SAVEPOINT before")
            let error = await database.refusal(of: "SELECT carillon.lock_tables('{apps,messages}', '0')")
            #expect(error?.sqlState == "55P03" && error?.message.contains("carillon.messages is in use") == true)
            let holder = "process \(user.connection.backendProcessID) (test, user postgres, idle in transaction)"
            #expect(error?.detail?.contains(holder) == true, "\(error?.detail ?? "")")
            try await database.run("ROLLBACK TO before")
            let locks = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'AccessExclusiveLock'"
            #expect(try await database.value(locks) == "0")
            try await database.run("SELECT carillon.lock_tables('{apps,results}', '0')")
            #expect(try await database.value(locks) == "2")
            #expect(try await database.value("current_setting('lock_timeout')") == "7s")
            try await database.run("COMMIT")
        }
    }

    @Test
    func `an upgrade waits for a locked table while it checks the functions, and calls none faulty`() async throws {
        try await database.run("DELETE FROM carillon.schema_routines WHERE file = 'rights.sql'")
        try await Self.using("LOCK TABLE carillon.workers IN ACCESS EXCLUSIVE MODE", in: database) { user in
            async let done: Void = database.session { _ = try await Migrator($0.connection).up() }
            try await TestLoop.shared.eventually("it waits for the table", every: .milliseconds(5)) {
                try await user.number(
                    "SELECT count(*) FROM pg_locks l WHERE NOT l.granted AND l.relation = 'carillon.workers'::regclass"
                ) > 0
            }
            try await user.run("COMMIT")
            try await done
        }
        #expect(
            try await database.value("SELECT count(*) FROM carillon.schema_routines WHERE file = 'rights.sql'") == "1"
        )
    }

    @Test func `only the owner may lock tables in these modes`() async throws {
        #expect(
            try await database.value(
                """
                SELECT string_agg(r.rolname, ' ') FROM pg_roles r WHERE r.rolname LIKE 'carillon%'
                    AND has_function_privilege(r.rolname, 'carillon.lock_tables(text[], interval)', 'EXECUTE')
                """
            ) == nil
        )
    }
}
