import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Failures are requeued once, if another attempt can succeed.
@Suite(.demo) struct RequeueTests {
    private static let failed = """
        INSERT INTO carillon.apps (name) VALUES ('other');
        INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown) VALUES
            (100, 1, 0, '{"aps":{"alert":"a"}}', 'voip', 5, '2100-01-01Z', 'c', 't', 'r', 'fail'),
            (101, 1, 1, '{"aps":{}}', 'alert', NULL, now() - interval '1 s', NULL, NULL, NULL, 'retry'),
            (102, 2, 1, '{"aps":{}}', 'alert', NULL, NULL, NULL, NULL, NULL, 'retry');
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at) VALUES
            (100, 1, 'aa', 400, 'BadDeviceToken', now()), (100, 1, 'bb', 403, 'InvalidProviderToken', now()),
            (100, 1, 'cc', 410, 'Unregistered', now()), (101, 1, 'dd', 400, 'BadTopic', now()),
            (102, 2, 'ee', NULL, 'Poison', now() - interval '2 hours'), (103, 1, 'ff', 400, 'BadTopic', now())
        """

    private static let queue = "SELECT app_id, lane, tokens FROM carillon.messages ORDER BY id"

    @Test func `a failure whose status is left out can be requeued`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 hour');
            INSERT INTO carillon.inflight (id, worker_id, app_id, claimed_at, jobs) VALUES (5, 1, 1, '2026-01-01Z',
                ARRAY[carillon.job(id => 100, lane => 1::smallint, tokens => '{aa}', payload => '{}', created_at => now())])
            """
        )
        let settlement = TestDatabase.settle([
            "claim": "5", "claimed": "2026-01-01Z", "ended": "{100}", "ended_sent": "{0}", "ended_failed": "{1}",
            "failed": "{100}", "failed_token": "{aa}", "failed_reason": "{BadTopic}", "failed_attempt": "{1}",
        ])
        #expect(try await database.rows(settlement) == ["(written)"])
        #expect(try await database.rows("SELECT message_id FROM carillon.failed_messages") == ["(100)"])
    }

    @Test func `every failure that can be sent again is requeued unchanged, once`() async throws {
        try await database.run(Self.failed)
        #expect(try await database.value("carillon.requeue_failures(everything => true)") == "3")
        #expect(try await database.value("carillon.requeue_failures(everything => true)") == "0")
        #expect(try await database.rows(Self.queue) == ["(1,0,\"{aa,bb}\")", "(2,1,{ee})"])
        #expect(
            try await database.rows(
                """
                SELECT payload, push_type, priority, expires_at = '2100-01-01Z', collapse_id, topic, reference, on_unknown,
                    attempt, lost_claims, origin FROM carillon.messages WHERE app_id = 1
                """
            ) == [#"("{""aps"":{""alert"":""a""}}",voip,5,t,c,t,r,fail,1,0,)"#]
        )
        #expect(
            try await database.rows(
                "SELECT token FROM carillon.failures WHERE requeued_at IS NOT NULL ORDER BY token"
            ) == ["(aa)", "(bb)", "(ee)"]
        )
    }

    /// If each failure were looked for among all tokens that were kept, 20,000 of them would take a minute.
    @Test
    func `requeueing a large message with a payload for each token takes no longer for each of them`() async throws {
        try await database.run(
            """
            CREATE TEMPORARY TABLE chosen AS
            SELECT n, encode(sha256(n::text::bytea), 'hex') AS token FROM generate_series(1, 20001) n;
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, tokens, payloads, push_type, on_unknown)
            SELECT 100, 1, 1, array_agg(c.token), array_agg(json_build_object('t', c.token)), 'alert', 'retry'
            FROM chosen c WHERE c.n <= 20000;
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
            SELECT 100, 1, upper(c.token), 400, 'BadTopic' FROM chosen c;
            SET statement_timeout = '20s'
            """
        )
        let error = await database.refusal(ofValue: "carillon.requeue_failures()")
        #expect(error?.message.contains("20000 pushes of 1 app would be sent again") == true)
        #expect(try await database.value("carillon.requeue_failures('demo')") == "20000")
        #expect(
            try await database.rows(
                """
                SELECT count(*), count(*) FILTER (WHERE u.payload ->> 't' = lower(u.token))
                FROM carillon.messages m, unnest(m.tokens, m.payloads) AS u(token, payload)
                """
            ) == ["(20000,20000)"]
        )
        #expect(try await database.number("SELECT count(*) FROM carillon.failures WHERE requeued_at IS NULL") == 1)
    }

    @Test(arguments: [
        ("app => 'other', include_delivered => false", ["aa"]),
        ("everything => true, include_unknown => true", ["aa", "cc", "dd"]),
        ("app => 'other', include_delivered => true", ["aa", "bb"]),
        ("reason => 'OutcomeUnknown', include_unknown => true", ["cc"]),
        ("reason => 'Unrecorded'", ["aa"]),
        ("app => 'other', include_unknown => true, include_delivered => true", ["aa", "bb", "cc", "dd"]),
    ])
    func `pushes that were or may have been delivered are requeued only on request`(
        _ demand: String,
        _ tokens: [String]
    )
        async throws
    {
        try await database.run(Self.failed)
        try await database.run(
            """
            DELETE FROM carillon.failures;
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason) VALUES
                (102, 2, 'aa', 503, 'Unrecorded'), (102, 2, 'bb', 200, 'Unrecorded'),
                (102, 2, 'cc', NULL, 'OutcomeUnknown'), (102, 2, 'dd', NULL, 'Unrecorded');
            SELECT carillon.requeue_failures(\(demand))
            """
        )
        #expect(
            try await database.rows("SELECT t FROM carillon.messages m, unnest(m.tokens) t ORDER BY t")
                == tokens.map { "(\($0))" }
        )
    }

    @Test(arguments: [
        ("app => 'demo'", ["(1,0,\"{aa,bb}\")"]), ("reason => 'Poison'", ["(2,1,{ee})"]),
        ("since => '1 hour'", ["(1,0,\"{aa,bb}\")"]), ("message_id => 102", ["(2,1,{ee})"]),
        ("app => 'demo', reason => 'BadDeviceToken'", ["(1,0,{aa})"]), ("message_id => 7", []),
    ])
    func `the arguments of requeue_failures select failures`(_ filter: String, _ expected: [String]) async throws {
        try await database.run(Self.failed)
        try await database.run("SELECT carillon.requeue_failures(\(filter))")
        #expect(try await database.rows(Self.queue) == expected)
    }

    @Test func `the id of a broadcast selects the failures of all its jobs`() async throws {
        try await database.run(Self.failed)
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, failed) VALUES (100, 1, 90, 3);
            INSERT INTO carillon.unfinished (message_id, app_id, broadcast_id, remaining) VALUES (102, 2, 90, 1)
            """
        )
        #expect(try await database.value("carillon.requeue_failures(message_id => 90)") == "3")
    }

    @Test(arguments: [100, 101, 102, 103, 500])
    func `the id of any job or retry selects the whole message`(id: Int) async throws {
        // The result of 103 was refused, so failures are its only record. The id of another job is in between.
        try await database.run(
            """
            INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens) VALUES (100, 104, 1, 2, 4, 8);
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent, failed) VALUES
                (100, 1, 100, 2, 0), (101, 1, 100, 1, 1), (104, 1, NULL, 0, 1);
            INSERT INTO carillon.unfinished (message_id, app_id, broadcast_id, remaining, failed)
            VALUES (102, 1, 100, 1, 1);
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, origin, broadcast_id)
            VALUES (500, 1, '{dd}', '{}', now() + interval '1 hour', 102, 100);
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
            SELECT m, 1, 2, '{"aps":{}}', 'alert', 'retry' FROM generate_series(101, 104) m;
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason, broadcast_id) VALUES
                (101, 1, 'aa', 400, 'BadTopic', NULL), (102, 1, 'bb', 400, 'BadTopic', NULL),
                (103, 1, 'cc', 400, 'Unrecorded', 100), (104, 1, 'ee', 400, 'BadTopic', NULL)
            """
        )
        #expect(
            try await database.rows("SELECT id, sent, failed, waiting FROM carillon.message_status(\(id))")
                == ["(100,3,3,1)"]
        )
        #expect(try await database.value("carillon.requeue_failures(message_id => \(id))") == "3")
        #expect(
            try await database.rows("SELECT t FROM carillon.messages m, unnest(m.tokens) t ORDER BY 1")
                == ["(aa)", "(bb)", "(cc)"]
        )
        #expect(try await database.value("carillon.cancel(\(id))") == "1")
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
    }

    @Test func `a cancelled message is requeued only by its id`() async throws {
        // 100 was in flight when it was cancelled, 102 was cut into parts, 103 was cancelled in part.
        try await database.run(Self.failed)
        try await database.run(
            """
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
            VALUES (103, 1, 1, '{"aps":{}}', 'alert', 'retry');
            INSERT INTO carillon.cancelled (app_id, message_id) VALUES (1, 100);
            INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens, cancelled_at)
            VALUES (102, 102, 2, 1, 1, 1, now());
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, failed, cancelled) VALUES
                (100, 1, NULL, 3, 0), (102, 2, 102, 1, 0), (103, 1, NULL, 1, 1)
            """
        )
        let error = await database.refusal(ofValue: "carillon.requeue_failures()")
        #expect(error?.message.hasSuffix("0 pushes of 0 apps would be sent again") == true)
        #expect(try await database.value("carillon.requeue_failures(everything => true)") == "0")
        #expect(try await database.value("carillon.requeue_failures('demo', 'BadTopic', '1 hour')") == "0")
        for (id, pushes) in [(100, "2"), (102, "1"), (103, "1")] {
            #expect(try await database.value("carillon.requeue_failures(message_id => \(id))") == pushes)
        }
    }

    @Test func `failures caused by the content of the row are not requeued`() async throws {
        try await database.run(Self.failed)
        try await database.run(
            "UPDATE carillon.failures SET status = NULL, reason = 'MalformedToken' WHERE token IN ('aa', 'ee')"
        )
        #expect(try await database.value("carillon.requeue_failures(reason => 'MalformedToken')") == "0")
        #expect(try await database.value("carillon.requeue_failures(everything => true)") == "1")
    }

    @Test func `the error for an invalid argument of requeue_failures names it`() async throws {
        for (call, part) in [
            ("app => 'shop'", "\"app\""), ("since => '-1 hour'", "\"since\""),
            ("since => '1000000 years'", "\"since\" takes an interval above 0 and at most 100 years"),
            ("'demo', 'BadDeviceTokn'", "\"reason\" takes a reason for which pushes fail, got 'BadDeviceTokn'"),
            ("reason => 'OutcomeUnknown'", "\"include_unknown\" takes true if reason is OutcomeUnknown, got false"),
            ("reason => 'OutcomeUnknown', include_unknown => NULL", "\"include_unknown\" takes true"),
        ] {
            let error = await database.refusal(ofValue: "carillon.requeue_failures(\(call))")
            #expect(error?.message.contains(part) == true)
        }
    }

    @Test func `without a filter requeue_failures counts what it would requeue, and requires everything => true`()
        async throws
    {
        try await database.run(Self.failed)
        for call in ["", "include_delivered => true", "everything => NULL"] {
            let error = await database.refusal(ofValue: "carillon.requeue_failures(\(call))")
            #expect(error?.message.hasSuffix("3 pushes of 2 apps would be sent again") == true, "\(call)")
            #expect(error?.hint?.contains("everything => true") == true)
        }
        #expect(try await database.rows(Self.queue) == [])
        #expect(try await database.value("carillon.requeue_failures(everything => true)") == "3")
        try await database.run("UPDATE carillon.failures SET requeued_at = NULL WHERE token = 'aa'")
        let single = await database.refusal(ofValue: "carillon.requeue_failures()")
        #expect(single?.message.hasSuffix("1 push of 1 app would be sent again") == true, "\(single as Any)")
    }

    @Test func `every known reason is accepted, and any other that a failure has`() async throws {
        for name in Reason.all.compactMap(\.reason.name) + LocalReason.allCases.map(\.name) {
            #expect(
                try await database.value("carillon.requeue_failures(reason => '\(name)', include_unknown => true)")
                    == "0"
            )
        }
        try await database.run(Self.failed)
        try await database.run("UPDATE carillon.failures SET reason = 'TokenOnTheMoon' WHERE token = 'ee'")
        #expect(try await database.value("carillon.requeue_failures(reason => 'TokenOnTheMoon')") == "1")
    }

    @Test func `a failed message is kept once, and dropped with its day`() async throws {
        let job = """
            carillon.job(id => 7, lane => 1::smallint, tokens => '{aa,bb}', payload => '{"aps":{}}', on_unknown => 'fail',
                created_at => now())
            """
        for _ in 0..<2 {
            try await database.run("SELECT carillon.keep_failed_content(1, ARRAY[\(job), \(job)])")
        }
        #expect(try await database.rows("SELECT message_id FROM carillon.failed_messages") == ["(7)"])
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES (9, 1, ARRAY[\(job)]);
            SELECT carillon.take_over(1)
            """
        )
        #expect(try await database.value("carillon.requeue_failures(everything => true)") == "0")
        #expect(try await database.value("carillon.requeue_failures('demo', include_unknown => true)") == "2")
        try await database.run("UPDATE carillon.failed_messages SET failed_at = now() - interval '8 days'")
        try await database.run("CALL carillon.maintain()")
        #expect(try await database.value("SELECT count(*) FROM carillon.failed_messages") == "0")
    }
}
