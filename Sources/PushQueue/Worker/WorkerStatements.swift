package import CarillonPostgres

/// The statements of a worker but for claims and settlements. Each is a transaction of its own.
package enum WorkerStatements {
    static let installation = Statement("installation", "SELECT i.id FROM carillon.installation i")

    static let register = Statement(
        "register",
        """
        INSERT INTO carillon.workers (name, host, pid, version, lease_until, started_at)
        VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), now() - make_interval(secs => $6)) RETURNING id
        """
    )

    /// Extends the lease, and counts the workers. Dead ones count until their claims are taken over. No row: this worker was
    /// declared dead.
    static let heartbeat = Statement(
        "heartbeat",
        """
        WITH renewed AS (
            UPDATE carillon.workers w
            SET beat = w.beat + 1, heartbeat_at = now(), lease_until = now() + make_interval(secs => $2)
            WHERE w.id = $1 RETURNING w.id
        )
        SELECT 1 + (SELECT count(*) FROM carillon.workers w WHERE w.id <> $1) AS workers FROM renewed
        """
    )

    static let noteTraffic = Statement(
        "note_traffic",
        "UPDATE carillon.workers w SET waits = $2, answers = $3, connections = $4 WHERE w.id = $1"
    )

    /// The heartbeats and leases of all other workers.
    static let heartbeats = Statement(
        "heartbeats",
        """
        SELECT w.id, w.beat, (extract(epoch FROM w.lease_until - w.heartbeat_at) * 1000000)::bigint AS lease,
            w.lease_until < now() AS looks_dead
        FROM carillon.workers w WHERE w.id <> $1
        """
    )

    /// Returns whether the row is gone. A worker that took this one for dead may have deleted it.
    static let signOff = Statement(
        "sign_off",
        """
        WITH gone AS (
            DELETE FROM carillon.workers w WHERE w.id = $1
                AND NOT EXISTS (SELECT FROM carillon.inflight f WHERE f.worker_id = $1) RETURNING w.id
        )
        SELECT EXISTS (SELECT FROM gone) OR NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = $1)
        """
    )

    /// By `ClaimKey`: a crash of the database may have given the number to another claim of this worker.
    static let release = Statement(
        "release",
        """
        SELECT carillon.release($1, ARRAY(
            SELECT f.id FROM carillon.inflight f JOIN unnest($2::bigint[], $3::timestamptz[]) AS k(id, claimed_at)
                ON f.id = k.id AND f.claimed_at = k.claimed_at WHERE f.worker_id = $1))
        """
    )

    /// Claims of this worker that it does not know.
    static let strays = Statement(
        "strays",
        "SELECT f.id, f.claimed_at FROM carillon.inflight f WHERE f.worker_id = $1 AND f.id <> ALL ($2)"
    )

    static let takeOver = Statement(
        "take_over",
        "SELECT t.workers, t.claims, t.jobs FROM carillon.take_over($1, $2) AS t"
    )

    /// Whether there are claims of workers without a row.
    static let hasOrphans = Statement("has_orphans", "SELECT EXISTS (SELECT FROM carillon.gone_workers())")

    /// The time of each push; null: it has ended as superseded. Null in place of the list: the claim was taken over.
    static let orderUpdates = Statement("order_updates", "SELECT carillon.order_updates($1, $2, $3, $4, $5, $6)")

    /// For each push 0: it is sent; -1: it is sent later; null: it has ended as superseded. Then how many others have ended so.
    /// Null in place of the list: the claim was taken over.
    static let paceDevices = Statement("pace_devices", "SELECT carillon.pace_devices($1, $2, $3, $4, $5, $6, $7)")

    /// Microseconds until the turn begins; null: no turn begins soon.
    static let takeTurn = Statement("take_rate_turn", "SELECT carillon.take_rate_turn($1, $2)")

    static let discard = Statement("discard", "SELECT carillon.discard($1, $2, $3)")

    static let split = Statement("split", "SELECT carillon.split($1, $2, $3, $4)")

    /// Moves due jobs from `scheduled` to the queue. The last row has no lane; it says where the next call may begin, and how
    /// many microseconds the server took.
    static let promote = Statement(
        "promote",
        """
        SELECT p.app_id, p.lane, p.lowest, p.jobs, p.next_at, p.next_id,
            (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint AS cost
        FROM carillon.promote($1, $2, $3) AS p
        """
    )

    /// The lanes that have rows, except those of paused apps. Known lanes are looked up from their floors. Between them the
    /// index is walked from lane to lane, never over their rows. A range of paused apps, given as a known lane with the first
    /// app of the range, is skipped in one step. The last row has no lane; it says how many microseconds the server took, since the
    /// time until the answer includes other statements.
    ///
    /// A step is bounded by app and by lane separately. A row comparison with the next known lane would not stop the index
    /// scan there: it would go on over all dead entries of that lane, which may be a million.
    static let look = Statement(
        "look",
        """
        WITH RECURSIVE known AS MATERIALIZED (
            SELECT k.app, k.lane, k.floor, lead(coalesce(k.first_app, k.app), 1, 2147483647) OVER w AS next_app,
                lead(CASE WHEN k.first_app IS NULL THEN k.lane ELSE -32768 END, 1, 32767) OVER w AS next_lane
            FROM unnest($1::integer[], $2::smallint[], $3::bigint[], $4::integer[]) AS k(app, lane, floor, first_app)
            WINDOW w AS (ORDER BY k.app, k.lane)
        ), found AS (
            SELECT k.app AS app_id, k.lane, k.next_app, k.next_lane, true AS is_known FROM known k
            UNION ALL
            SELECT n.app_id, n.lane, f.next_app, f.next_lane, false FROM found f, LATERAL (
                (SELECT m.app_id, m.lane FROM carillon.messages m
                WHERE (m.app_id, m.lane) > (f.app_id, f.lane) AND m.app_id < f.next_app
                ORDER BY m.app_id, m.lane LIMIT 1)
                UNION ALL
                (SELECT m.app_id, m.lane FROM carillon.messages m
                WHERE m.app_id = f.next_app AND m.lane < f.next_lane
                    AND m.lane >= CASE WHEN f.app_id = f.next_app THEN f.lane + 1 ELSE -32768 END
                ORDER BY m.app_id, m.lane LIMIT 1)
                LIMIT 1) AS n
        )
        SELECT f.app_id, f.lane, NULL::bigint AS cost FROM found f
        WHERE NOT f.is_known AND (SELECT a.paused FROM carillon.apps a WHERE a.id = f.app_id) IS NOT TRUE
        UNION ALL
        SELECT k.app, k.lane, NULL FROM known k WHERE (
            SELECT m.id FROM carillon.messages m WHERE m.app_id = k.app AND m.lane = k.lane AND m.id >= k.floor
            ORDER BY m.id LIMIT 1) IS NOT NULL
        UNION ALL
        SELECT NULL, NULL, (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint
        """
    )

    /// The longest ranges of paused apps.
    static let pausedRanges = Statement(
        "paused_ranges",
        """
        SELECT min(p.id) AS first_app, max(p.id) AS last_app FROM (
            SELECT a.id, a.id - row_number() OVER (ORDER BY a.id) AS range FROM carillon.apps a WHERE a.paused
        ) AS p
        GROUP BY p.range HAVING count(*) > 3 ORDER BY count(*) DESC LIMIT 100
        """
    )

    /// The lowest row below the floor of each lane. The scan walks over all dead entries of the lanes, so it is run rarely, on a
    /// connection of its own.
    static let lookBelow = Statement(
        "look_below",
        """
        SELECT k.app, k.lane, n.id AS lowest FROM unnest($1::integer[], $2::smallint[], $3::bigint[]) AS k(app, lane, floor),
            LATERAL (SELECT m.id FROM carillon.messages m
                WHERE m.app_id = k.app AND m.lane = k.lane AND m.id < k.floor ORDER BY m.id LIMIT 1) AS n
        """
    )

    static let writeCounts = Statement(
        "write_counts",
        """
        INSERT INTO carillon.push_counts AS a (minute, app_id, worker_id, sent, failed, expired, retried, bad_tokens, bad_topics)
        SELECT date_trunc('minute', now()), c.app, $1, c.sent, c.failed, c.expired, c.retried, c.bad_tokens, c.bad_topics
        FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
            AS c(app, sent, failed, expired, retried, bad_tokens, bad_topics)
        ON CONFLICT (app_id, minute, worker_id) DO UPDATE SET sent = a.sent + excluded.sent,
            failed = a.failed + excluded.failed, expired = a.expired + excluded.expired,
            retried = a.retried + excluded.retried, bad_tokens = a.bad_tokens + excluded.bad_tokens,
            bad_topics = a.bad_topics + excluded.bad_topics
        """
    )

    /// Pauses each of these apps if most of its pushes failed as BadDeviceToken or because of their topic.
    static let openBreakers = Statement(
        "open_breakers",
        "SELECT b.app_id, b.app, b.reason FROM carillon.open_breakers($1) AS b"
    )

    static let maintenance = Statement("maintenance", "SELECT m.step FROM carillon.maintenance m ORDER BY m.place")

    static let maintainStep = Statement(
        "maintain_step",
        "SELECT s.more, s.error, s.state FROM carillon.maintain_step($1, make_interval(secs => $2)) AS s"
    )

    /// A step that failed may have waited for a lock, so maintenance is soon repeated.
    static let maintainSoon = Statement(
        "maintain_soon",
        """
        UPDATE carillon.fleet_tasks c SET next_run = least(c.next_run, now() + interval '5 minutes') WHERE c.name = 'maintain'
        """
    )
}

/// The settings of a worker's connections, whatever their role or database has set.
extension WorkerStatements {
    /// One plan for all values, by an index: a plan made while a table was small would be wrong when it is large.
    private static let common: SessionSettings = [
        "enable_seqscan": "off", "enable_bitmapscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan",
        "TimeZone": "UTC", "DateStyle": "ISO, MDY", "default_transaction_isolation": "read committed",
        "transaction_timeout": "0", "idle_session_timeout": "0",
    ]

    /// For the shared connection: a statement that waits for a lock holds up all behind it, so it soon fails and is tried again
    /// on the detour.
    package static let settings = Self.common.with(["lock_timeout": "100ms", "statement_timeout": "30s"])

    /// For heartbeats. They wait for locks without limit, so that they precede any take-over once the lock is gone.
    static let lifelineSettings = Self.common.with(["lock_timeout": "0", "statement_timeout": "0"])

    /// For statements that timed out on a lock on the shared connection.
    static let detourSettings = Self.common.with(["lock_timeout": "250ms", "statement_timeout": "2min"])

    /// For work that may take long.
    static let ownConnectionSettings = Self.common.with(["lock_timeout": "2s", "statement_timeout": "0"])
}
