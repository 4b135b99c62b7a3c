import CarillonPostgres
import FoundationEssentials

/// Fills the database with a realistic week. Every second message belongs to the first app; the others belong to 98 more apps, of
/// which a few have many messages and most have few. The last app has only broadcasts.
struct WebFill {
    /// The number of ready jobs. They have one token each, except those of the broadcast under way.
    let rows: Int
    let installation: Installation
    /// All apps except the first, which is the installation's.
    private let apps: [Int32]

    private static let appCount = 100
    static let days = 7
    /// One in this many messages of the history has failed.
    private static let failureEvery = 25
    private static let broadcasts = 30

    /// The app that all broadcasts belong to.
    private var news: Int32 { apps[apps.count - 1] }
    var newsName: String { "bench \(apps.count)" }
    /// An app with few messages.
    var smallName: String { "bench \(apps.count - 1)" }

    /// The webhook of that app. Its receiver is far behind.
    static let webhook = "bench"

    /// The number of ended messages. With a row for each failed one, the history has five times as many rows as the queue.
    private var ended: Int { rows * 5 * Self.failureEvery / (Self.failureEvery + 1) }
    private var jobsPerBroadcast: Int { max(1, rows / 5_000) }
    /// The distance between the first jobs of consecutive broadcasts.
    private var period: Int { ended / Self.broadcasts }

    init(rows: Int, on installation: Installation) async throws {
        self.rows = rows
        self.installation = installation
        apps = try await installation.addApps(Self.appCount - 1)
    }

    func run() async throws {
        try await installation.connection.script(
            """
            SET synchronous_commit = off; SET maintenance_work_mem = '512MB';
            SELECT setval('carillon.messages_id_seq', \(ended));
            UPDATE carillon.fleet_tasks SET next_run = now() + interval '1 day';
            CREATE FUNCTION pg_temp.app_of(id bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
                SELECT CASE WHEN id % 2 = 0 THEN \(installation.app)
                    ELSE ('{\(apps.dropLast().map(String.init).joined(separator: ","))}'::int[])[
                        1 + floor(\(apps.count - 1) * power(((id * 2654435761) & 4294967295) / 4294967296.0::float8, 3))::int] END
            $$;
            CREATE FUNCTION pg_temp.token_of(id bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
                $$ SELECT lpad(to_hex(id * 2654435761), 64, '0') $$
            """
        )
        try await history()
        try await queue()
        try await broadcast()
        try await surroundings()
        try await installation.connection.script("RESET synchronous_commit; RESET maintenance_work_mem")
        try await installation.settleDown()
    }

    // MARK: The history

    /// Each day is created as a table without indexes, which are built once all rows are in.
    private func history() async throws {
        let now = Double(try await installation.number("SELECT extract(epoch FROM now())::bigint"))
        let start = (now / 86_400).rounded(.down) * 86_400 - Double(Self.days - 1) * 86_400
        let step = (now - start) / Double(ended)
        for day in 0..<Self.days {
            let lower = start + Double(day) * 86_400
            // Rounding must not bring a row into another day.
            let first = Int((lower - start) / step) + 2
            let last = min(ended, Int((lower + 86_400 - start) / step) - 1)
            guard first <= last else { continue }
            let day = Day(lower: lower, ids: first...last, time: "to_timestamp(\(start) + id * \(step)::float8)")
            try await make("results", day, "finished_at", results(day))
            try await make("failures", day, "failed_at", failures(day))
            try await make("failed_messages", day, "failed_at", failedMessages(day))
        }
        try await installation.connection.script(
            """
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, seen_at, handled_at)
            SELECT pg_temp.app_of(id), pg_temp.token_of(id), t.at - interval '1 day', 'Unregistered', t.at,
                CASE WHEN id < \(ended - 20_000) THEN t.at + interval '10 minutes' END
            FROM generate_series(\(Self.failureEvery), \(ended), \(Self.failureEvery)) id,
                LATERAL (SELECT to_timestamp(\(start) + id * \(step)::float8) AS at) t
            WHERE id / \(Self.failureEvery) % 4 <> 0;
            INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens, reference, created_at)
            SELECT \(news), id, id + \(jobsPerBroadcast - 1), 2, \(jobsPerBroadcast), \(jobsPerBroadcast) * 1000, 'edition ' || id,
                to_timestamp(\(start) + id * \(step)::float8)
            FROM generate_series(\(period), \(period * (Self.broadcasts - 1)), \(period)) id;
            ANALYZE carillon.feedback; ANALYZE carillon.split_messages
            """
        )
    }

    private struct Day {
        /// Seconds since 1970.
        let lower: Double
        let ids: ClosedRange<Int>
        /// When the message `id` ended.
        let time: String

        var name: String {
            Date(timeIntervalSince1970: lower).formatted(.iso8601.year().month().day().dateSeparator(.omitted))
        }
    }

    private func make(_ parent: String, _ day: Day, _ column: String, _ rows: String) async throws {
        let child = "carillon.\(parent)_\(day.name)"
        let (lower, upper) = ("to_timestamp(\(day.lower))", "to_timestamp(\(day.lower + 86_400))")
        try await installation.connection.script(
            """
            DROP TABLE IF EXISTS \(child);
            CREATE TABLE \(child) (LIKE carillon.\(parent) INCLUDING DEFAULTS INCLUDING STORAGE,
                CONSTRAINT day CHECK (\(column) >= \(lower) AND \(column) < \(upper)))
            WITH (autovacuum_vacuum_insert_threshold = -1);
            INSERT INTO \(child) \(rows);
            ALTER TABLE carillon.\(parent) ATTACH PARTITION \(child) FOR VALUES FROM (\(lower)) TO (\(upper));
            ALTER TABLE \(child) DROP CONSTRAINT day;
            ANALYZE \(child)
            """
        )
    }

    /// Whether the message `id` is a job of a broadcast.
    private var isBroadcast: String { "(id >= \(period) AND id % \(period) < \(jobsPerBroadcast))" }
    private var hasFailed: String { "id % \(Self.failureEvery) = 0 AND NOT \(isBroadcast)" }

    private func results(_ day: Day) -> String {
        """
        (message_id, app_id, reference, broadcast_id, sent, failed, attempts, finished_at)
        SELECT id, CASE WHEN \(isBroadcast) THEN \(news) ELSE pg_temp.app_of(id) END, CASE WHEN id % 4 < 2 THEN 'order ' || id END,
            CASE WHEN \(isBroadcast) THEN id - id % \(period) END,
            CASE WHEN \(isBroadcast) THEN 1000 ELSE (id % \(Self.failureEvery) <> 0)::int END, (\(hasFailed))::int,
            1 + (id % 50 = 0)::int, \(day.time)
        FROM generate_series(\(day.ids.lowerBound)::bigint, \(day.ids.upperBound)) id
        """
    }

    /// Three in four are for dead tokens.
    private func failures(_ day: Day) -> String {
        """
        (message_id, app_id, token, status, reason, unregistered_at, apns_id, attempt, reference, failed_at)
        SELECT id, pg_temp.app_of(id), pg_temp.token_of(id), r.status, r.reason,
            CASE r.status WHEN 410 THEN \(day.time) - interval '1 day' END, md5(id::text)::uuid, 1,
            CASE WHEN id % 4 < 2 THEN 'order ' || id END, \(day.time)
        FROM generate_series(\(day.ids.lowerBound)::bigint, \(day.ids.upperBound)) id,
            LATERAL (SELECT id / \(Self.failureEvery) AS n) f,
            LATERAL (SELECT CASE WHEN n % 4 <> 0 THEN 410 WHEN n % 16 = 0 THEN 403 WHEN n % 12 = 0 THEN 413 ELSE 400 END AS status,
                CASE WHEN n % 4 <> 0 THEN 'Unregistered' WHEN n % 16 = 0 THEN 'InvalidProviderToken'
                    WHEN n % 12 = 0 THEN 'PayloadTooLarge' ELSE 'BadDeviceToken' END AS reason) r
        WHERE \(hasFailed)
        """
    }

    private func failedMessages(_ day: Day) -> String {
        """
        (message_id, app_id, lane, payload, push_type, on_unknown, failed_at)
        SELECT id, pg_temp.app_of(id), 1, \(Installation.payloadLiteral), 'alert', 'retry', \(day.time)
        FROM generate_series(\(day.ids.lowerBound)::bigint, \(day.ids.upperBound)) id
        WHERE \(hasFailed) AND id / \(Self.failureEvery) % 4 = 0
        """
    }

    // MARK: The queue

    private func queue() async throws {
        for part in stride(from: 0, to: rows, by: 1_000_000) {
            try await installation.connection.script(
                """
                INSERT INTO carillon.messages (app_id, lane, tokens, payload, reference, created_at)
                SELECT pg_temp.app_of(r), CASE WHEN r % 50 = 7 THEN 0 WHEN r % 10 = 3 THEN 2 ELSE 1 END,
                    ARRAY[pg_temp.token_of(r)], \(Installation.payloadLiteral), CASE WHEN r % 4 < 2 THEN 'waiting ' || r END,
                    now() - (\(rows) - r) * interval '6 hours' / \(rows)
                FROM generate_series(\(part + 1)::bigint, \(min(rows, part + 1_000_000))) r
                """
            )
        }
        // Messages for later, retries that are not due, and retries that are due.
        try await retries(rows / 40, into: "scheduled", "run_at", "now() + interval '1 hour' + n * interval '1 second'")
        try await retries(rows / 1_000, into: "messages", "lane", "1")
        try await installation.connection.script(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, reference, run_at)
            SELECT nextval('carillon.messages_id_seq'), pg_temp.app_of(n), ARRAY[pg_temp.token_of(n)], \(Installation.payloadLiteral),
                'later ' || n, now() + interval '1 hour' + n * interval '7 days' / \(rows / 40)
            FROM generate_series(1, \(rows / 40)) n;
            ANALYZE carillon.scheduled; ANALYZE carillon.unfinished
            """
        )
    }

    private func retries(_ count: Int, into table: String, _ column: String, _ value: String) async throws {
        try await installation.connection.script(
            """
            WITH begun AS MATERIALIZED (
                SELECT n, pg_temp.app_of(n) AS app_id, nextval('carillon.messages_id_seq') AS message_id,
                    nextval('carillon.messages_id_seq') AS id
                FROM generate_series(1, \(count)) n
            ), unfinished AS (
                INSERT INTO carillon.unfinished (app_id, message_id, reference, remaining, attempts)
                SELECT app_id, message_id, 'again ' || message_id, 1, 1 FROM begun
            )
            INSERT INTO carillon.\(table) (id, app_id, tokens, payload, reference, attempt, origin, last_status, last_reason, \(column))
            SELECT id, app_id, ARRAY[pg_temp.token_of(id)], \(Installation.payloadLiteral), 'again ' || message_id, 2, message_id, 503,
                'ServiceUnavailable', \(value)
            FROM begun
            """
        )
    }

    /// Registers tokens, and marks the newest broadcast as sent to a quarter of them.
    private func broadcast() async throws {
        try await installation.connection.script(
            """
            INSERT INTO carillon.tokens (app_id, token)
            SELECT \(news), 'a' || lpad(to_hex(n), 63, '0') FROM generate_series(1, \(jobsPerBroadcast) * 1000) n;
            INSERT INTO carillon.tokens (app_id, token)
            SELECT pg_temp.app_of(n), pg_temp.token_of(n) FROM generate_series(1, \(rows / 10)) n;
            INSERT INTO carillon.tokens (app_id, token, kind, expires_at)
            SELECT pg_temp.app_of(n), 'b' || lpad(to_hex(n), 63, '0'), 'live_activity', now() + interval '8 hours'
            FROM generate_series(1, \(rows / 100)) n;
            ANALYZE carillon.tokens;
            SELECT carillon.broadcast('\(newsName)', 'Evening news', lane => 2, reference => 'evening');
            WITH sent AS (
                DELETE FROM carillon.messages m WHERE m.app_id = \(news) AND m.id % 4 = 3
                RETURNING m.id, m.app_id, m.reference, m.broadcast_id, cardinality(m.tokens) AS tokens
            )
            INSERT INTO carillon.results (message_id, app_id, reference, broadcast_id, sent)
            SELECT id, app_id, reference, broadcast_id, tokens FROM sent
            """
        )
    }

    /// Workers with claims, held apps, counts of a day, channels and people's changes.
    private func surroundings() async throws {
        try await installation.connection.script(
            """
            INSERT INTO carillon.workers (name, host, version, lease_until)
            SELECT 'worker ' || n, 'host ' || n, '0.1.0', now() + interval '1 day' FROM generate_series(1, 8) n;
            WITH picked AS (
                DELETE FROM carillon.messages m WHERE m.ctid = ANY (ARRAY(
                    SELECT s.ctid FROM carillon.messages s WHERE s.app_id = \(installation.app) AND s.lane = 1
                    ORDER BY s.id LIMIT \(min(8_000, rows / 100)))) RETURNING m.*
            )
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT (SELECT min(w.id) FROM carillon.workers w) + id / 200 % 8, app_id, array_agg(carillon.job(id => id,
                lane => lane, tokens => tokens, payload => payload, payloads => payloads, push_type => push_type, priority => priority,
                expires_at => expires_at, collapse_id => collapse_id, topic => topic, reference => reference,
                on_unknown => on_unknown, attempt => attempt, lost_claims => lost_claims, origin => origin,
                broadcast_id => broadcast_id, created_at => created_at, last_status => last_status, last_reason => last_reason,
                unknown_attempts => unknown_attempts))
            FROM picked GROUP BY app_id, id / 200;
            CREATE FUNCTION pg_temp.activity(since timestamptz, until timestamptz) RETURNS void LANGUAGE sql AS $$
                INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent, failed, retried)
                SELECT m, a.id, w.id, (random() * 1000)::int, (random() * 40)::int, (random() * 10)::int
                FROM generate_series(date_trunc('minute', since), until, interval '1 minute') m, carillon.apps a,
                    (SELECT w.id FROM carillon.workers w ORDER BY w.id LIMIT 2) w
            $$;
            -- Maintenance was an hour ago.
            SELECT pg_temp.activity(now() - interval '1 day', now() - interval '61 minutes');
            SELECT carillon.maintain_step('sum', 'push_counts');
            SELECT pg_temp.activity(now() - interval '60 minutes', now());
            INSERT INTO carillon.unknown_outcomes (app_id, message_id)
            SELECT pg_temp.app_of(n), n FROM generate_series(1, \(rows / 1_000)) n;
            INSERT INTO carillon.holds (app_id, kind, reason)
            SELECT id, 'credential', 'APNs refuses its credential: InvalidProviderToken' FROM unnest('{\(apps[3]),\(apps[4])}'::int[]) id;
            INSERT INTO carillon.channels (app_id, reference, policy, channel_id, state, created_at)
            SELECT \(installation.app), 'match ' || n, 1, md5(n::text), 'ready', now() FROM generate_series(1, 500) n;
            INSERT INTO carillon.audit (on_behalf_of, source, action, app, details, at)
            SELECT 'anna', 'dashboard', 'set limits', 'bench ' || n % 100, '{"max_rate": 1000, "max_attempts": 10}', now() - n * interval '1 minute'
            FROM generate_series(1, 10000) n;
            SELECT carillon.add_webhook('\(Self.webhook)', '\(smallName)', 'https://a.example/');
            INSERT INTO carillon.events (id, app_id, sent, sent_token)
            SELECT nextval('carillon.event_ids'), a.id, ARRAY[n], ARRAY[pg_temp.token_of(n)]
            FROM generate_series(1, \(rows / 100)) n, carillon.apps a WHERE a.name = '\(smallName)';
            SELECT carillon.redeliver_webhook('\(Self.webhook)', now() - interval '1 hour');
            ANALYZE carillon.events; ANALYZE carillon.untaken_events;
            ANALYZE carillon.push_counts; ANALYZE carillon.push_count_sums; ANALYZE carillon.inflight; ANALYZE carillon.apps; ANALYZE carillon.audit; ANALYZE carillon.workers
            """
        )
    }

    /// Removes everything that would disturb a worker: only the first app sends, and the fictitious workers are gone.
    func quieten() async throws {
        try await installation.connection.script(
            """
            SELECT carillon.remove_webhook('\(Self.webhook)');
            DELETE FROM carillon.inflight; DELETE FROM carillon.workers; DELETE FROM carillon.holds;
            UPDATE carillon.apps SET paused = true WHERE id <> \(installation.app)
            """
        )
        try await installation.settleDown()
    }
}
