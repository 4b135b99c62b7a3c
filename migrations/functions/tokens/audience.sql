-- Whom a broadcast reaches: the tokens of one kind of an app, or those of them that it asks for. submit() opens the audience of a
-- broadcast; audience(), which users call, counts it.

-- A pattern of LIKE for each locale, against locale_key(): de matches de and de-AT, but not den.
CREATE OR REPLACE FUNCTION carillon.locale_key(locale text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.locale_name(locale) OPERATOR(pg_catalog.||) '-'
$$;
COMMENT ON FUNCTION carillon.locale_key IS 'Internal: returns a locale in lower case with a hyphen after each part.';

CREATE OR REPLACE FUNCTION carillon.locale_patterns(locales text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(carillon.locale_key(carillon.locale(l.locale)) || '%') FROM unnest(locales) AS l(locale)
$$;
COMMENT ON FUNCTION carillon.locale_patterns IS 'Internal: returns the patterns of the locales that a broadcast asks for.';

-- The planner inlines this function, and what is not asked for costs nothing.
CREATE OR REPLACE FUNCTION carillon.is_asked_for(
    attributes jsonb, locale text, activity_type text, where_attributes jsonb, patterns text[], wanted_type text, started_type text
) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (where_attributes IS NULL OR attributes OPERATOR(pg_catalog.@>) where_attributes)
        AND (patterns IS NULL OR carillon.locale_key(locale) OPERATOR(pg_catalog.~~) ANY (patterns))
        AND (wanted_type IS NULL OR activity_type OPERATOR(pg_catalog.=) wanted_type)
        AND (started_type IS NULL OR activity_type IS NULL OR activity_type OPERATOR(pg_catalog.=) started_type)
$$;
COMMENT ON FUNCTION carillon.is_asked_for IS
    'Internal: returns whether a token has the attributes, a locale and the activity type of an audience. Null is no.';

CREATE OR REPLACE FUNCTION carillon.check_audience(wanted carillon.audience_arguments) RETURNS carillon.refusal
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    wrong text;
BEGIN
    IF jsonb_typeof(wanted.where_attributes) <> 'object' THEN
        RETURN carillon.refusal('where_attributes', 'a JSON object', wanted.where_attributes::text,
            'Tokens whose attributes have all of its members are reached.');
    ELSIF wanted.locales IS NOT NULL THEN
        IF array_ndims(wanted.locales) IS DISTINCT FROM 1 THEN
            RETURN carillon.refusal('locales', 'an array of one or more locales',
                CASE WHEN cardinality(wanted.locales) = 0 THEN 'none' ELSE 'an array of arrays' END,
                'Leave it out for tokens of all locales.');
        END IF;
        SELECT quote_literal(l.locale) INTO wrong FROM unnest(wanted.locales) AS l(locale)
        WHERE carillon.locale(l.locale) IS NULL LIMIT 1;
        IF FOUND THEN
            RETURN carillon.refusal('locales', 'locales such as de or pt-BR', wrong, 'A language is also reached in each region.');
        END IF;
    END IF;
    IF octet_length(wanted.activity_type) NOT BETWEEN 1 AND 255 THEN
        RETURN carillon.refusal('activity_type', 'text of 1 to 255 bytes', quote_literal(wanted.activity_type),
            'Pass the name that register_token was given as activity_type.');
    END IF;
    RETURN carillon.check_kind(wanted.kind);
END
$$;
COMMENT ON FUNCTION carillon.check_audience IS 'Internal: returns the refusal of what a broadcast asks for; null if it is valid.';

-- open_zones() is for a broadcast with run_at_local. Each slice has tokens of one zone, whose name and time it returns too: first
-- those without a zone that is known, whose name is null, then the zones that are due last. Tokens are sorted, as above.
CREATE OR REPLACE FUNCTION carillon.open_zones(
    made carillon.draft, wanted carillon.audience_arguments, asked jsonb, patterns text[], size integer
) RETURNS refcursor
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_hashagg = off SET jit = off AS $$
DECLARE
    slices refcursor;
    fallback CONSTANT text :=
        coalesce(carillon.time_zone(wanted.time_zone), (SELECT a.time_zone FROM carillon.apps a WHERE a.id = made.app_id));
BEGIN
    OPEN slices FOR WITH reached AS (
        SELECT k.token, coalesce(k.time_zone, '') AS named, carillon.body_of(made.locales, k.locale) AS body,
            coalesce(k.environment <> made.home, false) AS is_away
        FROM carillon.tokens k
        WHERE k.app_id = made.app_id AND k.kind = wanted.kind AND (k.expires_at IS NULL OR k.expires_at > now())
            AND carillon.is_asked_for(k.attributes, k.locale, k.activity_type, asked, patterns, wanted.activity_type, NULL)
    ), zones AS MATERIALIZED (
        SELECT n.*, carillon.next_local_time(wanted.run_at_local, n.zone, now()) AS run_at FROM (
            SELECT d.named, coalesce(carillon.time_zone(d.named), fallback) AS zone
            FROM (SELECT DISTINCT r.named FROM reached r) AS d OFFSET 0) AS n
    )
    SELECT array_agg(t.token ORDER BY t.token), NULL::json[], made.bodies[t.body], t.is_away, t.zone, t.run_at FROM (
        SELECT r.token, r.body, r.is_away, z.zone, z.run_at,
            (row_number() OVER (PARTITION BY z.zone, r.body, r.is_away ORDER BY r.token) - 1) / size AS place
        FROM reached r JOIN zones z ON z.named = r.named) AS t
    GROUP BY t.run_at, t.zone, t.body, t.is_away, t.place ORDER BY t.run_at DESC, t.zone, t.body, t.is_away, t.place;
    RETURN slices;
END
$$;
COMMENT ON FUNCTION carillon.open_zones IS
    'Internal: opens a cursor of the tokens that a broadcast reaches, in arrays of one time zone each.';

-- Null for a message with one body: the planner then removes what would choose among several.
CREATE OR REPLACE FUNCTION carillon.body_of(known text[], locale text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN known IS NOT NULL THEN carillon.choice_of_body(known, carillon.locale_name(locale)) END
$$;
COMMENT ON FUNCTION carillon.body_of IS
    'Internal: returns the place of the body that a locale chooses; null if the message has only one.';

-- open_audience() reads one snapshot, in slices of `size` tokens along an index, so that each costs the same however many tokens
-- there are: the primary key for devices, tokens_by_kind for other kinds. A plan that knows the kind also knows whether the partial
-- index contains it. For (expires_at > now()) IS NOT FALSE, the planner would estimate that no row matches. If the tokens are
-- chosen by more than their kind, they are read in one go, in any order, and those chosen are sorted: often a few among millions.
--
-- The tokens of one job have the same body, so that its payload is stored once, and with made.home, the environment of an app with
-- both, they are of one environment. A slice is larger by the number of these choices, so that jobs are not small.
CREATE OR REPLACE FUNCTION carillon.open_audience(made carillon.draft, wanted carillon.audience_arguments, size integer)
RETURNS refcursor
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    slices refcursor;
    asked CONSTANT jsonb := nullif(wanted.where_attributes, '{}');
    patterns CONSTANT text[] := carillon.locale_patterns(wanted.locales);
    slice_size CONSTANT integer :=
        size * coalesce(cardinality(made.bodies), 1) * CASE WHEN made.home IS NULL THEN 1 ELSE 2 END;
BEGIN
    IF wanted.run_at_local IS NOT NULL THEN
        RETURN carillon.open_zones(made, wanted, asked, patterns, size);
    ELSIF num_nonnulls(asked, patterns, wanted.activity_type, wanted.started_type) > 0 THEN
        OPEN slices FOR SELECT array_agg(t.token ORDER BY t.token), NULL::json[], made.bodies[t.body], t.is_away, NULL::text,
            NULL::timestamptz
        FROM (
            SELECT r.*, row_number() OVER (PARTITION BY r.body, r.is_away ORDER BY r.token) - 1 AS place FROM (
                SELECT k.token, carillon.body_of(made.locales, k.locale) AS body,
                    coalesce(k.environment <> made.home, false) AS is_away
                FROM carillon.tokens k
                WHERE k.app_id = made.app_id AND k.kind = wanted.kind AND (k.expires_at IS NULL OR k.expires_at > now())
                    AND carillon.is_asked_for(k.attributes, k.locale, k.activity_type, asked, patterns, wanted.activity_type,
                        wanted.started_type)) AS r) AS t
        GROUP BY t.body, t.is_away, t.place / size ORDER BY t.body, t.is_away, t.place / size;
        RETURN slices;
    END IF;
    OPEN slices FOR WITH RECURSIVE slice AS (
        SELECT NULL::text[] AS tokens, NULL::text[] AS locales, NULL::text[] AS environments, '' AS last
        UNION ALL
        SELECT next.tokens, next.locales, next.environments, next.last FROM slice CROSS JOIN LATERAL (
            SELECT array_agg(t.token) AS tokens, CASE WHEN made.bodies IS NOT NULL THEN array_agg(t.locale) END AS locales,
                CASE WHEN made.home IS NOT NULL THEN array_agg(t.environment) END AS environments, max(t.token) AS last
            FROM (
                SELECT k.token, k.locale, k.environment FROM carillon.tokens k
                WHERE k.app_id = made.app_id AND k.token > slice.last AND k.kind = wanted.kind
                    AND (k.expires_at IS NULL OR k.expires_at > now())
                ORDER BY k.token LIMIT slice_size) AS t) AS next
        WHERE next.tokens IS NOT NULL)
    SELECT j.tokens, NULL::json[], j.body, j.is_away, NULL::text, NULL::timestamptz FROM slice c CROSS JOIN LATERAL (
        SELECT c.tokens, NULL::text AS body, false AS is_away WHERE num_nonnulls(made.bodies, made.home) = 0
        UNION ALL
        SELECT array_agg(p.token ORDER BY p.token), made.bodies[p.body], p.is_away FROM (
            SELECT r.*, row_number() OVER (PARTITION BY r.body, r.is_away ORDER BY r.token) - 1 AS place FROM (
                SELECT t.token, carillon.body_of(made.locales, t.locale) AS body,
                    coalesce(t.environment <> made.home, false) AS is_away
                FROM unnest(c.tokens, c.locales, c.environments) AS t(token, locale, environment)) AS r) AS p
        WHERE num_nonnulls(made.bodies, made.home) > 0 GROUP BY p.body, p.is_away, p.place / size) AS j
    WHERE c.tokens IS NOT NULL;
    RETURN slices;
END
$$;
COMMENT ON FUNCTION carillon.open_audience IS 'Internal: opens a cursor of the tokens that a broadcast reaches, in arrays.';

-- audience() runs as its owner, and asks for the caller's apps. It reads at most `bound` rows: for devices the first of any kind,
-- because millions of other rows may precede the first device. Tokens are random, so the first are a fair sample of all. VOLATILE,
-- because EXPLAIN is refused in other functions.
CREATE OR REPLACE FUNCTION carillon.audience(
    app text, kind text DEFAULT NULL, where_attributes jsonb DEFAULT NULL, locales text[] DEFAULT NULL,
    activity_type text DEFAULT NULL, OUT tokens bigint, OUT exact boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    bound CONSTANT integer := 100000;
    chosen CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = audience.app AND carillon.may_use(a));
    wanted CONSTANT carillon.audience_arguments :=
        ROW(coalesce(audience.kind, 'device'), audience.where_attributes, audience.locales, audience.activity_type, NULL,
            NULL, NULL);
    asked CONSTANT jsonb := nullif(audience.where_attributes, '{}');
    refusal CONSTANT carillon.refusal := CASE WHEN chosen IS NULL THEN carillon.unknown_app(audience.app)
        ELSE carillon.check_audience(wanted) END;
    patterns text[];
    rows_read bigint;
    plan json;
BEGIN
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    patterns := carillon.locale_patterns(audience.locales);
    SELECT count(*), count(*) FILTER (
        WHERE few.kind = wanted.kind AND (few.expires_at IS NULL OR few.expires_at > now())
            AND carillon.is_asked_for(few.attributes, few.locale, few.activity_type, asked, patterns,
                wanted.activity_type, NULL))
    INTO rows_read, tokens
    FROM (
        SELECT k.kind, k.expires_at, k.attributes, k.locale, k.activity_type FROM carillon.tokens k
        WHERE k.app_id = chosen AND (wanted.kind = 'device' OR k.kind = wanted.kind)
        ORDER BY k.token LIMIT bound + 1) AS few;
    exact := rows_read <= bound;
    IF NOT exact THEN
        EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM carillon.tokens WHERE app_id = %s', chosen)
            || CASE WHEN wanted.kind <> 'device' THEN format(' AND kind = %L', wanted.kind) ELSE '' END INTO plan;
        tokens := greatest(tokens, round(tokens * (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric / rows_read));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.audience IS
    'Returns how many tokens a broadcast with the same arguments would reach: exact if the app has at most 100,000 tokens, or of a '
    'kind other than device at most 100,000 of that kind, and otherwise estimated from as many. Without a kind, it counts devices.';
