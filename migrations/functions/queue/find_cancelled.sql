-- Finds the jobs that were cancelled while they were in flight or scheduled. A function that returns jobs to the queue first calls
-- find_cancelled(): settle(), release(), take_over(), split() and promote(). withdraw() need not: its claim stays in flight.
--
-- The order of its locks is that of cancel.sql. It never waits for a cancel, and waits for rows of unfinished only if `waits` is
-- true.

-- lock_unfinished() locks in order of id, and never waits.
CREATE OR REPLACE FUNCTION carillon.lock_unfinished(app integer, messages bigint[]) RETURNS bigint[]
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH known AS MATERIALIZED (
        SELECT u.message_id FROM unnest(messages) AS m(id)
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = m.id
    ), locked AS MATERIALIZED (
        SELECT u.message_id FROM unnest(messages) AS m(id)
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = m.id
        ORDER BY u.message_id FOR UPDATE OF u SKIP LOCKED
    )
    SELECT coalesce(array_agg(k.message_id), '{}') FROM known k
    WHERE k.message_id NOT IN (SELECT l.message_id FROM locked l)
$$;
COMMENT ON FUNCTION carillon.lock_unfinished IS
    'Internal: locks rows of unfinished; returns the messages whose rows another session has locked.';

-- find_cancelled() returns as `cancelled` the messages that were cancelled, and as `unsure` those whose cancel is still running.
-- Callers pass each message with its broadcast. A cancel that finds a row of split_messages locked here waits until the jobs have
-- returned; for messages of one job, delay_cancels() does the same. A caller with `requeues` false puts all jobs into scheduled:
-- promote() then looks for cancels that were still running.
--
-- If any message was cancelled, this locks the rows of unfinished that will change: those of cancelled messages and those in
-- `touched`. With `waits` false it does not wait, and returns cancelled messages whose rows are locked as `busy`. Runs as its
-- owner: a row lock requires the UPDATE privilege, which workers lack.
CREATE OR REPLACE FUNCTION carillon.find_cancelled(
    app integer, messages bigint[], broadcasts bigint[], touched bigint[], requeues boolean DEFAULT true,
    waits boolean DEFAULT true, OUT cancelled bigint[], OUT unsure bigint[], OUT busy bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    split_ids bigint[];  -- split messages
    unlocked_ids bigint[];  -- those whose rows no cancel has locked
    cancelled_ids bigint[];  -- those that were cancelled
    being_cancelled bigint[] := '{}';  -- those whose rows a cancel has locked
    single_job_ids bigint[] := messages;  -- messages of one job
BEGIN
    cancelled := '{}';
    unsure := '{}';
    busy := '{}';
    IF array_remove(broadcasts, NULL) <> '{}' THEN
        split_ids := ARRAY(SELECT DISTINCT b.id FROM unnest(broadcasts) AS b(id) WHERE b.id IS NOT NULL);
        WITH locked AS MATERIALIZED (
            SELECT b.id, b.cancelled_at FROM unnest(split_ids) AS w(id)
            JOIN carillon.split_messages b ON b.app_id = app AND b.id = w.id FOR SHARE OF b SKIP LOCKED
        )
        SELECT coalesce(array_agg(l.id), '{}'), coalesce(array_agg(l.id) FILTER (WHERE l.cancelled_at IS NOT NULL), '{}')
        INTO unlocked_ids, cancelled_ids FROM locked l;
        IF cardinality(unlocked_ids) < cardinality(split_ids) THEN
            being_cancelled := ARRAY(
                SELECT b.id FROM unnest(split_ids) AS w(id) JOIN carillon.split_messages b ON b.app_id = app AND b.id = w.id
                WHERE b.id <> ALL (unlocked_ids));
        END IF;
        SELECT array_agg(m.id) FILTER (WHERE (m.broadcast = ANY (unlocked_ids || being_cancelled)) IS NOT TRUE),
            coalesce(array_agg(m.id) FILTER (WHERE m.broadcast = ANY (being_cancelled)), '{}'),
            coalesce(array_agg(m.id) FILTER (WHERE m.broadcast = ANY (cancelled_ids)), '{}')
        INTO single_job_ids, unsure, cancelled FROM unnest(messages, broadcasts) AS m(id, broadcast);
    END IF;
    IF requeues AND cardinality(single_job_ids) > 0 THEN
        BEGIN
            -- Succeeds if no cancel is running, and is then enough.
            LOCK TABLE carillon.cancelling IN SHARE MODE NOWAIT;
        EXCEPTION
            WHEN lock_not_available THEN
                unsure := unsure || carillon.delay_cancels(app, single_job_ids);
        END;
    END IF;
    -- Read last, so that it includes every cancel that has committed.
    IF EXISTS (SELECT FROM carillon.cancelled c WHERE c.app_id = app) THEN
        cancelled := cancelled || ARRAY(
            SELECT DISTINCT c.message_id FROM unnest(messages) AS m(id)
            JOIN carillon.cancelled c ON c.app_id = app AND c.message_id = m.id);
    END IF;
    IF cardinality(cancelled) > 0 AND NOT waits THEN
        BEGIN
            LOCK TABLE carillon.unfinished, carillon.results IN ROW EXCLUSIVE MODE NOWAIT;
            busy := carillon.lock_unfinished(app, cancelled);
        EXCEPTION
            WHEN lock_not_available THEN
                busy := cancelled;
        END;
    ELSIF cardinality(cancelled) > 0 THEN
        PERFORM FROM (SELECT DISTINCT t.id FROM unnest(cancelled || touched) AS t(id)) AS k
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = k.id ORDER BY u.message_id FOR UPDATE OF u;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.find_cancelled IS
    'Internal: returns which messages of an app were cancelled, and which are being cancelled, so that the outcome is not known '
    'yet.';
