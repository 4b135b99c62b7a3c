-- Messages as JSON objects, for callers that cannot use SQL: POST /messages of the dashboard, and its page for test pushes. The
-- object has the arguments of enqueue, by the fields of the type message_arguments.

-- fits_argument() is needed because jsonb_populate_record() converts any value to text.
CREATE OR REPLACE FUNCTION carillon.fits_argument(name text, type regtype, value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN jsonb_typeof(value) = 'null' OR type = 'jsonb'::regtype THEN true
        WHEN name IN ('alert', 'payload') THEN jsonb_typeof(value) IN ('string', 'object')
        WHEN name = 'tokens' AND jsonb_typeof(value) = 'array' THEN
            NOT EXISTS (SELECT FROM jsonb_array_elements(value) AS e WHERE jsonb_typeof(e) NOT IN ('string', 'null'))
        WHEN type = 'text[]'::regtype THEN jsonb_typeof(value) = 'array'
        WHEN type IN ('bigint'::regtype, 'double precision'::regtype) THEN jsonb_typeof(value) = 'number'
        WHEN type = 'boolean'::regtype THEN jsonb_typeof(value) = 'boolean'
        ELSE jsonb_typeof(value) = 'string'
    END
$$;
COMMENT ON FUNCTION carillon.fits_argument IS 'Internal: returns whether a member has the JSON type that its argument takes.';

-- unfit_member() is needed because PostgreSQL's own error does not name the member.
CREATE OR REPLACE FUNCTION carillon.unfit_member(message jsonb) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    member record;
BEGIN
    FOR member IN
        SELECT b.key, b.value, a.atttypid::regtype AS type,
            carillon.fits_argument(b.key, a.atttypid::regtype, b.value) AS is_fit
        FROM jsonb_each(message) AS b JOIN pg_attribute a ON a.attrelid = 'carillon.message_arguments'::regclass
            AND a.attname = b.key
        ORDER BY is_fit, b.key
    LOOP
        BEGIN
            PERFORM jsonb_populate_record(NULL::carillon.message_arguments, jsonb_build_object(member.key, member.value));
            CONTINUE WHEN member.is_fit;
        EXCEPTION
            WHEN data_exception THEN
                NULL;  -- the refusal below says what it takes
        END;
        RETURN carillon.refusal(member.key, CASE
                WHEN member.key IN ('alert', 'payload') THEN 'a string or an object'
                WHEN member.key = 'payloads' THEN 'an array of objects'
                WHEN member.type = 'text[]'::regtype THEN 'an array of strings'
                WHEN member.type = 'bigint'::regtype THEN 'a whole number'
                WHEN member.type = 'double precision'::regtype THEN 'a number'
                WHEN member.type = 'boolean'::regtype THEN 'true or false'
                WHEN member.type = 'timestamptz'::regtype THEN 'a time, such as "2026-11-22T11:45:00Z"'
                WHEN member.type = 'interval'::regtype THEN 'an interval, such as "1 hour"'
                ELSE 'a string' END,
            member.value::text, 'The page docs/enqueue.md says what each argument takes.');
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.unfit_member IS
    'Internal: returns the refusal of the first member whose value does not fit its argument; null if all fit.';

-- The object has no member app, because the caller's right is limited to one app.
CREATE OR REPLACE FUNCTION carillon.message_of_json(app text, message jsonb) RETURNS carillon.message_arguments
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    m carillon.message_arguments;
    refusal carillon.refusal;
    names CONSTANT text[] := ARRAY(
        SELECT a.attname FROM pg_attribute a
        WHERE a.attrelid = 'carillon.message_arguments'::regclass AND a.attnum > 0
            AND a.attname NOT IN ('app', 'alert_json', 'payload_type', 'payloads_type'));
    unknown text;
BEGIN
    IF jsonb_typeof(message) IS DISTINCT FROM 'object' THEN
        refusal := carillon.refusal('message', 'a JSON object', left(coalesce(message::text, 'null'), 40));
    ELSE
        SELECT k.name INTO unknown FROM jsonb_object_keys(message) AS k(name)
        WHERE k.name <> ALL (names) ORDER BY k.name LIMIT 1;
        IF FOUND THEN
            refusal := carillon.refusal('message', 'the arguments of enqueue without app',
                'a member ' || to_json(left(unknown, 80)), 'The members are: ' || array_to_string(names, ', ') || '.');
        END IF;
    END IF;
    PERFORM carillon.refuse(refusal);
    IF EXISTS (
        SELECT FROM jsonb_each(message) AS b JOIN pg_attribute a ON a.attrelid = 'carillon.message_arguments'::regclass
            AND a.attname = b.key
        WHERE NOT carillon.fits_argument(b.key, a.atttypid::regtype, b.value)
    ) THEN
        PERFORM carillon.refuse(carillon.unfit_member(message));
    END IF;
    BEGIN
        m := jsonb_populate_record(NULL::carillon.message_arguments, message);
    EXCEPTION
        WHEN data_exception THEN
            refusal := carillon.unfit_member(message);
            PERFORM carillon.refuse(refusal);
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
    made CONSTANT carillon.draft := carillon.draft(m);
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
-- refused.
CREATE OR REPLACE FUNCTION carillon.submit_once(
    m carillon.message_arguments, key text, message jsonb, OUT id bigint, OUT is_new boolean
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    refusal carillon.refusal;
    -- Objects are the same body whatever the order of their members and their layout.
    content CONSTANT bytea := CASE WHEN key IS NOT NULL THEN sha256(convert_to(message::text, 'UTF8')) END;
    target integer;
    earlier bytea;
BEGIN
    IF key IS NOT NULL AND m.dedupe_key IS NOT NULL THEN
        refusal := carillon.refusal('dedupe_key', 'null if the request has an Idempotency-Key', 'a value', 'Give one of them.');
        PERFORM carillon.refuse(refusal);
    END IF;
    m.dedupe_key := coalesce(key, m.dedupe_key);
    -- PL/pgSQL reserves the word.
    m."strict" := true;
    m.on_duplicate := 'null';
    id := carillon.submit(m, false);
    is_new := id IS NOT NULL;
    SELECT a.id INTO target FROM carillon.apps a WHERE a.name = m.app;
    IF NOT is_new THEN
        SELECT d.message_id, d.request INTO id, earlier FROM carillon.dedupe d
        WHERE d.app_id = target AND d.key = m.dedupe_key;
        IF earlier <> content THEN
            RAISE EXCEPTION USING ERRCODE = '42710', MESSAGE = format('message %s has this key and a different body', id),
                HINT = 'Send each message with its own key.';
        END IF;
    ELSIF content IS NOT NULL THEN
        UPDATE carillon.dedupe d SET request = content WHERE d.app_id = target AND d.key = m.dedupe_key;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.submit_once IS 'Internal: enqueues a message once for each key.';

CREATE OR REPLACE FUNCTION carillon.send_test(
    app text, message jsonb, on_behalf_of text DEFAULT NULL, key text DEFAULT NULL, OUT id bigint, OUT is_new boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    max_tokens CONSTANT integer := 10;
    m carillon.message_arguments := carillon.message_of_json(app, message);
    refusal carillon.refusal;
BEGIN
    IF cardinality(m.tokens) > max_tokens THEN
        refusal := carillon.refusal('tokens', format('at most %s device tokens', max_tokens), cardinality(m.tokens)::text);
        PERFORM carillon.refuse(refusal);
    END IF;
    m.lane := coalesce(m.lane, 0);
    SELECT s.id, s.is_new INTO id, is_new FROM carillon.submit_once(m, key, message) AS s;
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
