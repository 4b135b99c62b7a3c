import CarillonPostgres
import TestSupport
import Testing

/// What each role may do, and what it may not: every statement is run.
@Suite struct RoleTests {
    private static let insufficient = "42501"

    private static func `try`(_ statements: [String], as role: String, allowed: Bool) async throws {
        try await TestDatabase.withDemo { database async throws in
            try await database.run(
                """
                INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'aa');
                INSERT INTO carillon.results (message_id, app_id, sent) VALUES (700, 1, 1);
                INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens, cancelled_at)
                VALUES (800, 900, 1, 1, 3, 3, now());
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, broadcast_id, run_at)
                VALUES (800, 1, '{aa}', '{}', 800, now());
                INSERT INTO carillon.inflight (worker_id, app_id, jobs) SELECT 555, 1, ARRAY[carillon.job(id => i,
                    lane => 1::smallint, tokens => '{aa,bb}', payload => '{}', lost_claims => 2::smallint, created_at => now(),
                    on_unknown => CASE i WHEN 801 THEN 'fail' ELSE 'retry' END,
                    broadcast_id => CASE WHEN i > 802 THEN 800 END)] FROM generate_series(801, 803) i;
                SET ROLE \(role)
                """
            )
            for statement in statements {
                if allowed {
                    await #expect(throws: Never.self, "\(role): \(statement)") {
                        try await database.run("BEGIN; \(statement); COMMIT")
                    }
                } else {
                    let error = await #expect(throws: PostgresError.self, "\(role): \(statement)") {
                        try await database.run("BEGIN; \(statement); COMMIT")
                    }
                    #expect(error?.sqlState == Self.insufficient, "\(role): \(statement): \(error?.message ?? "")")
                }
                try await database.run("ROLLBACK")
            }
        }
    }

    private static let secrets = [
        "TABLE carillon.certificates", "SELECT private_key FROM carillon.certificates",
        "SELECT passphrase FROM carillon.certificates", "SELECT certificate FROM carillon.certificates",
        "TABLE carillon.provider_tokens", "SELECT carillon.provider_token(1, now(), NULL)",
        "TABLE carillon.export_tokens", "SELECT token FROM carillon.export_tokens", "TABLE carillon.exported_metrics",
        "TABLE carillon.webhooks", "SELECT secret FROM carillon.webhooks", "SELECT carillon.claim_webhooks(1)",
    ]

    private static let settings = [
        "INSERT INTO carillon.certificates (name, certificate) VALUES ('x', 'y')",
        "UPDATE carillon.certificates SET certificate = 'z'", "DELETE FROM carillon.certificates",
        "INSERT INTO carillon.apps (name) VALUES ('x')", "UPDATE carillon.apps SET gateway = 'evil:443'",
        "UPDATE carillon.apps SET certificate_id = NULL", "DELETE FROM carillon.apps",
        "SELECT carillon.watch_tokens('demo', 'pg_class', 'relname', 'relname')",
        "SELECT carillon.add_webhook('w', 'demo', 'https://evil.example/')",
        "SELECT carillon.rotate_webhook_secret('w')", "SELECT carillon.remove_webhook('w')",
        "DELETE FROM carillon.schema_migrations", "CREATE TABLE carillon.mine (id int)", "DROP TABLE carillon.messages",
        "TRUNCATE carillon.messages", "ALTER TABLE carillon.apps ADD mine int",
        "CREATE FUNCTION carillon.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ]

    @Test func `an app may enqueue, cancel, register tokens and read results`() async throws {
        try await Self.try(
            [
                "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}')",
                "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}') RETURNING id",
                "SELECT carillon.enqueue('demo', '{aa}', 'x')",
                "SELECT carillon.enqueue('demo', '{aa}', '{\"title\":\"x\"}'::jsonb, extra => '{\"k\": 1}')",
                "SELECT carillon.enqueue('demo', '{aa}', 'x', run_at => now() + interval '1 day')",
                "SELECT carillon.enqueue('demo', '{aa}', 'x', dedupe_key => 'k', lane => 0, priority => 5)",
                "SELECT carillon.enqueue('demo', ARRAY(SELECT lpad(to_hex(i), 8, '0') FROM generate_series(1, 1500) i), 'x')",
                "SELECT carillon.push('demo', '{aa}', '{\"aps\":{\"alert\":\"x\"}}')",
                "SELECT carillon.push('demo', '{aa}', '{\"aps\":{\"alert\":\"x\"}}'::jsonb)",
                "SELECT carillon.push('demo', '{aa,bb}', 'x', 1, NULL)",
                "SELECT carillon.push('demo', '{aa}', '{\"title\":\"x\"}'::jsonb, 1, NULL)",
                "SELECT carillon.push_each('demo', '{aa}', ARRAY['{\"aps\":{\"alert\":\"x\"}}'])",
                "SELECT carillon.broadcast('demo', 'x')", "SELECT carillon.trace('demo', 'me')",
                "SELECT carillon.broadcast('demo', 'x', locales => '{de}'), carillon.audience('demo', locales => '{de}')",
                "SELECT carillon.subscribe('demo', 'me'); SELECT carillon.take_events('me')",
                "SELECT carillon.subscribe('demo', 'me'); SELECT carillon.peek_events('demo', 'me')",
                "SELECT carillon.acknowledge_events('demo', 'me', '1')", "SELECT carillon.list_channels('demo')",
                "SELECT carillon.list_tokens('demo', 'me')", "SELECT carillon.list_messages('demo', 'r')",
                "SELECT carillon.unsubscribe('demo', 'me')", "TABLE carillon.consumers",
                "SELECT carillon.broadcast('demo', '{\"title\":\"x\"}'::jsonb)",
                "SELECT carillon.cancel(carillon.enqueue('demo', '{aa}', 'x'))",
                "SELECT carillon.cancel_broadcast(carillon.broadcast('demo', 'x'))",
                "SELECT carillon.cancel(reference => 'r')", "SELECT carillon.cancel(owner => 'me')",
                "SELECT carillon.forget('demo', 'me')",
                "SELECT carillon.broadcast_progress(700)", "SELECT carillon.register_token('demo', 'ab', 'me')",
                "SELECT carillon.register_token('demo', 'ab', kind => 'live_activity')",
                "SELECT carillon.register_token('demo', 'ab', time_zone => 'Europe/Berlin', locale => 'de', attributes => '{}')",
                "SELECT carillon.start_activity('demo', '{ad}', 'A', '{}', '{}', 'x')",
                "SELECT carillon.update_activity('demo', '{ac}', '{}', '{\"title\":\"x\"}'::jsonb)",
                "SELECT carillon.end_activity('demo', '{ac}', title => 'x')",
                "SELECT carillon.start_media('demo', '{ae}', '{\"id\": 1}')",
                "SELECT carillon.update_media('demo', '{af}', '{\"id\": 1}'::jsonb)",
                "SELECT carillon.end_media('demo', '{af}', '{\"id\": 1}')",
                "SELECT carillon.register_token('demo', 'ba', kind => 'spatial')",
                "SELECT carillon.requeue_failures(everything => true)",
                "INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'ee')",
                "UPDATE carillon.tokens SET last_update = now(), owner = 'x' WHERE token = 'aa'",
                "DELETE FROM carillon.tokens WHERE token = 'aa'", "SELECT carillon.unregister_token('demo', 'aa')",
                "TABLE carillon.tokens", "TABLE carillon.results",
                "TABLE carillon.failures", "SELECT id, name, topic FROM carillon.apps",
                "SELECT last_value FROM carillon.asleep",
            ],
            as: "carillon_app",
            allowed: true
        )
        try await Self.try(
            Self.secrets + Self.settings + [
                "SELECT payload FROM carillon.messages", "UPDATE carillon.messages SET attempt = 2",
                "DELETE FROM carillon.messages", "DELETE FROM carillon.scheduled", "TABLE carillon.scheduled",
                "TABLE carillon.inflight", "DELETE FROM carillon.inflight", "TABLE carillon.workers",
                "INSERT INTO carillon.results (message_id, app_id) VALUES (1, 1)", "DELETE FROM carillon.results",
                "DELETE FROM carillon.failures", "TABLE carillon.failed_messages", "TABLE carillon.cancelled",
                "SELECT carillon.take_over(1)", "SELECT carillon.promote(1)",
                "UPDATE carillon.failures SET requeued_at = now()",
                "INSERT INTO carillon.feedback (app_id, token, unregistered_at) "
                    + "VALUES (1, 'aa', now())", "SELECT carillon.reap()",
                "SELECT carillon.maintain_step('make', 'results')",
                "CALL carillon.reap_all()", "SELECT carillon.reap_batch()", "SELECT carillon.reapable()",
                "SELECT carillon.open_breakers('{1}')",
                "SELECT carillon.record_cancelled(1, '{}')", "SELECT gateway_ca FROM carillon.apps",
                "SELECT carillon.take_waiting(1, '{aa}', NULL)", "SELECT carillon.mark_claims(1, '{aa}', NULL)",
                "TABLE carillon.events", "TABLE carillon.untaken_events", "TABLE carillon.subscriptions",
                "TABLE carillon.webhook_status", "SELECT carillon.untaken_depth('demo', 'webhook:w', 1)",
                "TABLE carillon.sent_pushes", "SELECT carillon.record_sent(1, '{1}', '{aa}', '{NULL}')",
                "SELECT carillon.note_dead(1, '{aa}', ARRAY[now()])",
                "UPDATE carillon.apps SET paused = true", "TABLE carillon.unfinished", "DELETE FROM carillon.dedupe",
                "SELECT carillon.make_partitions('results')", "CALL carillon.maintain()", "TABLE carillon.maintenance",
                "SELECT carillon.drop_partition('results', now())", "SELECT setval('carillon.asleep', 1)",
                "SELECT carillon.fall_asleep(1, 15, '{}', '{}', '{}', '{}', '{}')",
            ],
            as: "carillon_app",
            allowed: false
        )
    }

    @Test func `an app may write the content columns of messages, and none that the queue writes`() async throws {
        try await Self.try(
            [
                """
                INSERT INTO carillon.messages (app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
                    topic, reference, on_unknown, created_at)
                VALUES (1, 2, '{aa}', '{}', 'alert', 5, now(), 'c', 't', 'r', 'fail', now()) RETURNING id
                """
            ],
            as: "carillon_app",
            allowed: true
        )
        try await Self.try(
            ["id", "attempt", "lost_claims", "unknown_attempts", "origin", "broadcast_id"].map {
                "INSERT INTO carillon.messages (app_id, tokens, payload, \($0)) VALUES (1, '{aa}', '{}', 7)"
            } + [
                "INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (500, 1, '{aa}', '{}', now())",
                "INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens) VALUES (1, 9, 1, 1, 1, 1)",
                "INSERT INTO carillon.dedupe (app_id, key, message_id, until) VALUES (1, 'k', 1, now())",
                "TABLE carillon.dedupe", "SELECT nextval('carillon.messages_id_seq')",
                "SELECT setval('carillon.messages_id_seq', 1)",
            ],
            as: "carillon_app",
            allowed: false
        )
    }

    @Test func `a worker may do a worker's work and nothing else`() async throws {
        try await Self.try(
            [
                "TABLE carillon.certificates", "TABLE carillon.apps", "TABLE carillon.installation",
                "TABLE carillon.schema_migrations",
                "UPDATE carillon.certificates SET status = 'ok', not_after = now(), topics = '{}', last_error = NULL",
                "UPDATE carillon.apps SET paused = true",
                "SELECT id FROM carillon.messages WHERE app_id = 1 FOR UPDATE SKIP LOCKED",
                "DELETE FROM carillon.messages",
                "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}')",
                "INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (500, 1, '{aa}', '{}', now())",
                "DELETE FROM carillon.scheduled",
                "INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES (1, 1, '{}')",
                "UPDATE carillon.inflight SET worker_id = 2", "DELETE FROM carillon.inflight",
                "INSERT INTO carillon.workers (name, lease_until) VALUES ('w', now())",
                "UPDATE carillon.workers SET heartbeat_at = now()", "DELETE FROM carillon.workers",
                "INSERT INTO carillon.results (message_id, app_id) VALUES (1, 1)",
                "INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES (1, 1, 'aa', 'x')",
                "INSERT INTO carillon.unfinished (message_id, app_id, remaining) VALUES (1, 1, 1)",
                "DELETE FROM carillon.unfinished",
                "INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent) VALUES (now(), 1, 1, 1)",
                "INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, 'aa', now())",
                "INSERT INTO carillon.provider_tokens VALUES (1, 'jwt', now())",
                "INSERT INTO carillon.provider_token_input (certificate_id, jwt) VALUES (1, 'jwt')",
                "SELECT carillon.provider_token(1, c.updated_at, NULL) FROM carillon.certificates c",
                "UPDATE carillon.fleet_tasks SET next_run = now()",
                "INSERT INTO carillon.fleet_tasks (name, every) VALUES ('mine', '1 s')", "SELECT carillon.reap()",
                "SELECT carillon.reap_batch()", "SELECT carillon.reapable()", "SELECT carillon.open_breakers('{1}')",
                "UPDATE carillon.apps SET paused = true, paused_reason = 'x'; UPDATE carillon.apps SET paused = false",
                "SELECT carillon.maintain_step('make', 'results')", "TABLE carillon.app_status",
                "TABLE carillon.pending", "DELETE FROM carillon.dedupe", "SELECT carillon.promote(10)",
                "SELECT carillon.take_over(1)", "SELECT carillon.note_dead(1, '{aa}', ARRAY[now()])",
                "SELECT carillon.untaken_depth('demo', 'webhook:w', 1)",
                "TABLE carillon.consumers", "SELECT carillon.release(1, '{1}')",
                "SELECT carillon.split(1, 1::smallint, 1, 1)",
                "SELECT carillon.fall_asleep(1, 15, '{}', '{}', '{}', '{}', '{}')",
                "SELECT setval('carillon.asleep', 1)",
                "SELECT carillon.apps_fingerprint()", "SELECT carillon.topics_of(1)",
                "SELECT carillon.task_due_at(c, 60, now()) FROM carillon.fleet_tasks c",
            ],
            as: "carillon_worker",
            allowed: true
        )
        try await Self.try(
            Self.settings + [
                "UPDATE carillon.certificates SET private_key = 'z'", "UPDATE carillon.certificates SET name = 'z'",
                "UPDATE carillon.apps SET topic = 'z'", "UPDATE carillon.installation SET id = gen_random_uuid()",
                "SELECT carillon.enqueue('demo', '{aa}', 'x')", "SELECT carillon.broadcast('demo', 'x')",
                "SELECT carillon.push('demo', '{aa}', '{}')", "SELECT carillon.push('demo', '{aa}', 'x', 1, NULL)",
                "SELECT carillon.push_each('demo', '{aa}', '{NULL}')",
                "SELECT carillon.requeue_failures(everything => true)",
                "SELECT carillon.cancel(1)", "SELECT carillon.cancel(owner => 'me')",
                "SELECT carillon.forget('demo', 'me')",
                "INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'ee')",
                "UPDATE carillon.tokens SET owner = 'x'", "SELECT carillon.register_token('demo', 'aa')",
                "UPDATE carillon.results SET sent = 2", "DELETE FROM carillon.results", "DELETE FROM carillon.failures",
                "DELETE FROM carillon.feedback",
                "INSERT INTO carillon.watched_tables (app_id, relation, token_column, "
                    + "updated_column) VALUES (1, 'pg_class', 'a', 'b')",
                "SELECT carillon.drop_partition('results', now())", "SELECT carillon.delete_old('results', now())",
                "UPDATE carillon.maintenance SET last_success = now()", "SELECT carillon.request_channel('demo')",
                "SELECT carillon.record_channel('demo', 'AAAA', 0, 'x')", "SELECT carillon.channel('x')",
                "SELECT carillon.remove_channel('demo', 'x')",
            ],
            as: "carillon_worker",
            allowed: false
        )
    }

    @Test func `a reader reads views and history, and writes nothing`() async throws {
        try await Self.try(
            [
                "TABLE carillon.pending", "TABLE carillon.app_status", "TABLE carillon.results",
                "TABLE carillon.failures",
                "TABLE carillon.feedback", "TABLE carillon.push_counts", "TABLE carillon.push_count_sums",
                "TABLE carillon.delivery_metrics",
                "TABLE carillon.workers",
                "SELECT id, name, topic, paused FROM carillon.apps", "SELECT carillon.broadcast_progress(700)",
                "TABLE carillon.schema_migrations",
                "TABLE carillon.maintenance", "SELECT carillon.default_partition_rows()",
                "SELECT carillon.trace('demo', token => 'aa')", "SELECT carillon.search_token('aa')",
                "SELECT carillon.search_owner('me')", "TABLE carillon.webhook_status",
                "SELECT carillon.untaken_depth('demo', 'webhook:w', 1)",
            ],
            as: "carillon_reader",
            allowed: true
        )
        try await Self.try(
            Self.secrets + Self.settings + [
                "SELECT gateway_ca FROM carillon.apps", "TABLE carillon.messages", "TABLE carillon.scheduled",
                "TABLE carillon.inflight", "TABLE carillon.tokens", "TABLE carillon.dedupe",
                "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{}')",
                "SELECT carillon.enqueue('demo', '{aa}', 'x')", "SELECT carillon.push('demo', '{aa}', '{}')",
                "SELECT carillon.push_each('demo', '{aa}', '{NULL}')", "SELECT carillon.cancel(1)",
                "SELECT carillon.cancel_broadcast(1)", "SELECT carillon.forget('demo', 'me')", "SELECT carillon.reap()",
                "SELECT carillon.maintain_step('make', 'results')",
                "SELECT carillon.requeue_failures(everything => true)", "TABLE carillon.failed_messages",
                "SELECT carillon.register_token('demo', 'aa')", "DELETE FROM carillon.results",
                "UPDATE carillon.apps SET paused = true", "DELETE FROM carillon.workers",
                "SELECT carillon.pause_webhook('w')", "SELECT carillon.count_redelivery('w', now())",
            ],
            as: "carillon_reader",
            allowed: false
        )
    }

    @Test(.demo) func `other roles see nothing`() async throws {
        let role = "stranger_\(database.connection.backendProcessID)"
        try await database.run("CREATE ROLE \(role); SET ROLE \(role)")
        for statement in [
            "TABLE carillon.apps", "TABLE carillon.pending", "SELECT carillon.enqueue('demo', '{aa}', 'x')",
        ] {
            let error = await #expect(throws: PostgresError.self) { try await database.run(statement) }
            #expect(error?.sqlState == Self.insufficient)
        }
        try await database.run("RESET ROLE; DROP ROLE \(role)")
    }

    @Test(.demo)
    func `temporary tables and the caller's search_path do not change what a function does`() async throws {
        let id = try await database.value("carillon.enqueue('demo', '{aa}', 'x')")
        try await database.run(
            """
            CREATE SCHEMA evil;
            GRANT USAGE, CREATE ON SCHEMA evil TO carillon_app;
            SET ROLE carillon_app;
            CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT 'infinity'::timestamptz $$;
            CREATE FUNCTION evil.cardinality(text[]) RETURNS int LANGUAGE sql AS 'SELECT 7';
            CREATE FUNCTION evil.equal(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
            CREATE OPERATOR evil.= (FUNCTION = evil.equal, LEFTARG = bigint, RIGHTARG = bigint);
            CREATE TEMP TABLE messages (id bigint, app_id int, lane smallint);
            CREATE TEMP TABLE results (message_id bigint);
            CREATE TEMP TABLE apps (id int, name text);
            INSERT INTO apps VALUES (666, 'demo');
            SET search_path = evil, pg_temp, pg_catalog;
            SELECT carillon.cancel(\(id ?? ""));
            SELECT carillon.enqueue('demo', '{bb}', 'y', run_at => pg_catalog.now() + interval '1 hour');
            SELECT carillon.enqueue('demo', '{dd}', 'y'), carillon.push('demo', '{dd}', 'y', NULL, NULL),
                carillon.push('demo', '{dd}', '{"aps":{"alert":"y"}}'),
                carillon.push_each('demo', '{dd}', ARRAY['{"aps":{"alert":"y"}}']);
            SELECT carillon.register_token('demo', 'cc');
            RESET ROLE;
            RESET search_path
            """
        )
        #expect(try await database.rows("SELECT message_id, cancelled FROM carillon.results") == ["(\(id ?? ""),1)"])
        #expect(try await database.rows("SELECT app_id, tokens FROM carillon.scheduled") == ["(1,{bb})"])
        #expect(
            try await database.rows(
                "SELECT app_id, tokens, payload::text, count(*) FROM carillon.messages GROUP BY 1, 2, 3"
            ) == [#"(1,{dd},"{""aps"":{""alert"":""y""}}",4)"#]
        )
        #expect(try await database.value("SELECT last_update < 'infinity' FROM carillon.tokens") == "true")
    }

    @Test(.demo) func `a reader reads every column of apps but gateway_ca and is_guarded`() async throws {
        let hidden = try await database.rows(
            """
            SELECT a.attname FROM pg_attribute a
            WHERE a.attrelid = 'carillon.apps'::regclass AND a.attnum > 0 AND NOT a.attisdropped
                AND NOT has_column_privilege('carillon_reader', a.attrelid, a.attnum, 'SELECT')
            """
        )
        #expect(Set(hidden) == ["(gateway_ca)", "(is_guarded)"])
    }

    @Test(.demo) func `every function that runs as its owner pins its search path`() async throws {
        let definers = try await database.rows(
            """
            SELECT p.proname, p.proconfig::text ~ 'search_path=pg_catalog,( carillon,)? pg_temp'
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'carillon' AND p.prosecdef ORDER BY 1
            """
        )
        #expect(definers.allSatisfy { $0.hasSuffix(",t)") }, "\(definers)")
        #expect(definers.contains("(cancel_messages,t)"))
    }

    /// Casts and operators that the caller has created for a type would run with the rights of the owner. push_each() refuses
    /// types that are not PostgreSQL's.
    @Test(.demo) func `a function that runs as its owner takes arguments of known types`() async throws {
        let definers = try await database.rows(
            """
            SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.prosecdef AND EXISTS (
                SELECT FROM unnest(p.proargtypes::oid[]) AS a(type) JOIN pg_type t ON t.oid = a.type WHERE t.typtype = 'p')
            """
        )
        #expect(definers == ["(push_each)"])
    }
}
