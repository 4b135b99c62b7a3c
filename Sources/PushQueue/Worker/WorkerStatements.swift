import Postgres

/// What a worker asks of the database, beside claiming and settling. Each statement is a transaction of its own.
package enum WorkerStatements {
    static let installation = Statement("installation", "SELECT i.id FROM carillon.installation i")

    static let register = Statement(
        "register",
        """
        INSERT INTO carillon.workers (name, host, pid, version, lease_until, started_at)
        VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), now() - make_interval(secs => $6)) RETURNING id
        """
    )

    /// Renews the lease, and counts the workers: those that died count until somebody takes over from them. No row: this
    /// worker was declared dead.
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

    /// The heartbeats of all other workers, and how long each one's lease is.
    static let heartbeats = Statement(
        "heartbeats",
        """
        SELECT w.id, w.beat, (extract(epoch FROM w.lease_until - w.heartbeat_at) * 1000000)::bigint AS lease,
            w.lease_until < now() AS looks_dead
        FROM carillon.workers w WHERE w.id <> $1
        """
    )

    /// Answers whether the row is gone. Somebody else may have deleted it, who took this worker for dead.
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

    /// By number and time of the claim: a crash of the database may have given the number to another claim of this worker,
    /// whose pushes are in the air.
    static let release = Statement(
        "release",
        """
        SELECT carillon.release($1, ARRAY(
            SELECT f.id FROM carillon.inflight f JOIN unnest($2::bigint[], $3::timestamptz[]) AS k(id, claimed_at)
                ON f.id = k.id AND f.claimed_at = k.claimed_at WHERE f.worker_id = $1))
        """
    )

    /// Claims in this worker's name but those that it knows of.
    static let strays = Statement(
        "strays",
        "SELECT f.id, f.claimed_at FROM carillon.inflight f WHERE f.worker_id = $1 AND f.id <> ALL ($2)"
    )

    static let takeOver = Statement(
        "take_over",
        "SELECT t.workers, t.claims, t.jobs FROM carillon.take_over($1, $2) AS t"
    )

    /// Whether there are claims of workers that are gone.
    static let hasOrphans = Statement("has_orphans", "SELECT EXISTS (SELECT FROM carillon.gone_workers())")

    /// Answers in how many microseconds; null: there is none soon.
    static let takeTurn = Statement("take_turn", "SELECT carillon.take_turn($1, $2)")

    static let discard = Statement("discard", "SELECT carillon.discard($1, $2, $3)")

    static let split = Statement("split", "SELECT carillon.split($1, $2, $3, $4)")

    /// Moves what is due from `scheduled` to the queue. The last row says where the next call may begin, and how many
    /// microseconds the server took; it has no lane.
    static let promote = Statement(
        "promote",
        """
        SELECT p.app_id, p.lane, p.lowest, p.jobs, p.place, p.place_id,
            (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint AS cost
        FROM carillon.promote($1, $2, $3) AS p
        """
    )

    /// The lanes that have rows, but for those of paused apps, which may be thousands. Known ones are looked up from their
    /// floors; between them, and before and after, the index is walked from lane to lane, never over their rows. Runs of
    /// paused apps, which stand among the known lanes with the first app of each, are stepped over in one hop. The last
    /// row has no lane: it says how many microseconds the server took, which is less than the time until the answer while
    /// other statements are being worked on.
    ///
    /// A hop ends before the next known lane in two steps, by app and by lane. One comparison of both columns as a row
    /// would not end there: the index would be walked on over all dead entries of that lane, which may be a million.
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

    /// The longest runs of paused apps.
    static let pausedRuns = Statement(
        "paused_runs",
        """
        SELECT min(p.id) AS first_app, max(p.id) AS last_app FROM (
            SELECT a.id, a.id - row_number() OVER (ORDER BY a.id) AS run FROM carillon.apps a WHERE a.paused
        ) AS p
        GROUP BY p.run HAVING count(*) > 3 ORDER BY count(*) DESC LIMIT 100
        """
    )

    /// The lowest row of each lane, where that is below the lane's floor. This walks over all that was claimed from these
    /// lanes and is not cleaned up yet, which may take a while: it is asked for rarely, and where nothing waits for it.
    static let lookBelow = Statement(
        "look_below",
        """
        SELECT k.app, k.lane, n.id AS lowest FROM unnest($1::integer[], $2::smallint[], $3::bigint[]) AS k(app, lane, floor),
            LATERAL (SELECT m.id FROM carillon.messages m
                WHERE m.app_id = k.app AND m.lane = k.lane AND m.id < k.floor ORDER BY m.id LIMIT 1) AS n
        """
    )

    static let countActivity = Statement(
        "count_activity",
        """
        INSERT INTO carillon.activity AS a (minute, app_id, worker_id, sent, failed, expired, retried, bad_tokens)
        SELECT date_trunc('minute', now()), c.app, $1, c.sent, c.failed, c.expired, c.retried, c.bad_tokens
        FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            AS c(app, sent, failed, expired, retried, bad_tokens)
        ON CONFLICT (app_id, minute, worker_id) DO UPDATE SET sent = a.sent + excluded.sent,
            failed = a.failed + excluded.failed, expired = a.expired + excluded.expired,
            retried = a.retried + excluded.retried, bad_tokens = a.bad_tokens + excluded.bad_tokens
        """
    )

    /// Of these apps, those are paused of which most pushes failed as BadDeviceToken.
    static let openBreakers = Statement(
        "open_breakers",
        "SELECT b.app_id, b.app, b.reason FROM carillon.open_breakers($1) AS b"
    )

    /// The steps of maintenance, in order.
    static let maintenance = Statement("maintenance", "SELECT m.step FROM carillon.maintenance m ORDER BY m.place")

    static let maintainStep = Statement(
        "maintain_step",
        "SELECT s.more, s.error, s.state FROM carillon.maintain_step($1, make_interval(secs => $2)) AS s"
    )

    /// What has failed may have met a lock, or be mended within the hour.
    static let maintainSoon = Statement(
        "maintain_soon",
        """
        UPDATE carillon.fleet_tasks c SET next_run = least(c.next_run, now() + interval '5 minutes') WHERE c.name = 'maintain'
        """
    )
}
