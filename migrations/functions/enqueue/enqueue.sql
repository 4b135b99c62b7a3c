-- Makes the 13 variants of FUNCTION carillon.enqueue, FUNCTION carillon.broadcast, FUNCTION carillon.start_activity,
-- FUNCTION carillon.update_activity, FUNCTION carillon.end_activity and FUNCTION carillon.publish: so written, because that is what
-- CONTRIBUTING searches for to find the file of a function. They only pass their arguments on as one row; submit(),
-- submit_activity() and submit_publication(), each in the file of that name, do the work. This is one of them, with most of its
-- arguments left out:
--
--     carillon.publish(app text, channel text, content_state text = NULL, event text = 'update', …) RETURNS bigint
--         SELECT carillon.submit_publication(ROW($1, $2, $3, $4, …))
--
-- The 13 are made from lists, because each list is in two to five of them. A new argument needs an entry in a list, and a field in
-- the type of the arguments, such as carillon.message_arguments.
--
-- So no file has the text of one. docs/sql.md has their arguments, and this prints the text of each variant of enqueue:
--
--     psql -Atc "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'enqueue'"
--
-- Drivers send values as text, json, jsonb or untyped, and integers in several sizes; bigint accepts every integer. So each
-- function has two variants. The first accepts text and untyped values. The second accepts only JSON: its anyelement argument has
-- no default. An anycompatible argument may independently have any of these types, because PostgreSQL's two polymorphic families
-- are separate; an untyped value counts as text. PostgreSQL cannot resolve the default of a polymorphic array, so a third enqueue
-- takes payloads.
--
-- All are plain SQL without SET clauses, so that the planner inlines them: a prepared call costs nothing more, and error messages
-- do not mention them. An unprepared call is parsed and planned each time, and its 34 arguments are more than half of its cost.
-- carillon.push exists because it has few.
--
-- ORMs pass every argument, and null for each that was not set. What is called knows the defaults too.
DO $make$
DECLARE
    -- Lists of optional arguments. The default is null unless another one is given.
    message CONSTANT text := 'badge bigint, sound text, content_available boolean, mutable_content boolean, category text, '
        'thread_id text, extra jsonb, payload anycompatible, push_type text, priority bigint, expires_at timestamptz, '
        'collapse_id text, topic text, run_at timestamptz, lane bigint, reference text, dedupe_key text, dedupe_for interval, '
        'on_unknown text = ''retry'', title text, subtitle text, body text, strict boolean = false, '
        'on_duplicate text = ''null'', aps jsonb, interruption_level text, relevance_score double precision, '
        'target_content_id text, filter_criteria text, stale_date timestamptz, badge_add bigint';
    text_message CONSTANT text := replace(message, 'payload anycompatible', 'payload text');
    sending CONSTANT text := 'priority bigint, expires_at timestamptz, run_at timestamptz, lane bigint, reference text, '
        'dedupe_key text, dedupe_for interval, on_unknown text = ''retry''';
    start CONSTANT text := 'alert anycompatible, title text, body text, sound text, channel text, push_token boolean = true, '
        'everyone boolean = false, stale_date timestamptz, relevance_score double precision, apns_timestamp timestamptz, '
        || sending || ', topic text, aps jsonb, extra jsonb';
    an_update CONSTANT text := 'alert anycompatible, title text, body text, sound text, stale_date timestamptz, '
        'relevance_score double precision, apns_timestamp timestamptz, ' || sending || ', topic text, aps jsonb, extra jsonb';
    an_end CONSTANT text := 'alert anycompatible, title text, body text, sound text, stale_date timestamptz, '
        'relevance_score double precision, dismissal_date timestamptz, apns_timestamp timestamptz, ' || sending
        || ', topic text, aps jsonb, extra jsonb';
    publication CONSTANT text := 'event text = ''update'', alert anycompatible, stale_date timestamptz, '
        'dismissal_date timestamptz, relevance_score double precision, sound text, aps jsonb, apns_timestamp timestamptz, '
        || sending || ', on_duplicate text = ''null'', title text, body text, extra jsonb';
    -- Fields of the type that are not just the argument of the same name.
    any_payload CONSTANT jsonb := '{"payload": "{payload}::pg_catalog.text",
        "payload_type": "CASE WHEN {payload} IS NOT NULL THEN pg_catalog.pg_typeof({payload}) END"}';
    any_payloads CONSTANT jsonb := '{"payloads": "{payloads}::pg_catalog.text[]",
        "payloads_type": "pg_catalog.pg_typeof({payloads})"}';
    json_alert CONSTANT jsonb := any_payload || '{"alert": "NULL", "alert_json": "pg_catalog.to_jsonb({alert})"}';
    text_state CONSTANT jsonb := '{"alert": "{alert}::pg_catalog.text", "alert_type": "pg_catalog.pg_typeof({alert})",
        "content_state": "NULL", "state_text": "{content_state}", "attributes": "NULL"}';
    json_state CONSTANT jsonb := text_state || '{"state_text": "pg_catalog.to_jsonb({content_state})::pg_catalog.text"}';
    text_start CONSTANT jsonb := text_state || '{"event": "''start''", "attributes_text": "{attributes}"}';
    json_start CONSTANT jsonb := json_state
        || '{"event": "''start''", "attributes_text": "pg_catalog.to_jsonb({attributes})::pg_catalog.text"}';
    one record;  -- a function: its name, arguments and fields, and what it calls
    arguments text[];
    names text[];
    body text;
BEGIN
    FOR one IN
        SELECT f.*, c.type, c.call, c.comment FROM (VALUES
            ('enqueue', 'app text, tokens text[]', 'alert text, ' || message, any_payload),
            ('enqueue', 'app text, tokens text[], alert anyelement', message, json_alert),
            ('enqueue', 'app text, tokens text[], payloads anycompatiblearray', 'alert text, ' || text_message,
                any_payloads),
            ('broadcast', 'app text', 'alert text, ' || message || ', kind text', any_payload),
            ('broadcast', 'app text, alert anyelement', message || ', kind text', json_alert),
            ('start_activity', 'app text, tokens text[], attributes_type text, attributes text, content_state text', start,
                text_start),
            ('start_activity', 'app text, tokens text[], attributes_type text, attributes anyelement, content_state anyelement',
                start, json_start),
            ('update_activity', 'app text, tokens text[], content_state text', an_update, text_state || '{"event": "''update''"}'),
            ('update_activity', 'app text, tokens text[], content_state anyelement', an_update,
                json_state || '{"event": "''update''"}'),
            ('end_activity', 'app text, tokens text[]', 'content_state text, ' || an_end, text_state || '{"event": "''end''"}'),
            ('end_activity', 'app text, tokens text[], content_state anyelement', an_end, json_state || '{"event": "''end''"}'),
            ('publish', 'app text, channel text', 'content_state text, ' || publication, text_state),
            ('publish', 'app text, channel text, content_state anyelement', publication, json_state)
        ) AS f(name, required, optional, fields) JOIN (VALUES
            -- The null saves PostgreSQL from reading a default.
            ('enqueue', 'message_arguments', 'submit({row}, false, NULL)',
                'Enqueues a message to device tokens. Pass an array even for a single token: ARRAY[token]. Returns the id of the '
                'message, or null if there are no tokens or the dedupe_key is taken.'),
            ('broadcast', 'message_arguments', 'submit({row}, true, {kind})',
                'Enqueues a message to every registered token of one kind of an app, by default the kind for the push type. '
                'Returns the id of the message, or null if there are no such tokens or the dedupe_key is taken.'),
            ('start_activity', 'activity_arguments', 'submit_activity({row})',
                'Starts a Live Activity on the devices of push-to-start tokens or, with everyone, on all devices of the app. '
                'Pass an array even for a single token. Returns the id of the message, or null if there are no tokens or the '
                'dedupe_key is taken.'),
            ('update_activity', 'activity_arguments', 'submit_activity({row})',
                'Updates Live Activities. An older update of a token is never sent after a newer one. Pass an array even for a '
                'single token. Returns the id of the message, or null if there are no tokens or the dedupe_key is taken.'),
            ('end_activity', 'activity_arguments', 'submit_activity({row})',
                'Ends Live Activities and sets their last content. Pass an array even for a single token. Returns the id of the '
                'message, or null if there are no tokens or the dedupe_key is taken.'),
            ('publish', 'publication', 'submit_publication({row})',
                'Publishes an update to the Live Activities that follow a channel, or ends them. Returns the id of the message, '
                'or null if the dedupe_key is taken.')
        ) AS c(name, type, call, comment) ON c.name = f.name
    LOOP
        arguments := string_to_array(one.required, ', ') || ARRAY(
            SELECT o.argument || CASE WHEN o.argument ~ ' = ' THEN '' ELSE ' = NULL' END
            FROM string_to_table(one.optional, ', ') WITH ORDINALITY AS o(argument, place) ORDER BY o.place);
        names := ARRAY(SELECT split_part(a, ' ', 1) FROM unnest(arguments) AS a);
        -- Each field of the row is what one.fields has for it, or else the argument of its name, or else null. The body names the
        -- arguments by number, which PostgreSQL parses faster.
        SELECT replace(one.call, '{row}', 'ROW(' || string_agg(coalesce(one.fields ->> t.attname,
            CASE WHEN t.attname = ANY (names) THEN '{' || t.attname || '}' END, 'NULL'), ', ' ORDER BY t.attnum) || ')')
        INTO body FROM pg_attribute t WHERE t.attrelid = ('carillon.' || one.type)::regclass;
        FOR place IN 1..cardinality(names) LOOP
            body := replace(body, '{' || names[place] || '}', '$' || place);
        END LOOP;
        EXECUTE format('CREATE OR REPLACE FUNCTION carillon.%s(%s) RETURNS bigint LANGUAGE sql AS %L',
            one.name, array_to_string(arguments, ', '), 'SELECT carillon.' || body);
        EXECUTE format('COMMENT ON FUNCTION carillon.%s(%s) IS %L',
            one.name, regexp_replace(array_to_string(arguments, ', '), ' = [^,]*', '', 'g'), one.comment);
    END LOOP;
END
$make$;
