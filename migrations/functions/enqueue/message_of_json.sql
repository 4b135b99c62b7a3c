-- Arguments as JSON objects, for callers that cannot use SQL: the HTTP API, and the page for test pushes of the dashboard. The
-- object of that page has the arguments of enqueue, by the fields of the type message_arguments.

-- fits_argument() is needed because conversions take any value as text.
CREATE OR REPLACE FUNCTION carillon.fits_argument(name text, type regtype, value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN jsonb_typeof(value) = 'null' OR type = 'jsonb'::regtype THEN true
        WHEN name IN ('alert', 'payload') THEN jsonb_typeof(value) IN ('string', 'object')
        WHEN name = 'tokens' AND jsonb_typeof(value) = 'array' THEN
            NOT EXISTS (SELECT FROM jsonb_array_elements(value) AS e WHERE jsonb_typeof(e) NOT IN ('string', 'null'))
        WHEN type = 'text[]'::regtype THEN jsonb_typeof(value) = 'array'
        WHEN type IN ('bigint'::regtype, 'integer'::regtype, 'double precision'::regtype) THEN jsonb_typeof(value) = 'number'
        WHEN type = 'boolean'::regtype THEN jsonb_typeof(value) = 'boolean'
        ELSE jsonb_typeof(value) = 'string'
    END
$$;
COMMENT ON FUNCTION carillon.fits_argument IS 'Internal: returns whether a member has the JSON type that its argument takes.';

-- PostgreSQL's own error does not name the member. Without `converts`, only the types in JSON are compared.
CREATE OR REPLACE FUNCTION carillon.unfit_member(object jsonb, names text[], types regtype[], converts boolean)
RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    member record;
BEGIN
    FOR member IN
        SELECT b.key, b.value, n.type, carillon.fits_argument(b.key, n.type, b.value) AS is_fit
        FROM jsonb_each(object) AS b JOIN unnest(names, types) AS n(name, type) ON n.name = b.key
        WHERE converts OR NOT carillon.fits_argument(b.key, n.type, b.value) ORDER BY is_fit, b.key
    LOOP
        IF member.is_fit THEN
            BEGIN
                EXECUTE format('SELECT FROM jsonb_to_record($1) AS r(%I %s)', member.key, member.type)
                USING jsonb_build_object(member.key, member.value);
                CONTINUE;
            EXCEPTION
                WHEN data_exception THEN
                    NULL;  -- the refusal below says what it takes
            END;
        END IF;
        RETURN carillon.refusal(member.key, CASE
                WHEN member.key IN ('alert', 'payload') THEN 'a string or an object'
                WHEN member.key = 'payloads' THEN 'an array of objects'
                WHEN member.type = 'text[]'::regtype THEN 'an array of strings'
                WHEN member.type IN ('bigint'::regtype, 'integer'::regtype) THEN 'a whole number'
                WHEN member.type = 'double precision'::regtype THEN 'a number'
                WHEN member.type = 'boolean'::regtype THEN 'true or false'
                WHEN member.type = 'timestamptz'::regtype THEN 'a time, such as "2026-11-22T11:45:00Z"'
                WHEN member.type = 'interval'::regtype THEN 'an interval, such as "1 hour"'
                ELSE 'a string' END,
            member.value::text, 'The pages docs/http.md and docs/sql.md say what each argument takes.');
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.unfit_member IS
    'Internal: returns the refusal of the first member whose value does not fit its argument; null if all fit.';

CREATE OR REPLACE FUNCTION carillon.check_object(
    argument text, takes text, object jsonb, members text[], names text[], types regtype[]
) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    hint CONSTANT text :=
        coalesce('The members are: ' || nullif(array_to_string(members, ', '), '') || '.', 'It has no members.');
    unknown text;
BEGIN
    IF jsonb_typeof(object) IS DISTINCT FROM 'object' THEN
        RETURN carillon.refusal(argument, 'a JSON object', left(coalesce(object::text, 'null'), 40), hint);
    END IF;
    SELECT k.name INTO unknown FROM jsonb_object_keys(object) AS k(name)
    WHERE k.name <> ALL (members) ORDER BY k.name LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal(argument, takes, 'a member ' || to_json(left(unknown, 80)), hint);
    END IF;
    RETURN carillon.unfit_member(object, names, types, false);
END
$$;
COMMENT ON FUNCTION carillon.check_object IS
    'Internal: returns the refusal of an object that has other members, or members of other types; null if it is valid.';

-- The object has no member app, because the caller's right is limited to one app.
CREATE OR REPLACE FUNCTION carillon.message_of_json(app text, message jsonb) RETURNS carillon.message_arguments
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    m carillon.message_arguments;
    names CONSTANT text[] := ARRAY(
        SELECT a.attname FROM pg_attribute a
        WHERE a.attrelid = 'carillon.message_arguments'::regclass AND a.attnum > 0
            AND a.attname NOT IN ('app', 'alert_json', 'payload_type', 'payloads_type') ORDER BY a.attnum);
    types CONSTANT regtype[] := ARRAY(
        SELECT a.atttypid::regtype FROM pg_attribute a
        WHERE a.attrelid = 'carillon.message_arguments'::regclass AND a.attname = ANY (names) ORDER BY a.attnum);
BEGIN
    PERFORM carillon.refuse(carillon.check_object('message', 'the arguments of enqueue without app', message, names, names, types));
    BEGIN
        m := jsonb_populate_record(NULL::carillon.message_arguments, message);
    EXCEPTION
        WHEN data_exception THEN
            PERFORM carillon.refuse(carillon.unfit_member(message, names, types, true));
            RAISE;
    END;
    m.app := app;
    IF jsonb_typeof(message -> 'alert') = 'object' THEN
        m.alert := NULL;
        m.alert_json := message -> 'alert';
    END IF;
    IF jsonb_typeof(message -> 'payload') = 'object' THEN
        m.payload_type := 'jsonb'::regtype;
    END IF;
    IF jsonb_typeof(message -> 'payloads' -> 0) = 'object' THEN
        m.payloads_type := 'jsonb[]'::regtype;
    END IF;
    RETURN m;
END
$$;
COMMENT ON FUNCTION carillon.message_of_json IS
    'Internal: returns the arguments of a message from an object with the members of enqueue.';

CREATE OR REPLACE FUNCTION carillon.preview_message(app text, message jsonb) RETURNS TABLE (
    payload text, bytes integer, max_bytes integer, push_type text, priority smallint, topic text, tokens text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    m CONSTANT carillon.message_arguments := carillon.message_of_json(app, message);
    made CONSTANT carillon.draft := CASE WHEN m.bodies IS NULL THEN carillon.draft(m) ELSE carillon.draft_of_bodies(m) END;
    cleaned record;
    refusal carillon.refusal := made.refusal;
BEGIN
    cleaned := carillon.clean_tokens(m.tokens);
    IF refusal.message IS NULL THEN
        refusal := cleaned.refusal;
    END IF;
    IF refusal.message IS NULL AND cleaned.clean IS NULL THEN
        refusal := carillon.refusal('tokens', 'a device token', 'none');
    END IF;
    IF refusal.message IS NULL THEN
        refusal := carillon.check_kinds(made.app_id, cleaned.clean, made.push_type, coalesce(made.payload, made.payloads[1]::text));
    END IF;
    PERFORM carillon.refuse(refusal);
    tokens := cleaned.clean;
    push_type := made.push_type;
    priority := coalesce(made.priority, 10::smallint);
    topic := coalesce(m.topic, (SELECT a.topic FROM carillon.apps a WHERE a.id = made.app_id));
    -- The badge of each device is not known yet.
    payload := CASE WHEN made.payloads IS NOT NULL THEN made.payloads[1]::text
        WHEN made.after_badge IS NOT NULL THEN made.payload || greatest(m.badge_add, 0) || made.after_badge
        ELSE made.payload END;
    bytes := octet_length(payload);
    max_bytes := carillon.payload_limit(push_type, (SELECT a.protocol FROM carillon.apps a WHERE a.id = made.app_id));
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION carillon.preview_message IS
    'Internal: returns what enqueue would send to an app with these arguments, given as an object without app, or raises the same '
    'error. Enqueues nothing.';

-- A message that is sent again with the same key within a day is not enqueued: the id of the first is returned. A different body is
-- refused. `id` is null if the key was taken; `content` is a digest of the body.
CREATE OR REPLACE FUNCTION carillon.note_request(app integer, key text, content bytea, INOUT id bigint, OUT is_new boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    earlier bytea;
BEGIN
    is_new := id IS NOT NULL;
    IF NOT is_new THEN
        SELECT d.message_id, d.request INTO id, earlier FROM carillon.dedupe d
        WHERE d.app_id = note_request.app AND d.key = note_request.key;
        IF earlier <> content THEN
            RAISE EXCEPTION USING ERRCODE = '42710', MESSAGE = format('message %s has this key and a different body', id),
                HINT = 'Send each message with its own key.';
        END IF;
    ELSIF content IS NOT NULL THEN
        UPDATE carillon.dedupe d SET request = content WHERE d.app_id = note_request.app AND d.key = note_request.key;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.note_request IS
    'Internal: after a message with a key, notes its body, or finds the message that had the key before.';

CREATE OR REPLACE FUNCTION carillon.send_test(
    app text, message jsonb, on_behalf_of text DEFAULT NULL, key text DEFAULT NULL, OUT id bigint, OUT is_new boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    max_tokens CONSTANT integer := 10;
    m carillon.message_arguments := carillon.message_of_json(app, message);
    refusal carillon.refusal;
    -- Objects are the same body whatever the order of their members and their layout.
    content CONSTANT bytea := CASE WHEN key IS NOT NULL THEN sha256(convert_to(message::text, 'UTF8')) END;
BEGIN
    IF cardinality(m.tokens) > max_tokens THEN
        refusal := carillon.refusal('tokens', format('at most %s device tokens', max_tokens), cardinality(m.tokens)::text);
        PERFORM carillon.refuse(refusal);
    END IF;
    m.lane := coalesce(m.lane, 0);
    m.dedupe_key := coalesce(key, m.dedupe_key);
    -- PL/pgSQL reserves the word.
    m."strict" := true;
    m.on_duplicate := 'null';
    SELECT n.id, n.is_new INTO id, is_new
    FROM carillon.note_request(carillon.app_id(app), m.dedupe_key, content, carillon.submit(m, false, NULL)) AS n;
    IF is_new THEN
        PERFORM carillon.act_for(on_behalf_of);
        PERFORM carillon.record_change('send test', app,
            jsonb_build_object('message_id', id, 'tokens', cardinality(m.tokens), 'push_type', m.push_type));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.send_test IS
    'Internal: enqueues a message to a few tokens in the urgent lane. The object has the arguments of enqueue, without app. '
    'Returns the id of the message and whether it is new: if a message with the same key was enqueued within a day, returns its '
    'id and enqueues nothing. Recorded in audit.';
