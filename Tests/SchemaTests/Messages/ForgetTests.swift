import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// A person is erased from every table, and nobody else is.
@Suite(.demo) struct ForgetTests {
    private static let anna = "aaaa0000000000000000000000000001"
    private static let bob = "bbbb0000000000000000000000000001"
    private static let carl = "cccc0000000000000000000000000001"
    private static let forget = "SELECT f.kind, f.removed FROM carillon.forget('demo', 'anna@example.com') AS f"

    /// A claim of a job with tokens of several people.
    private static func fly(_ id: Int, _ tokens: [String], worker: Int = 1, reference: String = "anna@example.com/f")
        -> String
    {
        """
        INSERT INTO carillon.inflight (id, worker_id, app_id, claimed_at, jobs)
        VALUES (\(id), \(worker), 1, '2026-01-01Z', ARRAY[carillon.job(id => \(id), lane => 1::smallint,
            tokens => '{\(tokens.joined(separator: ","))}', payload => '{"aps":{}}', reference => '\(reference)',
            created_at => now())]);
        """
    }

    private static func settle(_ claim: Int, _ arguments: [String: String]) -> String {
        TestDatabase.settle(["claim": "\(claim)", "claimed": "2026-01-01Z"].merging(arguments) { $1 })
    }

    /// Rows in every table that holds something of a person.
    private static let rows = """
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 hour');
        SELECT carillon.register_token('demo', '\(anna)', 'anna@example.com'),
            carillon.register_token('demo', '\(bob)', 'bob'), carillon.register_token('demo', '\(carl)', 'carl');
        SELECT carillon.enqueue('demo', '{\(anna)}', 'Dear anna@example.com', reference => 'order-7'),
            carillon.enqueue('demo', '{\(anna),\(bob)}', 'x', reference => 'shared'),
            carillon.enqueue('demo', '{\(anna),\(bob)}', payloads => ARRAY['{"aps":{"alert":"anna@example.com"}}',
                '{"aps":{"alert":"Bob"}}']::json[]),
            carillon.enqueue('demo', '{\(anna)}', 'x', run_at => '2100-01-01Z', dedupe_key => 'hello anna@example.com'),
            carillon.enqueue('demo', '{\(anna),\(carl)}', 'x', run_at => '2100-01-01Z'),
            carillon.broadcast('demo', 'x', reference => 'from anna@example.com, to all');
        INSERT INTO carillon.messages (app_id, tokens, payload)
        VALUES (1, ARRAY[upper('\(anna)'), '\(anna)', '\(bob)'], '{"aps":{}}');
        INSERT INTO carillon.updates VALUES (1, '\(anna)', 7, false, now(), NULL);
        INSERT INTO carillon.update_stamps VALUES (1, '\(anna)', 7, false, now(), 7, 7);
        INSERT INTO carillon.device_slots VALUES (1, '\(anna)', '{}', now());
        INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, '\(anna)', now());
        INSERT INTO carillon.unfinished (app_id, message_id, reference, remaining, apns_unique_ids)
        VALUES (1, 500, 'anna@example.com', 1, '{"\(anna)": "x", "\(bob)": "y"}');
        INSERT INTO carillon.results (message_id, app_id, reference, sent, apns_unique_ids)
        VALUES (501, 1, 'anna@example.com-501', 2, '{"\(anna)": "x", "\(bob)": "y"}'), (502, 1, 'joanna@example.com', 1, NULL);
        INSERT INTO carillon.failures (message_id, app_id, token, reason, reference) VALUES
            (503, 1, '\(anna)', 'BadTopic', 'r'), (504, 1, '\(anna)', 'BadTopic', NULL), (504, 1, '\(bob)', 'BadTopic', NULL),
            (505, 1, '\(bob)', 'BadTopic', 'to:anna@example.com');
        INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, tokens, payloads, push_type, on_unknown) VALUES
            (503, 1, 1, '{"aps":{"alert":"anna@example.com"}}', NULL, NULL, 'alert', 'retry'),
            (504, 1, 1, NULL, '{\(anna),\(bob)}', ARRAY['{"aps":{"alert":"anna@example.com"}}', '{"aps":{}}']::json[], 'alert',
            'retry');
        SELECT carillon.subscribe('demo', 'c');
        INSERT INTO carillon.events (id, app_id, message, message_reference, sent, sent_token, dead, dead_token, dead_at) VALUES
            (1001, 1, '{506,507}', '{anna@example.com/e,bob/e}', '{506,507}', '{\(anna),\(bob)}', '{506}',
            ARRAY[upper('\(anna)')], '{2026-01-01Z}'),
            (1002, 1, '{508}', '{joanna@example.com}', '{508}', '{\(bob)}', NULL, NULL, NULL);
        INSERT INTO carillon.untaken_events (subscription_id, event_id, mask, events) VALUES (1, 1001, -1, 3), (1, 1002, -1, 1);
        INSERT INTO carillon.sent_pushes (app_id, message, token, apns_id) VALUES
            (1, '{506,507}', ARRAY['\\x\(anna)', '\\x\(bob)']::bytea[], '{NULL,NULL}');
        INSERT INTO carillon.audit (source, action, app, details)
        VALUES ('SQL', 'request channel', 'demo', '{"reference": "anna@example.com", "policy": 0}');
        """

    /// The lines of a dump of everything that name the person.
    private func linesOfDump() async throws -> [String] {
        try await TemporaryFolder.with { folder async throws in
            let dump = try PrivateCluster.program("pg_dump")
            var command = ChildProcess.Command(
                "/bin/sh",
                ["-c", "'\(dump)' -d '\(database.url)' > '\(folder.file("dump"))'"]
            )
            command.error = .file(folder.file("said"))
            let child = try ChildProcess(command)
            let exit = try await TestLoop.with { loop in try await child.wait(on: loop, until: .now + .seconds(180)) }
            let said = try folder.read("said")
            #expect(exit == .status(0), "\(said)")
            let lines = try folder.read("dump").split(separator: "\n").map(String.init)
            #expect(lines.contains { $0.contains(Self.bob) })
            return lines.filter {
                $0.lowercased().contains(Self.anna) || $0.replacing("joanna", with: "").contains("anna@")
            }
        }
    }

    @Test func `a dump of the whole database does not name a person who was forgotten`() async throws {
        try await database.run(Self.rows)
        try await database.run(Self.fly(601, [Self.anna, Self.bob]) + Self.fly(602, [Self.anna], reference: "mine"))
        #expect(try await linesOfDump().count > 20)
        #expect(
            try await database.rows(Self.forget) == [
                "(messages,5)", "(scheduled,2)", "(inflight,2)", "(split_messages,1)", "(updates,1)",
                "(update_stamps,1)",
                "(device_slots,1)", "(unfinished,1)", "(failures,3)", "(failed_messages,2)", "(events,1)",
                "(sent_pushes,1)",
                "(results,1)", "(feedback,1)", "(audit,1)", "(dedupe,1)", "(tokens,1)",
            ]
        )
        let inFlight = try await linesOfDump()
        #expect(inFlight.count == 2 && !inFlight.contains { $0.contains("anna@") }, "\(inFlight)")
        // The workers still know the token and the reference.
        try await database.run(
            Self.settle(
                601,
                [
                    "ended": "{601}", "ended_remaining": "{1}", "ended_reference": "{anna@example.com/f}",
                    "ended_sent": "{0}",
                    "ended_failed": "{1}", "failed": "{601}", "failed_reference": "{anna@example.com/f}",
                    "failed_token": "{\(Self.anna)}", "failed_status": "{410}", "failed_reason": "{Unregistered}",
                    "failed_unregistered_at": "{now}", "failed_attempt": "{1}", "going_back": "{601}",
                    "going_back_whole": "{f}",
                    "going_back_attempt": "{2}", "going_back_after": "{60000}", "going_back_place": "{1}",
                    "going_back_token": "{\(Self.bob)}",
                ]
            ) + ";" + Self.settle(602, ["going_back": "{602}", "going_back_whole": "{t}", "going_back_attempt": "{2}"])
        )
        #expect(try await linesOfDump() == [])
        #expect(try await database.rows("\(Self.forget) WHERE f.removed > 0") == [])
    }

    @Test func `all others keep their pushes, payloads, counts and references`() async throws {
        try await database.run(Self.rows)
        try await database.run(Self.forget)
        #expect(
            try await database.rows(
                "SELECT m.tokens, m.payload, m.payloads, m.reference FROM carillon.messages m ORDER BY m.id"
            ) == [
                "({\(Self.bob)},\"{\"\"aps\"\":{\"\"alert\"\":\"\"x\"\"}}\",,shared)",
                #"({\#(Self.bob)},,"{""{\\""aps\\"":{\\""alert\\"":\\""Bob\\""}}""}",)"#,
                "(\"{\(Self.bob),\(Self.carl)}\",\"{\"\"aps\"\":{\"\"alert\"\":\"\"x\"\"}}\",,)",
                "({\(Self.bob)},\"{\"\"aps\"\":{}}\",,)",
            ]
        )
        #expect(try await database.rows("SELECT s.tokens FROM carillon.scheduled s") == ["({\(Self.carl)})"])
        // Of each of these messages, one push was cancelled, and the others are to come.
        #expect(
            try await database.rows(
                "SELECT sum(u.cancelled), sum(u.remaining) FROM carillon.unfinished u WHERE u.message_id < 500"
            ) == ["(5,6)"]
        )
        #expect(
            try await database.rows(
                "SELECT r.message_id, r.reference, r.sent, r.apns_unique_ids FROM carillon.results r WHERE r.sent > 0 ORDER BY 1"
            ) == [#"(501,,2,"{""\#(Self.bob)"": ""y""}")"#, "(502,joanna@example.com,1,)"]
        )
        #expect(
            try await database.rows("SELECT f.message_id, f.token, f.reference FROM carillon.failures f ORDER BY 1")
                == [
                    "(504,\(Self.bob),)", "(505,\(Self.bob),)",
                ]
        )
        #expect(
            try await database.rows("SELECT m.message_id, m.tokens FROM carillon.failed_messages m") == [
                "(504,{\(Self.bob)})"
            ]
        )
        #expect(try await database.rows("SELECT t.owner FROM carillon.tokens t ORDER BY 1") == ["(bob)", "(carl)"])
    }

    /// A way in which a claim ends.
    enum End: CaseIterable {
        case retryAtOnce, retryLater, release, takeOver, unrecorded, withdraw

        var statements: String {
            let back = ["going_back": "{601}", "going_back_whole": "{t}", "going_back_attempt": "{2}"]
            return switch self {
            case .retryAtOnce: ForgetTests.settle(601, back)
            case .retryLater: ForgetTests.settle(601, back.merging(["going_back_after": "{0}"]) { $1 })
            case .release: "SELECT carillon.release(1, '{601}')"
            case .takeOver: "DELETE FROM carillon.workers WHERE id = 1; SELECT carillon.take_over(0)"
            case .withdraw:
                """
                SELECT carillon.withdraw(1, 601, (SELECT f.jobs FROM carillon.inflight f), '{601,601}',
                    '{\(ForgetTests.anna),\(ForgetTests.bob)}', '{NULL,1000}')
                """
            case .unrecorded:
                """
                SELECT carillon.settle_unrecorded(1, 601, 1, '2026-01-01Z', 0::smallint, 601, 0,
                    '{\(ForgetTests.anna),\(ForgetTests.bob)}', '{NULL,NULL}', '{NULL,NULL}')
                """
            }
        }
    }

    /// Asks in another session: within a transaction, pg_stat_activity does not change.
    private func someoneWaits() async throws {
        let waiting = """
            SELECT count(*) FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.wait_event_type = 'Lock'
            """
        try await TestLoop.shared.eventually("a session waits for a row") {
            try await database.session { other in try await other.number(waiting) } > 0
        }
    }

    @Test func `no job returns to the queue of an app at once while a person is being forgotten there`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens) VALUES (1, 200, 209, 1, 10, 10000);
            BEGIN; \(Self.forget)
            """
        )
        let unsure = """
            SELECT u.id FROM carillon.find_cancelled(1, '{100,205}', '{NULL,200}', '{}') AS o, unnest(o.unsure) AS u(id)
            ORDER BY 1
            """
        #expect(try await database.session { other in try await other.rows(unsure) } == ["(100)", "(205)"])
        try await database.run("COMMIT")
        #expect(try await database.session { other in try await other.rows(unsure) } == [])
    }

    @Test func `a claim that is released while a person is being forgotten returns without them`() async throws {
        try await database.run("SELECT carillon.register_token('demo', '\(Self.anna)', 'anna@example.com')")
        try await database.run(Self.fly(601, [Self.anna, Self.bob]))
        try await database.run("BEGIN; \(Self.forget)")
        async let released: Void = database.session { other in
            try await other.run("SELECT carillon.release(1, '{601}')")
        }
        try await someoneWaits()
        try await database.run("COMMIT")
        try await released
        #expect(try await rowsOfAnna() == [])
        #expect(
            try await database.rows(
                "SELECT m.tokens FROM carillon.messages m UNION ALL SELECT s.tokens FROM carillon.scheduled s"
            ) == ["({\(Self.bob)})"]
        )
    }

    @Test(arguments: End.allCases)
    func `however a claim ends, only the others of its job are sent again or recorded`(end: End) async throws {
        try await database.run("SELECT carillon.register_token('demo', '\(Self.anna)', 'anna@example.com')")
        try await database.run("INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now())")
        try await database.run("SELECT carillon.subscribe('demo', 'c')")
        try await database.run(Self.fly(601, [Self.anna, Self.bob]) + Self.forget)
        try await database.run(end.statements)
        let tokens = """
            SELECT m.tokens FROM carillon.messages m UNION ALL SELECT s.tokens FROM carillon.scheduled s
            UNION ALL SELECT ARRAY[f.token] FROM carillon.failures f
            """
        #expect(try await database.rows(tokens) == ["({\(Self.bob)})"])
        #expect(try await rowsOfAnna().isEmpty)
        let open = try await database.rows("SELECT u.cancelled, u.remaining FROM carillon.unfinished u")
        #expect(open == (end == .unrecorded ? [] : ["(1,1)"]))
    }

    @Test func `a push that was forgotten in flight has no event, and one that was cancelled has`() async throws {
        let cancel = "SELECT carillon.cancel(app => 'demo', owner => 'anna@example.com')"
        let stops: [(String, [String])] = [(Self.forget, []), (cancel, ["(sent,shared,\(Self.anna),)"])]
        for (stop, hers) in stops {
            try await database.run(
                """
                SELECT carillon.subscribe('demo', 'c'), carillon.register_token('demo', '\(Self.anna)', 'anna@example.com');
                \(Self.fly(601, [Self.bob, Self.anna], reference: "shared")) \(stop)
                """
            )
            try await database.run(
                Self.settle(601, ["ended": "{601}", "ended_sent": "{2}", "ended_reference": "{shared}"])
            )
            let events = try await database.rows(
                "SELECT e.kind, e.reference, e.token, e.sent FROM carillon.take_events('c') AS e ORDER BY 1 DESC, 3 DESC"
            )
            #expect(events == ["(sent,shared,\(Self.bob),)"] + hers + ["(finished,shared,,2)"])
        }
    }

    private func rowsOfAnna() async throws -> [String] {
        try await database.rows(
            """
            SELECT t FROM (SELECT to_jsonb(m)::text AS t FROM carillon.messages m UNION ALL SELECT to_jsonb(s)::text
                FROM carillon.scheduled s UNION ALL SELECT to_jsonb(f)::text FROM carillon.failures f
                UNION ALL SELECT to_jsonb(r)::text FROM carillon.results r UNION ALL SELECT to_jsonb(u)::text
                FROM carillon.unfinished u UNION ALL SELECT to_jsonb(i)::text FROM carillon.inflight i
                UNION ALL SELECT to_jsonb(e)::text FROM carillon.events e) AS q
            WHERE t ~ '\(Self.anna)|anna@'
            """
        )
    }

    @Test func `settle_stopped takes the arguments of settle`() async throws {
        #expect(
            try await database.rows(
                """
                SELECT count(DISTINCT p.proargnames::text || p.proargtypes::text) FROM pg_proc p
                WHERE p.oid IN ('carillon.settle'::regproc, 'carillon.settle_stopped'::regproc)
                """
            ) == ["(1)"]
        )
    }

    @Test func `a settlement waits while a person is being forgotten, and records nothing of them`() async throws {
        try await database.run("SELECT carillon.register_token('demo', '\(Self.anna)', 'anna@example.com')")
        try await database.run("INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now())")
        try await database.run(Self.fly(601, [Self.anna]))
        try await database.run("BEGIN; \(Self.forget)")
        let settled = Self.settle(
            601,
            [
                "ended": "{601}", "ended_sent": "{0}", "ended_failed": "{1}", "ended_reference": "{anna@example.com/f}",
                "failed": "{601}", "failed_token": "{\(Self.anna)}", "failed_status": "{400}",
                "failed_reason": "{BadTopic}",
                "failed_attempt": "{1}",
            ]
        )
        async let answer = database.session { other in try await other.value(settled) }
        try await someoneWaits()
        try await database.run("COMMIT")
        #expect(try await answer == "written")
        #expect(
            try await database.rows("SELECT r.message_id, r.reference, r.failed FROM carillon.results r") == [
                "(601,,1)"
            ]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.failures") == "0")
    }

    @Test func `a dedupe key of a push in flight is deleted, if nobody else gets the message`() async throws {
        try await database.run(
            """
            SELECT carillon.register_token('demo', '\(Self.anna)', 'anna@example.com');
            INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now());
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) SELECT 1, 1, ARRAY[
                carillon.job(id => 7, lane => 1::smallint, tokens => ARRAY[upper('\(Self.anna)')], payload => '{}'),
                carillon.job(id => 8, lane => 1::smallint, tokens => '{\(Self.anna),\(Self.bob)}', payload => '{}')];
            INSERT INTO carillon.dedupe (app_id, key, message_id, until)
            SELECT 1, 'key ' || n, n, now() + interval '1 day' FROM generate_series(7, 9) n
            """
        )
        #expect(try await database.rows(Self.forget).contains("(dedupe,1)"))
        #expect(try await database.rows("SELECT d.message_id FROM carillon.dedupe d ORDER BY 1") == ["(8)", "(9)"])
    }

    @Test func `a dead token that a feedback pass deleted is forgotten, unless it is another's now`() async throws {
        try await database.run(
            """
            SELECT carillon.register_token('demo', '\(Self.bob)', 'bob');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, handled_at, owner) VALUES
                (1, '\(Self.anna)', now(), now(), 'anna@example.com'), (1, '\(Self.bob)', now(), now(), 'anna@example.com');
            SELECT carillon.enqueue('demo', '{\(Self.anna),\(Self.bob)}', 'x')
            """
        )
        let removed = try await database.rows("\(Self.forget) WHERE f.removed > 0")
        #expect(removed == ["(messages,1)", "(feedback,2)"])
        #expect(try await database.rows("SELECT m.tokens FROM carillon.messages m") == ["({\(Self.bob)})"])
        #expect(try await linesOfDump() == [])
    }

    @Test func `forget refuses what names no app or nobody, and a snapshot that does not move`() async throws {
        for (call, state, argument) in [
            ("'nope', 'a'", "42704", "app"), ("NULL, 'a'", "42704", "app"), ("'demo', NULL", "22023", "owner"),
            ("'demo', ''", "22023", "owner"), ("'demo', repeat('a', 2049)", "22023", "owner"),
        ] {
            let error = await database.refusal(of: "SELECT carillon.forget(\(call))", "\(call)")
            #expect(error?.sqlState == state, "\(call): \(error?.message ?? "")")
            #expect(error?.message.contains("argument \"\(argument)\"") == true, "\(call): \(error?.message ?? "")")
        }
        let error = await database.refusal(
            of: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT carillon.forget('demo', 'a')"
        )
        #expect(error?.message.contains("READ COMMITTED") == true, "\(error?.message ?? "")")
        try await database.run("ROLLBACK")
    }

    @Test func `an isolated role forgets people of its app only, and audit does not say whom`() async throws {
        try await IsolationTests.isolated { database, role async throws in
            try await database.run(
                """
                RESET ROLE; UPDATE carillon.tokens SET owner = 'me';
                INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{a1}', '{}'), (2, '{b1}', '{}');
                SET ROLE \(role)
                """
            )
            let error = await database.refusal(of: "SELECT carillon.forget('other', 'me')")
            #expect(error?.sqlState == "42704" && error?.hint?.contains("other") != true, "\(error?.hint ?? "")")
            #expect(try await database.value("carillon.cancel(owner => 'me')") == "1")
            try await database.run("SELECT carillon.forget('demo', 'me'); RESET ROLE")
            #expect(try await database.rows("SELECT t.app_id FROM carillon.tokens t") == ["(2)"])
            #expect(
                try await database.rows("SELECT m.app_id FROM carillon.messages m WHERE m.id <> 200") == ["(2)"]
            )
            #expect(
                try await database.rows("SELECT a.app, a.details FROM carillon.audit a WHERE a.action = 'forget'") == [
                    #"(demo,"{""tokens"": 1}")"#
                ]
            )
        }
    }
}
