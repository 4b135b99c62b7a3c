-- Pushes that were accepted, of apps with keep_sent. settle() calls record_sent() in its own transaction, and only if the worker
-- passes such pushes: for any other app, nothing is written, and nothing is looked up. Maintenance deletes rows that are older than
-- the setting: see maintain.sql. Until then, sent_pushes_of() leaves them out.

-- It pins no search_path, because it runs after use_session_path(). Workers send only tokens that are hexadecimal.
CREATE OR REPLACE FUNCTION carillon.record_sent(app integer, kept bigint[], kept_token text[], kept_apns_id uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO carillon.sent_pushes (app_id, message, token, apns_id)
    VALUES (app, kept, ARRAY(SELECT pg_catalog.decode(t.token, 'hex') FROM pg_catalog.unnest(kept_token) AS t(token)),
        kept_apns_id);
END
$$;
COMMENT ON FUNCTION carillon.record_sent IS 'Internal: records the device tokens of pushes that were accepted.';

-- unforgotten_sent() returns the columns `kept` of settle().
CREATE OR REPLACE FUNCTION carillon.unforgotten_sent(
    stops carillon.stop[], INOUT kept bigint[], INOUT token text[], INOUT apns_id uuid[]
)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.token), '{}'), coalesce(array_agg(k.apns_id), '{}')
    FROM unnest(kept, token, apns_id) AS k(id, token, apns_id)
    WHERE lower(k.token COLLATE "C") <> ALL (carillon.forgotten_tokens(stops))
$$;
COMMENT ON FUNCTION carillon.unforgotten_sent IS 'Internal: returns sent pushes, but those of tokens that were forgotten.';

-- A text that is no token in hexadecimal is in no row. With a SET clause, the planner does not inline the function, and so does not
-- compute the list for each push.
CREATE OR REPLACE FUNCTION carillon.token_bytes(tokens text[]) RETURNS bytea[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT ARRAY(SELECT DISTINCT decode(t, 'hex') FROM unnest(tokens) AS t WHERE t ~ '^([0-9A-Fa-f]{2})+$')
$$;
COMMENT ON FUNCTION carillon.token_bytes IS 'Internal: returns tokens as sent_pushes has them.';

-- sent_pushes_of() reads the newest `max_rows` rows of an app, each of a settlement. Callers have the settings of search_token(),
-- which force the order of the index. For an app without keep_sent, no row has such a time.
CREATE OR REPLACE FUNCTION carillon.sent_pushes_of(
    app integer, tokens bytea[], first_message bigint, last_message bigint, since timestamptz, until timestamptz, max_rows bigint
) RETURNS TABLE (sent_at timestamptz, message_id bigint, token text, apns_id uuid)
LANGUAGE sql STABLE AS $$
    SELECT s.sent_at, u.message, encode(u.token, 'hex'), u.apns_id
    FROM (
        SELECT * FROM carillon.sent_pushes n
        WHERE n.app_id = sent_pushes_of.app AND n.sent_at >= since AND n.sent_at <= until
            AND n.sent_at >= now() - (SELECT a.keep_sent FROM carillon.apps a WHERE a.id = sent_pushes_of.app)
        ORDER BY n.sent_at DESC LIMIT max_rows) s
    CROSS JOIN LATERAL unnest(s.message, s.token, s.apns_id) AS u(message, token, apns_id)
    -- The first condition alone is about the whole row, and is tested before the row is unnested.
    WHERE (tokens IS NULL OR s.token && tokens) AND (tokens IS NULL OR u.token = ANY (tokens))
        AND (first_message IS NULL OR u.message BETWEEN first_message AND last_message)
$$;
COMMENT ON FUNCTION carillon.sent_pushes_of IS
    'Internal: returns accepted pushes that are kept, of tokens or of messages; null means any.';

CREATE OR REPLACE FUNCTION carillon.split_message_of(app integer, job bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT r.broadcast_id FROM carillon.results r WHERE r.message_id = job AND r.app_id = app LIMIT 1),
        (SELECT u.broadcast_id FROM carillon.unfinished u WHERE u.app_id = app AND u.message_id = job))
$$;
COMMENT ON FUNCTION carillon.split_message_of IS 
    'Internal: returns the split message that a job belongs to, if its result is kept.';

-- forget_sent() erases pushes, not whole rows: a row has pushes to other people.
CREATE OR REPLACE FUNCTION carillon.forget_sent(app integer, forgotten text[], OUT kind text, OUT removed bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    tokens CONSTANT bytea[] := carillon.token_bytes(forgotten);
BEGIN
    kind := 'sent_pushes';
    UPDATE carillon.sent_pushes s SET (message, token, apns_id) = (
        SELECT coalesce(array_agg(u.message ORDER BY u.place), '{}'), coalesce(array_agg(u.token ORDER BY u.place), '{}'),
            coalesce(array_agg(u.apns_id ORDER BY u.place), '{}')
        FROM unnest(s.message, s.token, s.apns_id) WITH ORDINALITY AS u(message, token, apns_id, place)
        WHERE u.token <> ALL (tokens))
    WHERE s.app_id = app AND EXISTS (SELECT FROM unnest(s.token) AS t(token) WHERE t.token = ANY (tokens));
    GET DIAGNOSTICS removed = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION carillon.forget_sent IS 'Internal: erases a person from sent_pushes.';
