-- From arguments to a message that can be sent: every check, and the payload.
--
-- These functions are for others of this schema, and name it; the functions that users call pin the search_path for them.

-- Every refusal of an argument, in one form: what it is, what it takes, and what it got.
CREATE FUNCTION carillon.refuse(
    argument text, takes text, got text, hint text DEFAULT NULL, code text DEFAULT 'invalid_parameter_value'
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    text CONSTANT text := format('argument "%s" takes %s, it got %s', argument, takes,
        coalesce(CASE WHEN length(got) > 80 THEN left(got, 77) || '…' ELSE got END, 'null'));
BEGIN
    IF hint IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = code, MESSAGE = text, COLUMN = argument;
    END IF;
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = text, HINT = hint, COLUMN = argument;
END
$$;

-- jsonb as text without the blanks that PostgreSQL puts after colons and commas. A string is matched whole, and stays.
CREATE FUNCTION carillon.compact(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.regexp_replace(value::pg_catalog.text, '("(?:[^"\\]|\\.)*")|([:,]) ', '\1\2', 'g')
$$;

CREATE FUNCTION carillon.app_id(app text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    id integer;
BEGIN
    SELECT a.id INTO id FROM carillon.apps a WHERE a.name = app;
    IF id IS NULL THEN
        PERFORM carillon.refuse('app', 'the name of an app', quote_nullable(app), coalesce(
            (SELECT 'There are: ' || string_agg(few.name, ', ' ORDER BY few.name) FROM
                (SELECT a.name FROM carillon.apps a ORDER BY a.name LIMIT 10) few) || '.',
            'There are no apps yet: add one with `carillon app add`.'), 'undefined_object');
    END IF;
    RETURN id;
END
$$;

-- A token as it is kept: hex digits in lower case. Null when it is none.
CREATE FUNCTION carillon.token(token text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_catalog.length(token) OPERATOR(pg_catalog.<=) 512
        AND token OPERATOR(pg_catalog.~) '^(?:[0-9a-fA-F][0-9a-fA-F])+$' THEN pg_catalog.lower(token) END
$$;

-- Checks the arguments that become headers or decide when and where a job waits.
CREATE FUNCTION carillon.check_heading(
    push_type text, priority integer, expires_at timestamptz, collapse_id text, topic text, run_at timestamptz,
    lane integer, dedupe_key text, dedupe_for interval, on_unknown text
) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    push_types CONSTANT text[] := ARRAY['alert', 'background', 'complication', 'controls', 'fileprovider',
        'liveactivity', 'location', 'mdm', 'pushtotalk', 'voip', 'widgets'];
BEGIN
    IF push_type <> ALL (push_types) THEN
        PERFORM carillon.refuse('push_type', 'one of ' || array_to_string(push_types, ', '), quote_literal(push_type));
    END IF;
    IF priority NOT IN (10, 5, 1) THEN
        PERFORM carillon.refuse('priority', '10, 5 or 1', priority::text);
    END IF;
    IF push_type = 'background' AND priority = 10 THEN
        PERFORM carillon.refuse('priority', '5 or 1 for a background push', '10',
            'Apple refuses background pushes of priority 10.');
    END IF;
    IF NOT isfinite(expires_at) OR expires_at < timestamptz 'epoch' THEN
        PERFORM carillon.refuse('expires_at', 'a time from 1970 on', quote_literal(expires_at));
    END IF;
    IF collapse_id = '' OR octet_length(collapse_id) > 64 OR collapse_id ~ '[[:cntrl:]]|^\s|\s$' THEN
        PERFORM carillon.refuse('collapse_id', 'text of 1 to 64 bytes without control characters or blanks at its ends',
            quote_literal(collapse_id) || ' (' || octet_length(collapse_id) || ' bytes)');
    END IF;
    IF topic !~ '^[!-~]{1,255}$' THEN
        PERFORM carillon.refuse('topic', '1 to 255 visible ASCII characters', quote_literal(topic));
    END IF;
    IF run_at = 'infinity' THEN
        PERFORM carillon.refuse('run_at', 'a time that comes', quote_literal(run_at));
    END IF;
    IF run_at > now() AND expires_at <= run_at THEN
        PERFORM carillon.refuse('expires_at', 'a time after run_at', quote_literal(expires_at),
            'As it stands the message would expire before it is sent.');
    END IF;
    IF lane NOT IN (0, 1, 2) OR lane IS NULL THEN
        PERFORM carillon.refuse('lane', '0 (urgent), 1 (normal) or 2 (bulk)', lane::text);
    END IF;
    IF on_unknown NOT IN ('retry', 'fail') OR on_unknown IS NULL THEN
        PERFORM carillon.refuse('on_unknown', '''retry'' or ''fail''', quote_literal(on_unknown));
    END IF;
    IF dedupe_key = '' OR octet_length(dedupe_key) > 1000 THEN
        PERFORM carillon.refuse('dedupe_key', 'text of 1 to 1000 bytes', quote_literal(dedupe_key));
    END IF;
    IF dedupe_for IS NOT NULL AND (dedupe_key IS NULL OR dedupe_for <= interval '0') THEN
        PERFORM carillon.refuse('dedupe_for', 'an interval above 0, together with dedupe_key', quote_literal(dedupe_for)
            || CASE WHEN dedupe_key IS NULL THEN ' without dedupe_key' ELSE '' END);
    END IF;
END
$$;

-- The payload of a message given in parts: compact, aps first, text as it is.
CREATE FUNCTION carillon.compose(
    alert text, badge integer, sound text, content_available boolean, mutable_content boolean, category text,
    thread_id text, extra jsonb
) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    aps text;
BEGIN
    IF left(alert, 1) NOT IN ('"', '{') OR badge < 0 THEN
        IF badge < 0 THEN
            PERFORM carillon.refuse('badge', 'a number from 0 on', badge::text);
        END IF;
        PERFORM carillon.refuse('alert', 'text, or a JSON object or string', alert);
    END IF;
    aps := '{"aps":{' || concat_ws(',',
        '"alert":' || alert,
        '"badge":' || badge,
        '"sound":' || to_json(sound),
        CASE WHEN content_available THEN '"content-available":1' END,
        CASE WHEN mutable_content THEN '"mutable-content":1' END,
        '"category":' || to_json(category),
        '"thread-id":' || to_json(thread_id)) || '}';
    IF extra IS NULL AND length(aps) > 9 THEN
        RETURN aps || '}';
    END IF;
    IF jsonb_typeof(extra) <> 'object' THEN
        PERFORM carillon.refuse('extra', 'a JSON object', extra::text);
    END IF;
    IF extra ? 'aps' THEN
        PERFORM carillon.refuse('extra', 'keys beside aps', 'one named aps',
            'Give what belongs into aps by its own arguments, or the whole of it as payload.');
    END IF;
    IF extra <> '{}' THEN
        RETURN aps || ',' || substr(carillon.compact(extra), 2);
    END IF;
    IF length(aps) = 9 THEN
        PERFORM carillon.refuse('alert', 'text, unless badge, sound, content_available, extra or payload is given',
            NULL);
    END IF;
    RETURN aps || '}';
END
$$;

-- Everything of a message but its tokens, checked and ready to be stored.
CREATE TYPE carillon.draft AS (app_id integer, payload text, push_type text, priority smallint, scheduled boolean);

CREATE FUNCTION carillon.draft(
    app text, alert text, badge integer, sound text, content_available boolean, mutable_content boolean, category text,
    thread_id text, extra jsonb, payload json, push_type text, priority integer, expires_at timestamptz,
    collapse_id text, topic text, run_at timestamptz, lane integer, dedupe_key text, dedupe_for interval,
    on_unknown text
) RETURNS carillon.draft
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    made carillon.draft;
    silent boolean;
BEGIN
    SELECT a.id INTO made.app_id FROM carillon.apps a WHERE a.name = app;
    IF NOT FOUND THEN
        PERFORM carillon.app_id(app);
    END IF;
    IF payload IS NULL THEN
        made.payload := carillon.compose(alert, badge, sound, content_available, mutable_content, category, thread_id,
            extra);
        silent := content_available AND num_nonnulls(alert, badge, sound) = 0;
    ELSE
        made.payload := payload::text;
        IF num_nonnulls(alert, badge, sound, content_available, mutable_content, category, thread_id, extra) > 0 THEN
            PERFORM carillon.refuse('payload', 'the place of alert, badge, sound, content_available, mutable_content, '
                'category, thread_id and extra', 'both', 'Give the whole payload, or its parts.');
        END IF;
        IF json_typeof(payload) <> 'object' THEN
            PERFORM carillon.refuse('payload', 'a JSON object', made.payload);
        END IF;
        IF push_type IS NULL AND position('content-available' IN made.payload) > 0 THEN
            silent := (payload -> 'aps' ->> 'content-available') = '1' AND num_nonnulls(payload -> 'aps' -> 'alert',
                payload -> 'aps' -> 'badge', payload -> 'aps' -> 'sound') = 0;
        END IF;
    END IF;
    made.push_type := coalesce(push_type, CASE WHEN silent THEN 'background' ELSE 'alert' END);
    IF octet_length(made.payload) > (CASE made.push_type WHEN 'voip' THEN 5120 ELSE 4096 END) THEN
        PERFORM carillon.refuse(CASE WHEN payload IS NULL THEN 'alert' ELSE 'payload' END,
            CASE made.push_type WHEN 'voip' THEN 'a payload of 5120 bytes at most' ELSE
                'a payload of 4096 bytes at most (5120 for voip)' END,
            octet_length(made.payload) || ' bytes', NULL, 'program_limit_exceeded');
    END IF;
    -- Most calls give none of these.
    IF num_nonnulls(push_type, priority, expires_at, collapse_id, topic, run_at, dedupe_key, dedupe_for) > 0
        OR lane IS DISTINCT FROM 1 OR on_unknown IS DISTINCT FROM 'retry' OR silent
    THEN
        PERFORM carillon.check_heading(made.push_type, priority, expires_at, collapse_id, topic, run_at, lane,
            dedupe_key, dedupe_for, on_unknown);
        made.priority := coalesce(priority, CASE made.push_type WHEN 'background' THEN 5 END);
        made.scheduled := CASE WHEN run_at > now() THEN true END;
    END IF;
    RETURN made;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (6, 'drafts');
