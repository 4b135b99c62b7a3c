import CarillonPostgres
import TestSupport
import Testing

/// What others keep when a person is forgotten: each of their pushes ends once, and nobody waits long.
@Suite(.demo) struct ForgetOthersTests {
    private static let anna = "aaaa0000000000000000000000000001"
    private static let bob = "bbbb0000000000000000000000000001"
    private static let forget = "SELECT count(*) FROM carillon.forget('demo', 'anna')"

    /// Anna, and a claim of one job to her and Bob.
    private static func claim(_ tokens: String, origin: Int? = nil) -> String {
        """
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now());
        SELECT carillon.register_token('demo', '\(anna)', 'anna');
        INSERT INTO carillon.inflight (id, worker_id, app_id, claimed_at, jobs)
        VALUES (601, 1, 1, '2026-01-01Z', ARRAY[carillon.job(id => 601, lane => 1::smallint, tokens => '{\(tokens)}',
            payload => '{"aps":{}}', origin => \(origin.map { "\($0)" } ?? "NULL"), created_at => now())]);
        """
    }

    private static func settle(_ arguments: [String: String]) -> String {
        TestDatabase.settle(["claim": "601", "claimed": "2026-01-01Z"].merging(arguments) { $1 })
    }

    private func open() async throws -> [String] {
        try await database.rows("SELECT u.message_id, u.cancelled, u.remaining FROM carillon.unfinished u")
    }

    private func results() async throws -> [String] {
        try await database.rows("SELECT r.message_id, r.sent, r.failed, r.cancelled FROM carillon.results r ORDER BY 1")
    }

    @Test func `a message that was cancelled before a person was forgotten ends once`() async throws {
        try await database.run(Self.claim("\(Self.anna),\(Self.bob)"))
        try await database.run("SELECT carillon.cancel(601); \(Self.forget)")
        try await database.run(
            Self.settle([
                "going_back": "{601}", "going_back_whole": "{t}", "going_back_attempt": "{2}",
                "going_back_after": "{1000}",
            ])
        )
        #expect(try await results() == ["(601,0,0,2)"])
        #expect(try await open() == [])
    }

    @Test func `a job without a token, or with an empty one, stays when a person is forgotten`() async throws {
        try await database.run(
            """
            \(Self.claim(Self.anna))
            UPDATE carillon.inflight f SET jobs = f.jobs || ARRAY[
                carillon.job(id => 602, lane => 1::smallint, tokens => '{}', payload => '{}', created_at => now()),
                carillon.job(id => 603, lane => 1::smallint, tokens => '{"",\(Self.anna)}', payload => '{}',
                    created_at => now())];
            \(Self.forget)
            """
        )
        try await database.run(
            Self.settle([
                "ended": "{601}", "going_back": "{602,603}", "going_back_whole": "{t,t}", "going_back_attempt": "{2,2}",
            ])
        )
        #expect(
            try await database.rows("SELECT m.id, cardinality(m.tokens) FROM carillon.messages m ORDER BY 1")
                == ["(602,0)", "(603,1)"]
        )
    }

    @Test func `pushes of a person that cannot be recorded are counted, and their message ends`() async throws {
        try await database.run(Self.claim("\(Self.anna),\(Self.bob)", origin: 500))
        try await database.run("INSERT INTO carillon.unfinished (app_id, message_id, remaining) VALUES (1, 500, 2)")
        try await database.run(Self.forget)
        try await database.run(
            """
            SELECT carillon.settle_unrecorded(1, 601, 1, '2026-01-01Z', 0::smallint, 601, 0,
                '{\(Self.anna),\(Self.bob)}', '{200,400}', '{NULL,NULL}')
            """
        )
        #expect(try await results() == ["(500,1,1,0)"])
        #expect(try await open() == [])
        #expect(try await database.rows("SELECT f.token FROM carillon.failures f") == ["(\(Self.bob))"])
    }

    @Test(arguments: [true, false])
    func `a message to the person alone is counted even if it cannot be recorded`(isWritten: Bool) async throws {
        try await database.run(Self.claim(Self.anna))
        try await database.run(Self.forget)
        if !isWritten {
            try await database.run("ALTER TABLE carillon.results ADD CHECK (message_id <> 601)")
        }
        try await database.run(
            """
            SELECT carillon.settle_unrecorded(1, 601, 1, '2026-01-01Z', 0::smallint, 601, 0,
                '{\(Self.anna)}', '{400}', '{00000000-0000-0000-0000-000000000001}')
            """
        )
        #expect(try await results() == (isWritten ? ["(601,0,1,0)"] : []))
        #expect(
            try await database.rows("SELECT f.message_id, f.token, f.apns_id FROM carillon.failures f")
                == (isWritten ? [] : [#"(601,"",)"#])
        )
    }

    @Test func `the content of a failed push is kept while another push of its message may fail`() async throws {
        try await database.run(Self.claim(Self.bob, origin: 500))
        try await database.run(
            """
            INSERT INTO carillon.unfinished (app_id, message_id, remaining, failed) VALUES (1, 500, 1, 1);
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
            VALUES (500, 1, '\(Self.anna)', 400, 'BadTopic');
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
            VALUES (500, 1, 1, '{"aps":{}}', 'alert', 'retry')
            """
        )
        // In one string with the rows, BEGIN would take them into its transaction.
        try await database.run("BEGIN; \(Self.forget)")
        // The settlement sees the content that is there until the other transaction commits, and adds none.
        let settled = Self.settle([
            "ended": "{500}", "ended_remaining": "{0}", "ended_sent": "{0}", "ended_failed": "{1}", "failed": "{500}",
            "failed_token": "{\(Self.bob)}", "failed_status": "{400}", "failed_reason": "{BadTopic}",
            "failed_attempt": "{1}",
        ])
        #expect(try await database.session { other in try await other.value(settled) } == "written")
        try await database.run("COMMIT")
        #expect(try await database.value("carillon.requeue_failures(app => 'demo', message_id => 500)") == "1")
    }

    @Test func `the dedupe key of a broadcast stays, though its first job was the person's alone`() async throws {
        try await database.run(
            """
            SELECT carillon.register_token('demo', lpad(to_hex(n), 8, '0'), CASE WHEN n <= 1000 THEN 'anna' ELSE 'bob' END)
            FROM generate_series(1, 1500) n;
            SELECT carillon.broadcast('demo', 'x', dedupe_key => 'daily'); \(Self.forget)
            """
        )
        #expect(try await database.value("carillon.broadcast('demo', 'x', dedupe_key => 'daily')") == nil)
        #expect(try await database.value("SELECT sum(cardinality(m.tokens)) FROM carillon.messages m") == "500")
    }

    @Test func `a reference names a device token in either case`() async throws {
        try await database.run(
            """
            SELECT carillon.register_token('demo', '\(Self.anna)', 'anna');
            INSERT INTO carillon.results (message_id, app_id, reference) VALUES
                (1, 1, 'device:' || upper('\(Self.anna)')), (2, 1, '\(Self.anna)'), (3, 1, 'x\(Self.anna)');
            \(Self.forget)
            """
        )
        #expect(
            try await database.rows("SELECT r.message_id FROM carillon.results r WHERE r.reference IS NOT NULL") == [
                "(3)"
            ]
        )
    }

    @Test(.timeLimit(.minutes(1))) func `long tokens do not make the comparison of references slow`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, owner)
            SELECT 1, lpad(to_hex(n), 512, 'ab'), 'anna' FROM generate_series(1, 100) n;
            INSERT INTO carillon.results (message_id, app_id, reference)
            SELECT n, 1, 'order-' || n || '/user-' || n % 5000 FROM generate_series(1, 80000) n;
            \(Self.forget)
            """
        )
        #expect(try await database.value("SELECT count(r.reference) FROM carillon.results r") == "80000")
    }

    @Test(.timeLimit(.minutes(1))) func `an owner with many tokens is forgotten soon`() async throws {
        try await database.run(
            """
            CREATE TABLE list AS SELECT n, lpad(to_hex(n), 64, '0') AS token FROM generate_series(1, 50000) n;
            INSERT INTO carillon.tokens (app_id, token, owner) SELECT 1, l.token, 'anna' FROM list l;
            INSERT INTO carillon.messages (app_id, tokens, payload, reference)
            SELECT 1, array_agg(l.token), '{}', 'r' FROM list l GROUP BY l.n / 1000;
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, tokens, payloads, push_type, on_unknown)
            SELECT l.n / 1000, 1, 1, array_agg('f' || substr(l.token, 2)), array_agg('{}'::json), 'alert', 'retry'
            FROM list l GROUP BY l.n / 1000;
            \(Self.forget)
            """
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
        #expect(try await database.value("SELECT sum(r.cancelled) FROM carillon.results r") == "50000")
        #expect(
            try await database.value("SELECT sum(cardinality(m.tokens)) FROM carillon.failed_messages m") == "50000"
        )
    }

    @Test func `nobody who holds a row makes the jobs of an app wait long for a forget`() async throws {
        #expect(
            try await database.rows(
                """
                SELECT p.proname FROM pg_proc p
                WHERE p.pronamespace = 'carillon'::regnamespace AND 'lock_timeout=10s' = ANY (p.proconfig) ORDER BY 1
                """
            ) == ["(forget)", "(take_waiting)"]
        )
    }

    @Test func `a reference names an owner as a whole word, and a short one only if it is all of it`() async throws {
        for (owner, reference, isNamed) in [
            ("42", "order-42", false), ("42", "42", true), ("anna", "to anna.", true), ("anna", "joanna", false),
            ("a_b[c]", "x a_b[c]", true), ("12345678", "user:12345678:7", true),
            ("all", "to all", false), ("all", "all", true), (".", "a. b", false),
        ] {
            try await database.run(
                """
                TRUNCATE carillon.results;
                INSERT INTO carillon.results (message_id, app_id, reference) VALUES (1, 1, '\(reference)');
                SELECT carillon.forget('demo', '\(owner)')
                """
            )
            let left = try await database.value("SELECT r.reference FROM carillon.results r")
            #expect(left == (isNamed ? nil : reference), "\(owner) in \(reference)")
        }
    }

    /// Registering and cancelling, in either order.
    @Test(arguments: [true, false])
    func `a transaction that registers a token and cancels does not deadlock with forget`(registersFirst: Bool)
        async throws
    {
        let register = "SELECT carillon.register_token('demo', '\(Self.anna)', 'anna')"
        let cancel = "SELECT carillon.cancel(app => 'demo', owner => 'anna')"
        try await database.run(register)
        try await database.run("BEGIN; \(registersFirst ? register : cancel)")
        async let forgotten = database.session { other in try await other.value(Self.forget) }
        try await TestLoop.shared.eventually("forget waits") {
            try await database.session { other in
                try await other.number(
                    """
                    SELECT count(*) FROM pg_stat_activity a
                    WHERE a.datname = current_database() AND a.wait_event_type = 'Lock'
                    """
                )
            } > 0
        }
        try await database.run(registersFirst ? cancel : register)
        try await database.run("COMMIT")
        #expect(try await forgotten != nil)
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens") == "0")
    }
}
