-- carillon.enqueue and carillon.broadcast, from their arguments to stored jobs.
-- A call for one token costs little more than its transaction. submit() runs as its owner: apps may not write all columns.

-- The push type is one for all: background if all of them are silent.
CREATE OR REPLACE FUNCTION carillon.check_payloads(
    m carillon.message_arguments, protocol text, OUT payloads json[], OUT is_silent boolean, OUT refusal carillon.refusal
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    given text[] := m.payloads;
    push_type CONSTANT text := coalesce(m.push_type, 'alert');  -- background has the same limit
    limit_of CONSTANT integer := carillon.payload_limit(push_type, protocol);
    wrong record;
BEGIN
    IF m.payload IS NOT NULL OR carillon.has_parts(m) THEN
        refusal := carillon.refusal('payloads', 'null if payload, ' || carillon.names_of_parts() || ' is given', 'a value',
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
        given := ARRAY(SELECT carillon.compact(g.payload::jsonb) FROM unnest(given) WITH ORDINALITY AS g(payload, place)
            ORDER BY g.place);
    END IF;
    -- Before all else: a payload that is too large is neither parsed nor cut.
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
            NULL;  -- one of them, which is found below
    END;
    SELECT g.place, g.payload, g.whole IS NULL AS is_malformed INTO wrong FROM (
        SELECT u.place, u.payload, CASE WHEN payloads IS NULL THEN carillon.parsed(u.payload) ELSE u.payload::json END AS whole
        FROM unnest(given) WITH ORDINALITY AS u(payload, place)
    ) AS g
    WHERE json_typeof(g.whole) IS DISTINCT FROM 'object' ORDER BY g.place LIMIT 1;
    IF FOUND THEN
        refusal := carillon.refusal('payloads', 'JSON objects',
            format('%s at position %s', coalesce(nullif(left(wrong.payload, 40), ''), 'an empty text'), wrong.place), NULL,
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
END
$$;
COMMENT ON FUNCTION carillon.check_payloads IS 'Internal: checks the payload for each token, and whether all of them are silent.';

CREATE OR REPLACE FUNCTION carillon.store(
    id bigint, tokens text[], payloads json[], m carillon.message_arguments, made carillon.draft, lane integer,
    broadcast_id bigint
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    one CONSTANT json := CASE WHEN payloads IS NULL THEN made.payload WHEN cardinality(payloads) = 1 THEN payloads[1]::text END;
    each CONSTANT json[] := CASE WHEN one IS NULL THEN payloads END;
BEGIN
    IF made.scheduled THEN
        INSERT INTO carillon.scheduled (id, app_id, lane, tokens, payload, payloads, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown, broadcast_id, run_at)
        VALUES (id, made.app_id, lane, tokens, one, each, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, m.on_unknown, broadcast_id, m.run_at);
    ELSE
        INSERT INTO carillon.messages (id, app_id, lane, tokens, payload, payloads, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown, broadcast_id)
        VALUES (id, made.app_id, lane, tokens, one, each, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, m.on_unknown, broadcast_id);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.store IS 'Internal: stores one job.';

-- Stores one job, or as many as the tokens need, and returns the id of the first. Null: there are no tokens, or another message
-- holds the dedupe_key.
--
-- enqueue and broadcast share it, and their refusals are raised only here: the error has one line of context without a list of
-- forty types.
CREATE OR REPLACE FUNCTION carillon.submit(m carillon.message_arguments, everyone boolean, kind text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    size CONSTANT integer := carillon.tokens_per_job();
    made carillon.draft := carillon.draft(m);
    refusal carillon.refusal := made.refusal;
    wanted text;
    token text := carillon.token(m.tokens[array_lower(m.tokens, 1)]);
    cleaned record;
    clean text[];
    parts refcursor;
    payloads json[];
    part text[];
    part_payloads json[];
    first bigint;
    job bigint;
    holder bigint;
    lane integer;
    jobs integer := 0;
    pushes bigint := 0;
BEGIN
    IF refusal.message IS NOT NULL THEN
        NULL;
    ELSIF everyone AND kind <> ALL (carillon.token_kinds()) THEN
        refusal := carillon.check_kind(kind);
    ELSIF everyone THEN
        wanted := coalesce(kind, carillon.kind_of_push(made.push_type, made.payload));
        -- One snapshot, read along an index in parts, so that a part costs the same however many tokens there are: the primary
        -- key for devices, one of their own for others. The planner expects no row of (expires_at > now()) IS NOT FALSE.
        IF wanted = 'device' THEN
            OPEN parts FOR WITH RECURSIVE part AS (
                SELECT NULL::text[] AS tokens, '' AS last
                UNION ALL
                SELECT next.tokens, next.last FROM part CROSS JOIN LATERAL (
                    SELECT array_agg(t.token) AS tokens, max(t.token) AS last FROM (
                        SELECT k.token FROM carillon.tokens k WHERE k.app_id = made.app_id AND k.token > part.last
                            AND k.kind = 'device' AND (k.expires_at IS NULL OR k.expires_at > now())
                        ORDER BY k.token LIMIT size) t) next
                WHERE next.tokens IS NOT NULL)
            SELECT p.tokens, NULL::json[] FROM part p WHERE p.tokens IS NOT NULL;
        ELSE
            OPEN parts FOR WITH RECURSIVE part AS (
                SELECT NULL::text[] AS tokens, '' AS last
                UNION ALL
                SELECT next.tokens, next.last FROM part CROSS JOIN LATERAL (
                    SELECT array_agg(t.token) AS tokens, max(t.token) AS last FROM (
                        SELECT k.token FROM carillon.tokens k WHERE k.app_id = made.app_id AND k.token > part.last
                            AND k.kind = wanted AND k.kind <> 'device' AND (k.expires_at IS NULL OR k.expires_at > now())
                        ORDER BY k.token LIMIT size) t) next
                WHERE next.tokens IS NOT NULL)
            SELECT p.tokens, NULL::json[] FROM part p WHERE p.tokens IS NOT NULL;
        END IF;
        FETCH parts INTO part, part_payloads;
        IF part IS NULL AND m.is_strict THEN
            refusal := carillon.refusal('app', 'an app with registered tokens if strict is true',
                quote_literal(m.app) || ', which has none' || CASE WHEN wanted <> 'device' THEN ' of kind ' || wanted
                ELSE '' END);
        END IF;
    ELSIF cardinality(m.tokens) = 1 AND token IS NOT NULL THEN
        clean := ARRAY[token];
        payloads := made.payloads;
    ELSE
        cleaned := carillon.clean_tokens(m.tokens);
        clean := cleaned.clean;
        refusal := cleaned.refusal;
        IF made.payloads IS NOT NULL THEN
            payloads := ARRAY(
                SELECT g.payload FROM unnest(made.payloads) WITH ORDINALITY AS g(payload, place)
                WHERE g.place = ANY (cleaned.places) ORDER BY g.place);
        END IF;
        IF clean IS NULL AND m.is_strict AND refusal.message IS NULL THEN
            refusal := carillon.refusal('tokens', 'one or more device tokens if strict is true',
                CASE WHEN m.tokens IS NULL THEN 'null' ELSE 'none' END);
        END IF;
    END IF;
    -- Most calls name no push type.
    IF m.push_type <> ALL ('{alert,background}') AND clean IS NOT NULL AND refusal.message IS NULL THEN
        refusal := carillon.check_kinds(made.app_id, clean, made.push_type, coalesce(made.payload, made.payloads[1]::text));
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    ELSIF clean IS NULL AND part IS NULL THEN
        RETURN NULL;
    END IF;
    -- A single push of the app does not wait behind a list of thousands.
    lane := coalesce(m.lane, CASE WHEN everyone OR cardinality(clean) > size THEN 2 ELSE 1 END);
    -- Most calls end here.
    IF cardinality(clean) <= size AND m.dedupe_key IS NULL AND made.scheduled IS NULL AND payloads IS NULL
        AND made.after_badge IS NULL
    THEN
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
            topic, reference, on_unknown)
        VALUES (made.app_id, lane, clean, made.payload::json, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, m.on_unknown)
        RETURNING messages.id INTO first;
        RETURN first;
    END IF;
    first := nextval('carillon.messages_id_seq');
    IF m.dedupe_key IS NOT NULL THEN
        holder := carillon.take_key(made.app_id, m.dedupe_key, m.dedupe_for, m.run_at, first);
        IF holder IS DISTINCT FROM first THEN
            RETURN CASE m.on_duplicate WHEN 'holder' THEN holder END;
        END IF;
    END IF;
    IF made.after_badge IS NOT NULL AND NOT everyone THEN
        payloads := carillon.with_badges(made.app_id, clean, m.badge_add, made.payload, made.after_badge);
    END IF;
    IF cardinality(clean) <= size THEN
        PERFORM carillon.store(first, clean, payloads, m, made, lane, NULL);
        RETURN first;
    END IF;
    IF NOT everyone THEN
        OPEN parts FOR SELECT array_agg(t.token ORDER BY t.place),
            CASE WHEN payloads IS NOT NULL THEN array_agg(t.payload ORDER BY t.place) END
        FROM unnest(clean, payloads) WITH ORDINALITY t (token, payload, place)
        GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size;
        FETCH parts INTO part, part_payloads;
    END IF;
    -- store() would copy them for each part: millions of tokens, thousands of times.
    m.tokens := NULL;
    m.payloads := NULL;
    made.payloads := NULL;
    WHILE part IS NOT NULL LOOP
        job := CASE jobs WHEN 0 THEN first ELSE nextval('carillon.messages_id_seq') END;
        IF made.after_badge IS NOT NULL AND everyone THEN
            part_payloads := carillon.with_badges(made.app_id, part, m.badge_add, made.payload, made.after_badge);
        END IF;
        PERFORM carillon.store(job, part, part_payloads, m, made, lane, first);
        jobs := jobs + 1;
        pushes := pushes + cardinality(part);
        FETCH parts INTO part, part_payloads;
    END LOOP;
    CLOSE parts;
    INSERT INTO carillon.broadcasts (id, last_id, app_id, lane, jobs, tokens, reference)
    VALUES (first, job, made.app_id, lane, jobs, pushes, m.reference);
    RETURN first;
END
$$;
COMMENT ON FUNCTION carillon.submit IS 'Internal: stores a message for enqueue and broadcast.';

-- The functions that enqueue, made from lists of their arguments: a new argument stands in a list here, and is a field of the
-- type that takes the arguments.
--
-- Drivers bind values as text, json, jsonb or without a type, and integers by their size; bigint takes every integer. So there
-- are two functions of each name. The first takes text and values without a type. The second takes only JSON: its argument of
-- type anyelement has no default. An argument of type anycompatible may have any of these types independently of it, because
-- PostgreSQL's two polymorphic families are separate; without a type it is text. PostgreSQL finds no type for the default of a
-- polymorphic array, so a third enqueue takes payloads.
--
-- All are plain SQL without settings, so that the planner inlines their call: they cost nothing, and no error mentions them.
DO $make$
DECLARE
    -- The default of an argument is null unless another is given.
    message CONSTANT text := 'badge bigint, sound text, content_available boolean, mutable_content boolean, category text, '
        'thread_id text, extra jsonb, payload %s, push_type text, priority bigint, expires_at timestamptz, collapse_id text, '
        'topic text, run_at timestamptz, lane bigint, reference text, dedupe_key text, dedupe_for interval, '
        'on_unknown text = ''retry'', title text, subtitle text, body text, strict boolean = false, '
        'on_duplicate text = ''null'', aps jsonb, interruption_level text, relevance_score double precision, '
        'target_content_id text, filter_criteria text, stale_date timestamptz, badge_add bigint';
    activity CONSTANT text := 'alert anycompatible, title text, body text, sound text, %sstale_date timestamptz, '
        'relevance_score double precision, %sapns_timestamp timestamptz, %s, topic text, aps jsonb, extra jsonb';
    publication CONSTANT text := 'event text = ''update'', alert anycompatible, stale_date timestamptz, '
        'dismissal_date timestamptz, relevance_score double precision, sound text, aps jsonb, apns_timestamp timestamptz, %s, '
        'on_duplicate text = ''null'', title text, body text, extra jsonb';
    sending CONSTANT text := 'priority bigint, expires_at timestamptz, run_at timestamptz, lane bigint, reference text, '
        'dedupe_key text, dedupe_for interval, on_unknown text = ''retry''';
    any_message CONSTANT text := format(message, 'anycompatible');
    start CONSTANT text := format(activity, 'channel text, push_token boolean = true, everyone boolean = false, ', '', sending);
    an_update CONSTANT text := format(activity, '', '', sending);
    an_end CONSTANT text := format(activity, '', 'dismissal_date timestamptz, ', sending);
    any_publication CONSTANT text := format(publication, sending);
    -- The fields of the type that are not simply the argument of that name.
    any_payload CONSTANT jsonb := '{"is_strict": "strict", "payload": "payload::pg_catalog.text",
        "payload_type": "pg_catalog.pg_typeof(payload)"}';
    any_payloads CONSTANT jsonb := '{"is_strict": "strict", "payloads": "payloads::pg_catalog.text[]",
        "payloads_type": "pg_catalog.pg_typeof(payloads)"}';
    json_alert CONSTANT jsonb := any_payload || '{"alert": "NULL", "alert_json": "pg_catalog.to_jsonb(alert)"}';
    text_state CONSTANT jsonb := '{"alert": "alert::pg_catalog.text", "alert_type": "pg_catalog.pg_typeof(alert)",
        "content_state": "NULL", "state_text": "content_state", "attributes": "NULL"}';
    json_state CONSTANT jsonb := text_state || '{"state_text": "pg_catalog.to_jsonb(content_state)::pg_catalog.text"}';
    text_start CONSTANT jsonb := text_state || '{"event": "''start''", "attributes_text": "attributes"}';
    json_start CONSTANT jsonb := json_state
        || '{"event": "''start''", "attributes_text": "pg_catalog.to_jsonb(attributes)::pg_catalog.text"}';
    one record;
    arguments text[];
BEGIN
    FOR one IN
        SELECT f.*, c.type, c.call, c.comment FROM (VALUES
            ('enqueue', 'app text, tokens text[]', 'alert text, ' || any_message, any_payload),
            ('enqueue', 'app text, tokens text[], alert anyelement', any_message, json_alert),
            ('enqueue', 'app text, tokens text[], payloads anycompatiblearray', 'alert text, ' || format(message, 'text'),
                any_payloads),
            ('broadcast', 'app text', 'alert text, ' || any_message || ', kind text', any_payload),
            ('broadcast', 'app text, alert anyelement', any_message || ', kind text', json_alert),
            ('start_activity', 'app text, tokens text[], attributes_type text, attributes text, content_state text', start,
                text_start),
            ('start_activity', 'app text, tokens text[], attributes_type text, attributes anyelement, content_state anyelement',
                start, json_start),
            ('update_activity', 'app text, tokens text[], content_state text', an_update, text_state || '{"event": "''update''"}'),
            ('update_activity', 'app text, tokens text[], content_state anyelement', an_update,
                json_state || '{"event": "''update''"}'),
            ('end_activity', 'app text, tokens text[]', 'content_state text, ' || an_end, text_state || '{"event": "''end''"}'),
            ('end_activity', 'app text, tokens text[], content_state anyelement', an_end, json_state || '{"event": "''end''"}'),
            ('publish', 'app text, channel text', 'content_state text, ' || any_publication, text_state),
            ('publish', 'app text, channel text, content_state anyelement', any_publication, json_state)
        ) AS f(name, required, optional, fields) JOIN (VALUES
            ('enqueue', 'message_arguments', 'submit(%s, false)',
                'Enqueues a message to device tokens, which are an array even for one: ARRAY[token]. Returns the id of '
                'the message; null: there are no tokens, or the dedupe_key is taken.'),
            ('broadcast', 'message_arguments', 'submit(%s, true, kind)',
                'Enqueues a message to every registered token of one kind of an app, by default the kind for the '
                'push type. Returns the id of the message; null: there are no such tokens, or the dedupe_key is taken.'),
            ('start_activity', 'activity_arguments', 'submit_activity(%s)',
                'Starts a Live Activity on the devices of push-to-start tokens, or with everyone on all devices of the app. '
                'The tokens are an array even for one. Returns the id of the message; null: there are no tokens, or the '
                'dedupe_key is taken.'),
            ('update_activity', 'activity_arguments', 'submit_activity(%s)',
                'Updates Live Activities. An older update of a token is never sent after a newer one. '
                'The tokens are an array even for one. Returns the id of the message; null: there are no tokens, or the '
                'dedupe_key is taken.'),
            ('end_activity', 'activity_arguments', 'submit_activity(%s)',
                'Ends Live Activities, with their last content. The tokens are an array even for one. Returns '
                'the id of the message; null: there are no tokens, or the dedupe_key is taken.'),
            ('publish', 'publication', 'submit_publication(%s)',
                'Publishes an update to the Live Activities that follow a channel, or ends them. Returns the id of the '
                'message; null: the dedupe_key is taken.')
        ) AS c(name, type, call, comment) ON c.name = f.name
    LOOP
        arguments := string_to_array(one.required, ', ') || ARRAY(
            SELECT o.argument || CASE WHEN o.argument ~ ' = ' THEN '' ELSE ' = NULL' END
            FROM string_to_table(one.optional, ', ') WITH ORDINALITY AS o(argument, place) ORDER BY o.place);
        EXECUTE format('CREATE OR REPLACE FUNCTION carillon.%s(%s) RETURNS bigint LANGUAGE sql AS %L', one.name,
            array_to_string(arguments, ', '), 'SELECT carillon.' || format(one.call, (
                SELECT format('ROW(%s)::carillon.%s', string_agg(coalesce(one.fields ->> t.attname, a.name, 'NULL'), ', '
                    ORDER BY t.attnum), one.type)
                FROM pg_attribute t LEFT JOIN (SELECT split_part(u, ' ', 1) FROM unnest(arguments) AS u) AS a(name)
                    ON a.name = t.attname
                WHERE t.attrelid = format('carillon.%I', one.type)::regclass)));
        EXECUTE format('COMMENT ON FUNCTION carillon.%s(%s) IS %L', one.name,
            regexp_replace(array_to_string(arguments, ', '), ' = [^,]*', '', 'g'), one.comment);
    END LOOP;
END
$make$;
