import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// `carillon app move`, with an end at each of its steps.
@Suite(.queue) struct AppMoveTests {
    private struct Interruption: Error {}

    static let refused = "the app 'app' has moved to another database: b/two"

    /// The step at which a run ends, by the name of its case.
    func move(
        to target: TestDatabase,
        until last: String? = nil,
        _ body: @escaping @Sendable (MoveStep) async throws -> Void = { _ in }
    ) async throws {
        try await withMove(to: target) { step in
            try await body(step)
            if let last, "\(step)".hasPrefix(last) { throw Interruption() }
        } _: { move in
            try await move.run()
        }
    }

    private func withMove(
        to target: TestDatabase,
        report: @escaping @Sendable (MoveStep) async throws -> Void = { _ in },
        _ body: (AppMove) async throws -> Void
    ) async throws {
        try await queue.database.session { source in
            try await target.session { target in
                try await body(
                    AppMove(
                        of: "app",
                        from: source.connection,
                        to: target.connection,
                        labels: (source: "a/one", target: "b/two"),
                        on: queue.loop,
                        report: report
                    )
                )
            }
        }
    }

    /// Makes a statement fail in one of the databases.
    private static func refusing(_ statement: String, on table: String, when condition: String = "true") -> String {
        """
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused by a test'; END $$;
        CREATE TRIGGER refuse BEFORE \(statement) ON carillon.\(table) FOR EACH ROW WHEN (\(condition))
            EXECUTE FUNCTION public.refuse()
        """
    }

    func withTarget(_ body: (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with(.schema) { target in
            // So that the ids differ.
            try await target.run("INSERT INTO carillon.apps (name, topic) VALUES ('other', 'org.example.other')")
            try await body(target)
        }
    }

    func prepare() async throws {
        try await queue.database.run(
            #"""
            SELECT carillon.enqueue('app', ARRAY[lpad(to_hex(g), 64, '0')], alert => 'It''s "\' || g, reference => 'r' || g)
            FROM generate_series(1, 5) AS g;
            SELECT carillon.enqueue('app', ARRAY['aa'], alert => 'x', reference => 'later', run_at => now() + interval '1 day',
                dedupe_key => 'key');
            INSERT INTO carillon.tokens (app_id, token, owner, environment, activity_type, time_zone, locale, attributes)
            SELECT 1, lpad(to_hex(g), 64, '0'), 'o' || g, 'sandbox', 'Ride', 'UTC', 'de', '{"plan": "pro"}'
            FROM generate_series(1, 3) AS g;
            SELECT carillon.subscribe('app', 'consumer');
            INSERT INTO carillon.results (message_id, app_id, reference, sent, worker_id) SELECT -g, 1, 'h' || g, 1, 7
            FROM generate_series(1, 4) AS g;
            INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES (-9, 1, 'aa', 'BadDeviceToken');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, handled_at)
            VALUES (1, 'aa', now(), 'Unregistered', NULL), (1, 'bb', now(), 'Unregistered', now());
            INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent) VALUES (now(), 1, 7, 3);
            """#
        )
    }

    private static let left = """
        SELECT (SELECT count(*) FROM carillon.messages WHERE app_id = 1) + (SELECT count(*) FROM carillon.scheduled)
            + (SELECT count(*) FROM carillon.tokens WHERE app_id = 1) + (SELECT count(*) FROM carillon.results WHERE app_id = 1)
            + (SELECT count(*) FROM carillon.failures) + (SELECT count(*) FROM carillon.feedback)
            + (SELECT count(*) FROM carillon.push_counts) + (SELECT count(*) FROM carillon.subscriptions)
            + (SELECT count(*) FROM carillon.dedupe) + (SELECT count(*) FROM carillon.moved_tokens)
            + (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'move%')
        """

    private static let references = """
        SELECT r.reference FROM (SELECT app_id, reference FROM carillon.messages UNION ALL SELECT app_id, reference
            FROM carillon.scheduled UNION ALL SELECT app_id, reference FROM carillon.results) AS r
        WHERE r.app_id = 2 ORDER BY r.reference
        """

    func expectMoved(_ target: TestDatabase, references more: [String] = []) async throws {
        #expect(try await queue.database.number(Self.left) == 0)
        let references = ["h1", "h2", "h3", "h4", "later", "r1", "r2", "r3", "r4", "r5"] + more
        #expect(try await target.rows(Self.references) == references.sorted().map { "(\($0))" })
        let details = "SELECT environment, activity_type, time_zone, locale, count(*) FROM carillon.tokens"
        #expect(try await target.rows(details + " GROUP BY 1, 2, 3, 4") == ["(sandbox,Ride,UTC,de,3)"])
        // A registration by another owner removes them.
        let attributes = #"SELECT count(*) FROM carillon.tokens WHERE attributes = '{"plan": "pro"}' OR owner = 'new'"#
        #expect(try await target.number(attributes) == 3)
        #expect(try await target.number("SELECT count(*) FROM carillon.feedback WHERE app_id = 2") == 2)
        #expect(try await target.number("SELECT count(*) FROM carillon.failures WHERE app_id = 2") == 1)
        #expect(try await target.number("SELECT count(*) FROM carillon.push_counts WHERE app_id = 2") > 0)
        #expect(
            try await target.value("SELECT a.moved_to IS NULL AND NOT a.paused FROM carillon.apps a WHERE a.id = 2")
                == "true"
        )
        #expect(try await target.number("SELECT count(*) FROM carillon.moves WHERE ended_at IS NOT NULL") == 1)
    }

    @Test func `everything of an app moves, and the source refuses it from then on`() async throws {
        try await withTarget { target in
            try await prepare()
            try await move(to: target)
            try await expectMoved(target)
            for call in [
                "carillon.enqueue('app', ARRAY['aa'], alert => 'x')", "carillon.push('app', ARRAY['aa'], 'x', 1, NULL)",
                "carillon.register_token('app', 'aa')", "carillon.resume_app('app')", "carillon.subscribe('app', 'c')",
            ] {
                let error = await #expect(throws: PostgresError.self) { try await queue.database.run("SELECT \(call)") }
                #expect(error?.sqlState == "55000" && error?.message.contains(Self.refused) == true, "\(call)")
            }
            #expect(
                try await target.value("carillon.enqueue('app', ARRAY['aa'], alert => 'x', dedupe_key => 'key')")
                    == nil,
                "the key is taken"
            )
            let highest = try await queue.database.number("SELECT last_value FROM carillon.messages_id_seq")
            #expect(try await target.number("SELECT carillon.enqueue('app', ARRAY['aa'], alert => 'x')") > highest)
        }
    }

    @Test(arguments: ["begun", "copied", "drained", "brought", "left", "live", "history", "deleted", "ended"])
    func `a move that ends at any step is continued by the next run`(step: String) async throws {
        try await withTarget { target in
            try await prepare()
            await #expect(throws: Interruption.self) { try await move(to: target, until: step) }
            // A change that comes between the two runs, before a copy that it concerns.
            if ["begun", "copied"].contains(step) {
                try await queue.database.run("SELECT carillon.register_token('app', lpad('2', 64, '0'), 'new')")
            }
            try await move(to: target)
            try await expectMoved(target)
            if ["begun", "copied"].contains(step) {
                #expect(try await target.number("SELECT count(*) FROM carillon.tokens WHERE owner = 'new'") == 1)
            }
        }
    }

    @Test func `the source sends again after a run that ended before the app left`() async throws {
        try await withTarget { target in
            try await prepare()
            await #expect(throws: Interruption.self) { try await move(to: target, until: "brought") }
            #expect(try await queue.database.value("SELECT paused FROM carillon.apps WHERE id = 1") == "false")
            let error = await #expect(throws: PostgresError.self) {
                try await target.run("SELECT carillon.enqueue('app', ARRAY['aa'], alert => 'x')")
            }
            #expect(error?.sqlState == "40001")
            #expect(try await queue.drain(RecordedBackend()).counters.total.sent == 5)
            try await move(to: target)
            try await expectMoved(target)
        }
    }

    @Test func `a move that is undone leaves nothing in the target`() async throws {
        try await withTarget { target in
            try await prepare()
            await #expect(throws: Interruption.self) { try await move(to: target, until: "brought") }
            try await withMove(to: target) { try await $0.cancel() }
            #expect(try await target.rows("SELECT name FROM carillon.apps") == ["(other)"])
            #expect(try await target.number("SELECT count(*) FROM carillon.messages") == 0)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.moves") == 0)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.messages") == 5)
        }
    }

    @Test func `what a transaction that was open writes is brought after it`() async throws {
        try await withTarget { target in
            try await prepare()
            try await queue.database.session { writer in
                try await writer.run(
                    "BEGIN; SELECT carillon.enqueue('app', ARRAY['aa'], alert => 'x', reference => 'open')"
                )
                try await move(to: target) { step in
                    if step == .live { try await writer.run("COMMIT") }
                }
            }
            try await expectMoved(target, references: ["open"])
        }
    }

    @Test func `what is inserted into the source later is brought by another run, once`() async throws {
        try await withTarget { target in
            try await prepare()
            try await move(to: target)
            try await queue.database.run(
                """
                INSERT INTO carillon.messages (app_id, tokens, payload, reference) VALUES (1, '{aa}', '{}', 'plain');
                INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'ee');
                """
            )
            try await move(to: target)
            try await move(to: target)
            #expect(
                try await target.rows("SELECT reference FROM carillon.messages WHERE reference = 'plain'") == [
                    "(plain)"
                ]
            )
            #expect(try await target.number("SELECT count(*) FROM carillon.tokens WHERE token = 'ee'") == 1)
            #expect(try await queue.database.number(Self.left) == 0)
        }
    }

    @Test func `a late job that was sent already is not brought again`() async throws {
        try await withTarget { target in
            try await move(to: target)
            try await queue.database.run(
                "INSERT INTO carillon.messages (app_id, tokens, payload, reference) VALUES (1, '{aa}', '{}', 'plain')"
            )
            // The target has committed a batch, the source has not, and the job has been claimed since.
            try await target.run(
                "UPDATE carillon.moves SET late_batch = late_batch + 1, "
                    + "late_ids = ARRAY[\(try await queue.database.number("SELECT max(id) FROM carillon.messages"))]"
            )
            try await move(to: target)
            #expect(try await target.number("SELECT count(*) FROM carillon.messages") == 0)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.messages") == 0)
        }
    }

    /// A worker of the source, and one of another database from which the app came in the same minute.
    @Test func `counts of one minute stay apart`() async throws {
        try await withTarget { target in
            try await queue.database.run(
                "INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent) "
                    + "SELECT date_trunc('minute', now()), 1, w, 1 FROM unnest('{-3,-2,-1,0,1,2,3}'::int[]) AS w"
            )
            try await move(to: target)
            #expect(
                try await target.rows(
                    "SELECT sum(sent), count(*) FILTER (WHERE worker_id >= 0) FROM carillon.push_counts WHERE app_id = 2"
                ) == ["(7,0)"]
            )
        }
    }

    @Test func `the target sums counts once those of the source have arrived`() async throws {
        try await withTarget { target in
            for (database, app) in [(queue.database, 1), (target, 2)] {
                if app == 2 {
                    await #expect(throws: Interruption.self) { try await move(to: target, until: "live") }
                }
                try await database.run(
                    "INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent) "
                        + "VALUES (date_bin('20 minutes', now(), 'epoch') - interval '40 minutes', \(app), 1, 1)"
                )
                try await database.run("SELECT carillon.sum_push_counts()")
            }
            #expect(try await target.number("SELECT count(*) FROM carillon.push_count_sums") == 0)
            try await move(to: target)
            try await target.run("SELECT carillon.sum_push_counts()")
            #expect(
                try await target.number("SELECT sum(sent)::int8 FROM carillon.push_count_sums WHERE app_id = 2") == 2
            )
        }
    }

    @Test func `a refused move back leaves late rows a way to the target`() async throws {
        try await withTarget { target in
            try await move(to: target)
            try await queue.database.run(
                "INSERT INTO carillon.messages (app_id, tokens, payload, reference) VALUES (1, '{aa}', '{}', 'plain')"
            )
            try await target.session { target in
                let back = AppMove(
                    of: "app",
                    from: target.connection,
                    to: queue.database.connection,
                    labels: (source: "b/two", target: "a/one"),
                    on: queue.loop
                ) { _ in }
                let error = await #expect(throws: SettingsError.self) { try await back.run() }
                #expect(error?.message.contains("has an app named 'app' already") == true)
            }
            try await move(to: target)
            #expect(try await target.rows("SELECT reference FROM carillon.messages") == ["(plain)"])
        }
    }

    @Test(arguments: ["source", "target"]) func `an error says in which database it occurred`(role: String) async throws
    {
        try await withTarget { target in
            try await prepare()
            let (database, statement) = role == "source" ? (queue.database, "DELETE") : (target, "INSERT")
            try await database.run(Self.refusing(statement, on: "messages"))
            let error = await #expect(throws: PostgresError.self) { try await move(to: target) }
            #expect(error?.database == (role == "source" ? "the source a/one" : "the target b/two"))
            #expect(error?.description.hasPrefix("in the \(role) ") == true, "\(String(describing: error))")
            #expect(try await queue.database.value("SELECT paused FROM carillon.apps WHERE id = 1") == "false")
            try await database.run("DROP FUNCTION public.refuse CASCADE")
            try await move(to: target)
            try await expectMoved(target)
        }
    }

    @Test func `what could not be undone is reported with the reason of the failure`() async throws {
        try await withTarget { target in
            try await prepare()
            try await queue.database.run(Self.refusing("UPDATE", on: "apps", when: "OLD.paused AND NOT NEW.paused"))
            let paused = await #expect(throws: UnfinishedMove.self) { try await move(to: target, until: "drained") }
            #expect(paused?.cause is Interruption)
            #expect((paused?.hindrance as? PostgresError)?.database == "the source a/one")
            #expect(try await queue.database.value("SELECT paused FROM carillon.apps WHERE id = 1") == "true")
            try await queue.database.run("DROP FUNCTION public.refuse CASCADE")
            try await move(to: target)
            try await expectMoved(target)
        }
    }

    @Test func `the app leaves once nothing is in flight`() async throws {
        try await withTarget { target in
            try await prepare()
            try await queue.database.run(
                """
                INSERT INTO carillon.inflight (worker_id, app_id, jobs)
                VALUES (1, 1, ARRAY[carillon.job(id => 99, lane => 1::smallint, tokens => '{aa}', payload => '{}')])
                """
            )
            async let run: Void = move(to: target)
            try await queue.loop.eventually("the app is paused") {
                try await queue.database.value("SELECT paused FROM carillon.apps WHERE id = 1") == "true"
            }
            #expect(try await target.value("SELECT moved_to FROM carillon.apps WHERE id = 2") == "")
            try await queue.database.run("DELETE FROM carillon.inflight")
            try await run
            try await expectMoved(target)
        }
    }
}
