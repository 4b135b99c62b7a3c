import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// Times that a role may write and nobody means: none of them breaks what others read.
@Suite(.shop) struct OddTimeTests {
    /// Every column of type `timestamptz` that a role other than the owner may write.
    private static let columns = Statement(
        "writable_times",
        """
        SELECT c.relname || ' SET ' || quote_ident(a.attname) FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND a.atttypid = 'timestamptz'::regtype AND EXISTS (
                SELECT FROM pg_roles r WHERE r.rolname LIKE 'carillon%' AND r.rolname <> 'carillon_reaper'
                    AND (has_column_privilege(r.oid, c.oid, a.attnum, 'INSERT')
                        OR has_column_privilege(r.oid, c.oid, a.attnum, 'UPDATE')))
        ORDER BY 1
        """
    )

    /// Some of them.
    private static let some: Set = [
        "messages SET created_at", "messages SET expires_at", "scheduled SET run_at", "tokens SET last_update",
        "workers SET heartbeat_at", "workers SET lease_until", "inflight SET claimed_at", "results SET created_at",
        "results SET finished_at", "failures SET failed_at", "feedback SET unregistered_at", "push_counts SET minute",
    ]

    /// Times in values of composite types; X stands for them.
    private static let composites = [
        "device_slots SET slots = ARRAY[ROW(X, 5, 7)::carillon.device_slot]",
        "inflight SET jobs = ARRAY[carillon.job(id => 1000, lane => 1::smallint, tokens => '{aa,ab}', payload => '{}', created_at => X)]",
        "inflight SET jobs = ARRAY[carillon.job(id => 1000, lane => 1::smallint, tokens => '{aa,ab}', payload => '{}', expires_at => X)]",
    ]

    private static let times = ["infinity", "-infinity", "294276-12-31 23:59:59Z", "4713-01-01 00:00:00Z BC"]

    private static let rows = """
        UPDATE carillon.certificates SET status = 'ok', not_after = now() + interval '1 day';
        INSERT INTO carillon.messages (app_id, tokens, payload, reference) VALUES (1, '{aa}', '{}', 'ready');
        INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (900, 1, '{aa}', '{}', now() + interval '1 day');
        INSERT INTO carillon.workers (name, lease_until) VALUES ('host:1', now() + interval '15 seconds');
        INSERT INTO carillon.inflight (worker_id, app_id, jobs) SELECT w.id, 1, ARRAY[carillon.job(id => 1000, lane => 1::smallint,
            tokens => '{aa,ab}', payload => '{"aps":{}}')] FROM carillon.workers w;
        INSERT INTO carillon.results (message_id, app_id, sent, created_at) VALUES (1001, 1, 2, now());
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason, unregistered_at) VALUES (1002, 1, 'ab', 410, 'Unregistered', now());
        INSERT INTO carillon.unfinished (app_id, message_id, remaining, created_at) VALUES (1, 1000, 2, now());
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, handled_at) VALUES (1, 'ad', now(), NULL), (1, 'ae', now(), now());
        INSERT INTO carillon.holds (app_id, kind, reason) VALUES (1, 'connection', 'refused');
        INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent, failed) VALUES (date_trunc('minute', now()), 1, 1, 5, 1);
        INSERT INTO carillon.rates (app_id, next_at) VALUES (1, now());
        INSERT INTO carillon.breakers (app_id) VALUES (1);
        INSERT INTO carillon.provider_tokens (certificate_id, jwt, issued_at) SELECT c.id, 'x', now() FROM carillon.certificates c;
        INSERT INTO carillon.fleet_tasks (name, every) VALUES ('feedback', '10 minutes') ON CONFLICT DO NOTHING;
        INSERT INTO carillon.dedupe (app_id, key, message_id, until) VALUES (1, 'k', 1, now());
        INSERT INTO carillon.tokens (app_id, token, kind, expires_at)
        VALUES (1, 'aa', 'device', NULL), (1, 'ac', 'live_activity', now() + interval '1 hour');
        INSERT INTO carillon.update_stamps (app_id, token, stamp, due_at, message_id, is_final, highest)
        VALUES (1, 'ac', 1, now(), 1, false, 1), (1, 'aa', 1, now(), 998, false, 998);
        INSERT INTO carillon.updates (app_id, token, message_id, is_end, due_at, expires_at)
        VALUES (1, 'aa', 1000, false, now(), now() + interval '1 hour'), (1, 'aa', 999, false, now(), NULL);
        INSERT INTO carillon.device_slots (app_id, token, slots, last_at)
        VALUES (1, 'aa', ARRAY[ROW(now(), 5, 7)::carillon.device_slot], now());
        INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
        VALUES (1003, 1, 1, '{"aps":{"alert":"x"}}', 'alert', 'retry');
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason) VALUES (1003, 1, 'ab', 400, 'BadTopic');
        INSERT INTO carillon.unknown_outcomes (app_id, message_id) VALUES (1, 1001);
        SELECT carillon.request_channel('shop', reference => 'final', policy => 1);
        SELECT carillon.subscribe('shop', 'follower');
        INSERT INTO carillon.events (id, app_id, dead_token, dead_at) VALUES (1000, 1, '{ab}', ARRAY[now()]);
        UPDATE carillon.apps SET keep_sent = '1 hour';
        INSERT INTO carillon.sent_pushes (app_id, message, token, apns_id) VALUES (1, '{1}', '{ab}', '{NULL}');
        INSERT INTO carillon.untaken_events (subscription_id, event_id, mask, events)
        SELECT s.id, 1000, s.mask, 1 FROM carillon.subscriptions s;
        SELECT carillon.add_webhook('crm', 'shop', 'https://127.0.0.1:1/', NULL, true);
        SELECT carillon.note_dead(1, '{ab}', ARRAY[now()]);
        SELECT carillon.claim_webhooks(1)
        """

    /// What workers do with all rows besides what the pages read.
    private static let work = [
        "SELECT carillon.reap()", "SELECT carillon.take_rate_turn(1, 10)", "SELECT FROM carillon.take_over(0, NULL)",
        "SELECT carillon.broadcast('shop', 'x')",
        """
        DO $$
        DECLARE done record;
        BEGIN
            FOR done IN SELECT m.action, m.target, s.error FROM carillon.maintenance m,
                carillon.maintain_step(m.action, m.target, interval '7 days') AS s
            LOOP
                ASSERT done.error IS NULL, done.action || ' ' || done.target || ': ' || done.error;
            END LOOP;
        END
        $$
        """,
        "SELECT carillon.provider_token(c.id, c.updated_at, NULL) FROM carillon.certificates c",
        "SELECT carillon.order_updates(1, i.id, i.worker_id, i.claimed_at, '{1000}', '{aa}') FROM carillon.inflight i",
        "SELECT carillon.pace_devices(1, i.id, i.worker_id, i.claimed_at, '{1000}', '{aa}', 1) FROM carillon.inflight i",
        "SELECT carillon.requeue_failures('shop')", "SELECT carillon.cancel(m.id) FROM carillon.messages m",
        "SELECT w.beat, extract(epoch FROM w.lease)::int8 FROM carillon.worker_status w WHERE w.id <> 0",
        "SELECT c.next_run - c.every + c.every FROM carillon.fleet_tasks c",
        "SELECT carillon.peek_events('shop', 'follower'), carillon.list_tokens('shop', 'me'), carillon.list_channels('shop')",
        "SELECT carillon.take_events('follower')", "SELECT carillon.claim_webhooks(9)",
        "SELECT carillon.seconds_to_webhook()",
    ]

    @Test(arguments: Self.times)
    func `no time that a role may write breaks a view, a page, a metric or work`(time: String) async throws {
        let database = shop.database
        try await database.run(Self.rows)
        let columns: [String] = try await database.connection.values(of: Self.columns)
        #expect(columns.count > 40)
        #expect(Set(columns).isSuperset(of: Self.some), "\(columns)")
        let views: [String] = try await database.connection.values(
            of: Statement("views", "SELECT viewname::text FROM pg_views WHERE schemaname = 'carillon'")
        )
        let statements = views.map { "SELECT count(v::text) FROM carillon.\($0) v" } + Self.work
        try await DashboardClient.with(database.url, in: shop.folder) { client, _ in
            for column in columns.map({ $0 + " = X" }) + Self.composites {
                // No table refuses it, so what reads it is tested with each column.
                do {
                    let rows = try await set(column, to: time)
                    #expect(rows > 0, "\(column)")
                } catch {
                    Issue.record("\(column), \(time): \(error)")
                    continue
                }
                for statement in statements {
                    do {
                        try await database.run("BEGIN; \(statement); ROLLBACK")
                    } catch {
                        Issue.record("\(column), \(time): \(statement): \(error)")
                        try await database.run("ROLLBACK")
                    }
                }
                for path in DashboardClient.pages + [
                    "/apps/shop", "/webhooks/crm", "/messages/1", "/messages/1000", "/trace?q=ready", "/trace?q=1000",
                    "/trace?q=ab&by=token&app=shop",
                ] {
                    let answer = await client.get(path, json: true)
                    #expect(
                        answer.status == "200" && DashboardClient.isJSON(answer.body),
                        "\(column), \(time): \(path): \(answer.body)"
                    )
                }
                let gauges = WorkerMetrics(
                    counters: WorkerCounters(),
                    reading: try await DatabaseGauges.Reading(from: database.connection)
                )
                expectFinite(gauges.measurements.text, "\(column), \(time)")
                _ = try await set(column, to: "now")
            }
        }
    }

    /// Returns how many rows it has changed.
    private func set(_ column: String, to time: String) async throws -> Int64 {
        let update = "UPDATE carillon.\(column.replacing("X", with: "'\(time)'")) RETURNING 1"
        return try await shop.database.connection.query(
            "WITH changed AS (\(update)) SELECT count(*) FROM changed",
            Parameters()
        ) { try $0.int64(0, 0) }
    }

    private func expectFinite(_ metrics: String, _ cause: String) {
        for line in metrics.split(separator: "\n") where !line.hasPrefix("#") {
            let value = line.split(separator: " ").last.flatMap { Double($0) }
            #expect(value?.isFinite == true, "\(cause): \(line)")
        }
    }

    /// All times at once, and a worker that works on what it finds.
    @Test(arguments: Self.times)
    func `a worker serves all its metrics, as finite numbers, whatever times there are`(time: String) async throws {
        try await shop.database.run(Self.rows + "; DELETE FROM carillon.channels")
        try await shop.enqueue(3)
        for column: String in try await shop.database.connection.values(of: Self.columns) {
            _ = try await set(column + " = X", to: time)
        }
        try await TestLoop.with { loop in
            let worker = try shop.start("worker", "--http", "127.0.0.1:0")
            let line = try await worker.line(containing: "metrics are served", on: loop)
            let port = try #require(line.firstMatch(of: /"port":(\d+)/).flatMap { UInt16($0.output.1) })
            let client = DashboardClient(port: port, program: worker)
            _ = try await worker.line(containing: "has started", on: loop)
            let gauges = [
                "ready_jobs", "oldest_ready_job_age_seconds", "credential_expiry_seconds", "workers",
                "maintenance_age_seconds",
            ]
            try await loop.eventually("the worker has claimed, and all gauges are there") {
                let metrics = await client.get("/metrics").body
                expectFinite(metrics, time)
                return gauges.allSatisfy { metrics.contains("\ncarillon_\($0){") }
                    && !metrics.contains("\ncarillon_claims_total 0\n")
            }
            #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
        }
    }

    @Test(arguments: Self.times)
    func `jobs with odd times are claimed and end`(time: String) async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, created_at)
            VALUES (1, '{\(Shop.token("aa"))}', '{"aps":{"alert":"x"}}', '\(time)');
            INSERT INTO carillon.messages (app_id, tokens, payload, expires_at)
            VALUES (1, '{\(Shop.token("ab"))}', '{"aps":{"alert":"x"}}', '\(time)')
            """
        )
        #expect(try await shop.run("status").status == 0)
        #expect(try await shop.run("check").status == 0)
        #expect(try await shop.drain().status == 0)
        #expect(try await shop.database.number("SELECT sum(sent + failed + expired) FROM carillon.results") == 2)
        #expect(try await shop.run("status", "--json").output.contains("\"ready\":0,"))
    }
}
