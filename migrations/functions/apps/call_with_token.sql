-- The HTTP API of the dashboard: each of its routes calls one function of the schema through call_with_token(). The routes stand in
-- APIRoute+All.swift.
--
-- An API token has the rights of a role that is isolated to its app: call_with_token() runs as the owner of the schema, calls only
-- functions that carillon_tenant may execute, and passes the app of the token as their argument app.

-- A variant that takes JSON has polymorphic arguments. Those of Live Activities take an object; callable() calls the others text,
-- and call_of() passes what was given. Arguments in `required` have no default.
CREATE OR REPLACE FUNCTION carillon.callable(
    routine text, OUT names text[], OUT types regtype[], OUT required jsonb, OUT is_set boolean
)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(a.name), array_agg(a.type),
        coalesce(jsonb_object_agg(a.name, NULL) FILTER (WHERE a.is_required AND a.name <> 'app'), '{}'), bool_or(a.is_set)
    FROM (
        SELECT n.name, bool_or(p.proretset) AS is_set,
            count(*) FILTER (WHERE n.place <= p.pronargs - p.pronargdefaults) = p.variants AS is_required,
            min(CASE WHEN n.name IN ('content_state', 'attributes') THEN 'jsonb'::regtype
                WHEN n.type = 'anycompatiblearray'::regtype THEN 'text[]'
                WHEN n.type IN ('anyelement'::regtype, 'anycompatible'::regtype) THEN 'text' ELSE n.type END::oid)::regtype AS type
        FROM (
            SELECT f.*, count(*) OVER () AS variants FROM pg_proc f
            WHERE f.pronamespace = 'carillon'::regnamespace AND f.proname = routine
                AND has_function_privilege('carillon_tenant', f.oid, 'EXECUTE')) AS p
        CROSS JOIN LATERAL unnest(p.proargnames[1:p.pronargs], p.proargtypes::oid[]::regtype[])
            WITH ORDINALITY AS n(name, type, place)
        GROUP BY n.name, p.variants) AS a
$$;
COMMENT ON FUNCTION carillon.callable IS
    'Internal: returns the arguments of a function that an app may call; null if there is none.';

-- call_with_token() reads the body as JSON only once the token is known, because anybody can send one. `parameters` are those of
-- the path and the query; `members` are the names that the body may have, where null is no value: it would have the type of text,
-- and no variant of a function takes text beside JSON. `key` becomes the dedupe_key. A message without tokens is refused, by strict
-- where a function has it. If a key is taken, note_request() needs a null, so on_duplicate is left out. For an unknown token, app
-- is null, and answer says why.
CREATE OR REPLACE FUNCTION carillon.call_with_token(
    token_digest bytea, needs text, routine text, members text[], INOUT app text DEFAULT NULL, body text DEFAULT NULL,
    parameters jsonb DEFAULT NULL, key text DEFAULT NULL, OUT answer jsonb, OUT is_new boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_of_token(token_digest, needs, app);
    callee CONSTANT record := carillon.callable(routine);
    has_key CONSTANT boolean := 'dedupe_key' = ANY (callee.names);
    request jsonb;
    arguments jsonb;
    content bytea;
    refusal carillon.refusal;
BEGIN
    PERFORM set_config('carillon.source', 'API', true);
    app := target.name;
    IF app IS NULL THEN
        answer := to_jsonb(CASE WHEN EXISTS (SELECT FROM carillon.api_tokens t WHERE t.digest = token_digest)
            THEN 'the token has expired' ELSE 'unknown token' END);
        RETURN;
    END IF;
    request := coalesce(body, '{}');
    refusal := carillon.check_object('request', format('the arguments of %s without app', routine), request, members,
        callee.names, callee.types);
    IF ('app' = ANY (callee.names)) IS NOT TRUE THEN
        RAISE undefined_function USING MESSAGE = format('no function %L is for apps', routine);
    END IF;
    IF refusal.message IS NULL THEN
        refusal := carillon.unfit_member(coalesce(parameters, '{}'), callee.names, callee.types, false);
    END IF;
    IF refusal.message IS NULL AND has_key AND key IS NOT NULL AND request ->> 'dedupe_key' IS NOT NULL THEN
        refusal := carillon.refusal('dedupe_key', 'null if the request has an Idempotency-Key', 'a value', 'Give one of them.');
    END IF;
    PERFORM carillon.refuse(refusal);
    IF has_key THEN
        PERFORM carillon.check_installation();
    END IF;
    SELECT (callee.required || coalesce(jsonb_object_agg(m.key, m.value), '{}') || coalesce(parameters, '{}'))
        - '{strict,on_duplicate}'::text[]
    INTO arguments FROM jsonb_each(request) AS m WHERE m.value <> 'null';
    IF 'tokens' = ANY (callee.names) AND has_key AND ('strict' = ANY (callee.names)) IS NOT TRUE
        AND coalesce(nullif(arguments -> 'tokens', 'null'), '[]') = '[]' AND arguments -> 'everyone' IS DISTINCT FROM 'true' THEN
        PERFORM carillon.refuse(carillon.refusal('tokens', 'one or more device tokens', coalesce(arguments ->> 'tokens', 'null'),
            CASE WHEN 'everyone' = ANY (callee.names) THEN 'Or pass true as everyone.' END));
    END IF;
    content := CASE WHEN key IS NOT NULL THEN sha256(convert_to(routine || arguments, 'UTF8')) END;
    IF has_key THEN
        arguments := arguments || jsonb_build_object('dedupe_key', coalesce(key, arguments ->> 'dedupe_key'))
            || CASE WHEN 'strict' = ANY (callee.names) THEN '{"strict": true}' ELSE '{}' END::jsonb;
    END IF;
    BEGIN
        EXECUTE carillon.call_of(routine, arguments, callee.names, callee.types) INTO answer USING target.name, arguments;
    EXCEPTION
        WHEN data_exception THEN
            PERFORM carillon.refuse(carillon.unfit_member(arguments, callee.names, callee.types, true));
            RAISE;
    END;
    answer := CASE WHEN callee.is_set THEN coalesce(answer, '[]') ELSE answer -> 0 END;
    IF has_key THEN
        SELECT to_jsonb(n.id), n.is_new INTO answer, is_new
        FROM carillon.note_request(target.id, arguments ->> 'dedupe_key', content, (answer #>> '{}')::bigint) AS n;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.call_with_token IS
    'Internal: the HTTP API. Calls a function of the schema for the app of an API token, with the members of a JSON object as its '
    'arguments.';

-- jsonb_to_record() converts the members. An argument that takes text or JSON gets JSON if the member is an object. Beside
-- payloads, enqueue takes text only.
CREATE OR REPLACE FUNCTION carillon.call_of(routine text, arguments jsonb, names text[], types regtype[]) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT format(
        'SELECT jsonb_agg(to_jsonb(f)) FROM jsonb_to_record($2) AS r(%s) CROSS JOIN LATERAL carillon.%I(app => $1%s) AS f',
        coalesce(string_agg(format('%I %s', m.key, CASE
            WHEN n.type = 'text'::regtype AND jsonb_typeof(m.value) = 'object' AND NOT arguments ? 'payloads' THEN 'jsonb'::regtype
            WHEN n.type = 'text[]'::regtype AND jsonb_typeof(m.value -> 0) = 'object' THEN 'jsonb[]'::regtype
            ELSE n.type END), ', '), 'nothing text'), routine, string_agg(format(', %1$I => r.%1$I', m.key), ''))
    FROM jsonb_each(arguments) AS m JOIN unnest(names, types) AS n(name, type) ON n.name = m.key
$$;
COMMENT ON FUNCTION carillon.call_of IS 'Internal: returns the statement with which call_with_token calls a function.';

CREATE OR REPLACE FUNCTION carillon.page_size(max_rows integer) RETURNS integer
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF max_rows NOT BETWEEN 1 AND 1000 THEN
        PERFORM carillon.refuse(carillon.refusal('max_rows', 'a number from 1 to 1000', max_rows::text, 'Leave it out for 100.'));
    END IF;
    RETURN coalesce(max_rows, 100);
END
$$;
COMMENT ON FUNCTION carillon.page_size IS 'Internal: the HTTP API. Returns how many rows a list has; 100 if null.';

-- What it lists is kept in the order of a token or a reference: `next` continues there.
CREATE OR REPLACE FUNCTION carillon.list_tokens(
    app text, owner text, after text DEFAULT NULL, max_rows integer DEFAULT NULL, OUT tokens jsonb, OUT next text
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    target CONSTANT integer := carillon.app_id(app);
    size CONSTANT integer := carillon.page_size(max_rows);
BEGIN
    IF nullif(owner, '') IS NULL THEN
        PERFORM carillon.refuse(carillon.refusal('owner', 'the owner of tokens', quote_literal(owner),
            'Pass what register_token was given as owner.'));
    END IF;
    -- A range and an ORDER BY force the index by owner, as in owner_tokens().
    SELECT coalesce(jsonb_agg(to_jsonb(g) - 'place' ORDER BY g.token) FILTER (WHERE g.place <= size), '[]'),
        CASE WHEN count(*) > size THEN max(g.token) FILTER (WHERE g.place <= size) END
    INTO tokens, next
    FROM (
        SELECT k.*, row_number() OVER (ORDER BY k.token) AS place FROM (
            SELECT t.token, t.owner, t.kind, t.last_update, t.expires_at, t.badge, t.environment, t.activity_type, t.time_zone,
                t.locale, t.attributes
            FROM carillon.tokens t WHERE t.app_id = target AND t.owner BETWEEN list_tokens.owner AND list_tokens.owner
            ORDER BY t.app_id, t.owner OFFSET 0) AS k
        WHERE k.token > coalesce(list_tokens.after, '') ORDER BY k.token LIMIT size + 1) AS g;
END
$$;
COMMENT ON FUNCTION carillon.list_tokens IS 'Internal: the HTTP API. Lists the tokens of an owner, and where the list continues.';

CREATE OR REPLACE FUNCTION carillon.list_channels(
    app text, after text DEFAULT NULL, max_rows integer DEFAULT NULL, OUT channels jsonb, OUT next text
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT integer := carillon.app_id(app);
    size CONSTANT integer := carillon.page_size(max_rows);
BEGIN
    SELECT coalesce(jsonb_agg(to_jsonb(g) - '{place,has_more}'::text[] ORDER BY g.place) FILTER (WHERE g.place <= size), '[]'),
        max(g.reference) FILTER (WHERE g.place = size AND g.has_more)
    INTO channels, next
    FROM (
        SELECT k.*, row_number() OVER () AS place, count(*) OVER () > size AS has_more FROM (
            SELECT c.reference, c.channel_id, c.policy, c.state, c.last_error, c.requested_at, c.created_at FROM carillon.channels c
            WHERE c.app_id = target AND c.reference > coalesce(list_channels.after, '')
            ORDER BY c.app_id, c.reference LIMIT size + 1) AS k) AS g;
END
$$;
COMMENT ON FUNCTION carillon.list_channels IS 'Internal: the HTTP API. Lists the channels of an app, and where the list continues.';

-- All messages with the reference are found for each page, but the states are read only of those on it.
CREATE OR REPLACE FUNCTION carillon.list_messages(
    app text, reference text, after bigint DEFAULT NULL, max_rows integer DEFAULT NULL, OUT messages jsonb, OUT next bigint
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    size CONSTANT integer := carillon.page_size(max_rows);
BEGIN
    SELECT coalesce(jsonb_agg(to_jsonb(g) - 'place' ORDER BY g.place) FILTER (WHERE g.place <= size), '[]'),
        CASE WHEN count(*) > size THEN max(g.id) FILTER (WHERE g.place <= size) END
    INTO messages, next
    FROM (
        SELECT s.*, row_number() OVER (ORDER BY s.id) AS place
        FROM carillon.message_status(reference => list_messages.reference, app => coalesce(list_messages.app, ''),
            after => list_messages.after, max_messages => size + 1) AS s) AS g;
END
$$;
COMMENT ON FUNCTION carillon.list_messages IS
    'Internal: the HTTP API. Lists the states of the messages that have a reference, and where the list continues.';
