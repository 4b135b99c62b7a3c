CREATE OR REPLACE FUNCTION carillon.check_heading(m carillon.message_arguments, push_type text) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    rules CONSTANT carillon.push_rules := carillon.rules_of(push_type);
    other carillon.push_rules;
BEGIN
    IF m.priority <> ALL (rules.priorities) THEN
        RETURN carillon.refusal('priority', regexp_replace(array_to_string(rules.priorities, ', '), ', (\d+)$', ' or \1')
                || CASE WHEN cardinality(rules.priorities) < 3 AND push_type <> 'channel'
                    THEN ' for push type ' || push_type ELSE '' END,
            m.priority::text, CASE WHEN rules.default_priority IS NOT NULL THEN 'Leave it out: Apple refuses any other.' END);
    END IF;
    IF NOT isfinite(m.expires_at) OR m.expires_at < timestamptz 'epoch' THEN
        RETURN carillon.refusal('expires_at', 'a time from 1970 on', quote_literal(m.expires_at),
            CASE WHEN m.expires_at = 'infinity' THEN 'Leave it out for a push that never expires.' END);
    END IF;
    IF m.collapse_id = '' OR octet_length(m.collapse_id) > rules.collapse_id_limit OR m.collapse_id ~ '[[:cntrl:]]|^\s|\s$' THEN
        RETURN carillon.refusal('collapse_id', 'text of 1 to ' || rules.collapse_id_limit || ' bytes without control characters and '
                'without spaces at either end',
            quote_literal(m.collapse_id) || ' (' || octet_length(m.collapse_id) || ' bytes)');
    END IF;
    IF m.topic !~ '^[!-~]{1,255}$' THEN
        RETURN carillon.refusal('topic', '1 to 255 visible ASCII characters', quote_literal(m.topic));
    END IF;
    IF right(m.topic, length(rules.topic_suffix)) <> rules.topic_suffix OR m.topic = rules.topic_suffix THEN
        RETURN carillon.refusal('topic', format('a bundle ID followed by %s for push type %s', rules.topic_suffix, push_type),
            quote_literal(m.topic), 'Leave it out to use the topic of the app with this ending.');
    END IF;
    IF rules.topic_suffix = '' AND m.topic IS NOT NULL THEN
        SELECT p.* INTO other FROM carillon.push_types() AS p
        WHERE p.topic_suffix <> '' AND right(m.topic, length(p.topic_suffix)) = p.topic_suffix
            -- A bundle ID may end like that too.
            AND NOT EXISTS (SELECT FROM carillon.apps a WHERE a.name = m.app AND a.topic = m.topic);
        IF FOUND THEN
            RETURN carillon.refusal('topic', format('a topic that does not end with %s for push type %s', other.topic_suffix,
                push_type), quote_literal(m.topic), format('Pass push_type => %L, which has such topics.', other.push_type));
        END IF;
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
        RETURN carillon.refusal('dedupe_for', 'an interval above 0 and at most 100 years, together with dedupe_key',
            quote_literal(m.dedupe_for) || CASE WHEN m.dedupe_key IS NULL THEN ' without dedupe_key' ELSE '' END);
    END IF;
    IF m.on_duplicate NOT IN ('null', 'holder') OR m.on_duplicate IS NULL THEN
        RETURN carillon.refusal('on_duplicate', '''null'' or ''holder''', quote_literal(m.on_duplicate));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.check_heading IS
    'Internal: the refusal of an argument that becomes a header, or decides when and where a job waits; null: all are valid.';

CREATE OR REPLACE FUNCTION carillon.has_parts(m carillon.message_arguments) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound,
        m.content_available, m.mutable_content, m.category, m.thread_id, m.extra, m.aps, m.interruption_level,
        m.relevance_score, m.target_content_id, m.filter_criteria, m.stale_date) > 0
$$;
COMMENT ON FUNCTION carillon.has_parts IS 'Internal: whether any argument is given of which a payload is built.';

CREATE OR REPLACE FUNCTION carillon.names_of_parts() RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'alert, title, subtitle, body, badge, badge_add, sound, content_available, mutable_content, category, '
        'thread_id, extra, aps, interruption_level, relevance_score, target_content_id, filter_criteria or stale_date'
$$;
COMMENT ON FUNCTION carillon.names_of_parts IS 'Internal: the names of the arguments of which a payload is built.';

CREATE OR REPLACE FUNCTION carillon.check_members(m carillon.message_arguments) RETURNS carillon.refusal
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    levels CONSTANT text[] := ARRAY['passive', 'active', 'time-sensitive', 'critical'];
    twice record;
BEGIN
    IF m.badge NOT BETWEEN 0 AND 2147483647 THEN
        RETURN carillon.refusal('badge', 'a number from 0 to 2147483647', m.badge::text,
            CASE WHEN m.badge < 0 THEN 'To subtract from what each device shows, pass badge_add.' END);
    ELSIF m.badge_add NOT BETWEEN -2147483647 AND 2147483647 THEN
        RETURN carillon.refusal('badge_add', 'a number from -2147483647 to 2147483647', m.badge_add::text);
    ELSIF m.badge_add IS NOT NULL AND m.badge IS NOT NULL THEN
        RETURN carillon.refusal('badge_add', 'null if badge is given', 'a value',
            'badge is the number that every device shows; badge_add is added to the number of each device.');
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
        ('badge', 'badge', num_nonnulls(m.badge)), ('badge_add', 'badge', num_nonnulls(m.badge_add)), ('sound', 'sound', num_nonnulls(m.sound)),
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
COMMENT ON FUNCTION carillon.check_members IS
    'Internal: the refusal of an argument that Apple would not take, or that gives a member which aps has too; null: all are '
    'valid.';

-- The alert as JSON, from whichever arguments gave it, a sound that is a dictionary, and as `more` the members of aps that most
-- messages do not have.
CREATE OR REPLACE FUNCTION carillon.check_parts(
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
    IF refusal.message IS NULL THEN
        refusal := coalesce(carillon.broken_json('alert', m.alert), carillon.broken_json('sound', m.sound));
    END IF;
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
COMMENT ON FUNCTION carillon.check_parts IS 'Internal: checks the parts of a payload more closely.';

CREATE OR REPLACE FUNCTION carillon.check_silence(m carillon.message_arguments, whole json) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE AS $$
    SELECT carillon.refusal(g.argument, format('%s for push type %s', CASE WHEN g.argument IN ('payload', 'aps')
            THEN 'aps without alert, badge and sound' ELSE 'null' END, m.push_type), 'a value',
        'Leave it out, or leave push_type out: Apple may not deliver such a push.')
    FROM (VALUES ('payload', carillon.is_loud(whole)), ('alert', num_nonnulls(m.alert, m.alert_json) > 0),
        ('title', m.title IS NOT NULL), ('subtitle', m.subtitle IS NOT NULL), ('body', m.body IS NOT NULL),
        ('badge', m.badge IS NOT NULL), ('badge_add', m.badge_add IS NOT NULL), ('sound', m.sound IS NOT NULL),
        ('aps', carillon.is_loud(json_build_object('aps', m.aps)))) AS g(argument, is_loud)
    WHERE g.is_loud AND (carillon.rules_of(m.push_type)).is_silent LIMIT 1
$$;
COMMENT ON FUNCTION carillon.check_silence IS
    'Internal: the refusal of what a push of a silent type may not have; null: it has none of it.';

-- The push type of what publish stores is given beside the arguments: callers cannot name it.
CREATE OR REPLACE FUNCTION carillon.draft(m carillon.message_arguments, as_type text DEFAULT NULL) RETURNS carillon.draft
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    made carillon.draft;
    alert text;
    sound text := to_json(m.sound);
    checked record;
    more text;
    front text;
    whole json;
    silent boolean;
    protocol text;
BEGIN
    SELECT a.id, a.protocol INTO made.app_id, protocol FROM carillon.apps a
    WHERE a.name = m.app AND (NOT a.is_guarded OR coalesce(a.id = ANY (carillon.apps_of_caller()), true));
    IF NOT FOUND THEN
        made.refusal := carillon.unknown_app(m.app);
        RETURN made;
    END IF;
    IF m.push_type IS NOT NULL AND ((carillon.rules_of(m.push_type)).push_type IS NULL OR m.push_type = 'channel') THEN
        made.refusal := carillon.refusal('push_type', 'one of ' || (
            SELECT string_agg(p.push_type, ', ') FROM carillon.push_types() AS p WHERE p.push_type <> 'channel'),
            quote_literal(m.push_type));
        RETURN made;
    END IF;
    IF m.payloads IS NOT NULL THEN
        checked := carillon.check_payloads(m, protocol);
        made.refusal := checked.refusal;
        made.payloads := checked.payloads;
        silent := checked.is_silent;
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
    ELSIF m.payload IS NULL THEN
        alert := CASE WHEN m.alert_json IS NULL THEN to_json(m.alert)::text ELSE carillon.compact(m.alert_json) END;
        -- Most messages need no closer check.
        IF num_nonnulls(m.extra, m.title, m.subtitle, m.body, m.aps, m.interruption_level, m.relevance_score,
            m.target_content_id, m.filter_criteria, m.stale_date, m.badge_add) > 0 OR m.badge NOT BETWEEN 0 AND 2147483647
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
            -- The largest number stands for those to come.
            '"badge":' || CASE WHEN m.badge_add IS NULL THEN m.badge ELSE 2147483647 END,
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
            AND num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound) = 0;
        IF m.aps IS NOT NULL THEN
            silent := (m.content_available OR m.aps -> 'content-available' = '1') AND num_nonnulls(m.alert, m.alert_json,
                m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound, m.aps ->> 'alert', m.aps ->> 'badge',
                m.aps ->> 'sound') = 0;
        END IF;
    ELSIF carillon.has_parts(m) THEN
        made.refusal := carillon.refusal('payload', 'null if ' || carillon.names_of_parts() || ' is given', 'a value',
            'Pass the whole payload or its parts, not both.');
        RETURN made;
    ELSE
        made.payload := CASE m.payload_type WHEN 'jsonb'::regtype THEN carillon.compact(m.payload::jsonb)
            ELSE m.payload END;
    END IF;
    made.push_type := coalesce(as_type, m.push_type, CASE WHEN silent THEN 'background' ELSE 'alert' END);
    -- Before all else: a payload that is too large is neither parsed nor cut.
    IF octet_length(made.payload) > carillon.payload_limit(made.push_type, protocol) THEN
        made.refusal := carillon.refusal(
            -- The largest part.
            CASE WHEN m.payload IS NULL THEN (
                SELECT a.name FROM (VALUES ('alert', coalesce(m.alert, m.alert_json::text)), ('title', m.title),
                    ('subtitle', m.subtitle), ('body', m.body), ('sound', m.sound), ('category', m.category),
                    ('thread_id', m.thread_id), ('extra', m.extra::text), ('aps', m.aps::text),
                    ('target_content_id', m.target_content_id), ('filter_criteria', m.filter_criteria)) AS a(name, value)
                ORDER BY octet_length(a.value) DESC NULLS LAST LIMIT 1) ELSE 'payload' END,
            CASE WHEN m.payload IS NULL THEN 'what makes a payload of ' ELSE 'a payload of ' END
                || carillon.payload_size(made.push_type, protocol),
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
        IF m.push_type IS NULL AND position('content-available' IN made.payload) > 0 AND carillon.is_silent(whole) THEN
            silent := true;
            made.push_type := 'background';
        END IF;
    END IF;
    IF m.push_type IS NOT NULL AND m.payloads IS NULL AND (carillon.rules_of(m.push_type)).is_silent THEN
        made.refusal := carillon.check_silence(m, whole);
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
    END IF;
    IF m.badge_add IS NOT NULL THEN
        front := '{"aps":{' || coalesce('"alert":' || alert || ',', '') || '"badge":';
        made.after_badge := substr(made.payload, length(front) + length('2147483647') + 1);
        made.payload := front;
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
        made.priority := coalesce(m.priority, (carillon.rules_of(made.push_type)).default_priority);
        made.scheduled := CASE WHEN m.run_at > now() THEN true END;
    END IF;
    RETURN made;
END
$$;
COMMENT ON FUNCTION carillon.draft IS 'Internal: a message without its tokens, checked and ready to be stored, or its refusal.';
