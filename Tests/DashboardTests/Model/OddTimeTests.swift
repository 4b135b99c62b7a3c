import CarillonPostgres
import CarillonSchema
import TestSupport
import Testing

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
        INSERT INTO carillon.breakers (app_id, bad, pushes) VALUES (1, 1, 1);
        INSERT INTO carillon.provider_tokens (certificate_id, jwt, issued_at) SELECT c.id, 'x', now() FROM carillon.certificates c;
        INSERT INTO carillon.fleet_tasks (name, every) VALUES ('feedback', '10 minutes') ON CONFLICT DO NOTHING;
        INSERT INTO carillon.dedupe (app_id, key, message_id, until) VALUES (1, 'k', 1, now());
        INSERT INTO carillon.tokens (app_id, token, kind, expires_at)
        VALUES (1, 'aa', 'device', NULL), (1, 'ac', 'live_activity', now() + interval '1 hour');
        INSERT INTO carillon.activity_stamps (app_id, token, stamp, due_at, message_id, is_final, highest)
        VALUES (1, 'ac', 1, now(), 1, false, 1);
        SELECT carillon.request_channel('shop', reference => 'final', policy => 1)
        """

    /// What workers do with all rows besides what the pages read.
    private static let work = [
        "SELECT carillon.reap()", "SELECT carillon.take_rate_turn(1, 10)", "SELECT FROM carillon.take_over(0, NULL)",
        "SELECT carillon.broadcast('shop', 'x')",
        "SELECT FROM carillon.maintenance m, carillon.maintain_step(m.step, interval '7 days')",
        "SELECT w.beat, extract(epoch FROM w.lease)::int8 FROM carillon.worker_status w WHERE w.id <> 0",
        "SELECT c.next_run - c.every + c.every FROM carillon.fleet_tasks c",
    ]

    @Test(arguments: ["infinity", "-infinity", "294276-12-31 23:59:59Z", "4713-01-01 00:00:00Z BC"])
    func `no time that a role may write breaks a view, a page, a metric or work`(time: String) async throws {
        let database = shop.database
        try await database.run(Self.rows)
        let columns: [String] = try await database.connection.values(of: Self.columns)
        #expect(columns.count > 40)
        let views: [String] = try await database.connection.values(
            of: Statement("views", "SELECT viewname::text FROM pg_views WHERE schemaname = 'carillon'")
        )
        let statements = views.map { "SELECT count(v::text) FROM carillon.\($0) v" } + Self.work
        try await DashboardClient.with(database.url, in: shop.folder) { client, _ in
            for column in columns {
                // Some tables refuse it.
                guard (try? await database.run("UPDATE carillon.\(column) = '\(time)'")) != nil else { continue }
                for statement in statements {
                    do {
                        try await database.run("BEGIN; \(statement); ROLLBACK")
                    } catch {
                        Issue.record("\(column) = \(time): \(statement): \(error)")
                        try await database.run("ROLLBACK")
                    }
                }
                for path in DashboardClient.pages + [
                    "/apps/shop", "/messages/1", "/messages/1000", "/find?q=ready", "/find?q=aabb",
                ] {
                    let answer = await client.get(path, json: true)
                    #expect(answer.status == "200", "\(column) = \(time): \(path): \(answer.body)")
                }
                _ = try await AppStatus.all(from: database.connection)
                _ = try await WorkerRecord.all(from: database.connection)
                _ = try await MaintenanceReport(from: database.connection)
                try await database.run("UPDATE carillon.\(column) = now()")
            }
        }
    }

    @Test(arguments: ["infinity", "-infinity", "294276-12-31 23:59:59Z", "4713-01-01 00:00:00Z BC"])
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
        #expect(try await shop.run("worker", "--once").status == 0)
        #expect(try await shop.database.number("SELECT sum(sent + failed + expired) FROM carillon.results") == 2)
        #expect(try await shop.run("status", "--json").output.contains("\"ready\":0,"))
    }
}
