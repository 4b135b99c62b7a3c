-- Checks the arguments of a message and builds its payload.
--
-- Functions of this schema call these and name the schema; only functions that users call pin search_path. They
-- return what they refuse and do not raise it: PostgreSQL adds a line of context for each function between RAISE and
-- the caller, which psql and many drivers print.

-- A refused argument. The function that the user called raises it.
CREATE TYPE carillon.refusal AS (message text, hint text, argument text, code text);

-- Builds each refusal in one form: what the argument takes and what it got. Control characters are escaped, so that
-- the message stays one line.
CREATE FUNCTION carillon.refusal(
    argument text, takes text, got text, hint text DEFAULT NULL, code text DEFAULT '22023'
) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(pg_catalog.format('argument "%s" takes %s, got %s', argument, takes, coalesce((
            SELECT pg_catalog.string_agg(CASE
                WHEN c.letter OPERATOR(pg_catalog.=) E'\n' THEN '\n'
                WHEN c.letter OPERATOR(pg_catalog.=) E'\r' THEN '\r'
                WHEN c.letter OPERATOR(pg_catalog.=) E'\t' THEN '\t'
                WHEN c.letter OPERATOR(pg_catalog.~) '[[:cntrl:]]' THEN '\u' OPERATOR(pg_catalog.||)
                    pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.ascii(c.letter)), 4, '0')
                ELSE c.letter END, '' ORDER BY c.place)
            FROM pg_catalog.string_to_table(CASE WHEN pg_catalog.length(got) OPERATOR(pg_catalog.>) 80
                THEN pg_catalog.left(got, 77) OPERATOR(pg_catalog.||) '…' ELSE got END, NULL)
                WITH ORDINALITY AS c(letter, place)),
            CASE WHEN got IS NULL THEN 'null' ELSE 'an empty text' END)),
        hint, argument, code)::carillon.refusal
$$;
COMMENT ON FUNCTION carillon.refusal IS 'Internal: the error for an argument.';

-- jsonb as text without the blanks after colons and commas. The pattern matches strings whole and keeps them. Text
-- that is too large to be sent stays as it is: it is refused anyway, and the replacement would take seconds.
CREATE FUNCTION carillon.compact(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_catalog.octet_length(value::pg_catalog.text) OPERATOR(pg_catalog.>) 16384
        THEN value::pg_catalog.text
        ELSE pg_catalog.regexp_replace(value::pg_catalog.text, '("(?:[^"\\]|\\.)*")|([:,]) ', '\1\2', 'g') END
$$;

-- The refusal of an unknown app.
CREATE FUNCTION carillon.unknown_app(app text) RETURNS carillon.refusal
LANGUAGE sql STABLE AS $$
    SELECT carillon.refusal('app', 'the name of an app', pg_catalog.quote_nullable(app), coalesce(
        (SELECT 'The apps are: ' OPERATOR(pg_catalog.||) pg_catalog.string_agg(few.name, ', ' ORDER BY few.name)
            OPERATOR(pg_catalog.||) '.' FROM (
                SELECT a.name FROM carillon.apps a CROSS JOIN LATERAL carillon.apps_of_caller() AS o(mine)
                WHERE o.mine IS NULL OR a.id OPERATOR(pg_catalog.=) ANY (o.mine) ORDER BY a.name LIMIT 10) few),
        'There is no app yet. Add one with: carillon app add'), '42704')
$$;
COMMENT ON FUNCTION carillon.unknown_app IS 'Internal: the error for an unknown app.';

-- The id of an app, for callers that refuse no other argument.
CREATE FUNCTION carillon.app_id(app text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    id CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = app);
    refusal carillon.refusal;
BEGIN
    IF id IS NULL THEN
        refusal := carillon.unknown_app(app);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    RETURN id;
END
$$;
COMMENT ON FUNCTION carillon.app_id IS 'Internal: the id of an app, or an error.';

-- The arguments of enqueue and broadcast.
CREATE TYPE carillon.message_arguments AS (
    app               text,
    tokens            text[],
    alert             text,
    alert_json        jsonb,  -- an alert given as JSON
    badge             bigint,
    sound             text,
    content_available boolean,
    mutable_content   boolean,
    category          text,
    thread_id         text,
    extra             jsonb,
    payload           text,
    payload_type      regtype,  -- the type of the argument
    push_type         text,
    priority          bigint,
    expires_at        timestamptz,
    collapse_id       text,
    topic             text,
    run_at            timestamptz,
    lane              bigint,
    reference         text,
    dedupe_key        text,
    dedupe_for        interval,
    on_unknown        text,
    title             text,
    subtitle          text,
    body              text,
    is_strict         boolean,
    on_duplicate      text,
    aps               jsonb,
    interruption_level text,
    relevance_score   double precision,
    target_content_id text,
    filter_criteria   text,
    stale_date        timestamptz
);

-- Checks the arguments that become headers or decide when and where a job waits. Null: all are valid.
CREATE FUNCTION carillon.check_heading(m carillon.message_arguments, push_type text) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    push_types CONSTANT text[] := ARRAY['alert', 'background', 'complication', 'controls', 'fileprovider',
        'liveactivity', 'location', 'mdm', 'pushtotalk', 'voip', 'widgets'];
BEGIN
    IF push_type <> ALL (push_types) THEN
        RETURN carillon.refusal('push_type', 'one of ' || array_to_string(push_types, ', '), quote_literal(push_type));
    END IF;
    IF m.priority NOT IN (10, 5, 1) THEN
        RETURN carillon.refusal('priority', '10, 5 or 1', m.priority::text);
    END IF;
    IF push_type = 'background' AND m.priority = 10 THEN
        RETURN carillon.refusal('priority', '5 or 1 for a background push', '10',
            'Apple refuses background pushes of priority 10.');
    END IF;
    IF NOT isfinite(m.expires_at) OR m.expires_at < timestamptz 'epoch' THEN
        RETURN carillon.refusal('expires_at', 'a time from 1970 on', quote_literal(m.expires_at),
            CASE WHEN m.expires_at = 'infinity' THEN 'Leave it out for a push that never expires.' END);
    END IF;
    IF m.collapse_id = '' OR octet_length(m.collapse_id) > 64 OR m.collapse_id ~ '[[:cntrl:]]|^\s|\s$' THEN
        RETURN carillon.refusal('collapse_id', 'text of 1 to 64 bytes without control characters or blanks at its ends',
            quote_literal(m.collapse_id) || ' (' || octet_length(m.collapse_id) || ' bytes)');
    END IF;
    IF m.topic !~ '^[!-~]{1,255}$' THEN
        RETURN carillon.refusal('topic', '1 to 255 visible ASCII characters', quote_literal(m.topic));
    END IF;
    -- A claim keeps no more of it.
    IF octet_length(m.reference) > 16384 THEN
        RETURN carillon.refusal('reference', 'text of 16384 bytes at most',
            quote_literal(left(m.reference, 40)) || '… (' || octet_length(m.reference) || ' bytes)');
    END IF;
    IF m.run_at >= timestamptz '10000-01-01 00:00:00Z' THEN
        RETURN carillon.refusal('run_at', 'a time before the year 10000', quote_literal(m.run_at));
    END IF;
    IF m.run_at > now() AND m.expires_at <= m.run_at AND m.expires_at > timestamptz 'epoch' THEN
        RETURN carillon.refusal('expires_at', 'a time after run_at', quote_literal(m.expires_at),
            'The message would expire before it is sent.');
    END IF;
    IF m.lane NOT IN (0, 1, 2) THEN
        RETURN carillon.refusal('lane', '0 (urgent), 1 (normal) or 2 (bulk)', m.lane::text);
    END IF;
    IF m.on_unknown NOT IN ('retry', 'fail') OR m.on_unknown IS NULL THEN
        RETURN carillon.refusal('on_unknown', '''retry'' or ''fail''', quote_literal(m.on_unknown));
    END IF;
    IF m.dedupe_key = '' OR octet_length(m.dedupe_key) > 1000 THEN
        RETURN carillon.refusal('dedupe_key', 'text of 1 to 1000 bytes', quote_literal(m.dedupe_key));
    END IF;
    IF m.dedupe_for <= interval '0' OR m.dedupe_for > interval '100 years'
        OR m.dedupe_for IS NOT NULL AND m.dedupe_key IS NULL
    THEN
        RETURN carillon.refusal('dedupe_for', 'an interval above 0, of 100 years at most, together with dedupe_key',
            quote_literal(m.dedupe_for) || CASE WHEN m.dedupe_key IS NULL THEN ' without dedupe_key' ELSE '' END);
    END IF;
    IF m.on_duplicate NOT IN ('null', 'holder') OR m.on_duplicate IS NULL THEN
        RETURN carillon.refusal('on_duplicate', '''null'' or ''holder''', quote_literal(m.on_duplicate));
    END IF;
    RETURN NULL;
END
$$;

-- Text as JSON; null: it is not JSON.
CREATE FUNCTION carillon.parsed(value text) RETURNS json
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN value::json;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END
$$;

-- A message without its tokens, checked and ready to be stored, or its refusal.
CREATE TYPE carillon.draft AS (
    app_id integer, payload text, push_type text, priority smallint, scheduled boolean, refusal carillon.refusal
);

-- The refusal of an argument that is outside of what Apple takes, or that gives a member of aps which aps has too.
CREATE FUNCTION carillon.check_members(m carillon.message_arguments) RETURNS carillon.refusal
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    levels CONSTANT text[] := ARRAY['passive', 'active', 'time-sensitive', 'critical'];
    twice record;
BEGIN
    IF m.badge NOT BETWEEN 0 AND 2147483647 THEN
        RETURN carillon.refusal('badge', 'a number from 0 to 2147483647', m.badge::text);
    ELSIF m.interruption_level <> ALL (levels) THEN
        RETURN carillon.refusal('interruption_level', 'one of ' || array_to_string(levels, ', '),
            quote_literal(m.interruption_level));
    ELSIF m.relevance_score IN ('NaN', 'Infinity', '-Infinity') THEN
        RETURN carillon.refusal('relevance_score', 'a finite number', m.relevance_score::text);
    ELSIF NOT isfinite(m.stale_date) OR m.stale_date < timestamptz 'epoch' THEN
        RETURN carillon.refusal('stale_date', 'a time from 1970 on', quote_literal(m.stale_date));
    ELSIF jsonb_typeof(m.extra) <> 'object' THEN
        RETURN carillon.refusal('extra', 'a JSON object', m.extra::text);
    ELSIF m.extra ? 'aps' THEN
        RETURN carillon.refusal('extra', 'a JSON object without the key aps', 'one with it',
            'The argument aps takes the members of aps; payload takes the whole payload.');
    ELSIF jsonb_typeof(m.aps) <> 'object' THEN
        RETURN carillon.refusal('aps', 'a JSON object', m.aps::text);
    ELSIF m.aps ? 'aps' THEN
        RETURN carillon.refusal('aps', 'the members of aps', 'an object with the key aps',
            'Pass the inner object; payload takes the whole payload.');
    END IF;
    SELECT g.* INTO twice FROM (VALUES
        ('alert', 'alert', num_nonnulls(m.alert, m.alert_json)), ('title', 'alert', num_nonnulls(m.title)),
        ('subtitle', 'alert', num_nonnulls(m.subtitle)), ('body', 'alert', num_nonnulls(m.body)),
        ('badge', 'badge', num_nonnulls(m.badge)), ('sound', 'sound', num_nonnulls(m.sound)),
        ('content_available', 'content-available', num_nonnulls(m.content_available)),
        ('mutable_content', 'mutable-content', num_nonnulls(m.mutable_content)),
        ('category', 'category', num_nonnulls(m.category)), ('thread_id', 'thread-id', num_nonnulls(m.thread_id)),
        ('interruption_level', 'interruption-level', num_nonnulls(m.interruption_level)),
        ('relevance_score', 'relevance-score', num_nonnulls(m.relevance_score)),
        ('target_content_id', 'target-content-id', num_nonnulls(m.target_content_id)),
        ('filter_criteria', 'filter-criteria', num_nonnulls(m.filter_criteria)),
        ('stale_date', 'stale-date', num_nonnulls(m.stale_date))
    ) AS g(argument, member, given) WHERE g.given > 0 AND m.aps ? g.member LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal(twice.argument, format('null if aps has the member "%s"', twice.member), 'a value',
            'Pass each member once.');
    END IF;
    RETURN NULL;
END
$$;

-- Checks the parts of a payload more closely: the alert as JSON, from whichever arguments gave it, a sound that is a
-- dictionary, and the members of aps that most messages do not have, as `more`.
CREATE FUNCTION carillon.check_parts(
    m carillon.message_arguments, INOUT alert text, INOUT sound text, OUT more text, OUT refusal carillon.refusal
)
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
BEGIN
    -- JSON that a driver sent as text. No alert begins like this.
    IF m.alert ~ '^\s*\{' AND json_typeof(carillon.parsed(m.alert)) = 'object' THEN
        alert := btrim(m.alert, E' \t\r\n');
    END IF;
    -- For critical alerts. No sound file has such a name.
    IF m.sound ~ '^\s*\{' AND json_typeof(carillon.parsed(m.sound)) = 'object' THEN
        sound := btrim(m.sound, E' \t\r\n');
    END IF;
    refusal := carillon.check_members(m);
    IF refusal.message IS NOT NULL THEN
        RETURN;
    ELSIF left(alert, 1) NOT IN ('"', '{') THEN
        refusal := carillon.refusal('alert', 'text, or a JSON object or string', alert);
    ELSIF num_nonnulls(m.title, m.subtitle, m.body) > 0 THEN
        IF alert IS NOT NULL THEN
            refusal := carillon.refusal('alert', 'null if title, subtitle or body is given', 'a value',
                'Pass the text as body, together with title and subtitle.');
        END IF;
        alert := '{' || concat_ws(',', '"title":' || to_json(m.title), '"subtitle":' || to_json(m.subtitle),
            '"body":' || to_json(m.body)) || '}';
    END IF;
    more := nullif(concat_ws(',',
        '"interruption-level":' || to_json(m.interruption_level),
        '"relevance-score":' || to_json(m.relevance_score),
        '"target-content-id":' || to_json(m.target_content_id),
        '"filter-criteria":' || to_json(m.filter_criteria),
        '"stale-date":' || floor(extract(epoch FROM m.stale_date)),
        CASE WHEN m.aps <> '{}' THEN left(substr(carillon.compact(m.aps), 2), -1) END), '');
END
$$;

CREATE FUNCTION carillon.draft(m carillon.message_arguments) RETURNS carillon.draft
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    made carillon.draft;
    alert text;
    sound text := to_json(m.sound);
    checked record;
    more text;
    whole json;
    silent boolean;
BEGIN
    SELECT a.id INTO made.app_id FROM carillon.apps a
    WHERE a.name = m.app AND (NOT a.is_guarded OR coalesce(a.id = ANY (carillon.apps_of_caller()), true));
    IF NOT FOUND THEN
        made.refusal := carillon.unknown_app(m.app);
        RETURN made;
    END IF;
    IF m.payload IS NULL THEN
        alert := CASE WHEN m.alert_json IS NULL THEN to_json(m.alert)::text ELSE carillon.compact(m.alert_json) END;
        -- Most messages need no closer check.
        IF num_nonnulls(m.extra, m.title, m.subtitle, m.body, m.aps, m.interruption_level, m.relevance_score,
            m.target_content_id, m.filter_criteria, m.stale_date) > 0 OR m.badge NOT BETWEEN 0 AND 2147483647
            OR (m.alert_json IS NULL AND position('{' IN alert) > 0) OR left(alert, 1) NOT IN ('"', '{')
            OR position('{' IN sound) > 0
        THEN
            checked := carillon.check_parts(m, alert, sound);
            alert := checked.alert;
            sound := checked.sound;
            more := checked.more;
            made.refusal := checked.refusal;
        END IF;
        -- Compact, aps first, text unchanged.
        made.payload := '{"aps":{' || concat_ws(',',
            '"alert":' || alert,
            '"badge":' || m.badge,
            '"sound":' || sound,
            CASE WHEN m.content_available THEN '"content-available":1' END,
            CASE WHEN m.mutable_content THEN '"mutable-content":1' END,
            '"category":' || to_json(m.category),
            '"thread-id":' || to_json(m.thread_id),
            more) || CASE WHEN m.extra <> '{}'
                THEN '},' || substr(carillon.compact(m.extra), 2) ELSE '}}' END;
        IF made.payload = '{"aps":{}}' AND (made.refusal).message IS NULL THEN
            made.refusal := carillon.refusal('alert',
                'text, unless badge, sound, title, subtitle, body, aps, a key in extra, content_available => true or '
                'payload is given', NULL,
                CASE m.push_type WHEN 'background' THEN 'A background push takes content_available => true.' END);
        END IF;
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
        silent := m.content_available
            AND num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.sound) = 0;
        IF m.aps IS NOT NULL THEN
            silent := (m.content_available OR m.aps -> 'content-available' = '1') AND num_nonnulls(m.alert, m.alert_json,
                m.title, m.subtitle, m.body, m.badge, m.sound, m.aps ->> 'alert', m.aps ->> 'badge', m.aps ->> 'sound') = 0;
        END IF;
    ELSIF num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.sound, m.content_available,
        m.mutable_content, m.category, m.thread_id, m.extra, m.aps, m.interruption_level, m.relevance_score,
        m.target_content_id, m.filter_criteria, m.stale_date) > 0
    THEN
        made.refusal := carillon.refusal('payload', 'null if alert, title, subtitle, body, badge, sound, '
            'content_available, mutable_content, category, thread_id, extra, aps, interruption_level, relevance_score, '
            'target_content_id, filter_criteria or stale_date is given', 'a value',
            'Pass the whole payload or its parts, not both.');
        RETURN made;
    ELSE
        made.payload := CASE m.payload_type WHEN 'jsonb'::regtype THEN carillon.compact(m.payload::jsonb)
            ELSE m.payload END;
    END IF;
    made.push_type := coalesce(m.push_type, CASE WHEN silent THEN 'background' ELSE 'alert' END);
    -- Before all else: a payload that is too large is neither parsed nor cut.
    IF octet_length(made.payload) > (CASE made.push_type WHEN 'voip' THEN 5120 ELSE 4096 END) THEN
        made.refusal := carillon.refusal(
            -- The largest part.
            CASE WHEN m.payload IS NULL THEN (
                SELECT a.name FROM (VALUES ('alert', coalesce(m.alert, m.alert_json::text)), ('title', m.title),
                    ('subtitle', m.subtitle), ('body', m.body), ('sound', m.sound), ('category', m.category),
                    ('thread_id', m.thread_id), ('extra', m.extra::text), ('aps', m.aps::text),
                    ('target_content_id', m.target_content_id), ('filter_criteria', m.filter_criteria)) AS a(name, value)
                ORDER BY octet_length(a.value) DESC NULLS LAST LIMIT 1) ELSE 'payload' END,
            CASE WHEN m.payload IS NULL THEN 'what makes a payload of ' ELSE 'a payload of ' END
                || CASE made.push_type WHEN 'voip' THEN '5120 bytes at most' ELSE '4096 bytes at most (5120 for voip)' END,
            CASE WHEN m.payload IS NULL THEN 'one of ' ELSE '' END || octet_length(made.payload) || ' bytes', NULL, '54000');
        RETURN made;
    END IF;
    IF m.payload IS NOT NULL THEN
        whole := carillon.parsed(made.payload);
        IF json_typeof(whole) IS DISTINCT FROM 'object' THEN
            made.refusal := carillon.refusal('payload', 'a JSON object', made.payload, NULL,
                CASE WHEN whole IS NULL THEN '22P02' ELSE '22023' END);
            RETURN made;
        END IF;
        IF m.push_type IS NULL AND position('content-available' IN made.payload) > 0
            AND (whole -> 'aps' -> 'content-available')::text = '1' AND num_nonnulls(whole -> 'aps' ->> 'alert',
                whole -> 'aps' ->> 'badge', whole -> 'aps' ->> 'sound') = 0
        THEN
            silent := true;
            made.push_type := 'background';
        END IF;
    END IF;
    -- Most calls give none of these.
    IF num_nonnulls(m.push_type, m.priority, m.expires_at, m.collapse_id, m.topic, m.run_at, m.lane, m.dedupe_key,
        m.dedupe_for) > 0 OR m.on_unknown IS DISTINCT FROM 'retry' OR m.on_duplicate IS DISTINCT FROM 'null' OR silent
        OR octet_length(m.reference) > 16384
    THEN
        made.refusal := carillon.check_heading(m, made.push_type);
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
        made.priority := coalesce(m.priority, CASE made.push_type WHEN 'background' THEN 5 END);
        made.scheduled := CASE WHEN m.run_at > now() THEN true END;
    END IF;
    RETURN made;
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (5, 'arguments');
