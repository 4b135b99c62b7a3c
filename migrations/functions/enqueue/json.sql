-- JSON in arguments, which callers pass as json, as jsonb or as text. The functions that check arguments call these.

CREATE OR REPLACE FUNCTION carillon.json_or_null(value text) RETURNS json
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN value::json;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.json_or_null IS 'Internal: returns text as JSON, or null if it is not JSON.';

CREATE OR REPLACE FUNCTION carillon.jsonb_or_null(value text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN value::pg_catalog.jsonb;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.jsonb_or_null IS
    'Internal: returns text as jsonb, or null if it is not JSON or jsonb cannot store it.';

-- A driver may send JSON as text. Malformed JSON must not become a plain alert: the device would show braces and quotes.
CREATE OR REPLACE FUNCTION carillon.broken_json(argument text, value text) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE AS $$
    SELECT carillon.refusal(argument, 'text, or a JSON object', value, 'It begins like a JSON object but is not one. '
        || CASE argument WHEN 'alert' THEN 'To show such text unchanged, pass it as body.' ELSE 'Correct it.' END, '22P02')
    WHERE value ~ '^[[:space:]]*[{][[:space:]]*["'']' AND json_typeof(carillon.json_or_null(value)) IS DISTINCT FROM 'object'
$$;
COMMENT ON FUNCTION carillon.broken_json IS
    'Internal: returns the refusal of text that begins like a JSON object but is not JSON; null for JSON or plain text.';

-- json_strip_nulls() writes JSON without spaces, several times as fast as the replacement. That one's pattern matches whole strings
-- and keeps them. Text that is too large to be sent is returned unchanged: it will be refused, and the replacement would take
-- seconds.
CREATE OR REPLACE FUNCTION carillon.compact_json(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_catalog.octet_length(value::pg_catalog.text) OPERATOR(pg_catalog.>) 16384
        THEN value::pg_catalog.text
        WHEN pg_catalog.strpos(value::pg_catalog.text, 'null') OPERATOR(pg_catalog.=) 0
        THEN pg_catalog.json_strip_nulls(value::pg_catalog.text::pg_catalog.json)::pg_catalog.text
        ELSE pg_catalog.regexp_replace(value::pg_catalog.text, E'("(?:[^"\\\\]|\\\\.)*")|([:,]) ', E'\\1\\2', 'g') END
$$;
COMMENT ON FUNCTION carillon.compact_json IS 'Internal: returns jsonb as text without spaces after colons and commas.';

CREATE OR REPLACE FUNCTION carillon.is_loud(payload json) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT num_nonnulls(payload -> 'aps' ->> 'alert', payload -> 'aps' ->> 'badge', payload -> 'aps' ->> 'sound') > 0
$$;
COMMENT ON FUNCTION carillon.is_loud IS 'Internal: returns whether a payload has anything that a device shows or plays.';

CREATE OR REPLACE FUNCTION carillon.is_silent(payload json) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT position('content-available' IN payload::text) > 0
        AND coalesce((payload -> 'aps' -> 'content-available')::text = '1', false) AND NOT carillon.is_loud(payload)
$$;
COMMENT ON FUNCTION carillon.is_silent IS 'Internal: returns whether a payload is that of a background push.';
