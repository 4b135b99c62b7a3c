-- Checks the arguments of a message. draft() calls these functions, each only for messages that need it.
--
-- Only functions that users call pin search_path. These leave it to them.

-- As in the table of messages. PostgreSQL inlines the function.
CREATE OR REPLACE FUNCTION carillon.max_reference_bytes() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1024 $$;
COMMENT ON FUNCTION carillon.max_reference_bytes IS 'Internal: returns the maximum size of a reference in bytes.';

-- Later calculations would fail with times outside these years. PostgreSQL inlines the function.
CREATE OR REPLACE FUNCTION carillon.is_usual(at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT at OPERATOR(pg_catalog.>=) pg_catalog.timestamptz '2000-01-01 00:00:00Z'
        AND at OPERATOR(pg_catalog.<) pg_catalog.timestamptz '2201-01-01 00:00:00Z'
$$;
COMMENT ON FUNCTION carillon.is_usual IS 'Internal: whether a time lies in the years 2000 to 2200; null if there is none.';

CREATE OR REPLACE FUNCTION carillon.has_payload_fields(m carillon.message_arguments) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound,
        m.content_available, m.mutable_content, m.category, m.thread_id, m.extra, m.aps, m.interruption_level,
        m.relevance_score, m.target_content_id, m.filter_criteria, m.stale_date) > 0
$$;
COMMENT ON FUNCTION carillon.has_payload_fields IS 'Internal: whether any argument from which a payload is built is given.';

CREATE OR REPLACE FUNCTION carillon.payload_field_names() RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'alert, title, subtitle, body, badge, badge_add, sound, content_available, mutable_content, category, '
        'thread_id, extra, aps, interruption_level, relevance_score, target_content_id, filter_criteria or stale_date'
$$;
COMMENT ON FUNCTION carillon.payload_field_names IS 'Internal: returns the names of the arguments from which a payload is built.';

-- Looks for the bytes of the topic in the first certificate of a PEM text. The bytes of a longer topic that contains it may be
-- found instead, so true means only that the push may be attempted.
CREATE OR REPLACE FUNCTION carillon.names_topic(certificate text, topic text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    pem CONSTANT text := regexp_replace(
        substring(certificate from '-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----'), '[[:space:]]', '', 'g');
    der bytea;
BEGIN
    IF pem !~ '^[A-Za-z0-9+/]+={0,2}$' OR length(pem) % 4 <> 0 THEN
        RETURN NULL;
    END IF;
    der := decode(pem, 'base64');
    -- The user ID of the subject, and the present and the former extension of Apple: 1.2.840.113635.100.6.3.6 and .4.
    IF position(decode('0992268993f22c640101', 'hex') IN der) + position(decode('2a864886f76364060306', 'hex') IN der)
        + position(decode('2a864886f76364060304', 'hex') IN der) > 0
    THEN
        RETURN position(convert_to(topic, 'UTF8') IN der) > 0;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.names_topic IS
    'Internal: whether a certificate that no program has read yet may name a topic; null if it names none or is invalid.';

-- check_topic() does not take the message, because PL/pgSQL would copy it with all its tokens.
CREATE OR REPLACE FUNCTION carillon.check_topic(
    app_name text, given text, push_type text, rules carillon.push_rules
) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    other carillon.push_rules;
BEGIN
    IF given !~ '^[!-~]{1,255}$' THEN
        RETURN carillon.refusal('topic', '1 to 255 visible ASCII characters', quote_literal(given));
    END IF;
    IF right(given, length(rules.topic_suffix)) <> rules.topic_suffix OR given = rules.topic_suffix THEN
        RETURN carillon.refusal('topic',
            format('a bundle ID followed by %s for push type %s', rules.topic_suffix, rules.push_type),
            quote_literal(given), 'Leave it out to use the topic of the app with this suffix.');
    END IF;
    IF rules.topic_suffix = '' AND rules.push_type IS NOT NULL THEN
        SELECT p.* INTO other FROM carillon.push_types() AS p
        WHERE p.topic_suffix <> '' AND right(given, length(p.topic_suffix)) = p.topic_suffix
            -- A bundle ID may have the same ending.
            AND NOT EXISTS (SELECT FROM carillon.apps a WHERE a.name = app_name AND given = ANY (a.topic || a.topics));
        IF FOUND THEN
            RETURN carillon.refusal('topic',
                format('a topic that does not end with %s for push type %s', other.topic_suffix, rules.push_type),
                quote_literal(given), format('Pass push_type => %L, which has such topics.', other.push_type));
        END IF;
    END IF;
    IF given <> ALL ((SELECT carillon.topics_of(a.id) FROM carillon.apps a WHERE a.name = app_name)::text[])
        AND NOT carillon.is_derived_topic(given, push_type, (
            SELECT carillon.topics_of(a.id) FROM carillon.apps a WHERE a.name = app_name))
    THEN
        RETURN carillon.refusal('topic', format('a topic of the app %L', app_name), quote_literal(given),
            CASE WHEN rules.push_type IS NULL THEN format('Pass the app''s own topic followed by .push-type.%s, or', push_type)
                ELSE 'Leave it out to use the app''s own topic, or' END
            || ' list it with ''carillon app set NAME --topics TOPIC,TOPIC''.');
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.check_topic IS
    'Internal: returns the refusal of a topic that a message names; null if it is valid.';

CREATE OR REPLACE FUNCTION carillon.check_heading(m carillon.message_arguments, push_type text) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    rules CONSTANT carillon.push_rules := carillon.rules_of(push_type);
    refusal carillon.refusal;
    credential record;
BEGIN
    IF m.priority <> ALL (rules.priorities) THEN
        RETURN carillon.refusal('priority', regexp_replace(array_to_string(rules.priorities, ', '), ', ([0-9]+)$', E' or \\1')
                || CASE WHEN cardinality(rules.priorities) < 3 AND push_type <> 'channel'
                    THEN ' for push type ' || push_type ELSE '' END,
            m.priority::text, CASE WHEN rules.default_priority IS NOT NULL THEN 'Leave it out: Apple refuses any other.' END);
    END IF;
    -- The epoch is Apple's way to say that a push is not to be stored.
    IF NOT carillon.is_usual(m.expires_at) AND m.expires_at <> timestamptz 'epoch' THEN
        RETURN carillon.refusal('expires_at', 'a time from the year 2000 to 2200, or 1970-01-01 00:00:00 UTC',
            quote_literal(m.expires_at),
            CASE WHEN m.expires_at = 'infinity' THEN 'Leave it out for a push that never expires.' END);
    END IF;
    IF m.collapse_id = '' OR octet_length(m.collapse_id) > rules.collapse_id_limit
        OR m.collapse_id ~ '[[:cntrl:]]|^[[:space:]]|[[:space:]]$' THEN
        RETURN carillon.refusal('collapse_id', 'text of 1 to ' || rules.collapse_id_limit || ' bytes without control characters '
                'and without spaces at either end',
            quote_literal(m.collapse_id) || ' (' || octet_length(m.collapse_id) || ' bytes)');
    END IF;
    IF m.topic IS NOT NULL THEN
        refusal := carillon.check_topic(m.app, m.topic, push_type, rules);
        IF refusal.message IS NOT NULL THEN
            RETURN refusal;
        END IF;
    END IF;
    -- A signing key sends to all topics of its team.
    IF push_type <> 'channel' AND (rules.needs_provider_token OR rules.topic_suffix <> '' OR m.topic IS NOT NULL) THEN
        SELECT c.name, c.certificate, c.topics, coalesce(m.topic, CASE
            WHEN right(t.topic, length(rules.topic_suffix)) = rules.topic_suffix THEN t.topic
            ELSE t.topic || rules.topic_suffix END) AS topic INTO credential
        FROM carillon.apps a JOIN carillon.certificates c ON c.id = a.certificate_id
        CROSS JOIN LATERAL (SELECT coalesce(a.topic, c.topics[1]) AS topic) t
        WHERE a.name = m.app AND c.key_id IS NULL AND a.protocol = 'http2';
        IF rules.needs_provider_token AND credential.name IS NOT NULL THEN
            RETURN carillon.refusal('app', 'an app with a signing key for push type ' || push_type,
                format('%L, which has the certificate %s', m.app, credential.name),
                'Import a key with ''carillon credential import''; it sends to all topics of its team.');
        -- The topics are null until a worker or a command has read the certificate.
        ELSIF cardinality(credential.topics) > 0 AND credential.topic <> ALL (credential.topics)
            OR credential.topics IS NULL AND NOT carillon.names_topic(credential.certificate, credential.topic)
        THEN
            RETURN carillon.refusal(CASE WHEN m.topic IS NULL THEN 'app' ELSE 'topic' END,
                CASE WHEN m.topic IS NULL THEN format('an app that may send to the topic %s', credential.topic)
                    ELSE 'a topic that the app''s certificate is for' END,
                format('%L, and the certificate %s is for %s', coalesce(m.topic, m.app), credential.name,
                    coalesce(array_to_string(credential.topics, ', '), 'other topics')),
                'Import a signing key with ''carillon credential import''; it sends to all topics of its team.');
        END IF;
    END IF;
    IF octet_length(m.reference) > carillon.max_reference_bytes() THEN
        RETURN carillon.refusal('reference', format('text of at most %s bytes', carillon.max_reference_bytes()),
            quote_literal(left(m.reference, 40)) || '… (' || octet_length(m.reference) || ' bytes)');
    END IF;
    IF NOT carillon.is_usual(m.run_at) THEN
        RETURN carillon.refusal('run_at', 'a time from the year 2000 to 2200', quote_literal(m.run_at));
    END IF;
    IF m.run_at > now() AND m.expires_at <= m.run_at AND m.expires_at > timestamptz 'epoch' THEN
        RETURN carillon.refusal('expires_at', 'a time after run_at', quote_literal(m.expires_at),
            'The message would expire before it is sent.');
    END IF;
    IF m.lane NOT IN (0, 1, 2) THEN
        RETURN carillon.refusal('lane', '0 (urgent), 1 (normal) or 2 (bulk)', m.lane::text);
    END IF;
    IF m.on_unknown NOT IN ('retry', 'fail') THEN
        RETURN carillon.refusal('on_unknown', '''retry'' or ''fail''', quote_literal(m.on_unknown));
    END IF;
    IF num_nonnulls(m.dedupe_key, m.dedupe_for) > 0 THEN
        IF m.dedupe_key = '' OR octet_length(m.dedupe_key) > 1000 THEN
            RETURN carillon.refusal('dedupe_key', 'text of 1 to 1000 bytes', quote_literal(m.dedupe_key));
        END IF;
        IF m.dedupe_for <= interval '0' OR m.dedupe_for > interval '100 years'
            OR m.dedupe_for IS NOT NULL AND m.dedupe_key IS NULL
        THEN
            RETURN carillon.refusal('dedupe_for', 'an interval above 0 and at most 100 years, together with dedupe_key',
                quote_literal(m.dedupe_for) || CASE WHEN m.dedupe_key IS NULL THEN ' without dedupe_key' ELSE '' END);
        END IF;
    END IF;
    IF m.on_duplicate NOT IN ('null', 'existing') THEN
        RETURN carillon.refusal('on_duplicate', '''null'' or ''existing''', quote_literal(m.on_duplicate));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.check_heading IS
    'Internal: returns the refusal of an argument that becomes a header or that decides when and in which lane a job waits; '
    'null if all are valid.';

CREATE OR REPLACE FUNCTION carillon.check_members(m carillon.message_arguments) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    levels CONSTANT text[] := ARRAY['passive', 'active', 'time-sensitive', 'critical'];
    duplicate record;
BEGIN
    IF m.badge NOT BETWEEN 0 AND 2147483647 THEN
        RETURN carillon.refusal('badge', 'a number from 0 to 2147483647', m.badge::text,
            CASE WHEN m.badge < 0 THEN 'To subtract from what each device shows, pass badge_add.' END);
    ELSIF m.badge_add NOT BETWEEN -2147483647 AND 2147483647 THEN
        RETURN carillon.refusal('badge_add', 'a number from -2147483647 to 2147483647', m.badge_add::text);
    ELSIF m.badge_add IS NOT NULL AND m.badge IS NOT NULL THEN
        RETURN carillon.refusal('badge_add', 'null if badge is given', 'a value',
            'badge is the number that every device shows; badge_add is added to the number of each device.');
    ELSIF m.relevance_score IN ('NaN', 'Infinity', '-Infinity') THEN
        RETURN carillon.refusal('relevance_score', 'a finite number', m.relevance_score::text);
    ELSIF m.stale_date < timestamptz 'epoch' OR m.stale_date >= timestamptz '2201-01-01 00:00:00Z' THEN
        RETURN carillon.refusal('stale_date', 'a time from 1970 to 2200', quote_literal(m.stale_date));
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
    ELSIF m.interruption_level <> ALL (levels) THEN
        IF NOT carillon.is_name(m.interruption_level) THEN
            RETURN carillon.refusal('interruption_level', 'one of ' || array_to_string(levels, ', '),
                quote_literal(m.interruption_level),
                'Another level, whose name has at most 64 lower-case letters, digits and hyphens, is sent unchecked.');
        END IF;
        PERFORM carillon.note_unknown('interruption_level', m.interruption_level,
            'A device may ignore a level that it does not know.');
    END IF;
    IF m.aps IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT g.* INTO duplicate FROM (VALUES
        ('alert', 'alert', num_nonnulls(m.alert, m.alert_json)), ('title', 'alert', num_nonnulls(m.title)),
        ('subtitle', 'alert', num_nonnulls(m.subtitle)), ('body', 'alert', num_nonnulls(m.body)),
        ('badge', 'badge', num_nonnulls(m.badge)), ('badge_add', 'badge', num_nonnulls(m.badge_add)),
        ('sound', 'sound', num_nonnulls(m.sound)), ('content_available', 'content-available', num_nonnulls(m.content_available)),
        ('mutable_content', 'mutable-content', num_nonnulls(m.mutable_content)),
        ('category', 'category', num_nonnulls(m.category)), ('thread_id', 'thread-id', num_nonnulls(m.thread_id)),
        ('interruption_level', 'interruption-level', num_nonnulls(m.interruption_level)),
        ('relevance_score', 'relevance-score', num_nonnulls(m.relevance_score)),
        ('target_content_id', 'target-content-id', num_nonnulls(m.target_content_id)),
        ('filter_criteria', 'filter-criteria', num_nonnulls(m.filter_criteria)),
        ('stale_date', 'stale-date', num_nonnulls(m.stale_date))
    ) AS g(argument, member, given) WHERE g.given > 0 AND m.aps ? g.member LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal(duplicate.argument, format('null if aps has the member "%s"', duplicate.member), 'a value',
            'Pass each member once.');
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.check_members IS
    'Internal: returns the refusal of an argument that Apple would reject or that duplicates a member of aps; null if all are '
    'valid.';

-- check_fields() returns the alert as JSON, whichever arguments specify it; a sound that is a dictionary; and, as `more`, the
-- members of aps that few messages have.
CREATE OR REPLACE FUNCTION carillon.check_fields(
    m carillon.message_arguments, INOUT alert text, OUT sound text, OUT more text, OUT refusal carillon.refusal
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- JSON that a driver sent as text. A plain alert never looks like this.
    IF m.alert ~ '^[[:space:]]*[{]' AND json_typeof(carillon.json_or_null(m.alert)) = 'object' THEN
        alert := btrim(m.alert, E' \t\r\n');
    END IF;
    -- A critical alert has a dictionary. A sound file never has such a name.
    sound := CASE WHEN m.sound ~ '^[[:space:]]*[{]' AND json_typeof(carillon.json_or_null(m.sound)) = 'object'
        THEN btrim(m.sound, E' \t\r\n') ELSE to_json(m.sound)::text END;
    refusal := carillon.check_members(m);
    IF refusal.message IS NULL AND position('{' IN concat(m.alert, m.sound)) > 0 THEN
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
        alert := carillon.alert_of_lines(m.title, m.subtitle, m.body);
    END IF;
    more := nullif(concat_ws(',',
        '"interruption-level":' || to_json(m.interruption_level),
        '"relevance-score":' || to_json(m.relevance_score),
        '"target-content-id":' || to_json(m.target_content_id),
        '"filter-criteria":' || to_json(m.filter_criteria),
        '"stale-date":' || floor(extract(epoch FROM m.stale_date)),
        CASE WHEN m.aps <> '{}' THEN left(substr(carillon.compact_json(m.aps), 2), -1) END), '');
END
$$;
COMMENT ON FUNCTION carillon.check_fields IS 'Internal: checks the fields of a payload more closely.';

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
    'Internal: returns the refusal of an argument that a push of a silent type must not have; null if there is none.';

-- One push type applies to all payloads: background if all of them are silent.
CREATE OR REPLACE FUNCTION carillon.check_payloads(
    m carillon.message_arguments, protocol text, OUT payloads json[], OUT is_silent boolean, OUT ignored text,
    OUT refusal carillon.refusal
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    given text[] := m.payloads;
    push_type CONSTANT text := coalesce(m.push_type, 'alert');  -- background has the same limit
    limit_of CONSTANT integer := carillon.payload_limit(push_type, protocol);
    wrong record;
BEGIN
    IF m.payload IS NOT NULL OR carillon.has_payload_fields(m) THEN
        refusal := carillon.refusal('payloads', 'null if payload, ' || carillon.payload_field_names() || ' is given', 'a value',
            'Each of payloads is a whole payload.');
    ELSIF array_ndims(given) > 1 THEN
        refusal := carillon.refusal('payloads', 'an array of payloads', 'an array of arrays');
    ELSIF cardinality(given) <> coalesce(cardinality(m.tokens), 0) THEN
        refusal := carillon.refusal('payloads', format('one payload for each of the %s tokens',
            coalesce(cardinality(m.tokens), 0)), cardinality(given)::text);
    END IF;
    IF refusal.message IS NOT NULL THEN
        RETURN;
    END IF;
    IF m.payloads_type = 'jsonb[]'::regtype THEN
        given := ARRAY(SELECT carillon.compact_json(g.payload::jsonb) FROM unnest(given) WITH ORDINALITY AS g(payload, place)
            ORDER BY g.place);
    END IF;
    -- Checked first, so that an oversized payload is neither parsed nor copied.
    SELECT g.place, octet_length(g.payload) AS bytes INTO wrong
    FROM unnest(given) WITH ORDINALITY AS g(payload, place)
    WHERE g.payload IS NULL OR octet_length(g.payload) > limit_of ORDER BY g.place LIMIT 1;
    IF FOUND THEN
        refusal := CASE WHEN wrong.bytes IS NULL
            THEN carillon.refusal('payloads', 'a payload for each token', 'null at position ' || wrong.place)
            ELSE carillon.refusal('payloads', 'payloads of ' || carillon.payload_size(push_type, protocol),
                format('one of %s bytes at position %s', wrong.bytes, wrong.place), NULL, '54000') END;
        RETURN;
    END IF;
    BEGIN
        payloads := given::json[];
    EXCEPTION
        WHEN data_exception OR program_limit_exceeded THEN
            NULL;  -- the query below finds the malformed one
    END;
    SELECT g.place, g.payload, g.whole IS NULL AS is_malformed INTO wrong FROM (
        SELECT u.place, u.payload,
            CASE WHEN payloads IS NULL THEN carillon.json_or_null(u.payload) ELSE u.payload::json END AS whole
        FROM unnest(given) WITH ORDINALITY AS u(payload, place)
    ) AS g
    WHERE json_typeof(g.whole) IS DISTINCT FROM 'object' ORDER BY g.place LIMIT 1;
    IF FOUND THEN
        refusal := carillon.refusal('payloads', 'JSON objects',
            format('%s at position %s', coalesce(nullif(left(wrong.payload, 40), ''), 'an empty string'), wrong.place), NULL,
            CASE WHEN wrong.is_malformed THEN '22P02' ELSE '22023' END);
        RETURN;
    END IF;
    SELECT min(p.place) AS place INTO wrong FROM unnest(payloads) WITH ORDINALITY AS p(payload, place)
    WHERE (carillon.rules_of(m.push_type)).is_silent AND carillon.is_loud(p.payload);
    IF wrong.place IS NOT NULL THEN
        refusal := carillon.refusal('payloads', 'aps without alert, badge and sound for push type ' || push_type,
            'one with them at position ' || wrong.place,
            'Leave them out, or leave push_type out: Apple may not deliver such a push.');
        RETURN;
    END IF;
    is_silent := cardinality(payloads) > 0 AND m.push_type IS NULL
        AND NOT EXISTS (SELECT FROM unnest(payloads) AS p(payload) WHERE NOT carillon.is_silent(p.payload));
    ignored := (SELECT p.payload::text FROM unnest(payloads) AS p(payload)
        WHERE carillon.is_ignored(push_type, p.payload::text) LIMIT 1);
END
$$;
COMMENT ON FUNCTION carillon.check_payloads IS
    'Internal: checks the payload of each token, and returns whether all are silent, and one that a device would ignore.';
