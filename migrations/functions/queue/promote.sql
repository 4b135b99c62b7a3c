-- Moves jobs that are due from scheduled to messages. Workers call promote() when they look for jobs. It locks rows of scheduled
-- and skips those that are locked; for everything else it waits at most 10 ms.

-- delay_jobs() updates the rows in place, so that a session waiting to delete them still finds them. Jobs stay due if PostgreSQL
-- refuses the update or the table is locked.
CREATE OR REPLACE FUNCTION carillon.delay_jobs(due tid[], until timestamptz[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.use_session_path();
    UPDATE carillon.scheduled s SET run_at = d.until FROM unnest(due, until) AS d(tid, until)
    WHERE s.ctid = ANY (due) AND s.ctid = d.tid;
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) AND SQLSTATE <> '55P03' THEN
            RAISE;
        END IF;
END
$$;
COMMENT ON FUNCTION carillon.delay_jobs IS 'Internal: delays jobs until these times.';

-- delay_quiet_jobs() holds retries that are due in quiet hours, and scheduled jobs of an app whose hours were set since. The hours
-- of a broadcast with run_at_local are those of the zone of each job. It returns the other jobs.
CREATE OR REPLACE FUNCTION carillon.delay_quiet_jobs(due tid[]) RETURNS tid[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    held tid[];
    until timestamptz[];
BEGIN
    SELECT array_agg(q.ctid), array_agg(q.until) INTO held, until FROM (
        SELECT s.ctid, carillon.quiet_until(s.app_id, s.push_type, s.priority, now(), (
                SELECT z.time_zone FROM carillon.split_messages b, unnest(b.zones) AS z
                WHERE b.app_id = s.app_id AND b.id = s.broadcast_id
                    AND coalesce(s.origin, s.id) BETWEEN z.first_id AND z.last_id)) AS until
        FROM carillon.scheduled s JOIN carillon.apps a ON a.id = s.app_id
        WHERE s.ctid = ANY (due) AND a.quiet_hours IS NOT NULL
            -- A job that has expired ends now.
            AND (s.expires_at <= now() AND s.expires_at > timestamptz 'epoch') IS NOT TRUE OFFSET 0
    ) AS q WHERE q.until IS NOT NULL;
    IF held IS NULL THEN
        RETURN due;
    END IF;
    PERFORM carillon.delay_jobs(held, until);
    RETURN ARRAY(SELECT d FROM unnest(due) AS d WHERE d NOT IN (SELECT unnest(held)));
END
$$;
COMMENT ON FUNCTION carillon.delay_quiet_jobs IS
    'Internal: delays due jobs that quiet hours hold until the end of the hours; returns the others.';

CREATE OR REPLACE FUNCTION carillon.promote_rows(due tid[], cancelled tid[])
RETURNS TABLE (app_id integer, lane smallint, lowest bigint, jobs bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    ready record;
BEGIN
    FOR ready IN
        WITH taken AS (
            DELETE FROM carillon.scheduled s WHERE s.ctid = ANY (due)
            RETURNING s.app_id, s.lane, s.id, carillon.scheduled_job(s) AS job,
                CASE WHEN s.ctid = ANY (cancelled) THEN coalesce(s.origin, s.id) END AS cancelled
        )
        SELECT t.app_id, t.lane, min(t.id) AS lowest, array_agg(t.job ORDER BY t.id) AS jobs,
            array_agg(t.cancelled) FILTER (WHERE t.cancelled IS NOT NULL) AS cancelled
        FROM taken t GROUP BY t.app_id, t.lane
    LOOP
        app_id := ready.app_id;
        lane := ready.lane;
        lowest := ready.lowest;
        jobs := cardinality(ready.jobs);
        IF ready.cancelled IS NULL THEN
            PERFORM carillon.return_jobs(ready.app_id, ready.jobs);
        ELSE
            PERFORM carillon.return_uncancelled(ready.app_id, ready.jobs, ready.cancelled, '{}');
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.promote_rows IS
    'Internal: moves due rows of scheduled to messages, except those in cancelled; returns a row for each lane with new jobs.';

-- promote() starts after a position in the order of time and id, because dead index entries before it remain as long as any
-- transaction is open. It returns rows of two kinds: a `lane` for each lane with new jobs, with their number and lowest id, and
-- at the end one `position`, where the next call may start.
--
-- One scan finds the due jobs of all apps; an index for each app would need a scan for each. It never waits long for a lock. A job
-- stays in scheduled if it is being cancelled, or if it was cancelled and its row of unfinished is locked. If an open transaction
-- holds the id of a job or its row of unfinished, jobs move one by one; after several such locks the rest stay.
CREATE OR REPLACE FUNCTION carillon.promote(
    max_jobs integer, after timestamptz DEFAULT '-infinity', after_id bigint DEFAULT -9223372036854775808
)
RETURNS TABLE (kind text, app_id integer, lane smallint, lowest bigint, jobs bigint, next_at timestamptz, next_id bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '10ms' AS $$
DECLARE
    max_locks CONSTANT integer := 8;
    max_bytes CONSTANT integer := 67108864;
    locks integer := 0;
    one tid;
    due tid[];
    is_cut boolean;
    cancelled tid[];
    unsure tid[];
    kept tid[];
BEGIN
    -- If the clock was set back, start over.
    IF after > now() THEN
        after := '-infinity';
        after_id := -9223372036854775808;
    END IF;
    -- Takes at least one row, and no more than an array can hold. Sizes are compressed sizes, so a large row is moved alone.
    SELECT array_agg(d.ctid ORDER BY d.run_at, d.id) FILTER (WHERE d.place = 1 OR d.total <= max_bytes),
        bool_or(d.place > 1 AND d.total > max_bytes)
    INTO due, is_cut FROM (
        SELECT l.*, row_number() OVER w AS place,
            sum(CASE WHEN l.size > 1048576 THEN max_bytes + 1::bigint ELSE l.size END) OVER w AS total FROM (
            SELECT s.ctid, s.run_at, s.id, pg_column_size(s.tokens) + coalesce(pg_column_size(s.payloads), 0) AS size
            FROM carillon.scheduled s
            WHERE s.run_at <= now() AND (s.run_at, s.id) > (after, after_id)
            ORDER BY s.run_at, s.id LIMIT max_jobs FOR UPDATE SKIP LOCKED
        ) AS l WINDOW w AS (ORDER BY l.run_at, l.id)
    ) AS d;
    -- Due rows that remain come after the last one taken.
    kind := 'position';
    next_at := now();
    next_id := 9223372036854775807;
    IF due IS NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    IF cardinality(due) >= max_jobs OR is_cut THEN
        SELECT s.run_at, s.id INTO next_at, next_id FROM carillon.scheduled s WHERE s.ctid = due[cardinality(due)];
    END IF;
    SELECT array_agg(d.tid) FILTER (WHERE d.message = ANY (o.cancelled)),
        array_agg(d.tid) FILTER (WHERE d.message = ANY (o.unsure)),
        array_agg(d.tid) FILTER (WHERE d.message = ANY (o.unsure || o.busy))
    INTO cancelled, unsure, kept
    FROM (
        SELECT s.app_id, array_agg(s.ctid) AS due, array_agg(coalesce(s.origin, s.id)) AS messages,
            array_agg(s.broadcast_id) AS broadcasts
        FROM carillon.scheduled s WHERE s.ctid = ANY (due) GROUP BY s.app_id ORDER BY s.app_id
    ) AS a, carillon.find_cancelled(a.app_id, a.messages, a.broadcasts, '{}', waits => false) AS o,
        unnest(a.due, a.messages) AS d(tid, message)
    WHERE o.cancelled || o.unsure <> '{}';
    IF unsure IS NOT NULL THEN
        -- By then it is known whether they were cancelled.
        PERFORM carillon.delay_jobs(unsure, array_fill(now() + interval '1 second', ARRAY[cardinality(unsure)]));
    END IF;
    IF kept IS NOT NULL THEN
        due := ARRAY(SELECT d FROM unnest(due) AS d WHERE d NOT IN (SELECT unnest(kept)));
    END IF;
    due := carillon.delay_quiet_jobs(due);
    BEGIN
        RETURN QUERY SELECT 'lane', m.*, NULL::timestamptz, NULL::bigint FROM carillon.promote_rows(due, cancelled) m;
    EXCEPTION
        WHEN lock_not_available THEN
            FOREACH one IN ARRAY due LOOP
                EXIT WHEN locks >= max_locks;
                BEGIN
                    RETURN QUERY SELECT 'lane', m.*, NULL::timestamptz, NULL::bigint
                        FROM carillon.promote_rows(ARRAY[one], cancelled) m;
                EXCEPTION
                    WHEN lock_not_available THEN
                        locks := locks + 1;
                END;
            END LOOP;
    END;
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION carillon.promote IS 'Internal: moves jobs that are due from scheduled to messages.';
