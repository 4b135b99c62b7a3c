-- Live Activities: what starts, updates and ends them.
--
-- APNs keeps no order, and a retry may be sent hours after a later update. Two tables keep the order of the updates of
-- a token. Callers only insert: a row for each update that is not sent yet. Workers only upsert: a row for each token,
-- with the update that was sent last and its timestamp. So no caller ever waits for another, or for a worker.
--
-- A token here may also stand for something else that is updated, such as a channel.

-- Updates that no worker has sent yet.
CREATE TABLE carillon.activity_updates (
    app_id     integer,
    token      text,
    message_id bigint,
    due_at     timestamptz NOT NULL,  -- and then message_id: the order of the updates
    PRIMARY KEY (app_id, token, message_id)
);
ALTER TABLE carillon.activity_updates SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.activity_updates IS
    'Updates of Live Activities that are not sent yet, a row a token. update_activity and end_activity write it.';
COMMENT ON COLUMN carillon.activity_updates.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.activity_updates.token IS 'the token of the activity';
COMMENT ON COLUMN carillon.activity_updates.message_id IS 'the message';
COMMENT ON COLUMN carillon.activity_updates.due_at IS
    'when it was enqueued, or its run_at: only an update that is due replaces an older one';

-- The latest update of each token that a worker has sent or is about to send.
CREATE TABLE carillon.activity_stamps (
    app_id     integer,
    token      text,
    message_id bigint NOT NULL,
    due_at     timestamptz NOT NULL,
    highest    bigint NOT NULL,  -- the highest id of the messages that were ordered: all of them have lost their rows
    stamp      bigint NOT NULL,  -- what the payload says: seconds since 1970
    PRIMARY KEY (app_id, token)
);
ALTER TABLE carillon.activity_stamps SET (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.activity_stamps IS 'The update of each Live Activity that was sent last, a row a token.';
COMMENT ON COLUMN carillon.activity_stamps.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.activity_stamps.token IS 'the token of the activity';
COMMENT ON COLUMN carillon.activity_stamps.message_id IS 'the message';
COMMENT ON COLUMN carillon.activity_stamps.due_at IS 'its place in the order of the updates';
COMMENT ON COLUMN carillon.activity_stamps.highest IS
    'the highest id of its updates: an older one that comes back for a retry is not sent';
COMMENT ON COLUMN carillon.activity_stamps.stamp IS 'the timestamp that it was sent with, in seconds since 1970';

-- Notes an update of tokens in the transaction that enqueues it. The message of a push is its job's id, or the one that
-- the job is a part or a retry of.
CREATE FUNCTION carillon.note_update(app integer, message bigint, tokens text[], due timestamptz) RETURNS void
-- One plan for all values, by an index: a plan made while a table was small would be wrong when it is large.
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO carillon.activity_updates (app_id, token, message_id, due_at)
    -- It is newer than what was sent, even if the clock was set back since.
    SELECT app, t.token, message, greatest(due, (
        SELECT s.due_at FROM carillon.activity_stamps s WHERE s.app_id = app AND s.token = t.token))
    FROM (SELECT DISTINCT lower(u.token) AS token FROM unnest(tokens) AS u(token)) AS t;
END
$$;
COMMENT ON FUNCTION carillon.note_update IS 'Internal: notes an update, so that none that is older is sent after it.';

-- Takes pushes out of a claim: those without a wait have ended as superseded, the others are sent later. What is left
-- of a job keeps its id, and becomes a part of the message of that id. The caller has locked the claim's row and read
-- its jobs.
CREATE FUNCTION carillon.withdraw(
    app integer, claim bigint, held carillon.job[], job bigint[], token text[], wait integer[] DEFAULT '{}'
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    rest carillon.job[];
    ended carillon.job[];
    later carillon.job[];
    waits integer[];
    begun record;
BEGIN
    WITH leaving AS MATERIALIZED (
        SELECT DISTINCT l.job, lower(l.token) AS token, l.wait
        FROM unnest(withdraw.job, withdraw.token, withdraw.wait) AS l(job, token, wait)
    ), divided AS MATERIALIZED (
        SELECT d.*, count(*) OVER (PARTITION BY d.id) AS pieces FROM (
            SELECT t.id, l.job IS NULL AS stays, l.wait, array_agg(t.token ORDER BY t.place) AS tokens
            FROM (
                -- Upper and lower case are the same token, as when a claim is read.
                SELECT DISTINCT ON (j.id, lower(u.token)) j.id, u.token, u.place
                FROM unnest(held) AS j CROSS JOIN LATERAL unnest(j.tokens) WITH ORDINALITY AS u(token, place)
                ORDER BY j.id, lower(u.token), u.place
            ) AS t
            LEFT JOIN leaving l ON l.job = t.id AND l.token = lower(t.token)
            GROUP BY t.id, l.job IS NULL, l.wait
        ) AS d
    ), made AS (
        SELECT d.stays, d.wait, ROW(
            CASE WHEN d.wait IS NULL OR d.pieces = 1 THEN j.id ELSE nextval('carillon.messages_id_seq') END, j.lane,
            d.tokens, j.payload, carillon.payloads_of(j, d.tokens), j.push_type, j.priority, j.expires_at, j.collapse_id,
            j.topic, j.reference, j.on_unknown, j.attempt, j.claims,
            CASE WHEN d.pieces = 1 THEN j.origin ELSE coalesce(j.origin, j.id) END, j.broadcast_id, j.created_at,
            CASE WHEN d.stays OR d.wait IS NOT NULL THEN j.last_status END,
            CASE WHEN d.stays OR d.wait IS NOT NULL THEN j.last_reason ELSE 'Superseded' END)::carillon.job AS made
        FROM divided d JOIN unnest(held) AS j ON j.id = d.id
    )
    SELECT coalesce(array_agg(m.made ORDER BY (m.made).id) FILTER (WHERE m.stays), '{}'),
        coalesce(array_agg(m.made) FILTER (WHERE NOT m.stays AND m.wait IS NULL), '{}'),
        coalesce(array_agg(m.made) FILTER (WHERE m.wait IS NOT NULL), '{}'),
        array_agg(m.wait) FILTER (WHERE m.wait IS NOT NULL)
    INTO rest, ended, later, waits FROM made m;
    rest := rest || ARRAY(SELECT j FROM unnest(held) AS j WHERE coalesce(cardinality(j.tokens), 0) = 0);

    -- Messages that are in several pieces from now on.
    SELECT array_agg(j.id) AS ids, array_agg(j.reference) AS reference, array_agg(j.broadcast_id) AS broadcast,
        array_agg(carillon.count_tokens(j.tokens)) AS tokens, array_agg(0) AS none, array_agg(j.attempt - 1::smallint) AS attempts
    INTO begun FROM unnest(held) AS j
    WHERE j.origin IS NULL AND (
        SELECT count(*) FROM unnest(rest || ended || later) AS p WHERE p.id = j.id OR p.origin = j.id) > 1;
    IF cardinality(rest) > 0 THEN
        UPDATE carillon.inflight f SET jobs = rest WHERE f.app_id = app AND f.id = claim;
    ELSE
        DELETE FROM carillon.inflight f WHERE f.app_id = app AND f.id = claim;
    END IF;
    PERFORM carillon.own_path();
    IF begun.ids IS NOT NULL THEN
        PERFORM carillon.progress(app, begun.ids, begun.reference, begun.broadcast, begun.tokens, begun.none,
            begun.none, begun.none, begun.attempts);
    END IF;
    IF pg_catalog.cardinality(ended) > 0 THEN
        PERFORM carillon.end_cancelled(app, ended);
    END IF;
    -- Promotion finds those that are cancelled meanwhile.
    IF pg_catalog.cardinality(later) > 0 THEN
        PERFORM carillon.put_back(app, later, waits);
    END IF;
END
$$;

-- Orders the pushes of a claim that are updates of Live Activities. Returns the timestamp of each push; null: a newer
-- update of the token is due or was sent, so the push has ended as superseded. A push keeps its timestamp at each
-- attempt. The timestamps of a token increase, whatever the clock does. Null in place of the list: another worker has
-- taken the claim over.
--
-- A push without a row is one that was sent before, one that starts an activity, or a row of a plain INSERT. It is
-- older than the update that was sent last if its message is among those that have lost their rows.
--
-- All workers lock rows in the order of tokens, and those of activity_stamps before those of activity_updates.
CREATE FUNCTION carillon.order_updates(
    app integer, claim bigint, worker bigint, claimed timestamptz, job bigint[], token text[]
) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    clock CONSTANT timestamptz := clock_timestamp();
    seconds CONSTANT bigint := floor(extract(epoch FROM clock));
    held carillon.job[];
    stamps bigint[];
    gone record;
BEGIN
    SELECT f.jobs INTO held FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    WITH wanted AS MATERIALIZED (
        SELECT w.place, h.message, h.token
        FROM unnest(order_updates.job, order_updates.token) WITH ORDINALITY AS w(job, token, place)
        JOIN (
            SELECT DISTINCT j.id, coalesce(j.origin, j.id) AS message, lower(t.token) AS token
            FROM unnest(held) AS j CROSS JOIN LATERAL unnest(j.tokens) AS t(token)
        ) AS h ON h.id = w.job AND h.token = lower(w.token)
    ), placed AS MATERIALIZED (
        SELECT w.place, w.message, w.token, u.due_at IS NOT NULL OR s.token IS NOT NULL AS is_ordered,
            CASE WHEN u.due_at IS NOT NULL THEN u.due_at
                WHEN w.message > s.highest THEN greatest(clock, s.due_at) ELSE '-infinity' END AS due_at
        FROM wanted w
        LEFT JOIN carillon.activity_updates u ON u.app_id = app AND u.token = w.token AND u.message_id = w.message
        LEFT JOIN carillon.activity_stamps s ON s.app_id = app AND s.token = w.token
    ), newest AS MATERIALIZED (
        SELECT n.message, n.token, n.due_at FROM (
            SELECT DISTINCT ON (p.token) p.message, p.token, p.due_at FROM placed p WHERE p.is_ordered
            ORDER BY p.token, p.due_at DESC, p.message DESC
        ) AS n
        WHERE NOT EXISTS (
            SELECT FROM carillon.activity_updates u WHERE u.app_id = app AND u.token = n.token
                AND (u.due_at, u.message_id) > (n.due_at, n.message) AND u.due_at <= clock)
    ), stamped AS (
        INSERT INTO carillon.activity_stamps AS s (app_id, token, message_id, due_at, highest, stamp)
        SELECT app, n.token, n.message, n.due_at, n.message, seconds FROM newest n ORDER BY n.token
        ON CONFLICT (app_id, token) DO UPDATE SET message_id = excluded.message_id,
            due_at = greatest(s.due_at, excluded.due_at), highest = greatest(s.highest, excluded.highest),
            stamp = CASE WHEN s.message_id = excluded.message_id THEN s.stamp
                ELSE greatest(excluded.stamp, s.stamp + 1) END
        WHERE s.message_id = excluded.message_id OR (s.due_at, s.message_id) < (excluded.due_at, excluded.message_id)
        RETURNING s.token, s.message_id, s.due_at, s.stamp
    ), forgotten AS (
        -- A row that a cancel has locked is no obstacle: it is deleted with the next update.
        DELETE FROM carillon.activity_updates u WHERE u.ctid = ANY (ARRAY(
            SELECT o.ctid FROM stamped s JOIN carillon.activity_updates o ON o.app_id = app AND o.token = s.token
                AND (o.due_at, o.message_id) <= (s.due_at, s.message_id) FOR UPDATE OF o SKIP LOCKED))
    )
    SELECT array_agg(CASE WHEN NOT p.is_ordered THEN seconds ELSE s.stamp END ORDER BY w.place) INTO stamps
    FROM unnest(order_updates.job) WITH ORDINALITY AS w(job, place)
    LEFT JOIN placed p ON p.place = w.place
    LEFT JOIN stamped s ON s.token = p.token AND s.message_id = p.message;
    IF array_position(stamps, NULL) IS NOT NULL THEN
        SELECT array_agg(w.job) AS jobs, array_agg(w.token) AS tokens INTO gone
        FROM unnest(order_updates.job, order_updates.token, stamps) AS w(job, token, stamp) WHERE w.stamp IS NULL;
        PERFORM carillon.withdraw(app, claim, held, gone.jobs, gone.tokens);
    END IF;
    RETURN stamps;
END
$$;

-- The arguments of the three functions for callers.
CREATE TYPE carillon.activity_arguments AS (
    app             text,
    tokens          text[],
    event           text,
    content_state   jsonb,
    attributes_type text,
    attributes      jsonb,
    alert           text,
    alert_json      jsonb,  -- an alert given as JSON
    title           text,
    body            text,
    sound           text,
    channel         text,
    push_token      boolean,
    everyone        boolean,
    stale_date      timestamptz,
    relevance_score double precision,
    dismissal_date  timestamptz,
    apns_timestamp  timestamptz,
    priority        bigint,
    expires_at      timestamptz,
    run_at          timestamptz,
    lane            bigint,
    reference       text,
    dedupe_key      text,
    dedupe_for      interval,
    on_unknown      text,
    topic           text
);

-- The alert of an activity as JSON: an object, as Apple takes no plain text here.
CREATE FUNCTION carillon.activity_alert(a carillon.activity_arguments, OUT alert jsonb, OUT refusal carillon.refusal)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    alert := a.alert_json;
    IF alert IS NULL AND a.alert ~ '^\s*\{' AND json_typeof(carillon.parsed(a.alert)) = 'object' THEN
        -- JSON that a driver sent as text.
        alert := a.alert::jsonb;
    ELSIF alert IS NULL AND a.alert IS NOT NULL THEN
        alert := jsonb_build_object('body', a.alert);
    ELSIF jsonb_typeof(alert) = 'string' THEN
        alert := jsonb_build_object('body', alert);
    ELSIF jsonb_typeof(alert) <> 'object' THEN
        refusal := carillon.refusal('alert', 'text, or a JSON object', alert::text);
    END IF;
    IF alert IS NOT NULL AND num_nonnulls(a.title, a.body) > 0 THEN
        refusal := carillon.refusal('alert', 'null if title or body is given', 'a value',
            'Pass the text as body, together with the title.');
    ELSIF num_nonnulls(a.title, a.body) > 0 THEN
        alert := jsonb_strip_nulls(jsonb_build_object('title', a.title, 'body', a.body));
    END IF;
    IF a.sound IS NOT NULL AND alert IS NULL THEN
        refusal := carillon.refusal('sound', 'null unless there is an alert', quote_literal(a.sound),
            'The sound of an activity belongs to its alert: pass title, body or alert too.');
    ELSIF a.sound IS NOT NULL AND alert ? 'sound' THEN
        refusal := carillon.refusal('sound', 'null if alert has the member "sound"', quote_literal(a.sound));
    ELSIF a.sound IS NOT NULL THEN
        alert := alert || jsonb_build_object('sound', a.sound);
    END IF;
END
$$;

-- The refusal of an argument that belongs to an activity; null: all are valid.
CREATE FUNCTION carillon.check_activity(a carillon.activity_arguments, alert jsonb) RETURNS carillon.refusal
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    wrong record;
BEGIN
    IF jsonb_typeof(a.content_state) IS DISTINCT FROM 'object' AND (a.content_state IS NOT NULL OR a.event <> 'end')
    THEN
        RETURN carillon.refusal('content_state', 'a JSON object with the fields of the activity''s ContentState',
            a.content_state::text);
    ELSIF a.event = 'start' AND (a.attributes_type ~ '^[^[:cntrl:][:space:]]{1,255}$') IS NOT TRUE THEN
        RETURN carillon.refusal('attributes_type', 'the name of a type of ActivityAttributes',
            quote_literal(a.attributes_type));
    ELSIF a.event = 'start' AND jsonb_typeof(a.attributes) IS DISTINCT FROM 'object' THEN
        RETURN carillon.refusal('attributes', 'a JSON object with the fields of the attributes', a.attributes::text);
    ELSIF a.event = 'start' AND (alert IS NULL OR alert = '{}') THEN
        RETURN carillon.refusal('alert', 'text or a JSON object, unless title or body is given', NULL,
            'Apple starts an activity only with an alert.');
    ELSIF a.channel IS NOT NULL AND (a.channel !~ '^[A-Za-z0-9+/]+={0,2}$' OR length(a.channel) > 256) THEN
        RETURN carillon.refusal('channel', 'the id of a channel, in base64', quote_literal(a.channel));
    ELSIF a.everyone AND a.tokens IS NOT NULL THEN
        RETURN carillon.refusal('tokens', 'null if everyone is true', 'a value',
            'Pass the tokens, or everyone => true for every push_to_start token of the app.');
    ELSIF a.relevance_score IN ('NaN', 'Infinity', '-Infinity') THEN
        RETURN carillon.refusal('relevance_score', 'a finite number', a.relevance_score::text);
    END IF;
    SELECT t.* INTO wrong FROM (VALUES
        ('stale_date', a.stale_date), ('dismissal_date', a.dismissal_date), ('apns_timestamp', a.apns_timestamp)
    ) AS t(argument, value) WHERE NOT isfinite(t.value) OR t.value < timestamptz '1970-01-01 00:00:01Z' LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal(wrong.argument, 'a time after 1970 began', quote_literal(wrong.value));
    END IF;
    RETURN NULL;
END
$$;

-- Builds the payload of an activity and enqueues it. A worker replaces the timestamp 0 by the time of sending, for
-- which the payload needs nine bytes more.
CREATE FUNCTION carillon.submit_activity(a carillon.activity_arguments) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    m carillon.message_arguments;
    made record := carillon.activity_alert(a);
    refusal carillon.refusal := made.refusal;
    size integer;
    app_id integer;
    id bigint;
    last bigint;
BEGIN
    IF refusal.message IS NULL THEN
        refusal := carillon.check_activity(a, made.alert);
    END IF;
    IF refusal.message IS NULL THEN
        m.payload := '{"aps":{' || concat_ws(',',
            '"timestamp":' || coalesce(floor(extract(epoch FROM a.apns_timestamp)), 0),
            '"event":"' || a.event || '"',
            '"content-state":' || carillon.compact(a.content_state),
            '"attributes-type":' || to_json(a.attributes_type),
            '"attributes":' || carillon.compact(a.attributes),
            CASE WHEN a.channel IS NOT NULL THEN '"input-push-channel":' || to_json(a.channel)
                WHEN a.push_token THEN '"input-push-token":1' END,
            '"stale-date":' || floor(extract(epoch FROM a.stale_date)),
            '"dismissal-date":' || floor(extract(epoch FROM a.dismissal_date)),
            '"relevance-score":' || to_json(a.relevance_score),
            '"alert":' || carillon.compact(made.alert)) || '}}';
        size := octet_length(m.payload) + CASE WHEN a.apns_timestamp IS NULL THEN 9 ELSE 0 END;
        IF size > 4096 THEN
            refusal := carillon.refusal((
                    SELECT p.name FROM (VALUES ('content_state', a.content_state::text),
                        ('attributes', a.attributes::text), ('alert', coalesce(a.alert, a.alert_json::text)),
                        ('title', a.title), ('body', a.body), ('sound', a.sound)) AS p(name, value)
                    ORDER BY octet_length(p.value) DESC NULLS LAST LIMIT 1),
                'what makes a payload of 4096 bytes at most', 'one of ' || size || ' bytes', NULL, '54000');
        END IF;
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    m.app := a.app;
    m.tokens := a.tokens;
    m.payload_type := 'text'::regtype;
    m.push_type := 'liveactivity';
    -- Apple counts pushes of priority 10 against a budget.
    m.priority := coalesce(a.priority, CASE WHEN made.alert IS NULL THEN 5 ELSE 10 END);
    m.expires_at := a.expires_at;
    m.topic := a.topic;
    m.run_at := a.run_at;
    m.lane := a.lane;
    m.reference := a.reference;
    m.dedupe_key := a.dedupe_key;
    m.dedupe_for := a.dedupe_for;
    m.on_unknown := a.on_unknown;
    m.on_duplicate := 'null';
    m.is_strict := false;
    id := carillon.submit(m, coalesce(a.everyone, false));
    IF a.event <> 'start' AND id IS NOT NULL THEN
        SELECT k.id INTO app_id FROM carillon.apps k WHERE k.name = a.app;
        IF cardinality(a.tokens) <= carillon.tokens_per_job() THEN
            PERFORM carillon.note_update(app_id, id, a.tokens, greatest(clock_timestamp(), a.run_at));
            RETURN id;
        END IF;
        SELECT b.last_id INTO last FROM carillon.broadcasts b WHERE b.app_id = app_id AND b.id = id;
        PERFORM carillon.note_update(app_id, j.id, j.tokens, greatest(clock_timestamp(), a.run_at)) FROM (
            SELECT q.id, q.tokens, q.broadcast_id FROM carillon.messages q
            WHERE q.app_id = app_id AND q.lane IN (0, 1, 2) AND q.id BETWEEN id AND coalesce(last, id)
            UNION ALL
            SELECT q.id, q.tokens, q.broadcast_id FROM carillon.scheduled q
            WHERE q.app_id = app_id AND q.id BETWEEN id AND coalesce(last, id)
        ) AS j WHERE last IS NULL OR j.broadcast_id = id;
    END IF;
    RETURN id;
END
$$;
COMMENT ON FUNCTION carillon.submit_activity IS 'Internal: enqueues what starts, updates or ends Live Activities.';

-- Two functions of each name, as with enqueue: drivers bind an alert as text, as jsonb, or without a type.
CREATE FUNCTION carillon.start_activity(
    app text, tokens text[], attributes_type text, attributes jsonb, content_state jsonb, alert text DEFAULT NULL,
    title text DEFAULT NULL, body text DEFAULT NULL, sound text DEFAULT NULL, channel text DEFAULT NULL,
    push_token boolean DEFAULT true, everyone boolean DEFAULT false, stale_date timestamptz DEFAULT NULL,
    relevance_score double precision DEFAULT NULL, apns_timestamp timestamptz DEFAULT NULL,
    priority bigint DEFAULT NULL, expires_at timestamptz DEFAULT NULL, run_at timestamptz DEFAULT NULL,
    lane bigint DEFAULT NULL, reference text DEFAULT NULL, dedupe_key text DEFAULT NULL,
    dedupe_for interval DEFAULT NULL, on_unknown text DEFAULT 'retry', topic text DEFAULT NULL
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW(
        app, tokens, 'start', content_state, attributes_type, attributes, alert, NULL, title, body, sound, channel,
        push_token, everyone, stale_date, relevance_score, NULL, apns_timestamp, priority, expires_at, run_at, lane,
        reference, dedupe_key, dedupe_for, on_unknown, topic)::carillon.activity_arguments)
$$;

CREATE FUNCTION carillon.start_activity(
    app text, tokens text[], attributes_type text, attributes jsonb, content_state jsonb, alert jsonb,
    title text DEFAULT NULL, body text DEFAULT NULL, sound text DEFAULT NULL, channel text DEFAULT NULL,
    push_token boolean DEFAULT true, everyone boolean DEFAULT false, stale_date timestamptz DEFAULT NULL,
    relevance_score double precision DEFAULT NULL, apns_timestamp timestamptz DEFAULT NULL,
    priority bigint DEFAULT NULL, expires_at timestamptz DEFAULT NULL, run_at timestamptz DEFAULT NULL,
    lane bigint DEFAULT NULL, reference text DEFAULT NULL, dedupe_key text DEFAULT NULL,
    dedupe_for interval DEFAULT NULL, on_unknown text DEFAULT 'retry', topic text DEFAULT NULL
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW(
        app, tokens, 'start', content_state, attributes_type, attributes, NULL, alert, title, body, sound, channel,
        push_token, everyone, stale_date, relevance_score, NULL, apns_timestamp, priority, expires_at, run_at, lane,
        reference, dedupe_key, dedupe_for, on_unknown, topic)::carillon.activity_arguments)
$$;

CREATE FUNCTION carillon.update_activity(
    app text, tokens text[], content_state jsonb, alert text DEFAULT NULL, title text DEFAULT NULL,
    body text DEFAULT NULL, sound text DEFAULT NULL, stale_date timestamptz DEFAULT NULL,
    relevance_score double precision DEFAULT NULL, apns_timestamp timestamptz DEFAULT NULL,
    priority bigint DEFAULT NULL, expires_at timestamptz DEFAULT NULL, run_at timestamptz DEFAULT NULL,
    lane bigint DEFAULT NULL, reference text DEFAULT NULL, dedupe_key text DEFAULT NULL,
    dedupe_for interval DEFAULT NULL, on_unknown text DEFAULT 'retry', topic text DEFAULT NULL
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW(
        app, tokens, 'update', content_state, NULL, NULL, alert, NULL, title, body, sound, NULL, NULL, NULL,
        stale_date, relevance_score, NULL, apns_timestamp, priority, expires_at, run_at, lane, reference, dedupe_key,
        dedupe_for, on_unknown, topic)::carillon.activity_arguments)
$$;

CREATE FUNCTION carillon.update_activity(
    app text, tokens text[], content_state jsonb, alert jsonb, title text DEFAULT NULL, body text DEFAULT NULL,
    sound text DEFAULT NULL, stale_date timestamptz DEFAULT NULL, relevance_score double precision DEFAULT NULL,
    apns_timestamp timestamptz DEFAULT NULL, priority bigint DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, lane bigint DEFAULT NULL, reference text DEFAULT NULL,
    dedupe_key text DEFAULT NULL, dedupe_for interval DEFAULT NULL, on_unknown text DEFAULT 'retry',
    topic text DEFAULT NULL
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW(
        app, tokens, 'update', content_state, NULL, NULL, NULL, alert, title, body, sound, NULL, NULL, NULL,
        stale_date, relevance_score, NULL, apns_timestamp, priority, expires_at, run_at, lane, reference, dedupe_key,
        dedupe_for, on_unknown, topic)::carillon.activity_arguments)
$$;

CREATE FUNCTION carillon.end_activity(
    app text, tokens text[], content_state jsonb DEFAULT NULL, alert text DEFAULT NULL, title text DEFAULT NULL,
    body text DEFAULT NULL, sound text DEFAULT NULL, stale_date timestamptz DEFAULT NULL,
    relevance_score double precision DEFAULT NULL, dismissal_date timestamptz DEFAULT NULL,
    apns_timestamp timestamptz DEFAULT NULL, priority bigint DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, lane bigint DEFAULT NULL, reference text DEFAULT NULL,
    dedupe_key text DEFAULT NULL, dedupe_for interval DEFAULT NULL, on_unknown text DEFAULT 'retry',
    topic text DEFAULT NULL
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW(
        app, tokens, 'end', content_state, NULL, NULL, alert, NULL, title, body, sound, NULL, NULL, NULL, stale_date,
        relevance_score, dismissal_date, apns_timestamp, priority, expires_at, run_at, lane, reference, dedupe_key,
        dedupe_for, on_unknown, topic)::carillon.activity_arguments)
$$;

CREATE FUNCTION carillon.end_activity(
    app text, tokens text[], content_state jsonb, alert jsonb, title text DEFAULT NULL, body text DEFAULT NULL,
    sound text DEFAULT NULL, stale_date timestamptz DEFAULT NULL, relevance_score double precision DEFAULT NULL,
    dismissal_date timestamptz DEFAULT NULL, apns_timestamp timestamptz DEFAULT NULL, priority bigint DEFAULT NULL,
    expires_at timestamptz DEFAULT NULL, run_at timestamptz DEFAULT NULL, lane bigint DEFAULT NULL,
    reference text DEFAULT NULL, dedupe_key text DEFAULT NULL, dedupe_for interval DEFAULT NULL,
    on_unknown text DEFAULT 'retry', topic text DEFAULT NULL
) RETURNS bigint
LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW(
        app, tokens, 'end', content_state, NULL, NULL, NULL, alert, title, body, sound, NULL, NULL, NULL, stale_date,
        relevance_score, dismissal_date, apns_timestamp, priority, expires_at, run_at, lane, reference, dedupe_key,
        dedupe_for, on_unknown, topic)::carillon.activity_arguments)
$$;

DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT p.oid::regprocedure AS function, c.comment FROM pg_catalog.pg_proc p JOIN (VALUES
            ('start_activity', 'Starts a Live Activity on the devices of push-to-start tokens; with everyone, on all of '
                'the app. Returns the id of the message; null: there are no tokens, or the dedupe_key is taken.'),
            ('update_activity', 'Updates Live Activities. An older update of a token is never sent after a newer one. '
                'Returns the id of the message; null: there are no tokens, or the dedupe_key is taken.'),
            ('end_activity', 'Ends Live Activities, with their last content. Returns the id of the message; null: there '
                'are no tokens, or the dedupe_key is taken.')
        ) AS c(name, comment) ON c.name = p.proname
        WHERE p.pronamespace = 'carillon'::regnamespace
    LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', one.function, one.comment);
    END LOOP;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (23, 'activities');
