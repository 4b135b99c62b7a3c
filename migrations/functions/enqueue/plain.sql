-- What a plain message is: enqueue, push and push_each store it with one INSERT and without the closer checks. Its app has no
-- both_environments, and it has a single token, and either a payload with an alert, or an alert, a badge and a sound that need no
-- check. submit() knows which other arguments of enqueue it may have. All other messages are left to draft(), which would make the
-- same of a plain one: PlainMessageTests and PushTests compare what is stored.
--
-- PL/pgSQL looks up each function of an expression anew in each transaction. PostgreSQL inlines the three is_… functions, so that
-- they cost no more than their text would in its place.

CREATE OR REPLACE FUNCTION carillon.is_single_token(tokens text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT cardinality(tokens) = 1 AND carillon.is_token(tokens[1])
$$;
COMMENT ON FUNCTION carillon.is_single_token IS 'Internal: returns whether an array has one element, which is a device token.';

-- An alert or a sound with a brace may be JSON.
CREATE OR REPLACE FUNCTION carillon.is_plain_text(alert text, badge bigint, sound text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (badge BETWEEN 0 AND 2147483647) IS NOT FALSE AND concat(alert, sound) NOT LIKE '%{%'
$$;
COMMENT ON FUNCTION carillon.is_plain_text IS 'Internal: returns whether these parts of a payload, if given, need no closer check.';

-- A payload with an alert is neither silent nor ignored.
CREATE OR REPLACE FUNCTION carillon.is_plain_payload(payload json) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT payload #>> '{aps,alert}' IS NOT NULL
$$;
COMMENT ON FUNCTION carillon.is_plain_payload IS
    'Internal: returns whether a payload needs no check but that of its size; raises an error if it is malformed.';

CREATE OR REPLACE FUNCTION carillon.plain_payload(m carillon.message_arguments) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    payload text;
BEGIN
    IF octet_length(m.payload) <= carillon.payload_limit('alert') AND NOT carillon.has_payload_fields(m) THEN
        payload := CASE m.payload_type WHEN 'jsonb'::regtype THEN carillon.compact_json(m.payload::jsonb) ELSE m.payload END;
        RETURN CASE WHEN carillon.is_plain_payload(payload::json) THEN payload END;
    END IF;
    RETURN NULL;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.plain_payload IS
    'Internal: returns the payload of a message if it has an alert, and needs no closer check; otherwise null.';

-- `alert` is JSON, as json or as text.
CREATE OR REPLACE FUNCTION carillon.compose_plain(alert anyelement, badge bigint, sound text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT concat('{"aps":{"alert":', alert, CASE WHEN badge IS NOT NULL THEN ',"badge":' END, badge,
        CASE WHEN sound IS NOT NULL THEN ',"sound":' END, to_json(sound), '}}')
$$;
COMMENT ON FUNCTION carillon.compose_plain IS
    'Internal: returns a payload of an alert and, unless they are null, a badge and a sound.';
