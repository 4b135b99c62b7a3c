-- From the arguments of a message to its payload and headers. submit(), submit_publication() and preview_message() call draft(). It
-- only reads, and returns a refusal instead of raising it. The usual message skips the closer checks of check_arguments.sql.

-- The parts of a payload. PostgreSQL inlines these functions, and PL/pgSQL prepares an expression anew in each transaction: so
-- callers leave out the parts that a message does not have.
CREATE OR REPLACE FUNCTION carillon.alert_of_lines(title text, subtitle text, body text) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_strip_nulls(json_build_object('title', title, 'subtitle', subtitle, 'body', body))
$$;
COMMENT ON FUNCTION carillon.alert_of_lines IS 'Internal: returns an alert with these lines as JSON.';

CREATE OR REPLACE FUNCTION carillon.other_members(
    content_available boolean, mutable_content boolean, category text, thread_id text
) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT nullif(concat_ws(',', CASE WHEN content_available THEN '"content-available":1' END,
        CASE WHEN mutable_content THEN '"mutable-content":1' END, '"category":' || to_json(category),
        '"thread-id":' || to_json(thread_id)), '')
$$;
COMMENT ON FUNCTION carillon.other_members IS
    'Internal: returns members of aps that need no check, other than alert, badge and sound, as JSON; null if there are none.';

CREATE OR REPLACE FUNCTION carillon.own_members(extra jsonb) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN extra <> '{}' THEN ',' || left(substr(carillon.compact_json(extra), 2), -1) END
$$;
COMMENT ON FUNCTION carillon.own_members IS 'Internal: returns the members beside aps as JSON, each after a comma.';

-- Compact, with aps first and text unchanged.
CREATE OR REPLACE FUNCTION carillon.compose(alert text, badge bigint, sound text, more text, own text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT '{"aps":{' || concat_ws(',', '"alert":' || alert, '"badge":' || badge, '"sound":' || sound, more) || '}'
        || coalesce(own, '') || '}'
$$;
COMMENT ON FUNCTION carillon.compose IS 'Internal: returns a payload of these parts.';

-- These refusals of draft() cost nothing for a message that is valid.
CREATE OR REPLACE FUNCTION carillon.check_unknown_type(push_type text, topic text) RETURNS carillon.refusal
LANGUAGE plpgsql AS $$
BEGIN
    IF carillon.is_name(push_type) AND push_type <> 'channel' AND topic IS NOT NULL THEN
        PERFORM carillon.note_unknown('push_type', push_type,
            'Apple refuses the push if it has no such type. SELECT * FROM carillon.push_types() lists those that are checked.');
        RETURN NULL;
    END IF;
    RETURN carillon.refusal('push_type',
        'one of ' || (SELECT string_agg(p.push_type, ', ') FROM carillon.push_types() AS p WHERE p.push_type <> 'channel'),
        quote_literal(push_type), CASE WHEN push_type = 'channel' THEN 'carillon.publish sends to channels.'
            ELSE 'Another type, whose name has at most 64 lower-case letters, digits and hyphens, is sent unchecked: pass its '
                'topic too.' END);
END
$$;
COMMENT ON FUNCTION carillon.check_unknown_type IS
    'Internal: returns the refusal of a push type that is not known, or notes that it is not known; null if it may be sent.';

CREATE OR REPLACE FUNCTION carillon.empty_payload(push_type text) RETURNS carillon.refusal
LANGUAGE sql STABLE AS $$
    SELECT carillon.refusal('alert',
        'text, unless badge, sound, title, subtitle, body, aps, a key in extra, content_available => true or payload is given',
        NULL, CASE push_type WHEN 'background' THEN 'A background push takes content_available => true.' END)
$$;
COMMENT ON FUNCTION carillon.empty_payload IS 'Internal: builds the error for a message without content.';

CREATE OR REPLACE FUNCTION carillon.oversized_message(
    m carillon.message_arguments, bytes integer, push_type text, protocol text
) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    size CONSTANT text := carillon.payload_size(push_type, protocol);
    largest text;
BEGIN
    IF m.payload IS NOT NULL THEN
        RETURN carillon.refusal('payload', 'a payload of ' || size, bytes || ' bytes', NULL, '54000');
    END IF;
    SELECT a.name INTO largest FROM (VALUES
        ('alert', coalesce(m.alert, m.alert_json::text)), ('title', m.title), ('subtitle', m.subtitle), ('body', m.body),
        ('sound', m.sound), ('category', m.category), ('thread_id', m.thread_id), ('extra', m.extra::text),
        ('aps', m.aps::text), ('target_content_id', m.target_content_id), ('filter_criteria', m.filter_criteria)
    ) AS a(name, value) ORDER BY octet_length(a.value) DESC NULLS LAST LIMIT 1;
    RETURN carillon.refusal(largest, 'a value for a payload of ' || size, format('one of %s bytes', bytes), NULL, '54000');
END
$$;
COMMENT ON FUNCTION carillon.oversized_message IS
    'Internal: builds the error for a message that is too large; it names the largest argument.';

-- The push type of a publication is a separate argument, because callers cannot name it.
CREATE OR REPLACE FUNCTION carillon.draft(m carillon.message_arguments, as_type text DEFAULT NULL) RETURNS carillon.draft
LANGUAGE plpgsql STABLE AS $$
DECLARE
    made carillon.draft;
    alert text;
    sound text := to_json(m.sound);
    checked record;
    more text;
    front text;
    whole json;
    silent boolean;
    ignored text;
    protocol text;
    has_quiet_hours boolean;
BEGIN
    SELECT a.id, a.protocol, a.quiet_hours IS NOT NULL, CASE WHEN a.both_environments THEN a.environment END
    INTO made.app_id, protocol, has_quiet_hours, made.home FROM carillon.apps a WHERE a.name = m.app AND carillon.may_use(a);
    IF NOT FOUND THEN
        made.refusal := carillon.unknown_app(m.app);
        RETURN made;
    END IF;
    IF m.push_type IS NOT NULL AND ((carillon.rules_of(m.push_type)).push_type IS NULL OR m.push_type = 'channel') THEN
        made.refusal := carillon.check_unknown_type(m.push_type, m.topic);
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
    END IF;
    IF m.payloads IS NOT NULL THEN
        SELECT c.payloads, c.is_silent, c.ignored, c.refusal INTO made.payloads, silent, ignored, made.refusal
        FROM carillon.check_payloads(m, protocol) AS c;
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
    ELSIF m.payload IS NULL THEN
        alert := CASE WHEN m.alert_json IS NULL THEN to_json(m.alert)::text ELSE carillon.compact_json(m.alert_json) END;
        -- Most messages use none of these, and skip the closer check.
        IF num_nonnulls(m.extra, m.title, m.subtitle, m.body, m.aps, m.interruption_level, m.relevance_score,
            m.target_content_id, m.filter_criteria, m.stale_date, m.badge_add) > 0
            OR NOT carillon.is_plain_text(m.alert, m.badge, m.sound) OR left(alert, 1) NOT IN ('"', '{')
        THEN
            checked := carillon.check_fields(m, alert);
            alert := checked.alert;
            sound := checked.sound;
            more := checked.more;
            made.refusal := checked.refusal;
        END IF;
        -- The largest number, because each device gets its own.
        made.payload := carillon.compose(alert, CASE WHEN m.badge_add IS NULL THEN m.badge ELSE 2147483647 END, sound,
            nullif(concat_ws(',', carillon.other_members(m.content_available, m.mutable_content, m.category, m.thread_id), more),
                ''), carillon.own_members(m.extra));
        IF made.payload = '{"aps":{}}' AND (made.refusal).message IS NULL THEN
            made.refusal := carillon.empty_payload(m.push_type);
        END IF;
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
        silent := m.content_available
            AND num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound) = 0;
        IF m.aps IS NOT NULL THEN
            silent := (m.content_available OR m.aps -> 'content-available' = '1') AND num_nonnulls(m.alert, m.alert_json, m.title,
                m.subtitle, m.body, m.badge, m.badge_add, m.sound, m.aps ->> 'alert', m.aps ->> 'badge', m.aps ->> 'sound') = 0;
        END IF;
    ELSIF carillon.has_payload_fields(m) THEN
        made.refusal := carillon.refusal('payload', 'null if ' || carillon.payload_field_names() || ' is given', 'a value',
            'Pass the whole payload or its parts, not both.');
        RETURN made;
    ELSE
        made.payload := CASE m.payload_type WHEN 'jsonb'::regtype THEN carillon.compact_json(m.payload::jsonb)
            ELSE m.payload END;
    END IF;
    made.push_type := coalesce(as_type, m.push_type, CASE WHEN silent THEN 'background' ELSE 'alert' END);
    -- Checked first, so that an oversized payload is neither parsed nor copied.
    IF octet_length(made.payload) > carillon.payload_limit(made.push_type, protocol) THEN
        made.refusal := carillon.oversized_message(m, octet_length(made.payload), made.push_type, protocol);
        RETURN made;
    END IF;
    IF m.payload IS NOT NULL THEN
        whole := carillon.json_or_null(made.payload);
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
    IF num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound) = 0
        AND m.content_available IS NOT TRUE AND as_type IS NULL
    THEN
        IF NOT carillon.has_alert(made.payload) THEN
            -- Apart, because PL/pgSQL evaluates an expression with a query much more slowly.
            ignored := CASE WHEN carillon.is_ignored(made.push_type, made.payload) THEN made.payload END;
        END IF;
    END IF;
    IF ignored IS NOT NULL AND NOT carillon.is_pass_update(m) THEN
        PERFORM carillon.note_ignored(ignored);
    END IF;
    IF m.badge_add IS NOT NULL THEN
        front := '{"aps":{' || coalesce('"alert":' || alert || ',', '') || '"badge":';
        made.after_badge := substr(made.payload, length(front) + length('2147483647') + 1);
        made.payload := front;
    END IF;
    -- Most calls set none of these.
    IF num_nonnulls(m.push_type, m.priority, m.expires_at, m.collapse_id, m.topic, m.run_at, m.lane, m.dedupe_key,
        m.dedupe_for) > 0 OR m.on_unknown <> 'retry' OR m.on_duplicate <> 'null' OR silent
        OR octet_length(m.reference) > carillon.max_reference_bytes()
    THEN
        made.refusal := carillon.check_heading(m, made.push_type);
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
        made.priority := coalesce(m.priority, (carillon.rules_of(made.push_type)).default_priority);
        made.run_at := CASE WHEN m.run_at > now() THEN m.run_at END;
    END IF;
    IF has_quiet_hours THEN
        made.run_at := carillon.run_at_of(made, made.run_at);
    END IF;
    RETURN made;
END
$$;
COMMENT ON FUNCTION carillon.draft IS
    'Internal: checks the arguments of a message, and returns it without its tokens and ready to be stored, or the refusal.';
