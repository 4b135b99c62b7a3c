-- Starts, updates and ends Live Activities. enqueue.sql has the functions that users call. submit_activity() checks what only these
-- pushes have. What is about timestamps is also for media sessions.

-- Apple takes an object as the alert of an activity, not plain text.
CREATE OR REPLACE FUNCTION carillon.activity_alert(a carillon.activity_arguments, OUT alert jsonb, OUT refusal carillon.refusal)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF a.alert_type IN ('json'::regtype, 'jsonb'::regtype) THEN
        alert := a.alert::jsonb;
    ELSIF a.alert ~ '^[[:space:]]*[{]' THEN
        -- JSON that a driver sent as text.
        alert := carillon.jsonb_or_null(a.alert);
        refusal := carillon.broken_json('alert', a.alert);
    END IF;
    IF alert IS NULL AND a.alert IS NOT NULL THEN
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
            'The sound of a Live Activity belongs to its alert: pass title, body or alert too.');
    ELSIF a.sound IS NOT NULL AND alert ? 'sound' THEN
        refusal := carillon.refusal('sound', 'null if alert has the member "sound"', quote_literal(a.sound));
    ELSIF a.sound IS NOT NULL THEN
        alert := alert || jsonb_build_object('sound', a.sound);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.activity_alert IS 'Internal: returns the alert of a Live Activity as JSON.';

CREATE OR REPLACE FUNCTION carillon.check_activity(a carillon.activity_arguments, alert jsonb) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    members CONSTANT text[] := ARRAY['timestamp', 'event', 'content-state', 'attributes-type', 'attributes', 'alert',
        'input-push-token', 'input-push-channel', 'stale-date', 'dismissal-date', 'relevance-score'];
    m carillon.message_arguments;
    refusal carillon.refusal;
    wrong record;
BEGIN
    m.relevance_score := a.relevance_score;
    m.aps := a.aps;
    m.extra := a.extra;
    refusal := carillon.check_members(m);
    IF jsonb_typeof(a.content_state) IS DISTINCT FROM 'object' AND (a.state_text IS NOT NULL OR a.event <> 'end')
    THEN
        RETURN carillon.refusal('content_state', 'a JSON object with the fields of the Live Activity''s ContentState',
            a.state_text, NULL, CASE WHEN a.content_state IS NULL AND a.state_text IS NOT NULL THEN '22P02' ELSE '22023' END);
    ELSIF a.event = 'start' AND (a.attributes_type ~ '^[^[:cntrl:][:space:]]{1,255}$') IS NOT TRUE THEN
        RETURN carillon.refusal('attributes_type', 'the name of a type of ActivityAttributes',
            quote_literal(a.attributes_type));
    ELSIF a.event = 'start' AND jsonb_typeof(a.attributes) IS DISTINCT FROM 'object' THEN
        RETURN carillon.refusal('attributes', 'a JSON object with the fields of the attributes', a.attributes_text, NULL,
            CASE WHEN a.attributes IS NULL AND a.attributes_text IS NOT NULL THEN '22P02' ELSE '22023' END);
    ELSIF a.event = 'start' AND (alert IS NULL OR alert = '{}') THEN
        RETURN carillon.refusal('alert', 'text or a JSON object, unless title or body is given', NULL,
            'Apple starts a Live Activity only with an alert.');
    ELSIF a.channel IS NOT NULL AND (a.channel !~ '^[A-Za-z0-9+/]+={0,2}$' OR length(a.channel) > 256) THEN
        RETURN carillon.refusal('channel', 'the reference of a channel that is ready, or an id of Apple''s',
            quote_literal(a.channel), 'Request one with carillon.request_channel, and wait for it with carillon.channel.');
    ELSIF a.everyone AND a.tokens IS NOT NULL THEN
        RETURN carillon.refusal('tokens', 'null if everyone is true', 'a value',
            'Pass the tokens, or everyone => true for every push_to_start token of the app.');
    ELSIF a.everyone IS NOT TRUE AND num_nonnulls(a.where_attributes, a.locales) > 0 THEN
        RETURN carillon.chooses_nobody(a.where_attributes);
    ELSIF a.aps ?| members THEN
        RETURN carillon.refusal('aps', 'members that have no argument of their own', a.aps::text,
            'These have their own arguments: ' || array_to_string(members, ', ') || '.');
    ELSIF refusal.message IS NOT NULL THEN
        RETURN refusal;
    END IF;
    SELECT t.* INTO wrong FROM (VALUES
        ('stale_date', a.stale_date), ('dismissal_date', a.dismissal_date), ('apns_timestamp', a.apns_timestamp)
    ) AS t(argument, value)
    WHERE t.value < timestamptz '1970-01-01 00:00:01Z' OR t.value >= timestamptz '2201-01-01 00:00:00Z' LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal(wrong.argument, 'a time after 1970-01-01 00:00:00 UTC, up to the year 2200',
            quote_literal(wrong.value));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.check_activity IS
    'Internal: returns the refusal of an argument that belongs to a Live Activity; null if all are valid.';

-- The payload of an update, or of a start. A worker replaces the timestamp 0 with the time of sending.
CREATE OR REPLACE FUNCTION carillon.timed_payload(
    stamp timestamptz, event text, members text, aps jsonb, extra jsonb
) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT '{"aps":{' || concat_ws(',', '"timestamp":' || coalesce(floor(extract(epoch FROM stamp)), 0),
        '"event":"' || event || '"', nullif(members, ''),
        CASE WHEN aps <> '{}' THEN left(substr(carillon.compact_json(aps), 2), -1) END)
        || CASE WHEN extra <> '{}' THEN '},' || substr(carillon.compact_json(extra), 2) ELSE '}}' END
$$;
COMMENT ON FUNCTION carillon.timed_payload IS
    'Internal: returns a payload with a timestamp, an event, these members of aps as JSON, and those of two objects.';

-- Nine bytes are reserved for the time of sending.
CREATE OR REPLACE FUNCTION carillon.check_timed_size(
    payload text, stamp timestamptz, push_type text, arguments text[], contents text[]
) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    size CONSTANT integer := octet_length(payload) + CASE WHEN stamp IS NULL THEN 9 ELSE 0 END;
BEGIN
    IF size <= carillon.payload_limit(push_type) THEN
        RETURN NULL;
    END IF;
    RETURN carillon.refusal((
            SELECT p.name FROM unnest(arguments, contents) AS p(name, value)
            ORDER BY octet_length(p.value) DESC NULLS LAST LIMIT 1),
        'a value for a payload of ' || carillon.payload_size(push_type), 'one of ' || size || ' bytes', NULL, '54000');
END
$$;
COMMENT ON FUNCTION carillon.check_timed_size IS
    'Internal: returns the refusal of the largest of these arguments if a payload is too large; null if it is not.';

CREATE OR REPLACE FUNCTION carillon.chooses_nobody(where_attributes jsonb) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE AS $$
    SELECT carillon.refusal(CASE WHEN where_attributes IS NULL THEN 'locales' ELSE 'where_attributes' END,
        'null unless everyone is true', 'a value', 'Pass the tokens, or everyone => true for those of the app that have it.')
$$;
COMMENT ON FUNCTION carillon.chooses_nobody IS
    'Internal: builds the error for a choice among all tokens in a call that names tokens.';

-- Notes each job of an update in the transaction that enqueues it, so that none is sent before its order is known. Starts have no
-- order.
CREATE OR REPLACE FUNCTION carillon.submit_timed(
    m carillon.message_arguments, event text, everyone boolean, wanted carillon.audience_arguments
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    target integer;
    has_both boolean;
    message bigint;
    due_at timestamptz;
    last bigint;
BEGIN
    m.payload_type := 'text'::regtype;
    m.on_duplicate := 'null';
    message := carillon.submit(m, everyone, wanted);
    IF event = 'start' OR message IS NULL THEN
        RETURN message;
    END IF;
    SELECT k.id, k.both_environments INTO target, has_both FROM carillon.apps k WHERE k.name = m.app;
    IF target IS NULL THEN
        RAISE EXCEPTION 'the app % was renamed or removed during the call', quote_literal(m.app)
        USING ERRCODE = 'serialization_failure', HINT = 'Call the function again.';
    END IF;
    due_at := greatest(clock_timestamp(), m.run_at);
    IF cardinality(m.tokens) <= carillon.tokens_per_job() AND NOT has_both THEN
        PERFORM carillon.note_update(target, message, m.tokens, event = 'end', due_at, m.expires_at);
        RETURN message;
    END IF;
    SELECT b.last_id INTO last FROM carillon.split_messages b WHERE b.app_id = target AND b.id = message;
    PERFORM carillon.note_update(target, j.id, j.tokens, event = 'end', due_at, m.expires_at) FROM (
        -- submit() has checked the lane.
        SELECT q.id, q.tokens, q.broadcast_id FROM carillon.messages q
        WHERE q.app_id = target AND q.lane IN (0, 1, 2, 10, 11, 12) AND q.id BETWEEN message AND coalesce(last, message)
        UNION ALL
        SELECT q.id, q.tokens, q.broadcast_id FROM carillon.scheduled q
        WHERE q.app_id = target AND q.id BETWEEN message AND coalesce(last, message)
    ) AS j WHERE last IS NULL OR j.broadcast_id = message;
    RETURN message;
END
$$;
COMMENT ON FUNCTION carillon.submit_timed IS
    'Internal: enqueues a start, or an update or an end in the order of its tokens: see order_updates().';

CREATE OR REPLACE FUNCTION carillon.submit_activity(a carillon.activity_arguments) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    m carillon.message_arguments;
    made record := carillon.activity_alert(a);
    refusal carillon.refusal := made.refusal;
    push_type CONSTANT text := 'liveactivity';
BEGIN
    -- A channel may be named by its reference.
    a.channel := coalesce((
        SELECT c.channel_id FROM carillon.channels c JOIN carillon.apps k ON k.id = c.app_id
        WHERE k.name = a.app AND c.reference = a.channel AND c.state = 'ready'
            AND carillon.may_use(k)), a.channel);
    a.content_state := carillon.jsonb_or_null(a.state_text);
    a.attributes := carillon.jsonb_or_null(a.attributes_text);
    IF refusal.message IS NULL THEN
        refusal := carillon.check_activity(a, made.alert);
    END IF;
    IF refusal.message IS NULL THEN
        m.payload := carillon.timed_payload(a.apns_timestamp, a.event, concat_ws(',',
            '"content-state":' || carillon.compact_json(a.content_state),
            '"attributes-type":' || to_json(a.attributes_type),
            '"attributes":' || carillon.compact_json(a.attributes),
            CASE WHEN a.channel IS NOT NULL THEN '"input-push-channel":' || to_json(a.channel)
                WHEN coalesce(a.push_token, a.event = 'start') THEN '"input-push-token":1' END,
            '"stale-date":' || floor(extract(epoch FROM a.stale_date)),
            '"dismissal-date":' || floor(extract(epoch FROM a.dismissal_date)),
            '"relevance-score":' || to_json(a.relevance_score),
            '"alert":' || carillon.compact_json(made.alert)), a.aps, a.extra);
        refusal := carillon.check_timed_size(m.payload, a.apns_timestamp, push_type,
            ARRAY['content_state', 'attributes', 'alert', 'title', 'body', 'sound', 'aps', 'extra'],
            ARRAY[a.content_state::text, a.attributes::text, a.alert, a.title, a.body, a.sound, a.aps::text, a.extra::text]);
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    m.app := a.app;
    m.tokens := a.tokens;
    m.push_type := push_type;
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
    RETURN carillon.submit_timed(m, a.event, coalesce(a.everyone, false),
        ROW(NULL, a.where_attributes, a.locales, NULL, a.attributes_type, NULL, NULL));
END
$$;
COMMENT ON FUNCTION carillon.submit_activity IS 'Internal: enqueues pushes that start, update or end Live Activities.';
