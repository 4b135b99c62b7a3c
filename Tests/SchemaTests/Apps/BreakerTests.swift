import CarillonPostgres
import TestSupport
import Testing

/// BadDeviceToken, which means a dead token or the wrong environment.
@Suite struct BreakerTests {
    /// Counts pushes of the app in the minute that began so many minutes ago.
    private static func count(bad: Int, sent: Int, minutesAgo: Int = 0, in database: TestDatabase) async throws {
        try await database.run(
            """
            INSERT INTO carillon.push_counts AS a (minute, app_id, worker_id, sent, failed, bad_tokens)
            VALUES (date_trunc('minute', now()) - interval '\(minutesAgo) minutes', 1, 7, \(sent), \(bad), \(bad))
            ON CONFLICT (minute, app_id, worker_id) DO UPDATE SET sent = a.sent + excluded.sent,
                failed = a.failed + excluded.failed, bad_tokens = a.bad_tokens + excluded.bad_tokens
            """
        )
    }

    private static let open = "SELECT count(*) FROM carillon.open_breakers('{1}')"

    @Test(.demo)
    func `an app is paused when more than half of 100 pushes fail as BadDeviceToken, and the row says why`()
        async throws
    {
        try await Self.count(bad: 99, sent: 0, in: database)
        #expect(try await database.value(Self.open) == "0")
        try await Self.count(bad: 0, sent: 99, in: database)
        #expect(try await database.value(Self.open) == "0")
        try await Self.count(bad: 1, sent: 0, in: database)
        #expect(try await database.value(Self.open) == "1")
        // It is paused already.
        #expect(try await database.value(Self.open) == "0")
        #expect(
            try await database.rows("SELECT paused, paused_reason FROM carillon.app_status") == [
                #"(t,"100 of 199 pushes within a minute failed as BadDeviceToken: the app's tokens probably do not "#
                    + #"belong to the environment production. Fix that, and resume with: carillon app resume demo")"#
            ]
        )
    }

    @Test func `good pushes of the minute before do not keep the breaker closed, and bad ones of that minute count`()
        async throws
    {
        for (before, running, reason) in [
            ((0, 1000), (100, 0), "100 of 100 pushes within a minute "),
            ((99, 0), (99, 0), "198 of 198 pushes within two minutes "),
        ] {
            try await TestDatabase.withDemo { database async throws in
                // One transaction, so that now() stays within one minute.
                try await database.run("BEGIN")
                try await Self.count(bad: before.0, sent: before.1, minutesAgo: 1, in: database)
                try await Self.count(bad: running.0, sent: running.1, in: database)
                #expect(try await database.value(Self.open) == "1")
                let said = try await database.value("SELECT paused_reason FROM carillon.apps")
                #expect(said?.hasPrefix(reason) == true, "\(said ?? "")")
                try await database.run("ROLLBACK")
            }
        }
    }

    @Test(.demo) func `pushes of earlier minutes do not open the breaker`() async throws {
        try await Self.count(bad: 1000, sent: 0, minutesAgo: 3, in: database)
        try await Self.count(bad: 1, sent: 1, in: database)
        #expect(try await database.value(Self.open) == "0")
    }

    @Test(.demo) func `the counts of an app begin at zero when it is resumed`() async throws {
        try await Self.count(bad: 500, sent: 0, minutesAgo: 1, in: database)
        try await Self.count(bad: 500, sent: 0, in: database)
        #expect(try await database.value(Self.open) == "1")
        try await database.run("SET ROLE carillon_worker; UPDATE carillon.apps SET paused = false; RESET ROLE")
        #expect(try await database.rows("SELECT paused, paused_reason FROM carillon.apps") == ["(f,)"])
        #expect(try await database.value("SELECT closed_at IS NOT NULL FROM carillon.breakers") == "true")
        try await Self.count(bad: 99, sent: 0, in: database)
        #expect(try await database.value(Self.open) == "0")
        try await Self.count(bad: 1, sent: 0, in: database)
        #expect(try await database.value(Self.open) == "1")
        #expect(try await database.rows("SELECT closed_at FROM carillon.breakers") == ["()"])
        let said = try await database.value("SELECT paused_reason FROM carillon.apps")
        #expect(said?.hasPrefix("100 of 100 pushes ") == true, "\(said ?? "")")
    }

    @Test(.demo)
    func `an app is paused when most of its pushes fail because of their topic, and the row names it`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent, failed, bad_tokens, bad_topics)
            VALUES (date_trunc('minute', now()), 1, 7, 40, 60, 11, 49);
            UPDATE carillon.apps SET topic = 'com.example.other'
            """
        )
        #expect(try await database.value(Self.open) == "1")
        #expect(
            try await database.rows("SELECT paused, paused_reason FROM carillon.apps") == [
                #"(t,"60 of 100 pushes within a minute failed because of their topic: the credential or the device "#
                    + #"tokens probably do not belong to the topic com.example.other. Fix that, and resume with: carillon app "#
                    + #"resume demo")"#
            ]
        )
    }

    @Test(.demo) func `an app whose row is locked is checked the next time`() async throws {
        try await Self.count(bad: 500, sent: 0, in: database)
        try await database.session { other in
            try await other.run("BEGIN; UPDATE carillon.apps SET topic = 'com.example.new'")
            #expect(try await database.value(Self.open) == "0")
            try await other.run("COMMIT")
        }
        #expect(try await database.value(Self.open) == "1")
    }

    // MARK: Feedback

    private static let bad = """
        INSERT INTO carillon.tokens VALUES (1, 'aa', '2020-01-01Z');
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, seen_at)
        VALUES (1, 'aa', now() - interval '10 minutes', 'BadDeviceToken', now() - interval '10 minutes')
        """

    private static let handled = "SELECT handled_at IS NOT NULL FROM carillon.feedback"

    @Test
    func `BadDeviceToken deletes a token if the app has reap_bad_tokens and half the pushes then fared better`()
        async throws
    {
        for (setting, bad, sent, deleted) in [
            ("true", 50, 50, "1"), ("false", 50, 50, "0"), ("true", 51, 50, "0"), ("true", 0, 1000, "0"),
        ] {
            try await TestDatabase.withDemo { database async throws in
                try await database.run("UPDATE carillon.apps SET reap_bad_tokens = \(setting); \(Self.bad)")
                try await Self.count(bad: bad, sent: sent, minutesAgo: 10, in: database)
                try await Self.count(bad: 0, sent: 100_000, minutesAgo: 9, in: database)
                #expect(try await database.value("carillon.reap()") == deleted, "\(setting), \(bad) of \(bad + sent)")
                #expect(try await database.value(Self.handled) == "true")
            }
        }
    }

    @Test(.demo) func `recent BadDeviceToken feedback waits for the counts of its minute, and other feedback does not`()
        async throws
    {
        try await database.run(
            """
            UPDATE carillon.apps SET reap_bad_tokens = true; \(Self.bad);
            UPDATE carillon.feedback SET seen_at = now() - interval '4 minutes';
            INSERT INTO carillon.tokens VALUES (1, 'bb', '2020-01-01Z');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason) VALUES (1, 'bb', now(), 'Unregistered')
            """
        )
        try await Self.count(bad: 1, sent: 50, minutesAgo: 4, in: database)
        #expect(try await database.value("carillon.reap()") == "1")
        #expect(try await database.rows("SELECT token FROM carillon.tokens") == ["(aa)"])
        try await database.run("UPDATE carillon.feedback SET seen_at = now() - interval '6 minutes' WHERE token = 'aa'")
        try await Self.count(bad: 1, sent: 50, minutesAgo: 6, in: database)
        #expect(try await database.value("carillon.reap()") == "1")
    }

    @Test(.demo)
    func `a watched table that has missed feedback waits for the counts too, and the preview lists nothing before`()
        async throws
    {
        try await database.run(
            """
            UPDATE carillon.apps SET reap_bad_tokens = true; \(Self.bad);
            CREATE TABLE devices (token text, updated timestamptz);
            INSERT INTO devices VALUES ('aa', '2020-01-01Z'), ('bb', '2020-01-01Z');
            GRANT SELECT, DELETE ON devices TO carillon_reaper;
            SELECT carillon.watch_tokens('demo', 'devices', 'token', 'updated');
            UPDATE carillon.watched_tables SET missed_from = 0;
            UPDATE carillon.feedback SET seen_at = now() - interval '4 minutes';
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason) VALUES (1, 'bb', now(), 'Unregistered')
            """
        )
        try await Self.count(bad: 1, sent: 50, minutesAgo: 4, in: database)
        let preview = "SELECT relation, tokens, fault FROM carillon.reapable()"
        #expect(try await database.rows(preview) == ["(carillon.tokens,0,)", "(public.devices,1,)"])
        try await database.run("SELECT carillon.reap()")
        #expect(try await database.rows("SELECT token FROM devices") == ["(aa)"])
        try await database.run("UPDATE carillon.feedback SET seen_at = now() - interval '6 minutes' WHERE token = 'aa'")
        try await Self.count(bad: 1, sent: 50, minutesAgo: 6, in: database)
        #expect(try await database.rows(preview) == ["(carillon.tokens,1,)", "(public.devices,1,)"])
        try await database.run("SELECT carillon.reap()")
        #expect(try await database.value("SELECT count(*) FROM devices") == "0")
        #expect(try await database.rows("SELECT missed_from FROM carillon.watched_tables") == ["()"])
    }

    @Test(.demo)
    func `BadDeviceToken deletes nothing while the breaker is open, nor later for pushes of that time`() async throws {
        try await database.run("UPDATE carillon.apps SET reap_bad_tokens = true; \(Self.bad)")
        try await Self.count(bad: 1, sent: 50, minutesAgo: 10, in: database)
        try await Self.count(bad: 100, sent: 0, in: database)
        #expect(try await database.value(Self.open) == "1")
        #expect(try await database.value("carillon.reap()") == "0")
        try await database.run("UPDATE carillon.apps SET paused = false")
        #expect(try await database.value("carillon.reap()") == "0")
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens") == "1")
    }

    @Test(.demo) func `a settlement writes feedback for BadDeviceToken if the app has reap_bad_tokens`() async throws {
        let settlement = TestDatabase.settle([
            "claim": "5", "worker": "7", "claimed": "2020-01-01Z", "ended": "{1}", "ended_sent": "{0}",
            "ended_failed": "{3}",
            "failed": "{1,1,1}", "failed_reference": "{NULL,NULL,NULL}", "failed_token": "{aa,bb,cc}",
            // 8 is the status of the binary protocol.
            "failed_status": "{400,400,8}",
            "failed_reason": "{BadDeviceToken,BadTopic,BadDeviceToken}",
            "failed_unregistered_at": "{NULL,NULL,NULL}",
            "failed_apns_id": "{NULL,NULL,NULL}", "failed_attempt": "{1,1,1}",
        ])
        for setting in ["false", "true"] {
            try await database.run(
                """
                UPDATE carillon.apps SET reap_bad_tokens = \(setting);
                INSERT INTO carillon.workers (id, name, lease_until) VALUES (7, 'w', now()) ON CONFLICT DO NOTHING;
                INSERT INTO carillon.inflight (id, worker_id, app_id, jobs, claimed_at)
                VALUES (5, 7, 1, ARRAY[carillon.job(id => 1, lane => 1::smallint, tokens => '{aa,bb,cc}', payload => '{}',
                    created_at => now())], '2020-01-01Z');
                \(settlement)
                """
            )
            #expect(
                try await database.rows(
                    "SELECT token, reason, source, unregistered_at = '2020-01-01Z' FROM carillon.feedback ORDER BY token"
                ) == (setting == "true" ? ["(aa,BadDeviceToken,http2,t)", "(cc,BadDeviceToken,http2,t)"] : [])
            )
        }
    }
}
