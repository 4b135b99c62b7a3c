-- Jobs that fall due move from scheduled to messages.

-- Delays due rows of scheduled by a second, after which it is known whether they were cancelled. The rows stay in
-- place, so a session that waits to delete them does. If PostgreSQL refuses, or the table is locked, they stay due.
CREATE FUNCTION carillon.put_off(due tid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.own_path();
    UPDATE carillon.scheduled s SET run_at = pg_catalog.now() + interval '1 second' WHERE s.ctid = ANY (due);
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) AND SQLSTATE <> '55P03' THEN
            RAISE;
        END IF;
END
$$;

-- Moves these rows of scheduled to messages, except those that were cancelled. Returns a row for each lane with new
-- jobs.
CREATE FUNCTION carillon.move_due(due tid[], gone carillon.message_key[])
RETURNS TABLE (app_id integer, lane smallint, lowest bigint, jobs bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    ready record;
BEGIN
    FOR ready IN
        WITH taken AS (DELETE FROM carillon.scheduled s WHERE s.ctid = ANY (due) RETURNING s.*)
        SELECT t.app_id, t.lane, min(t.id) AS lowest, array_agg(ROW(t.id, t.lane, t.tokens, t.payload, t.push_type,
            t.priority, t.expires_at, t.collapse_id, t.topic, t.reference, t.on_unknown, t.attempt, t.claims, t.origin,
            t.broadcast_id, t.created_at, t.last_status, t.last_reason)::carillon.job ORDER BY t.id) AS jobs
        FROM taken t GROUP BY t.app_id, t.lane
    LOOP
        app_id := ready.app_id;
        lane := ready.lane;
        lowest := ready.lowest;
        jobs := carillon.restore(ready.app_id, ready.jobs, gone, '{}');
        RETURN NEXT;
    END LOOP;
END
$$;

-- Moves due jobs from scheduled to messages, after a place in the order of time and id: dead index entries before it
-- remain while any transaction is open. Returns a row for each lane with new jobs: how many, and the lowest id. The
-- last row has no lane: it is the place where the next call may begin.
--
-- It is one statement for all apps, so it never waits long for a lock. A job stays in scheduled if it was cancelled
-- and its row of unfinished is locked, and if it is being cancelled. If an open transaction holds the id of a job or
-- its row of unfinished, jobs move one by one, and the rest stays after several such locks.
CREATE FUNCTION carillon.promote(
    most integer, after timestamptz DEFAULT '-infinity', after_id bigint DEFAULT -9223372036854775808
)
RETURNS TABLE (app_id integer, lane smallint, lowest bigint, jobs bigint, place timestamptz, place_id bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '10ms' AS $$
DECLARE
    most_locks CONSTANT integer := 8;
    locks integer := 0;
    one tid;
    due tid[];
    unsure tid[];
    apps integer[];
    messages bigint[];
    broadcasts bigint[];
    is_large boolean;
    off record;
BEGIN
    -- The clock was set back.
    IF after > now() THEN
        after := '-infinity';
        after_id := -9223372036854775808;
    END IF;
    due := ARRAY(
        SELECT s.ctid FROM carillon.scheduled s WHERE s.run_at <= now() AND (s.run_at, s.id) > (after, after_id)
        ORDER BY s.run_at, s.id LIMIT most FOR UPDATE SKIP LOCKED);
    SELECT array_agg(s.app_id), array_agg(coalesce(s.origin, s.id)), array_agg(s.broadcast_id),
        bool_or(pg_column_size(s.tokens) > 1048576)
    INTO apps, messages, broadcasts, is_large FROM carillon.scheduled s WHERE s.ctid = ANY (due);
    -- Due rows that are left are behind the last one that was taken.
    place := now();
    place_id := 9223372036854775807;
    IF cardinality(due) >= most OR is_large THEN
        IF is_large THEN
            -- Several of these may exceed the size of an array: they move one by one.
            due := due[:1];
        END IF;
        SELECT s.run_at, s.id INTO place, place_id FROM carillon.scheduled s WHERE s.ctid = due[cardinality(due)];
    END IF;
    IF cardinality(due) = 0 THEN
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT o.* INTO off FROM carillon.called_off(apps, messages, broadcasts, '{}', waits => false) AS o;
    IF cardinality(off.unsure) > 0 THEN
        unsure := ARRAY(
            SELECT s.ctid FROM carillon.scheduled s WHERE s.ctid = ANY (due)
            AND (s.app_id, coalesce(s.origin, s.id)) IN (SELECT u.app_id, u.id FROM unnest(off.unsure) AS u));
        PERFORM carillon.put_off(unsure);
        due := ARRAY(SELECT d FROM unnest(due) AS d WHERE d NOT IN (SELECT u FROM unnest(unsure) AS u));
    END IF;
    IF cardinality(off.busy) > 0 THEN
        due := ARRAY(
            SELECT s.ctid FROM carillon.scheduled s WHERE s.ctid = ANY (due)
            AND (s.app_id, coalesce(s.origin, s.id))::carillon.message_key <> ALL (off.busy));
    END IF;
    BEGIN
        RETURN QUERY SELECT m.*, place, place_id FROM carillon.move_due(due, off.gone) m;
    EXCEPTION
        WHEN lock_not_available THEN
            FOREACH one IN ARRAY due LOOP
                EXIT WHEN locks >= most_locks;
                BEGIN
                    RETURN QUERY SELECT m.*, place, place_id FROM carillon.move_due(ARRAY[one], off.gone) m;
                EXCEPTION
                    WHEN lock_not_available THEN
                        locks := locks + 1;
                END;
            END LOOP;
    END;
    app_id := NULL;
    lane := NULL;
    lowest := NULL;
    jobs := NULL;
    RETURN NEXT;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (14, 'due');
