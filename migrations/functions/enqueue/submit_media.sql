-- Starts, updates and ends remote media sessions: pushes of the type nowplaying. enqueue.sql has the functions that users call.
-- Updates are ordered like those of Live Activities.

CREATE OR REPLACE FUNCTION carillon.check_media(a carillon.media_arguments, attributes jsonb) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    members CONSTANT text[] := ARRAY['timestamp', 'event', 'attributes'];
    m carillon.message_arguments;
BEGIN
    m.aps := a.aps;
    m.extra := a.extra;
    IF jsonb_typeof(attributes) IS DISTINCT FROM 'object' THEN
        RETURN carillon.refusal('attributes', 'a JSON object with the id of the session', a.attributes_text, NULL,
            CASE WHEN attributes IS NULL AND a.attributes_text IS NOT NULL THEN '22P02' ELSE '22023' END);
    -- Apple names the session by it.
    ELSIF (jsonb_typeof(attributes -> 'id') IN ('string', 'number') AND attributes ->> 'id' <> '') IS NOT TRUE THEN
        RETURN carillon.refusal('attributes', 'a JSON object whose member id, a string or a number, names the session',
            a.attributes_text);
    ELSIF a.everyone AND a.tokens IS NOT NULL THEN
        RETURN carillon.refusal('tokens', 'null if everyone is true', 'a value',
            'Pass the tokens, or everyone => true for every media_start token of the app.');
    ELSIF a.everyone IS NOT TRUE AND num_nonnulls(a.where_attributes, a.locales) > 0 THEN
        RETURN carillon.chooses_nobody(a.where_attributes);
    ELSIF a.aps ?| members THEN
        RETURN carillon.refusal('aps', 'members that have no argument of their own', a.aps::text,
            'timestamp is the argument apns_timestamp, attributes is one, and event follows from the function.');
    ELSIF a.apns_timestamp < timestamptz '1970-01-01 00:00:01Z' OR a.apns_timestamp >= timestamptz '2201-01-01 00:00:00Z' THEN
        RETURN carillon.refusal('apns_timestamp', 'a time after 1970-01-01 00:00:00 UTC, up to the year 2200',
            quote_literal(a.apns_timestamp));
    END IF;
    RETURN carillon.check_members(m);
END
$$;
COMMENT ON FUNCTION carillon.check_media IS
    'Internal: returns the refusal of an argument that belongs to a media session; null if all are valid.';

CREATE OR REPLACE FUNCTION carillon.submit_media(a carillon.media_arguments) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    attributes CONSTANT jsonb := carillon.jsonb_or_null(a.attributes_text);
    m carillon.message_arguments;
    refusal carillon.refusal := carillon.check_media(a, attributes);
BEGIN
    m.push_type := 'nowplaying';
    IF refusal.message IS NULL THEN
        m.payload := carillon.timed_payload(a.apns_timestamp, a.event, '"attributes":' || carillon.compact_json(attributes),
            a.aps, a.extra);
        refusal := carillon.check_timed_size(m.payload, a.apns_timestamp, m.push_type,
            ARRAY['attributes', 'aps', 'extra'], ARRAY[attributes::text, a.aps::text, a.extra::text]);
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    m.app := a.app;
    m.tokens := a.tokens;
    m.priority := a.priority;
    m.expires_at := a.expires_at;
    m.topic := a.topic;
    m.run_at := a.run_at;
    m.lane := a.lane;
    m.reference := a.reference;
    m.dedupe_key := a.dedupe_key;
    m.dedupe_for := a.dedupe_for;
    m.on_unknown := a.on_unknown;
    RETURN carillon.submit_timed(m, a.event, coalesce(a.everyone, false),
        ROW(NULL, a.where_attributes, a.locales, NULL, NULL, NULL, NULL));
END
$$;
COMMENT ON FUNCTION carillon.submit_media IS 'Internal: enqueues pushes that start, update or end media sessions.';
