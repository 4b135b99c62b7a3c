-- What became of messages: partitioned by day (UTC), made ahead of time, dropped by retention.

CREATE TABLE carillon.results (
    message_id   bigint NOT NULL,  -- the original's, whatever became of its retries
    app_id       integer NOT NULL,
    reference    text,
    broadcast_id bigint,
    sent         integer NOT NULL DEFAULT 0,
    failed       integer NOT NULL DEFAULT 0,
    expired      integer NOT NULL DEFAULT 0,
    cancelled    integer NOT NULL DEFAULT 0,
    attempts     integer NOT NULL DEFAULT 1,
    finished_at  timestamptz NOT NULL DEFAULT now()
) PARTITION BY RANGE (finished_at);
CREATE INDEX results_by_message ON carillon.results (message_id);
-- Hashed, because a reference may be longer than an ordered index takes.
CREATE INDEX results_by_reference ON carillon.results USING hash (reference) WHERE reference IS NOT NULL;
CREATE INDEX results_by_broadcast ON carillon.results (broadcast_id) WHERE broadcast_id IS NOT NULL;
-- Takes what no day takes; maintain() moves it on.
CREATE TABLE carillon.results_default PARTITION OF carillon.results DEFAULT;

CREATE TABLE carillon.failures (
    message_id      bigint NOT NULL,
    app_id          integer NOT NULL,
    token           text NOT NULL,
    status          smallint,  -- null: refused here, never sent
    reason          text NOT NULL,
    unregistered_at timestamptz,
    apns_id         uuid,
    attempt         smallint NOT NULL DEFAULT 1,
    reference       text,
    failed_at       timestamptz NOT NULL DEFAULT now(),
    requeued_at     timestamptz  -- by requeue_failures, as a message of its own
) PARTITION BY RANGE (failed_at);
CREATE INDEX failures_by_message ON carillon.failures (message_id);
CREATE INDEX failures_by_app ON carillon.failures (app_id, failed_at);
CREATE TABLE carillon.failures_default PARTITION OF carillon.failures DEFAULT;

-- What messages said whose failures may be mended, once a message and day; a dead token is beyond mending.
CREATE TABLE carillon.failed_messages (
    message_id  bigint NOT NULL,
    app_id      integer NOT NULL,
    lane        smallint NOT NULL,
    payload     json NOT NULL,
    push_type   text NOT NULL,
    priority    smallint,
    expires_at  timestamptz,
    collapse_id text,
    topic       text,
    reference   text,
    on_unknown  text NOT NULL,
    failed_at   timestamptz NOT NULL DEFAULT now()
) PARTITION BY RANGE (failed_at);
CREATE INDEX failed_messages_by_message ON carillon.failed_messages (message_id);
CREATE TABLE carillon.failed_messages_default PARTITION OF carillon.failed_messages DEFAULT;

-- Counts by minute, written by each worker with its heartbeat; app_status and dashboards read them.
CREATE TABLE carillon.activity (
    minute     timestamptz,
    app_id     integer,
    worker_id  bigint,
    sent       bigint NOT NULL DEFAULT 0,
    failed     bigint NOT NULL DEFAULT 0,
    expired    bigint NOT NULL DEFAULT 0,
    retried    bigint NOT NULL DEFAULT 0,
    bad_tokens bigint NOT NULL DEFAULT 0,  -- failed, as BadDeviceToken
    PRIMARY KEY (minute, app_id, worker_id)
);
ALTER TABLE carillon.activity SET (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000
);

-- Apps that were paused because most of their pushes failed as BadDeviceToken.
CREATE TABLE carillon.breakers (
    app_id            integer PRIMARY KEY CONSTRAINT breakers_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    opened_at         timestamptz NOT NULL DEFAULT now(),
    bad_tokens        bigint NOT NULL,
    pushes            bigint NOT NULL,
    closed_at         timestamptz,  -- when the app was resumed
    -- What had been counted of that minute by then.
    closed_bad_tokens bigint NOT NULL DEFAULT 0,
    closed_pushes     bigint NOT NULL DEFAULT 0
);

-- Makes the partition of one day. False: it is there already, or its lock was not to be had just now.
CREATE FUNCTION carillon.make_partition(parent text, day date) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    child text := parent || to_char(day, '_YYYYMMDD');
    time_column text := CASE parent WHEN 'results' THEN 'finished_at' ELSE 'failed_at' END;
    lower_bound timestamptz := day::timestamp AT TIME ZONE 'UTC';
    upper_bound timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    IF to_regclass(format('carillon.%I', child)) IS NOT NULL THEN
        RETURN false;
    END IF;
    -- Attaching locks the parent less than CREATE TABLE … PARTITION OF: rows go on coming in meanwhile.
    -- Hardly a row of it changes after it was written, and it is dropped whole: vacuum has no business there.
    EXECUTE format('CREATE TABLE carillon.%I (LIKE carillon.%I INCLUDING DEFAULTS INCLUDING INDEXES) '
        || 'WITH (autovacuum_vacuum_insert_threshold = -1)', child, parent);
    EXECUTE format('WITH moved AS (DELETE FROM carillon.%I WHERE %I >= %L AND %I < %L RETURNING *) '
        || 'INSERT INTO carillon.%I SELECT * FROM moved',
        parent || '_default', time_column, lower_bound, time_column, upper_bound, child);
    EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%L) TO (%L)',
        parent, child, lower_bound, upper_bound);
    RETURN true;
EXCEPTION
    WHEN lock_not_available OR deadlock_detected OR duplicate_table THEN
        RETURN false;
END
$$;

-- Drops one partition, unless somebody is reading it: then the next pass will.
CREATE FUNCTION carillon.drop_partition(child text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '500ms' AS $$
BEGIN
    EXECUTE format('DROP TABLE carillon.%I', child);
    RETURN true;
EXCEPTION
    WHEN lock_not_available OR deadlock_detected OR undefined_table THEN
        RETURN false;
END
$$;

-- Makes the partitions of today and the three days after, drops those that ended longer ago than the retention, and
-- deletes what else has outlived it. Runs as its owner: only the owner of a table can make or drop its partitions.
CREATE FUNCTION carillon.maintain(
    retention interval DEFAULT '7 days',
    OUT partitions_made integer,
    OUT partitions_dropped integer,
    OUT rows_deleted bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    horizon timestamptz := now() - retention;
    ahead integer;
    parent text;
    child text;
    deleted bigint;
BEGIN
    partitions_made := 0;
    partitions_dropped := 0;
    rows_deleted := 0;
    IF retention IS NULL OR retention < interval '1 hour' THEN
        RAISE EXCEPTION 'retention is %, it takes an interval of 1 hour or more', coalesce(retention::text, 'null')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('carillon.maintain', 0)) THEN
        RETURN;  -- another session is at it
    END IF;
    FOREACH parent IN ARRAY ARRAY['results', 'failures', 'failed_messages'] LOOP
        FOR ahead IN 0..3 LOOP
            partitions_made := partitions_made + carillon.make_partition(parent, today + ahead)::int;
        END LOOP;
        FOR child IN
            SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = format('carillon.%I', parent)::regclass AND c.relname ~ ('^' || parent || '_[0-9]{8}$')
              AND (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp AT TIME ZONE 'UTC' <= horizon
            ORDER BY c.relname
        LOOP
            partitions_dropped := partitions_dropped + carillon.drop_partition(child)::int;
        END LOOP;
    END LOOP;

    DELETE FROM carillon.results_default r WHERE r.finished_at < horizon;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    rows_deleted := rows_deleted + deleted;
    DELETE FROM carillon.failures_default f WHERE f.failed_at < horizon;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    rows_deleted := rows_deleted + deleted;
    DELETE FROM carillon.failed_messages_default m WHERE m.failed_at < horizon;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    rows_deleted := rows_deleted + deleted;
    DELETE FROM carillon.cancelled c WHERE c.cancelled_at < horizon;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    rows_deleted := rows_deleted + deleted;
    DELETE FROM carillon.activity a WHERE a.minute < greatest(horizon, now() - interval '1 day');
    GET DIAGNOSTICS deleted = ROW_COUNT;
    rows_deleted := rows_deleted + deleted;
    DELETE FROM carillon.dedupe d WHERE d.until <= now();
    GET DIAGNOSTICS deleted = ROW_COUNT;
    rows_deleted := rows_deleted + deleted;
    DELETE FROM carillon.feedback f WHERE f.handled_at < horizon;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    rows_deleted := rows_deleted + deleted;
    -- A broadcast is forgotten with the results of its jobs.
    DELETE FROM carillon.broadcasts b WHERE b.created_at < horizon
        AND NOT EXISTS (SELECT FROM carillon.results r WHERE r.broadcast_id = b.id)
        AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.broadcast_id = b.id)
        AND NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.broadcast_id = b.id)
        AND NOT EXISTS (
            SELECT FROM carillon.messages m WHERE m.app_id = b.app_id AND m.lane = b.lane
            AND m.id BETWEEN b.id AND b.last_id AND m.broadcast_id = b.id);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    rows_deleted := rows_deleted + deleted;
END
$$;

DO $$ BEGIN PERFORM carillon.maintain(); END $$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (5, 'history');
