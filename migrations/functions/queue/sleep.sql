-- Sleep: a worker that has nothing to do asks nothing until a transaction that brings work notifies it.
--
-- NOTIFY takes a lock on the whole cluster until the commit is on disk, so transactions notify only while workers sleep: until
-- the time in the sequence asleep. A sleeping worker sets it, and sets it again with each of its slow looks, so that it ends soon
-- after the last sleeper has died. While any worker is awake it is in the past: a worker that wakes clears it.
--
-- A transaction that read it before it was set does not notify. It holds the lock that its INSERT took until it ends. A worker
-- that falls asleep therefore reads which transactions hold such locks, waits until they have ended, and looks once more before
-- it relies on notifications.

-- Notifies the workers, at the commit. The trigger's condition reads the flag and not the time, because PostgreSQL prepares it anew
-- for each statement. The sequence is found in the catalog: whoever inserts through a view need not be allowed to name anything in
-- this schema.
CREATE OR REPLACE FUNCTION carillon.wake_sleepers() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    asleep CONSTANT pg_catalog.oid := (
        SELECT s.oid FROM pg_catalog.pg_class s JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) s.relnamespace
        WHERE n.nspname OPERATOR(pg_catalog.=) 'carillon' AND s.relname OPERATOR(pg_catalog.=) 'asleep');
BEGIN
    IF pg_catalog.float8(pg_catalog.pg_sequence_last_value(asleep)) OPERATOR(pg_catalog.>)
        pg_catalog.date_part('epoch', pg_catalog.now())
    THEN
        NOTIFY carillon_work;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.wake_sleepers IS 'Internal: notifies sleeping workers of a change that may bring work.';

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.waking_tables() RETURNS TABLE (relation regclass, events text)
LANGUAGE sql STABLE AS $$
    VALUES ('carillon.messages'::pg_catalog.regclass, 'INSERT'),
        ('carillon.scheduled'::pg_catalog.regclass, 'INSERT'),
        ('carillon.apps'::pg_catalog.regclass, 'INSERT OR UPDATE OR DELETE'),
        ('carillon.certificates'::pg_catalog.regclass, 'INSERT OR UPDATE OR DELETE'),
        ('carillon.channels'::pg_catalog.regclass, 'INSERT OR UPDATE')
$$;
COMMENT ON FUNCTION carillon.waking_tables IS 'Internal: returns the tables whose changes bring work, with these changes.';

-- CREATE TRIGGER locks its table against writers, so triggers that are there are left alone. Their operators are qualified because
-- this file may be applied on any search_path.
DO $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('CREATE TRIGGER wake_sleepers AFTER %s ON %s FOR EACH STATEMENT WHEN '
            '(pg_catalog.pg_sequence_last_value(''carillon.asleep'') OPERATOR(pg_catalog.>) 1) '
            'EXECUTE FUNCTION carillon.wake_sleepers()', w.events, w.relation)
        FROM carillon.waking_tables() w
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = w.relation AND t.tgname = 'wake_sleepers')
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;

-- A transaction that has changed a table holds its lock until it ends, even if it is prepared.
CREATE OR REPLACE FUNCTION carillon.sleep_holders() RETURNS text[]
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT l.virtualtransaction), '{}')
    FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
    WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
        AND l.relation IN (SELECT w.relation FROM carillon.waking_tables() w)
$$;
COMMENT ON FUNCTION carillon.sleep_holders IS
    'Internal: returns the transactions that may have changed a table whose changes bring work.';

-- What a worker would miss if it slept, and in how many microseconds the next thing is due. It reads the clock, not now(), because
-- fall_asleep() calls it twice in one transaction.
--
-- `fingerprint` is what the worker knows of apps and credentials; `skipped` are apps that it cannot send for now; `tasks` are names
-- of fleet_tasks that it does, with their intervals in seconds or null for that of the row, and 'channels' if it makes channels.
CREATE OR REPLACE FUNCTION carillon.waiting_work(
    worker bigint, fingerprint bigint[], skipped integer[], tasks text[], intervals double precision[],
    OUT work text, OUT due_in bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    clock CONSTANT timestamptz := clock_timestamp();
    due_at timestamptz;
    app bigint := -2147483649;
BEGIN
    SELECT least(
        (SELECT s.run_at FROM carillon.scheduled s ORDER BY s.run_at, s.id LIMIT 1),
        -- Null for a task that this worker has begun and not ended, which it repeats by itself.
        (SELECT min(carillon.task_due_at(c, t.seconds, clock))
            FROM unnest(tasks, intervals) AS t(name, seconds) JOIN carillon.fleet_tasks c ON c.name = t.name),
        (SELECT min(c.next_attempt_at) FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id AND NOT a.paused
            WHERE c.state IN ('requested', 'removing') AND 'channels' = ANY (tasks)))
    INTO due_at;
    IF due_at <= clock THEN
        due_in := 0;
        work := 'due';
        RETURN;
    END IF;
    due_in := extract(epoch FROM least(due_at, clock + interval '1 day') - clock) * 1000000;
    IF EXISTS (SELECT FROM carillon.inflight f WHERE f.worker_id = worker) OR EXISTS (SELECT FROM carillon.gone_workers()) THEN
        work := 'claims';
        RETURN;
    END IF;
    IF fingerprint IS DISTINCT FROM carillon.apps_fingerprint() THEN
        work := 'apps';
        RETURN;
    END IF;
    LOOP
        SELECT m.app_id INTO app FROM carillon.messages m WHERE m.app_id > app ORDER BY m.app_id, m.lane, m.id LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF app <> ALL (skipped) AND (SELECT a.paused FROM carillon.apps a WHERE a.id = app) IS NOT TRUE THEN
            work := 'messages';
            RETURN;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.waiting_work IS
    'Internal: returns why a worker must not sleep, if it must not, and when the next thing is due.';

-- Marks the worker as asleep and renews its lease, unless there is work, which is then returned. While it sleeps, it calls again
-- now and then: these are its slow looks and its heartbeats.
--
-- - `lease` is in seconds.
-- - `holders`: open transactions that may bring work but will not notify. Until they have ended, the worker calls again soon and
--   passes them as `waits_for`, which is null if the worker has read none since another worker was awake.
-- - `others_awake`: while it is true, no transaction notifies, so the worker calls again within a second.
-- - `may_sleep`: false if a notifying trigger is disabled, or if max_prepared_transactions is above 0, because PostgreSQL cannot
--   prepare a transaction that has notified.
-- - `alive`: false if the worker was declared dead, and null if nothing was written.
CREATE OR REPLACE FUNCTION carillon.fall_asleep(
    worker bigint, lease double precision, waits_for text[], fingerprint bigint[], skipped integer[], tasks text[],
    intervals double precision[],
    OUT may_sleep boolean, OUT alive boolean, OUT work text, OUT due_in bigint, OUT holders text[], OUT others_awake boolean,
    OUT fault text, OUT cluster bigint, OUT timeline integer, OUT flushed bigint,
    OUT others bigint[], OUT beats bigint[], OUT leases bigint[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    -- Three slow looks of the slowest worker.
    notified CONSTANT interval := '90 s';
    slept CONSTANT timestamptz := (SELECT w.asleep_since FROM carillon.workers w WHERE w.id = worker);
    is_set boolean;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT p.fault, p.cluster, p.timeline, p.flushed INTO fault, cluster, timeline, flushed FROM carillon.installation_state() AS p;
    may_sleep := current_setting('max_prepared_transactions')::integer = 0 AND NOT EXISTS (
        SELECT FROM carillon.waking_tables() t WHERE NOT EXISTS (
            SELECT FROM pg_trigger g WHERE g.tgrelid = t.relation AND g.tgname = 'wake_sleepers' AND g.tgenabled IN ('O', 'A')));
    others_awake := false;
    holders := '{}';
    IF NOT may_sleep THEN
        RETURN;
    ELSIF slept IS NULL THEN
        -- Before transactions are made to notify.
        SELECT w.work, w.due_in INTO work, due_in
        FROM carillon.waiting_work(worker, fingerprint, skipped, tasks, intervals) AS w;
        IF work IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    UPDATE carillon.workers w SET beat = w.beat + 1, heartbeat_at = now(), lease_until = now() + make_interval(secs => lease),
        settles_by = NULL, asleep_since = coalesce(w.asleep_since, now()),
        -- They are about the last minute.
        waits = CASE WHEN w.asleep_since < now() - interval '1 minute' THEN NULL ELSE w.waits END,
        answers = CASE WHEN w.asleep_since < now() - interval '1 minute' THEN NULL ELSE w.answers END
    WHERE w.id = worker;
    alive := FOUND;
    IF NOT alive THEN
        RETURN;
    END IF;
    others_awake := EXISTS (SELECT FROM carillon.workers w WHERE w.id <> worker AND w.asleep_since IS NULL);
    IF NOT others_awake THEN
        is_set := pg_sequence_last_value('carillon.asleep') > extract(epoch FROM clock_timestamp());
        PERFORM setval('carillon.asleep', ceil(extract(epoch FROM clock_timestamp() + notified))::bigint);
        -- One that has woken meanwhile clears it after it has marked itself as awake.
        others_awake := EXISTS (SELECT FROM carillon.workers w WHERE w.id <> worker AND w.asleep_since IS NULL);
        IF others_awake THEN
            PERFORM setval('carillon.asleep', 1);
        ELSIF waits_for IS NULL OR is_set IS NOT TRUE THEN
            holders := carillon.sleep_holders();
        ELSIF waits_for <> '{}' THEN
            holders := ARRAY(SELECT unnest(waits_for) INTERSECT SELECT unnest(carillon.sleep_holders()));
        END IF;
    END IF;
    -- The last look.
    SELECT w.work, w.due_in INTO work, due_in FROM carillon.waiting_work(worker, fingerprint, skipped, tasks, intervals) AS w;
    SELECT coalesce(array_agg(w.id), '{}'), coalesce(array_agg(w.beat), '{}'),
        coalesce(array_agg((extract(epoch FROM w.lease) * 1000000)::bigint), '{}')
    INTO others, beats, leases FROM carillon.worker_status w WHERE w.id <> worker;
END
$$;
COMMENT ON FUNCTION carillon.fall_asleep IS
    'Internal: marks a worker as asleep unless there is work, and returns what the worker must know.';
