-- What became of messages. Partitioned by day (UTC): maintenance makes the partitions ahead of time, and drops them after the
-- retention.

CREATE TABLE carillon.results (
    message_id   bigint NOT NULL,
    app_id       integer NOT NULL,
    reference    text,
    broadcast_id bigint,
    sent         integer NOT NULL DEFAULT 0,
    failed       integer NOT NULL DEFAULT 0,
    expired      integer NOT NULL DEFAULT 0,
    cancelled    integer NOT NULL DEFAULT 0,
    attempts     integer NOT NULL DEFAULT 1,
    finished_at  timestamptz NOT NULL DEFAULT now(),
    created_at   timestamptz,
    worker_id    bigint,
    -- Of pushes that expired or were cancelled after an attempt: its outcome. Those of failed pushes are in failures.
    last_status  smallint,
    last_reason  text,
    apns_unique_ids jsonb
) PARTITION BY RANGE (finished_at);
CREATE INDEX results_by_message ON carillon.results (message_id);
-- Unlike a B-tree, SP-GiST takes references of any length. Unlike a hash index, it does not slow down when many rows
-- have the same one.
CREATE INDEX results_by_reference ON carillon.results USING spgist (reference) WHERE reference IS NOT NULL;
CREATE INDEX results_by_broadcast ON carillon.results (broadcast_id) WHERE broadcast_id IS NOT NULL;
-- Takes rows of days without a partition. make_partitions() turns it into one.
CREATE TABLE carillon.results_default PARTITION OF carillon.results DEFAULT;
-- Otherwise a publication FOR ALL TABLES would refuse every DELETE and UPDATE. A key would cost each INSERT more.
ALTER TABLE carillon.results REPLICA IDENTITY FULL;
ALTER TABLE carillon.results_default REPLICA IDENTITY FULL;
COMMENT ON TABLE carillon.results IS
    'A row for each job that has ended. A message of more than 1,000 tokens has several.';
COMMENT ON COLUMN carillon.results.message_id IS 'the id of the job; of a message of one job, that of the message';
COMMENT ON COLUMN carillon.results.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.results.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.results.broadcast_id IS 'the id of the message, if it was split into jobs; otherwise null';
COMMENT ON COLUMN carillon.results.sent IS
    'pushes that APNs answered with 200; with the protocol binary, those after which no error came';
COMMENT ON COLUMN carillon.results.failed IS 'pushes that failed; each has a row of failures';
COMMENT ON COLUMN carillon.results.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.results.cancelled IS 'pushes that were cancelled, or superseded by a newer update';
COMMENT ON COLUMN carillon.results.attempts IS 'the highest number of attempts of a push';
COMMENT ON COLUMN carillon.results.finished_at IS 'when its last push ended';
COMMENT ON COLUMN carillon.results.created_at IS 'when it was enqueued';
COMMENT ON COLUMN carillon.results.worker_id IS
    'the worker that settled its last push; null: it ended otherwise, for example cancelled, superseded or taken over';
COMMENT ON COLUMN carillon.results.last_status IS
    'the last status of a push that expired or was cancelled; null: no answer, or no attempt';
COMMENT ON COLUMN carillon.results.last_reason IS 'the reason of that attempt, or Superseded; null: no attempt';
COMMENT ON COLUMN carillon.results.apns_unique_ids IS
    'of an app with keep_unique_ids: the apns-unique-id of each device token that was sent, as {"token": "id"}';

CREATE TABLE carillon.failures (
    message_id      bigint NOT NULL,
    app_id          integer NOT NULL,
    token           text NOT NULL,
    status          smallint,
    reason          text NOT NULL,
    unregistered_at timestamptz,
    apns_id         uuid,
    attempt         smallint NOT NULL DEFAULT 1,
    reference       text,
    failed_at       timestamptz NOT NULL DEFAULT now(),
    requeued_at     timestamptz,
    broadcast_id    bigint,
    apns_unique_id  uuid,
    dismissed_at    timestamptz
) PARTITION BY RANGE (failed_at);
CREATE INDEX failures_by_message ON carillon.failures (message_id);
CREATE INDEX failures_by_app ON carillon.failures (app_id, failed_at);
-- Failures that are the only record of their messages: see end_unrecorded().
CREATE INDEX failures_unrecorded ON carillon.failures USING spgist (reference) WHERE reason = 'Unrecorded';
CREATE INDEX failures_by_broadcast ON carillon.failures (broadcast_id, message_id) WHERE broadcast_id IS NOT NULL;
CREATE TABLE carillon.failures_default PARTITION OF carillon.failures DEFAULT;
ALTER TABLE carillon.failures REPLICA IDENTITY FULL;
ALTER TABLE carillon.failures_default REPLICA IDENTITY FULL;
COMMENT ON TABLE carillon.failures IS 'A row for each push that failed, even if others of its message wait.';
COMMENT ON COLUMN carillon.failures.message_id IS 'as in results';
COMMENT ON COLUMN carillon.failures.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.failures.token IS 'the device token';
COMMENT ON COLUMN carillon.failures.status IS 'what APNs answered; null: refused before it was sent, or no answer came';
COMMENT ON COLUMN carillon.failures.reason IS 'the reason of APNs, or one of Carillon';
COMMENT ON COLUMN carillon.failures.unregistered_at IS 'of a 410: when the device token became unregistered';
COMMENT ON COLUMN carillon.failures.apns_id IS 'the apns-id of the push';
COMMENT ON COLUMN carillon.failures.attempt IS 'the number of its last attempt';
COMMENT ON COLUMN carillon.failures.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.failures.failed_at IS 'when it failed';
COMMENT ON COLUMN carillon.failures.requeued_at IS 'when requeue_failures sent it again; null: never';
COMMENT ON COLUMN carillon.failures.broadcast_id IS
    'the id of the split message, if results has no row of the job; otherwise null';
COMMENT ON COLUMN carillon.failures.apns_unique_id IS
    'of an app with keep_unique_ids: the apns-unique-id of its last answer, which only the sandbox sends';
COMMENT ON COLUMN carillon.failures.dismissed_at IS 'when a person marked it as needing no action; null: never';

-- The content of messages with failures that can be sent again, one row for a message and day. Dead tokens need none.
-- Where each token has a payload of its own, a row has those of the tokens that failed together.
CREATE TABLE carillon.failed_messages (
    message_id  bigint NOT NULL,
    app_id      integer NOT NULL,
    lane        smallint NOT NULL,
    payload     json,
    tokens      text[],  -- in lower case; null: all have the payload
    payloads    json[],
    push_type   text NOT NULL,
    priority    smallint,
    expires_at  timestamptz,
    collapse_id text,
    topic       text,
    reference   text,
    on_unknown  text NOT NULL,
    failed_at   timestamptz NOT NULL DEFAULT now(),
    -- Also its replica identity: a subscriber cannot compare whole rows that contain json.
    PRIMARY KEY (app_id, message_id, failed_at)
) PARTITION BY RANGE (failed_at);
CREATE TABLE carillon.failed_messages_default PARTITION OF carillon.failed_messages DEFAULT;

-- Counts by minute. Each worker writes them once a second and not in each settlement: while a long transaction keeps
-- old versions of a row, a row that is updated that often becomes slow to find.
CREATE TABLE carillon.activity (
    minute     timestamptz,
    app_id     integer,
    worker_id  bigint,
    sent       bigint NOT NULL DEFAULT 0,
    failed     bigint NOT NULL DEFAULT 0,
    expired    bigint NOT NULL DEFAULT 0,
    retried    bigint NOT NULL DEFAULT 0,
    bad_tokens bigint NOT NULL DEFAULT 0,
    bad_topics bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, minute, worker_id)
);
ALTER TABLE carillon.activity SET (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000
);
COMMENT ON TABLE carillon.activity IS
    'Counts of pushes by minute, app and worker. Each worker writes them once a second: the last second of a worker that '
    'was killed is missing here, but not in results.';
COMMENT ON COLUMN carillon.activity.minute IS 'the minute in which they ended';
COMMENT ON COLUMN carillon.activity.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.activity.worker_id IS 'the worker that sent them';
COMMENT ON COLUMN carillon.activity.sent IS 'pushes that APNs answered with 200';
COMMENT ON COLUMN carillon.activity.failed IS 'pushes that failed for good';
COMMENT ON COLUMN carillon.activity.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.activity.retried IS 'attempts that were followed by another';
COMMENT ON COLUMN carillon.activity.bad_tokens IS 'failed pushes with BadDeviceToken';
COMMENT ON COLUMN carillon.activity.bad_topics IS 'failed pushes whose topic was refused, such as TopicDisallowed';

-- A day of many apps and workers is a million rows of activity; of these sums it is some thousands.
CREATE TABLE carillon.activity_sums (
    start   timestamptz,
    app_id  integer,
    sent    bigint NOT NULL,
    failed  bigint NOT NULL,
    expired bigint NOT NULL,
    retried bigint NOT NULL,
    PRIMARY KEY (app_id, start)
);
COMMENT ON TABLE carillon.activity_sums IS
    'Sums of activity by 20 minutes and app, for charts. Maintenance makes them, so those of the last hours can be missing.';
COMMENT ON COLUMN carillon.activity_sums.start IS 'when the 20 minutes began';
COMMENT ON COLUMN carillon.activity_sums.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.activity_sums.sent IS 'pushes that APNs answered with 200';
COMMENT ON COLUMN carillon.activity_sums.failed IS 'pushes that failed for good';
COMMENT ON COLUMN carillon.activity_sums.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.activity_sums.retried IS 'attempts that were followed by another';

-- Whether a message has ended and no push of it can have arrived: each was cancelled or expired, and each attempt had
-- an answer.
CREATE FUNCTION carillon.ended_unsent(app integer, message bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(r.cancelled + r.expired) > 0 AND sum(r.sent + r.failed) = 0
        AND sum(r.cancelled + r.expired) >= coalesce(
            (SELECT b.tokens FROM carillon.broadcasts b
            WHERE b.app_id = ended_unsent.app AND b.id = ended_unsent.message), 0)
        AND NOT bool_or(EXISTS (
            SELECT FROM carillon.unknown_outcomes u WHERE u.app_id = r.app_id AND u.message_id = r.message_id)), false)
    FROM (
        SELECT m.* FROM carillon.results m
        WHERE m.message_id = ended_unsent.message AND m.broadcast_id IS NULL
        UNION ALL
        SELECT p.* FROM carillon.results p WHERE p.broadcast_id = ended_unsent.message
    ) AS r
    WHERE r.app_id = ended_unsent.app
$$;

-- Takes a dedupe key for an interval that begins when the message is due. Returns the message that holds it: another
-- one, if its interval is not over and it may have been sent. Callers with one key wait for each other, so exactly
-- one enqueues.
CREATE FUNCTION carillon.take_key(
    app_id integer, key text, period interval, run_at timestamptz, message_id bigint
) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO carillon.dedupe AS d (app_id, key, message_id, until)
    VALUES (take_key.app_id, take_key.key, take_key.message_id,
        greatest(now(), run_at) + coalesce(period, interval '1 day'))
    ON CONFLICT (app_id, key) DO UPDATE SET message_id = excluded.message_id, until = excluded.until, request = NULL
        WHERE d.until <= now() OR carillon.ended_unsent(d.app_id, d.message_id);
    IF FOUND THEN
        RETURN take_key.message_id;
    END IF;
    RETURN (SELECT d.message_id FROM carillon.dedupe d WHERE d.app_id = take_key.app_id AND d.key = take_key.key);
END
$$;

-- The partitions of a table of history and their bounds. The default partition has none.
CREATE FUNCTION carillon.partitions(parent text) RETURNS TABLE (name text, lower_bound timestamptz, upper_bound timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC' AS $$
    SELECT c.relname, coalesce(substring(b.text FROM 'FROM \(''([^'']+)''\)')::timestamptz,
            CASE WHEN b.text <> 'DEFAULT' THEN '-infinity'::timestamptz END),
        substring(b.text FROM 'TO \(''([^'']+)''\)')::timestamptz
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid)) AS b(text)
    WHERE i.inhparent = format('carillon.%I', partitions.parent)::regclass
$$;

-- Makes a table that can become a partition, with the constraints, indexes and columns that users have added.
-- Attaching it later locks the parent less than CREATE TABLE … PARTITION OF. Rows hardly change and the table is
-- dropped whole, so inserts do not start a vacuum.
CREATE FUNCTION carillon.make_table(parent text, child text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    EXECUTE format('CREATE TABLE carillon.%I (LIKE carillon.%I INCLUDING ALL EXCLUDING IDENTITY EXCLUDING COMMENTS) '
        || 'WITH (autovacuum_vacuum_insert_threshold = -1)', child, parent);
    IF (SELECT c.relreplident = 'f' FROM pg_class c WHERE c.oid = format('carillon.%I', parent)::regclass) THEN
        EXECUTE format('ALTER TABLE carillon.%I REPLICA IDENTITY FULL', child);
    END IF;
END
$$;

-- Makes the partitions of today and the three days after.
--
-- If the default partition has rows, no partition of today can be attached beside it. Then no row moves: the default
-- partition becomes the partition of the days up to now, and an empty one takes its place. PostgreSQL reads the whole
-- partition to prove that its rows are of those days. If that takes long, a CHECK that blocks no writer proves it
-- first; then each call does one step in its own transaction and returns `more`. The CHECK must be gone before the end
-- of the day that it names, so that day ends at least two hours from now.
--
-- The ACCESS EXCLUSIVE locks never block others for long: a request waits for lock_timeout at most, a second one does
-- not wait at all, and nothing is awaited while one is held. PostgreSQL refuses DETACH PARTITION CONCURRENTLY beside
-- a default partition.
CREATE FUNCTION carillon.make_partitions(parent text, OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET datestyle = 'ISO' SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
    small CONSTANT bigint := 32 * 1024 * 1024;  -- bytes: read in about ten milliseconds
    time_column CONSTANT text := CASE parent WHEN 'results' THEN 'finished_at' ELSE 'failed_at' END;
    spare CONSTANT text := parent || '_default';
    days date[] := ARRAY(
        SELECT d.day::date FROM generate_series(now()::date, now()::date + 3, interval '1 day') AS d(day)
        WHERE NOT EXISTS (SELECT FROM carillon.partitions(parent) p WHERE p.lower_bound <= d.day AND p.upper_bound > d.day)
        ORDER BY d.day);
    is_used boolean := false;
    lower_bound timestamptz;
    upper_bound timestamptz;
    holds text;  -- the condition for rows within the bounds
    proof text;  -- the name of the CHECK
    old_proof text;
    is_proven boolean;
    child text;
    columns text;
    day date;
BEGIN
    changed := 0;
    more := false;
    IF days[1] = now()::date THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM carillon.%I)', spare) INTO is_used;
    END IF;
    IF is_used THEN
        SELECT max(p.upper_bound) FILTER (WHERE p.upper_bound <= days[1]), least(
            min(p.lower_bound) FILTER (WHERE p.lower_bound > days[1]), (now() + interval '2 hours')::date + 1)
        INTO lower_bound, upper_bound FROM carillon.partitions(parent) p;
        holds := format('%I < %L', time_column, upper_bound)
            || coalesce(format(' AND %I >= %L', time_column, lower_bound), '');
        proof := 'days_up_to_' || to_char(upper_bound, 'YYYYMMDD');
    END IF;
    SELECT c.conname, c.convalidated INTO old_proof, is_proven FROM pg_constraint c
    WHERE c.conrelid = format('carillon.%I', spare)::regclass AND c.conname ~ '^days_up_to_[0-9]{8}$';
    IF old_proof IS DISTINCT FROM proof AND old_proof IS NOT NULL THEN
        -- Left by a worker that died.
        EXECUTE format('ALTER TABLE carillon.%I DROP CONSTRAINT %I', spare, old_proof);
        is_proven := NULL;
    END IF;

    IF is_used AND is_proven IS NOT TRUE AND pg_relation_size(format('carillon.%I', spare)::regclass) > small THEN
        IF is_proven IS NULL THEN
            EXECUTE format('ALTER TABLE carillon.%I ADD CONSTRAINT %I CHECK (%s) NOT VALID', spare, proof, holds);
            more := true;
            RETURN;
        END IF;
        BEGIN
            EXECUTE format('ALTER TABLE carillon.%I VALIDATE CONSTRAINT %I', spare, proof);
            more := true;
            RETURN;
        EXCEPTION
            WHEN check_violation THEN
                NULL;  -- rows of other days, which are moved below
        END;
    END IF;

    FOREACH day IN ARRAY days LOOP
        CONTINUE WHEN day < upper_bound;
        PERFORM carillon.make_table(parent, parent || to_char(day, '_YYYYMMDD'));
    END LOOP;
    IF is_used THEN
        child := parent || to_char(upper_bound - interval '1 day', '_YYYYMMDD');
        PERFORM carillon.make_table(parent, parent || '_next');
        EXECUTE format('LOCK TABLE ONLY carillon.%I IN ACCESS EXCLUSIVE MODE', parent);
        EXECUTE format('LOCK TABLE carillon.%I IN ACCESS EXCLUSIVE MODE NOWAIT', spare);
        EXECUTE format('ALTER TABLE carillon.%I DETACH PARTITION carillon.%I', parent, spare);
        EXECUTE format('ALTER TABLE carillon.%I RENAME TO %I', spare, child);
        EXECUTE format('ALTER TABLE carillon.%I RENAME TO %I', parent || '_next', spare);
        IF is_proven IS NOT TRUE THEN
            SELECT string_agg(quote_ident(a.attname), ', ') INTO columns FROM pg_attribute a
            WHERE a.attrelid = format('carillon.%I', parent)::regclass AND a.attnum > 0 AND NOT a.attisdropped
                AND a.attgenerated = '';
            EXECUTE format('WITH moved AS (DELETE FROM carillon.%I WHERE NOT (%s) RETURNING *) '
                || 'INSERT INTO carillon.%I (%s) SELECT %s FROM moved', child, holds, spare, columns, columns);
        END IF;
        EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%s) TO (%L)',
            parent, child, coalesce(quote_literal(lower_bound), 'MINVALUE'), upper_bound);
        EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I DEFAULT', parent, spare);
        IF is_proven IS NOT NULL THEN
            EXECUTE format('ALTER TABLE carillon.%I DROP CONSTRAINT %I', child, proof);
        END IF;
        changed := 1;
    END IF;
    FOREACH day IN ARRAY days LOOP
        CONTINUE WHEN day < upper_bound;
        EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%L) TO (%L)',
            parent, parent || to_char(day, '_YYYYMMDD'), day::timestamptz, (day + 1)::timestamptz);
        changed := changed + 1;
    END LOOP;
END
$$;

DO $$ BEGIN PERFORM carillon.make_partitions(t.parent) FROM unnest('{results,failures,failed_messages}'::text[]) AS t(parent);
END $$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (4, 'history');
