-- What Apple requires of each push type. The functions that check arguments and the worker's split() call rules_of().

-- push_types() is the table that all checks use. `make docs` writes its rows, from PushTypeRules.swift. The row channel is for
-- pushes to channels: they are separate requests, with the push type liveactivity. The last row is for all types without one.
CREATE OR REPLACE FUNCTION carillon.push_types() RETURNS SETOF carillon.push_rules
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 14 AS $$
    VALUES
        ('alert', '', '{10,5,1}'::smallint[], NULL::smallint, 4096, 64, false, false, false, 'device', NULL, false),
        ('background', '', '{5}', 5, 4096, 64, true, false, false, 'device', NULL, false),
        ('complication', '.complication', '{10,5,1}', NULL, 4096, 64, false, false, false, 'complication', NULL, false),
        ('controls', '.push-type.controls', '{10,5,1}', NULL, 4096, 64, false, false, false, 'control', NULL, false),
        ('fileprovider', '.pushkit.fileprovider', '{10,5,1}', NULL, 4096, 64, false, false, false, 'file_provider', NULL, false),
        ('liveactivity', '.push-type.liveactivity', '{10,5}', NULL, 4096, 64, false, false, false,
            'live_activity', 'push_to_start', true),
        ('location', '.location-query', '{10,5,1}', NULL, 4096, 64, false, false, true, 'location', NULL, false),
        ('mdm', '', '{10,5,1}', NULL, 4096, 64, false, false, false, 'mdm', NULL, false),
        ('nowplaying', '.push-type.nowplaying', '{10,5,1}', NULL, 4096, 64, false, false, false,
            'media_session', 'media_start', true),
        ('pushtotalk', '.voip-ptt', '{10,5,1}', NULL, 4096, 64, false, false, false, 'push_to_talk', NULL, false),
        ('voip', '.voip', '{10,5,1}', NULL, 5120, 64, false, false, false, 'voip', NULL, false),
        ('widgets', '.push-type.widgets', '{10,5,1}', NULL, 4096, 64, false, false, false, 'widget', NULL, false),
        ('channel', '', '{10,5,1}', NULL, 5120, 0, false, true, false, NULL, NULL, true),
        (NULL, '', '{10,5,1}', NULL, 8192, 64, false, false, false, NULL, NULL, false)
$$;
COMMENT ON FUNCTION carillon.push_types IS
    'Returns what Apple requires of each push type: the suffix of its topics, its priorities, the maximum size of payload and '
    'collapse id in bytes, whether aps must have no alert, badge or sound, the kind of its tokens, and that of the tokens that '
    'starts are sent to. The row channel is for what publish sends. The row without a name is for push types that this version '
    'does not know: nothing is checked but what it says.';

-- An expression instead of a query: enqueue evaluates it each time, and a query would cost more than all other checks together. For
-- an unknown push type, it is the row without a name.
DO $$
BEGIN
    EXECUTE (SELECT format(
        'CREATE OR REPLACE FUNCTION carillon.rules_of(push_type text) RETURNS carillon.push_rules LANGUAGE sql IMMUTABLE '
            'PARALLEL SAFE AS %L',
        'SELECT CASE push_type ' || string_agg(format('WHEN %L THEN %L::carillon.push_rules', p.push_type, p), ' ')
                FILTER (WHERE p.push_type IS NOT NULL)
            || ' ELSE CASE WHEN push_type IS NOT NULL THEN '
            || string_agg(format('%L::carillon.push_rules', p), '') FILTER (WHERE p.push_type IS NULL) || ' END END')
    FROM carillon.push_types() AS p);
END
$$;
COMMENT ON FUNCTION carillon.rules_of IS
    'Internal: returns the row of push_types for one push type, which for an unknown one has no name.';

-- PostgreSQL inlines it: a list of push types.
DO $$
BEGIN
    EXECUTE (SELECT format(
        'CREATE OR REPLACE FUNCTION carillon.is_update(push_type text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS %L',
        format('SELECT push_type OPERATOR(pg_catalog.=) ANY (%L::pg_catalog.text[])', array_agg(p.push_type)))
    FROM carillon.push_types() AS p WHERE p.is_update);
END
$$;
COMMENT ON FUNCTION carillon.is_update IS
    'Internal: returns whether a push replaces what an earlier one to the same token has shown, and keeps the order of updates.';

-- The names of push types, interruption levels and events, so that a header and JSON can contain them.
CREATE OR REPLACE FUNCTION carillon.is_name(value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT value COLLATE "C" OPERATOR(pg_catalog.~) '^[a-z0-9-]{1,64}$'
$$;
COMMENT ON FUNCTION carillon.is_name IS
    'Internal: returns whether text may be a name of Apple''s: at most 64 lower-case letters, digits and hyphens.';

-- Apple adds push types nearly every year. What this version does not know is sent, and the caller is told.
CREATE OR REPLACE FUNCTION carillon.note_unknown(argument text, value text, hint text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE USING ERRCODE = '01UNK', HINT = coalesce(hint, ''), MESSAGE = pg_catalog.format(
        'argument "%s" is %L, which this version of Carillon does not know: nothing about it was checked', argument, value);
END
$$;
COMMENT ON FUNCTION carillon.note_unknown IS 'Internal: raises the notice about a value that is not checked.';

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

-- Apple has given most new types such a topic. A message of an unknown type may name another one if the app lists it.
CREATE OR REPLACE FUNCTION carillon.is_derived_topic(topic text, push_type text, topics text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (carillon.rules_of(is_derived_topic.push_type)).push_type IS NULL AND EXISTS (
        SELECT FROM pg_catalog.unnest(topics) AS t(topic)
        WHERE is_derived_topic.topic OPERATOR(pg_catalog.=)
            pg_catalog.concat(t.topic, '.push-type.', is_derived_topic.push_type))
$$;
COMMENT ON FUNCTION carillon.is_derived_topic IS
    'Internal: returns whether a topic is one of these followed by .push-type. and the name of a push type that is not known.';

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

-- APNs would refuse a token of any other kind: each token is bound to its topic. The tokens of an unknown push type have its name
-- as their kind. Null for a push to a channel.
CREATE OR REPLACE FUNCTION carillon.kind_of_push(push_type text, payload text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN (carillon.rules_of(push_type)).start_kind IS NOT NULL
            AND payload::pg_catalog.json OPERATOR(pg_catalog.#>>) '{aps,event}' OPERATOR(pg_catalog.=) 'start'
        THEN (carillon.rules_of(push_type)).start_kind
        WHEN (carillon.rules_of(push_type)).push_type IS NULL THEN push_type
        ELSE (carillon.rules_of(push_type)).token_kind END
$$;
COMMENT ON FUNCTION carillon.kind_of_push IS 'Internal: returns the kind of tokens that a push is for.';

-- check_kinds() finds tokens that APNs would refuse. A token that is not registered may be of any kind. Each token is one lookup by
-- primary key, whichever values the plan was made for.
CREATE OR REPLACE FUNCTION carillon.check_kinds(app integer, tokens text[], push_type text, payload text) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
DECLARE
    rules CONSTANT carillon.push_rules := carillon.rules_of(push_type);
    wanted CONSTANT text := carillon.kind_of_push(push_type, payload);
    other record;
BEGIN
    IF wanted = 'device' OR rules.push_type IS NULL THEN
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
        CASE WHEN rules.start_kind IS NOT NULL THEN format('A start takes tokens of kind %s; an update or an end takes the token '
                'of kind %s that the app got after the start. ', rules.start_kind, rules.token_kind)
            ELSE 'Apple refuses a token that is for something else. ' END
        || format('If the registration is wrong, call carillon.register_token(…, kind => %L).', wanted));
END
$$;
COMMENT ON FUNCTION carillon.check_kinds IS
    'Internal: returns the refusal of tokens that are registered with a kind other than the push needs; null if there are none.';
