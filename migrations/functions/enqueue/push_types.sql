-- What Apple requires of each push type. The functions that check arguments and the worker's split() call rules_of().

-- push_types() is the table that all checks use. `make docs` writes its rows, from PushTypeRules.swift. The last row is for pushes
-- to channels: they are separate requests, with the push type liveactivity.
CREATE OR REPLACE FUNCTION carillon.push_types() RETURNS SETOF carillon.push_rules
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 12 AS $$
    VALUES
        ('alert', '', '{10,5,1}'::smallint[], NULL::smallint, 4096, 64, false, false, false, 'device'),
        ('background', '', '{5}', 5, 4096, 64, true, false, false, 'device'),
        ('complication', '.complication', '{10,5,1}', NULL, 4096, 64, false, false, false, 'complication'),
        ('controls', '.push-type.controls', '{10,5,1}', NULL, 4096, 64, false, false, false, 'control'),
        ('fileprovider', '.pushkit.fileprovider', '{10,5,1}', NULL, 4096, 64, false, false, false, 'file_provider'),
        ('liveactivity', '.push-type.liveactivity', '{10,5}', NULL, 4096, 64, false, false, false, 'live_activity'),
        ('location', '.location-query', '{10,5,1}', NULL, 4096, 64, false, false, true, 'location'),
        ('mdm', '', '{10,5,1}', NULL, 4096, 64, false, false, false, 'mdm'),
        ('pushtotalk', '.voip-ptt', '{10,5,1}', NULL, 4096, 64, false, false, false, 'push_to_talk'),
        ('voip', '.voip', '{10,5,1}', NULL, 5120, 64, false, false, false, 'voip'),
        ('widgets', '.push-type.widgets', '{10,5,1}', NULL, 4096, 64, false, false, false, 'widget'),
        ('channel', '', '{10,5}', NULL, 5120, 0, false, true, false, NULL)
$$;
COMMENT ON FUNCTION carillon.push_types IS
    'Returns what Apple requires of each push type: the suffix of its topics, its priorities, the maximum size of payload and '
    'collapse id in bytes, whether aps must have no alert, badge or sound, and the kind of its tokens; the start of a Live '
    'Activity has the kind push_to_start. The row channel is for what publish sends.';

-- An expression instead of a query: enqueue evaluates it each time, and a query would cost more than all other checks together.
-- Null if there is no such push type.
DO $$
BEGIN
    EXECUTE (SELECT format(
        'CREATE OR REPLACE FUNCTION carillon.rules_of(push_type text) RETURNS carillon.push_rules LANGUAGE sql IMMUTABLE '
            'PARALLEL SAFE AS %L',
        'SELECT CASE push_type ' || string_agg(format('WHEN %L THEN %L::carillon.push_rules', p.push_type, p), ' ') || ' END')
    FROM carillon.push_types() AS p);
END
$$;
COMMENT ON FUNCTION carillon.rules_of IS 'Internal: returns the row of push_types for one push type.';

-- topics_of() alone decides which topics the messages of an app may name, because a signing key sends to all topics of its team.
-- enqueue asks it, and so does each claim, for rows of a plain INSERT and for apps that have changed since. It returns null if the
-- certificate decides: the app has no topic, and the certificate names none or was not read yet.
CREATE OR REPLACE FUNCTION carillon.topics_of(app integer) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN a.topic IS NOT NULL OR c.key_id IS NOT NULL OR cardinality(c.topics) > 0 THEN ARRAY(
        SELECT t.topic || s.suffix
        FROM (SELECT DISTINCT p.topic_suffix AS suffix FROM carillon.push_types() AS p) s,
            unnest(CASE WHEN a.topic IS NULL THEN c.topics ELSE ARRAY[a.topic] END || a.topics) AS t(topic)
        ORDER BY s.suffix <> '', t.topic <> a.topic) END
    FROM carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id WHERE a.id = topics_of.app
$$;
COMMENT ON FUNCTION carillon.topics_of IS
    'Internal: returns the topics that messages of an app may name; null if its certificate decides.';

-- The binary protocol has its own limit.
CREATE OR REPLACE FUNCTION carillon.payload_limit(push_type text, protocol text DEFAULT 'http2') RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE protocol WHEN 'binary' THEN 2048 ELSE (carillon.rules_of(push_type)).payload_limit END
$$;
COMMENT ON FUNCTION carillon.payload_limit IS 'Internal: returns the maximum size of a payload in bytes.';

CREATE OR REPLACE FUNCTION carillon.payload_size(push_type text, protocol text DEFAULT 'http2') RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'at most ' || carillon.payload_limit(push_type, protocol) || ' bytes' || CASE
        WHEN protocol = 'binary' THEN ' for the protocol binary'
        WHEN push_type = 'channel' THEN '' ELSE ' for push type ' || push_type END
$$;
COMMENT ON FUNCTION carillon.payload_size IS 'Internal: returns the maximum size of a payload as text for a refusal.';

-- APNs would refuse a token of any other kind, because each token is bound to its topic. Null for a push to a channel.
CREATE OR REPLACE FUNCTION carillon.kind_of_push(push_type text, payload text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN push_type OPERATOR(pg_catalog.=) 'liveactivity'
            AND payload::pg_catalog.json OPERATOR(pg_catalog.#>>) '{aps,event}' OPERATOR(pg_catalog.=) 'start'
        THEN 'push_to_start' ELSE (carillon.rules_of(push_type)).token_kind END
$$;
COMMENT ON FUNCTION carillon.kind_of_push IS 'Internal: returns the kind of tokens that a push is for.';

-- check_kinds() finds tokens that APNs would refuse. A token that is not registered may be of any kind. Each token is one lookup by
-- primary key, whichever values the plan was made for.
CREATE OR REPLACE FUNCTION carillon.check_kinds(app integer, tokens text[], push_type text, payload text) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
DECLARE
    wanted CONSTANT text := carillon.kind_of_push(push_type, payload);
    other record;
BEGIN
    IF wanted = 'device' THEN
        RETURN NULL;
    END IF;
    SELECT u.token, k.kind INTO other FROM unnest(tokens) WITH ORDINALITY AS u(token, place) CROSS JOIN LATERAL (
        SELECT t.kind FROM carillon.tokens t WHERE t.app_id = app AND t.token = u.token OFFSET 0) AS k
    WHERE k.kind <> wanted ORDER BY u.place LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN carillon.refusal('tokens', 'tokens of kind ' || wanted,
        quote_literal(CASE WHEN length(other.token) > 24 THEN left(other.token, 12) || '…' || right(other.token, 8)
            ELSE other.token END) || ', which is registered as ' || other.kind,
        CASE push_type WHEN 'liveactivity' THEN
            'A start takes push-to-start tokens; an update or an end takes the token that the activity has since it started. '
            ELSE 'Apple refuses a token that is for something else. ' END
        || format('If the registration is wrong, call carillon.register_token(…, kind => %L).', wanted));
END
$$;
COMMENT ON FUNCTION carillon.check_kinds IS
    'Internal: returns the refusal of tokens that are registered with a kind other than the push needs; null if there are none.';
