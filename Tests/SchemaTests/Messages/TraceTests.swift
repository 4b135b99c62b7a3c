import CarillonPostgres
import TestSupport
import Testing

/// `carillon.trace`, as an app calls it.
@Suite(.demo) struct TraceTests {
    /// Each row as "event: what", in order. Every event is one of those that the documentation lists.
    private func trace(_ arguments: String) async throws -> [String] {
        let rows = "FROM carillon.trace('demo', \(arguments)) WITH ORDINALITY AS t"
        let unlisted = try await database.value(
            """
            SELECT string_agg(t.event, ', ') \(rows) WHERE t.event <> ALL (
                regexp_split_to_array(col_description('carillon.trace_event'::regclass, 2), ', | or '))
            """
        )
        #expect(unlisted == nil)
        let text = try await database.value(
            "SELECT string_agg(concat(t.event, ': ', t.what), E'\\n' ORDER BY t.ordinality) \(rows)"
        )
        return (text ?? "").split(separator: "\n").map(String.init)
    }

    private static let notFound = """
        not found: no message of this app: enqueue returned null (no device tokens, or the dedupe_key was taken), \
        it was not committed, it is of another app, or it is older than the retention
        """
    private static let aboutTokens = """
        not known: a push that was accepted, expired, cancelled or replaced is not kept by its token: \
        trace its reference or message_id to find it. docs/troubleshooting.md has a query for those that expired, \
        were cancelled or replaced; a consumer of the kinds expired and superseded gets their tokens
        """

    @Test(arguments: [
        ("sent", "1, NULL", ["sent: accepted by Apple"]),
        ("expired", "1, NULL", ["expired: dropped, because expires_at had passed"]),
        ("cancelled", "1, NULL", ["cancelled: cancelled"]),
        ("cancelled", "1, 'Superseded'", ["superseded: replaced by a newer push"]),
        (
            "sent", "3, NULL",
            [
                "sent: by then, 3 of 3 pushes were accepted by Apple",
                "not known: which of its tokens Apple accepted is not kept, only how many",
            ]
        ),
        ("sent", "0, NULL", ["empty: ended without a push: it had no token"]),
    ])
    func `a message that has ended says how, and when`(column: String, values: String, end: [String]) async throws {
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, reference, created_at, finished_at, \(column), last_reason)
            VALUES (50, 1, 'order 7', now() - interval '2 hours', now() - interval '1 hour', \(values))
            """
        )
        let tokens = values.prefix(1) == "1" ? "1 token" : "\(values.prefix(1)) tokens"
        let whole = ["enqueued: enqueued to \(tokens), with the reference order 7"] + end
        #expect(try await trace("message_id => 50") == whole)
        #expect(try await trace("reference => 'order 7'") == whole)
        #expect(try await trace("message_id => 50, since => '90 minutes'") == end)
        let time = """
            SELECT t.at = r.finished_at FROM carillon.trace('demo', message_id => 50) t, carillon.results r
            WHERE t.event NOT IN ('enqueued', 'not known')
            """
        #expect(try await database.value(time) == "true")
    }

    @Test func `a failure is shown with the answer, and with what was done about it`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, created_at, sent, failed, attempts)
            VALUES (50, 1, now() - interval '2 hours', 1, 3, 2);
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason, attempt, failed_at, requeued_at) VALUES
                (50, 1, 'aa', 410, 'Unregistered', 2, now() - interval '4 minutes', NULL),
                (50, 1, 'bb', NULL, 'OutcomeUnknown', 1, now() - interval '3 minutes', now() - interval '1 minute'),
                (50, 1, 'cc', 200, 'Unrecorded', 1, now() - interval '2 minutes', NULL);
            INSERT INTO carillon.unknown_outcomes VALUES (1, 50, now() - interval '5 minutes')
            """
        )
        #expect(
            try await trace("message_id => 50") == [
                "enqueued: enqueued to 4 tokens", "no answer: an attempt had no answer, so its push may have arrived",
                "failed: refused by Apple: 410 Unregistered, at attempt 2",
                "failed: failed without an answer, and may have arrived: OutcomeUnknown",
                "failed: accepted by Apple, but PostgreSQL refused to record it: 200 Unrecorded",
                "requeued: enqueued again as a new message", "sent: by then, 1 of 4 pushes was accepted by Apple",
                "not known: when its earlier attempts were made is not kept",
                "not known: which of its tokens Apple accepted is not kept, only how many",
            ]
        )
    }

    @Test func `a waiting message says how many pushes wait before it, and why nothing is sent`() async throws {
        try await database.run(
            """
            UPDATE carillon.apps SET max_rate = 5;
            INSERT INTO carillon.messages (id, app_id, tokens, payload)
            SELECT n, 1, CASE n WHEN 1 THEN '{aa,bb}' ELSE '{aa}' END::text[], '{}' FROM generate_series(1, 3) n;
            INSERT INTO carillon.messages (id, app_id, lane, tokens, payload)
            SELECT 10 + n, 1, 2, ARRAY(SELECT lpad(to_hex(i), 64, '0') FROM generate_series(1, 1000) i), '{}'
            FROM generate_series(1, 2) n
            """
        )
        func wait(_ id: Int, _ more: String = "") async throws -> String? {
            try await trace("message_id => \(id)\(more)").last
        }
        let (begin, end) = ("waiting: no worker is running; waiting", "; the app may send 5 pushes a second")
        #expect(try await wait(1) == "\(begin), with nothing before it in its lane\(end)")
        #expect(try await wait(2) == "\(begin) behind 2 pushes\(end)")
        #expect(try await wait(3) == "\(begin) behind 3 pushes\(end)")
        // Whatever the planner expects.
        let cut = try await wait(3, ", max_rows_read => 1")
        #expect(cut?.contains(/behind (at least|about) [0-9,]+ pushes/) == true, "\(cut ?? "")")
        // The array of 1,000 tokens is not read.
        #expect(try await wait(12) == "\(begin) behind about 1,000 pushes\(end)")
        try await database.run(
            "INSERT INTO carillon.workers (name, lease_until) VALUES ('w', now() + interval '1 minute')"
        )
        #expect(try await wait(1) == "waiting: waiting for a worker, with nothing before it in its lane\(end)")
        try await database.run("INSERT INTO carillon.holds (app_id, kind, reason) VALUES (1, 'setting', 'The x is y.')")
        #expect(try await wait(1) == "waiting: the x is y; waiting, with nothing before it in its lane\(end)")
        let blocks = try await database.blocksOfLongValues(
            in: "messages",
            readBy: "SELECT * FROM carillon.pushes_ahead(1, 2::smallint, 12, 2000)"
        )
        #expect(blocks == 0)
    }

    @Test func `a job that is scheduled, in flight or retried says what it waits for`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.workers (name, lease_until) VALUES ('w', now() + interval '1 minute');
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, attempt, origin, last_status, last_reason) VALUES
                (60, 1, '{aa}', '{}', now() + interval '1 hour', 1, NULL, NULL, NULL),
                (61, 1, '{bb}', '{}', now() + interval '1 hour', 3, 50, 503, 'ServiceUnavailable');
            INSERT INTO carillon.unfinished (message_id, app_id, remaining, sent) VALUES (50, 1, 1, 2);
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT w.id, 1, ARRAY[carillon.job(id => 62, lane => 1::smallint, tokens => '{cc}', payload => '{}',
                attempt => 1::smallint, created_at => now())] FROM carillon.workers w
            """
        )
        #expect(
            try await trace("message_id => 60") == ["enqueued: enqueued to 1 token", "scheduled: scheduled for then"]
        )
        let retry = "retrying: due for attempt 3, after 503 ServiceUnavailable"
        #expect(
            try await trace("message_id => 50").filter { !$0.hasPrefix("not known") } == [
                "enqueued: enqueued to 3 tokens", "sent: so far, 2 of 3 pushes were accepted by Apple", retry,
            ]
        )
        #expect(try await trace("token => 'bb'").contains(retry))
        let flight = "in flight: claimed by a worker for attempt 1; what becomes of it is not known yet"
        #expect(try await trace("message_id => 62").contains(flight))
        #expect(try await trace("token => 'CC'").contains(flight))
    }

    @Test func `a waiting push says when it expires, or that it has and is not sent`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (id, app_id, tokens, payload, expires_at) VALUES
                (1, 1, '{aa}', '{}', '2026-01-02T03:04:05Z'), (2, 1, '{aa}', '{}', '2126-01-02T03:04:05Z'),
                (3, 1, '{aa}', '{}', 'epoch'), (4, 1, '{aa}', '{}', 'infinity'), (5, 1, '{aa}', '{}', NULL)
            """
        )
        let reason = "no worker is running"
        let ended = "; it will not be sent, because it expired at 2026-01-02T03:04:05Z"
        let gone = reason + ended
        let ends = [ended, "; it expires at 2126-01-02T03:04:05Z", "pushes", "pushes", "pushes"]
        for (id, end) in zip(1..., ends) {
            let line = try await trace("message_id => \(id)").last
            #expect(line?.hasPrefix("waiting: \(reason); waiting") == true && line?.hasSuffix(end) == true, "\(id)")
            let status = "(SELECT waiting_reason FROM carillon.message_status(\(id)))"
            #expect(try await database.value(status) == (id == 1 ? gone : reason))
        }
        let token = try await trace("token => 'aa'")
        #expect(token.contains { $0.hasSuffix(ended) })
    }

    @Test func `a token says whether broadcasts reach it, and what Apple reported`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update, expires_at) VALUES (1, 'aa', now() - interval '3 days', NULL),
                (1, 'bb', now() - interval '3 days', NULL), (1, 'cc', now() - interval '3 days', now() - interval '1 hour');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, seen_at, handled_at) VALUES
                (1, 'BB', now() - interval '2 days', 'Unregistered', now() - interval '1 day', NULL),
                (1, 'dd', now() - interval '2 days', 'Unregistered', now() - interval '1 day', now() - interval '1 hour')
            """
        )
        #expect(
            try await trace("token => 'AA'") == [
                "registered: last registered",
                "in broadcasts: registered: broadcasts to all tokens of kind device reach it",
                Self.aboutTokens,
            ]
        )
        let report = [
            "dead since: Apple says: dead since then", "reported dead: Apple reported the token dead: Unregistered",
        ]
        #expect(
            try await trace("token => 'bb'") == ["registered: last registered"] + report + [
                """
                to be deleted: registered, but Apple reported it dead after that: the next feedback pass deletes it, \
                unless it is registered again before
                """, Self.aboutTokens,
            ]
        )
        #expect(
            try await trace("token => 'cc'").contains("left out: left out of broadcasts: its registration has expired")
        )
        #expect(
            try await trace("token => 'dd'") == report + [
                "reaped: a feedback pass handled the report: it deletes a token that was not registered again",
                "left out: left out of broadcasts: Apple reported the token dead, and it is not registered",
                Self.aboutTokens,
            ]
        )
        #expect(
            try await trace("token => 'ee'")
                == ["not registered: not registered: broadcasts leave it out", Self.aboutTokens]
        )
    }

    @Test func `an owner without a token learns since when, if the last one was dead`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, last_update, owner) VALUES (1, 'aa', now() - interval '3 days', 'u-42');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, seen_at)
            VALUES (1, 'AA', now() - interval '2 days', 'Unregistered', now() - interval '1 day');
            SELECT carillon.reap('demo')
            """
        )
        let rows = try await trace("owner => 'u-42'")
        let none =
            "not registered: no token of this owner is known to have been registered since: broadcasts leave the owner out"
        #expect(rows.contains(none), "\(rows)")
        #expect(
            rows.contains("left out: left out of broadcasts: Apple reported the token dead, and it is not registered")
        )
        let time = """
            SELECT t.at = f.handled_at FROM carillon.trace('demo', owner => 'u-42') t, carillon.feedback f
            WHERE t.event = 'not registered'
            """
        #expect(try await database.value(time) == "true")
        let stranger = try await trace("owner => 'u-7'")
        #expect(
            stranger.contains("not registered: no token of this owner is registered: broadcasts leave the owner out")
        )
        // Of a token that the app deleted itself, nothing is kept.
        try await database.run(
            "SELECT carillon.register_token('demo', 'bb', 'u-7'), carillon.unregister_token('demo', 'bb')"
        )
        #expect(try await trace("owner => 'u-7'") == stranger)
    }

    @Test func `what was not read, or is not kept, is said at the end`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, reference)
            SELECT 1, '{aa}', '{}', 'order ' || n FROM generate_series(1, 1000) n
            """
        )
        let more = """
            not known: there may be more: of the waiting jobs of the app, only the newest were read: \
            a higher max_rows_read reads more
            """
        #expect(
            try await trace("reference => 'order 1'") == [
                Self.notFound, more,
            ]
        )
        #expect(try await trace("reference => 'order 1', max_rows_read => 3000").count == 2)
        #expect(try await trace("reference => 'order 1000'").last == more)
        let token = try await trace("token => 'bb', max_rows_read => 10")
        #expect(
            token.last?.hasPrefix("not known: there may be more: of the waiting jobs, failures and reports") == true
        )
    }

    @Test func `messages whose tokens are not kept are listed, unless they wait and are listed already`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.split_messages VALUES (1, 5000, 5079, 2, 80, 80000), (1, 6000, 6000, 2, 1, 700);
            SELECT carillon.register_token('demo', 'aa', 'u-42')
            """
        )
        func many(_ what: String) -> String {
            "many tokens: \(what) tokens was enqueued: this one may have been among them"
        }
        let all = [many("a message to 80,000"), many("a broadcast to 700")]
        for subject in ["token => 'bb'", "owner => 'u-42'"] {
            #expect(try await trace(subject).filter { $0.hasPrefix("many tokens: ") } == all)
        }
        // Without a token, there is nothing that it may have been sent to.
        #expect(try await trace("owner => 'u-7'").contains { $0.hasPrefix("many tokens: ") } == false)
        try await database.run(
            """
            INSERT INTO carillon.messages (id, app_id, lane, tokens, payload, broadcast_id) VALUES
                (6000, 1, 2, '{bb}', '{}', 6000)
            """
        )
        #expect(try await trace("token => 'bb'").filter { $0.hasPrefix("many tokens: ") } == [all[0]])
    }

    @Test func `a broadcast to another kind has left the owner out, and one that ended says how`() async throws {
        try await database.run(
            """
            SELECT carillon.register_token('demo', 'aa', 'u-42', 'voip'), carillon.register_token('demo', 'bb', 'u-7');
            SELECT carillon.broadcast('demo', 'x'), carillon.broadcast('demo', 'x', push_type => 'voip');
            WITH gone AS (DELETE FROM carillon.messages RETURNING *)
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, expired, cancelled)
            SELECT id, 1, broadcast_id, (push_type <> 'voip')::int, (push_type = 'voip')::int FROM gone
            """
        )
        func broadcasts(_ subject: String) async throws -> [String] {
            try await trace(subject).filter { $0.contains("a broadcast to") }
        }
        let among = "a broadcast to 1 token was enqueued: this one may have been among them; of them, 1 "
        let (expired, cancelled) = ("dropped, because expires_at had passed", "cancelled or replaced by a newer push")
        let leftOut = "left out: left out of a broadcast to 1 token: no token of kind "
        for subject in ["owner => 'u-42'", "token => 'aa'"] {
            #expect(
                try await Set(broadcasts(subject)) == ["\(leftOut)device", "cancelled: \(among)\(cancelled)"]
            )
        }
        #expect(
            try await Set(broadcasts("token => 'bb'")) == ["\(leftOut)voip", "expired: \(among)\(expired)"]
        )
        // Whose kind is not known.
        #expect(try await broadcasts("token => 'cc'").contains { $0.hasPrefix("left out") } == false)
    }

    @Test func `a token says whose it is, and its former owner only that it is another's now`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, owner)
            VALUES (1, 'aa', now() - interval '1 day', 'u-42');
            SELECT carillon.register_token('demo', 'aa', 'u-7')
            """
        )
        func owners(_ subject: String) async throws -> [String] {
            try await trace(subject).filter { $0.hasPrefix("owner: ") }
        }
        #expect(try await owners("token => 'aa'") == ["owner: registered for the owner u-7"])
        #expect(try await owners("owner => 'u-42'") == ["owner: registered for another owner now"])
        #expect(try await owners("owner => 'u-7'") == [])
        let unknown = """
            not known: which other tokens the owner had is not kept, but for dead ones that were deleted recently: \
            one may be registered for another owner now, which a trace of the token shows
            """
        #expect(try await trace("owner => 'u-42'").contains(unknown))
    }

    @Test func `more than a trace shows is said at the end, and no more is not`() async throws {
        let jobs = "not known: more jobs have not ended: these are the newest 20"
        let attempts = "not known: only 20 of its attempts without an answer are shown"
        let broadcasts = """
            not known: more broadcasts, or messages to more than 1,000 tokens, were enqueued: these are the newest 5
            """
        func add(_ rows: ClosedRange<Int>, broadcasts: ClosedRange<Int>) async throws {
            try await database.run(
                """
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
                SELECT n, 1, '{aa}', '{}', now() + interval '1 hour'
                FROM generate_series(\(rows.lowerBound), \(rows.upperBound)) n;
                INSERT INTO carillon.unknown_outcomes (app_id, message_id)
                SELECT 1, 1 FROM generate_series(\(rows.lowerBound), \(rows.upperBound));
                INSERT INTO carillon.split_messages
                SELECT 1, 5000 + n, 5000 + n, 2, 1, 80000
                FROM generate_series(\(broadcasts.lowerBound), \(broadcasts.upperBound)) n
                """
            )
        }
        try await add(1...20, broadcasts: 1...5)
        #expect(try await trace("token => 'aa'").filter { [jobs, broadcasts].contains($0) } == [])
        #expect(try await trace("message_id => 1").contains(attempts) == false)
        try await add(21...21, broadcasts: 6...6)
        let token = try await trace("token => 'aa'")
        #expect(Set(token).isSuperset(of: [jobs, broadcasts]))
        #expect(token.filter { $0.hasPrefix("scheduled: ") }.count == 20)
        #expect(token.filter { $0.hasPrefix("many tokens: ") }.count == 5)
        let message = try await trace("message_id => 1")
        #expect(message.contains(attempts))
        #expect(message.filter { $0.hasPrefix("no answer: ") }.count == 20)
    }

    @Test(arguments: [
        ("'demo'", "owner"), ("'demo', 'me', 'aa'", "owner"), ("'demo', ''", "owner"),
        ("'demo', token => 'xy'", "token"),
        ("'nope', 'me'", "app"),
        ("NULL, 'me'", "app"), ("'demo', 'me', since => '-1 hour'", "since"),
        ("'demo', 'me', since => '200 years'", "since"),
    ])
    func `trace refuses arguments by their names`(arguments: String, argument: String) async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await database.run("SELECT * FROM carillon.trace(\(arguments))")
        }
        #expect(error?.message.hasPrefix("argument \"\(argument)\" takes") == true, "\(error?.message ?? "")")
    }
}
