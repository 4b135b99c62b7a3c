-- Device tokens: what a valid one is, and the functions with which users register tokens and set badges. Several rows are locked in
-- the order of tokens.

-- is_token() is the only definition of a valid token: pairs of hex digits, at most 512 digits. PostgreSQL inlines both functions.
CREATE OR REPLACE FUNCTION carillon.is_token(token text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.octet_length(token) OPERATOR(pg_catalog.<=) 512
        AND token OPERATOR(pg_catalog.~) '^(?:[0-9a-fA-F][0-9a-fA-F])+$'
$$;
COMMENT ON FUNCTION carillon.is_token IS 'Internal: returns whether text is a device token, in upper or lower case.';

CREATE OR REPLACE FUNCTION carillon.token(token text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN carillon.is_token(token) THEN pg_catalog.lower(token) END
$$;
COMMENT ON FUNCTION carillon.token IS 'Internal: returns a device token in lower case; null if the text is not a token.';

-- invalid_token() shows both ends of a long string, and the first character that is not a hex digit.
CREATE OR REPLACE FUNCTION carillon.invalid_token(token text, place bigint DEFAULT NULL) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(
            quote_literal(CASE WHEN length(token) > 24 THEN left(token, 12) || '…' || right(token, 8) ELSE token END), 'null')
        || coalesce(' at position ' || place, '')
        || coalesce(', whose character ' || position(s.letter IN token) || ' is ' || quote_literal(s.letter),
            ', which has ' || nullif(length(token), 0) || ' digits', '')
    FROM (SELECT substring(token FROM '[^0-9a-fA-F]') AS letter) AS s
$$;
COMMENT ON FUNCTION carillon.invalid_token IS 'Internal: says what is wrong with a string that is not a device token.';

CREATE OR REPLACE FUNCTION carillon.clean_tokens(tokens text[], OUT clean text[], OUT places bigint[], OUT refusal carillon.refusal)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    bad bigint;
BEGIN
    IF array_ndims(tokens) > 1 THEN
        refusal := carillon.refusal('tokens', 'an array of device tokens', 'an array of arrays');
        RETURN;
    END IF;
    SELECT array_agg(once.token ORDER BY once.place), array_agg(once.place ORDER BY once.place),
        min(once.place) FILTER (WHERE once.token IS NULL)
    INTO clean, places, bad
    FROM (
        SELECT carillon.token(t.token) AS token, min(t.place) AS place
        FROM unnest(tokens) WITH ORDINALITY t (token, place) GROUP BY 1
    ) once;
    IF bad IS NOT NULL THEN
        refusal := carillon.refusal('tokens', 'device tokens of 2 to 512 hex digits, an even number of them',
            carillon.invalid_token(tokens[array_lower(tokens, 1) + bad - 1], bad));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.clean_tokens IS
    'Internal: returns the tokens of one call: checked, in lower case, each once, in the given order, and with their positions.';

-- The kinds that the push types of push_types() have. `make docs` writes them, from PushTypeRules.swift.
CREATE OR REPLACE FUNCTION carillon.token_kinds() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY[
        'device',
        'complication',
        'control',
        'file_provider',
        'live_activity',
        'push_to_start',
        'location',
        'mdm',
        'media_session',
        'media_start',
        'push_to_talk',
        'voip',
        'widget'
    ]
$$;
COMMENT ON FUNCTION carillon.token_kinds IS 'Internal: returns the known kinds of tokens.';

-- Also tells the caller about a kind that is not known. Most calls name no kind, or a known one.
CREATE OR REPLACE FUNCTION carillon.check_kind(kind text) RETURNS carillon.refusal
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF kind IS NULL OR kind = ANY (carillon.token_kinds()) THEN
        RETURN NULL;
    ELSIF kind COLLATE "C" ~ '^[a-z0-9_-]{1,64}$' THEN
        PERFORM carillon.note_unknown('kind', kind,
            'Only a broadcast of a push type with this name, or with this kind as an argument, reaches such tokens.');
        RETURN NULL;
    END IF;
    RETURN carillon.refusal('kind', 'one of ' || array_to_string(carillon.token_kinds(), ', '), quote_literal(kind),
        'A broadcast reaches the tokens of one kind; docs/live-activities.md says what each is for. Another kind has a name of at '
        'most 64 lower-case letters, digits, hyphens and underscores.');
END
$$;
COMMENT ON FUNCTION carillon.check_kind IS
    'Internal: returns the refusal of a kind of tokens, or notes that it is not known; null if there can be such a kind.';

-- Apple ends an activity after 8 hours, and removes it from the lock screen within 4 more. STABLE, as the addition is: PostgreSQL
-- would call an IMMUTABLE function for each row instead of inlining it.
CREATE OR REPLACE FUNCTION carillon.usual_end(kind text, registered_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE kind WHEN 'live_activity' THEN registered_at OPERATOR(pg_catalog.+) interval '12 hours' END
$$;
COMMENT ON FUNCTION carillon.usual_end IS 'Internal: returns when a token that is registered without an end expires.';

-- A registration overrides earlier feedback, because its last_update is later than Apple's time. Attributes may be about a person,
-- so those of another owner are not kept.
CREATE OR REPLACE FUNCTION carillon.register_token(
    app text, token text, owner text DEFAULT NULL, kind text DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    environment text DEFAULT NULL, activity_type text DEFAULT NULL, time_zone text DEFAULT NULL, locale text DEFAULT NULL,
    attributes jsonb DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    clean CONSTANT text := carillon.token(register_token.token);
    registering_app CONSTANT integer := (
        SELECT a.id FROM carillon.apps a WHERE a.name = register_token.app AND a.moved_to IS NULL);
    zone text;
    refusal carillon.refusal;
BEGIN
    IF clean IS NULL OR registering_app IS NULL OR register_token.kind <> ALL (carillon.token_kinds())
        OR register_token.expires_at <= now() OR NOT carillon.is_usual(register_token.expires_at)
        OR octet_length(register_token.owner) > 2048
        OR num_nonnulls(register_token.environment, register_token.activity_type, register_token.time_zone, register_token.locale,
            register_token.attributes) > 0
    THEN
        refusal := CASE WHEN clean IS NULL THEN carillon.refusal('token',
                'a device token of 2 to 512 hex digits, an even number of them',
                carillon.invalid_token(register_token.token),
                'Write each byte of the token as two hex digits, without spaces.')
            WHEN registering_app IS NULL THEN carillon.unknown_app(register_token.app)
            WHEN octet_length(register_token.owner) > 2048 THEN carillon.refusal('owner', 'text of at most 2048 bytes',
                quote_literal(left(register_token.owner, 40)) || '… (' || octet_length(register_token.owner) || ' bytes)',
                'Pass an id of your own, such as the number of a user.')
            WHEN register_token.expires_at <= now() OR NOT carillon.is_usual(register_token.expires_at) THEN
                carillon.refusal('expires_at', 'a time in the future, up to the year 2200',
                    quote_literal(register_token.expires_at), 'Leave it out for a token that does not expire.')
            ELSE carillon.check_kind(register_token.kind) END;
        IF refusal.message IS NULL THEN
            refusal := carillon.check_details(register_token.environment, register_token.activity_type, register_token.time_zone,
                register_token.locale, register_token.attributes);
            zone := carillon.time_zone(register_token.time_zone);
        END IF;
        IF refusal.message IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
                HINT = refusal.hint;
        END IF;
    END IF;
    INSERT INTO carillon.tokens AS t (app_id, token, owner, kind, expires_at, environment, activity_type, time_zone, locale,
        attributes)
    VALUES (registering_app, clean, register_token.owner, coalesce(register_token.kind, 'device'),
        coalesce(register_token.expires_at, carillon.usual_end(register_token.kind, now())),
        register_token.environment, register_token.activity_type, zone, carillon.locale(register_token.locale),
        register_token.attributes)
    ON CONFLICT (app_id, token) DO UPDATE SET
        last_update = greatest(t.last_update, excluded.last_update), owner = coalesce(excluded.owner, t.owner),
        kind = coalesce(register_token.kind, t.kind),
        expires_at = coalesce(register_token.expires_at,
            carillon.usual_end(coalesce(register_token.kind, t.kind), now())),
        environment = coalesce(excluded.environment, t.environment),
        activity_type = coalesce(excluded.activity_type, t.activity_type),
        time_zone = coalesce(excluded.time_zone, t.time_zone), locale = coalesce(excluded.locale, t.locale),
        attributes = coalesce(excluded.attributes, CASE WHEN (excluded.owner <> t.owner) IS NOT TRUE THEN t.attributes END);
END
$$;
COMMENT ON FUNCTION carillon.register_token IS
    'Registers a token or renews its registration. Returns nothing. Null keeps the present owner, kind, environment, activity '
    'type, time zone, locale and attributes, except that another owner does not keep the attributes; a new token has the kind '
    'device. Without expires_at, a token of kind live_activity expires after 12 hours and any other never.';

-- A badge is never below 0. No badge is kept for a token that is not registered; it counts from 0. Rows are locked in the order of
-- tokens, so that callers do not deadlock.
CREATE OR REPLACE FUNCTION carillon.add_to_badges(app integer, tokens text[], step bigint) RETURNS integer[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    badges integer[];
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT k.token FROM carillon.tokens k WHERE k.app_id = app AND k.token = ANY (tokens)
        ORDER BY k.token FOR UPDATE
    ), changed AS (
        UPDATE carillon.tokens k SET badge = greatest(0, least(2147483647, k.badge + step)) FROM locked l
        WHERE k.app_id = app AND k.token = l.token RETURNING k.token, k.badge
    )
    SELECT array_agg(coalesce(c.badge, greatest(0, step)) ORDER BY g.place) INTO badges
    FROM unnest(tokens) WITH ORDINALITY AS g(token, place) LEFT JOIN changed c ON c.token = g.token;
    RETURN badges;
END
$$;
COMMENT ON FUNCTION carillon.add_to_badges IS 'Internal: adds to the badges of tokens, and returns the badge of each.';

CREATE OR REPLACE FUNCTION carillon.check_choice(app text, chosen integer, token text, owner text) RETURNS carillon.refusal
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE
        WHEN chosen IS NULL THEN carillon.unknown_app(app)
        WHEN num_nonnulls(token, owner) <> 1 THEN carillon.refusal('token',
            'a device token, or null if owner is given', CASE WHEN token IS NULL THEN 'neither' ELSE 'both' END,
            'An owner selects all of its tokens.')
        WHEN token IS NOT NULL AND carillon.token(token) IS NULL THEN carillon.refusal('token',
            'a device token of 2 to 512 hex digits, an even number of them', carillon.invalid_token(token),
            'Write each byte of the token as two hex digits, without spaces.') END
$$;
COMMENT ON FUNCTION carillon.check_choice IS
    'Internal: returns the refusal of the arguments token and owner, one of which must be given; null if they are valid.';

-- unregister_token() runs as its owner, and asks for the caller's apps: see rights.sql.
CREATE OR REPLACE FUNCTION carillon.unregister_token(app text, token text DEFAULT NULL, owner text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    clean CONSTANT text := carillon.token(unregister_token.token);
    chosen CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = unregister_token.app AND carillon.may_use(a));
    refusal CONSTANT carillon.refusal :=
        carillon.check_choice(unregister_token.app, chosen, unregister_token.token, unregister_token.owner);
    devices bigint;
BEGIN
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    DELETE FROM carillon.tokens k WHERE k.app_id = chosen AND k.token = ANY (ARRAY(
        SELECT l.token FROM carillon.tokens l
        WHERE l.app_id = chosen AND (l.token = clean OR clean IS NULL AND l.owner = unregister_token.owner)
        ORDER BY l.token FOR UPDATE));
    GET DIAGNOSTICS devices = ROW_COUNT;
    RETURN devices;
END
$$;
COMMENT ON FUNCTION carillon.unregister_token IS
    'Deletes a device token, or all tokens of an owner. Returns the number of tokens that were deleted.';

CREATE OR REPLACE FUNCTION carillon.set_badge(app text, token text DEFAULT NULL, owner text DEFAULT NULL, badge bigint DEFAULT 0)
RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    clean CONSTANT text := carillon.token(set_badge.token);
    chosen CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = set_badge.app AND a.moved_to IS NULL);
    level CONSTANT bigint := coalesce(set_badge.badge, 0);
    refusal carillon.refusal := carillon.check_choice(set_badge.app, chosen, set_badge.token, set_badge.owner);
    devices bigint;
BEGIN
    IF refusal.message IS NULL AND level NOT BETWEEN 0 AND 2147483647 THEN
        refusal := carillon.refusal('badge', 'a number from 0 to 2147483647', level::text,
            'To add or subtract, enqueue a message with badge_add.');
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    UPDATE carillon.tokens k SET badge = level WHERE k.app_id = chosen AND k.token = ANY (ARRAY(
        SELECT l.token FROM carillon.tokens l
        WHERE l.app_id = chosen AND (l.token = clean OR clean IS NULL AND l.owner = set_badge.owner)
        ORDER BY l.token FOR UPDATE));
    GET DIAGNOSTICS devices = ROW_COUNT;
    RETURN devices;
END
$$;
COMMENT ON FUNCTION carillon.set_badge IS
    'Sets the number that badge_add adds to, for a device token or for all tokens of an owner. Sends nothing. Returns the '
    'number of registered tokens that were set.';

-- Apple's channel ids are base64 ending in =. A device token does not look like that: thirty-two random bytes are practically never
-- all base64 characters.
CREATE OR REPLACE FUNCTION carillon.token_text(token text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN token OPERATOR(pg_catalog.~) '^(2[bdf]|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])+(3d){1,2}$'
        THEN pg_catalog.convert_from(pg_catalog.decode(token, 'hex'), 'SQL_ASCII') ELSE token END
$$;
COMMENT ON FUNCTION carillon.token_text IS
    'Returns a token in readable form: the channel id if it stands for a channel, otherwise the token itself.';
