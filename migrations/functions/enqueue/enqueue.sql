-- The functions that applications call: enqueue, broadcast, those for Live Activities and media sessions, and publish. They only
-- pass their arguments on as one row: submit(), submit_activity(), submit_media() and submit_publication(), each in the file of
-- that name, do the work.
--
-- The row has the fields of the type of the arguments, such as carillon.message_arguments. A body names the arguments by number,
-- which PostgreSQL parses faster. A new argument goes last in the type, in the list of arguments and, by its number, in the row.
-- `make docs` writes each function that has a comment above it, from the first one of its name, or from enqueue.
--
-- Drivers send values as text, json, jsonb or untyped, and integers in several sizes; bigint accepts every integer. So each
-- function has two variants. The first accepts text and untyped values. The second accepts only JSON: its anyelement argument has
-- no default. An anycompatible argument may independently have any of these types, because PostgreSQL's two polymorphic families
-- are separate; an untyped value counts as text. PostgreSQL cannot resolve the default of a polymorphic array, so a third enqueue
-- takes payloads.
--
-- All are plain SQL without SET clauses, so that the planner inlines them: a prepared call costs nothing more, and error messages
-- do not mention them. An unprepared call is parsed and planned each time, and its 35 arguments are more than half of its cost.
-- carillon.push exists because it has few.
--
-- ORMs pass every argument, and null for each that was not set. What is called knows the defaults too.

CREATE OR REPLACE FUNCTION carillon.enqueue(
    app text, tokens text[], alert text = NULL, badge bigint = NULL, sound text = NULL, content_available boolean = NULL,
    mutable_content boolean = NULL, category text = NULL, thread_id text = NULL, extra jsonb = NULL,
    payload anycompatible = NULL, push_type text = NULL, priority bigint = NULL, expires_at timestamptz = NULL,
    collapse_id text = NULL, topic text = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL,
    dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry', title text = NULL, subtitle text = NULL,
    body text = NULL, strict boolean = false, on_duplicate text = 'null', aps jsonb = NULL, interruption_level text = NULL,
    relevance_score double precision = NULL, target_content_id text = NULL, filter_criteria text = NULL,
    stale_date timestamptz = NULL, badge_add bigint = NULL, bodies jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit(ROW($1, $2, $3, NULL, $4, $5, $6, $7, $8, $9, $10, $11::pg_catalog.text,
        CASE WHEN $11 IS NOT NULL THEN pg_catalog.pg_typeof($11) END, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
        $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, NULL, NULL, $34, $35), false, NULL)
$$;

-- enqueue with an alert as JSON.
CREATE OR REPLACE FUNCTION carillon.enqueue(
    app text, tokens text[], alert anyelement, badge bigint = NULL, sound text = NULL, content_available boolean = NULL,
    mutable_content boolean = NULL, category text = NULL, thread_id text = NULL, extra jsonb = NULL,
    payload anycompatible = NULL, push_type text = NULL, priority bigint = NULL, expires_at timestamptz = NULL,
    collapse_id text = NULL, topic text = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL,
    dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry', title text = NULL, subtitle text = NULL,
    body text = NULL, strict boolean = false, on_duplicate text = 'null', aps jsonb = NULL, interruption_level text = NULL,
    relevance_score double precision = NULL, target_content_id text = NULL, filter_criteria text = NULL,
    stale_date timestamptz = NULL, badge_add bigint = NULL, bodies jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit(ROW($1, $2, NULL, pg_catalog.to_jsonb($3), $4, $5, $6, $7, $8, $9, $10, $11::pg_catalog.text,
        CASE WHEN $11 IS NOT NULL THEN pg_catalog.pg_typeof($11) END, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
        $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, NULL, NULL, $34, $35), false, NULL)
$$;

-- enqueue with a payload for each token.
CREATE OR REPLACE FUNCTION carillon.enqueue(
    app text, tokens text[], payloads anycompatiblearray, alert text = NULL, badge bigint = NULL, sound text = NULL,
    content_available boolean = NULL, mutable_content boolean = NULL, category text = NULL, thread_id text = NULL,
    extra jsonb = NULL, payload text = NULL, push_type text = NULL, priority bigint = NULL, expires_at timestamptz = NULL,
    collapse_id text = NULL, topic text = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL,
    dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry', title text = NULL, subtitle text = NULL,
    body text = NULL, strict boolean = false, on_duplicate text = 'null', aps jsonb = NULL, interruption_level text = NULL,
    relevance_score double precision = NULL, target_content_id text = NULL, filter_criteria text = NULL,
    stale_date timestamptz = NULL, badge_add bigint = NULL, bodies jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit(ROW($1, $2, $4, NULL, $5, $6, $7, $8, $9, $10, $11, $12, NULL, $13, $14, $15, $16, $17, $18, $19,
        $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $3::pg_catalog.text[],
        pg_catalog.pg_typeof($3), $35, $36), false, NULL)
$$;

-- broadcast with an alert as text.
CREATE OR REPLACE FUNCTION carillon.broadcast(
    app text, alert text = NULL, badge bigint = NULL, sound text = NULL, content_available boolean = NULL,
    mutable_content boolean = NULL, category text = NULL, thread_id text = NULL, extra jsonb = NULL,
    payload anycompatible = NULL, push_type text = NULL, priority bigint = NULL, expires_at timestamptz = NULL,
    collapse_id text = NULL, topic text = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL,
    dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry', title text = NULL, subtitle text = NULL,
    body text = NULL, strict boolean = false, on_duplicate text = 'null', aps jsonb = NULL, interruption_level text = NULL,
    relevance_score double precision = NULL, target_content_id text = NULL, filter_criteria text = NULL,
    stale_date timestamptz = NULL, badge_add bigint = NULL, bodies jsonb = NULL, kind text = NULL,
    where_attributes jsonb = NULL, locales text[] = NULL, activity_type text = NULL, run_at_local text = NULL,
    time_zone text = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit(ROW($1, NULL, $2, NULL, $3, $4, $5, $6, $7, $8, $9, $10::pg_catalog.text,
        CASE WHEN $10 IS NOT NULL THEN pg_catalog.pg_typeof($10) END, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
        $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, NULL, NULL, $33, $34), true, ROW($35, $36, $37, $38, NULL, $39,
        $40))
$$;

-- broadcast with an alert as JSON.
CREATE OR REPLACE FUNCTION carillon.broadcast(
    app text, alert anyelement, badge bigint = NULL, sound text = NULL, content_available boolean = NULL,
    mutable_content boolean = NULL, category text = NULL, thread_id text = NULL, extra jsonb = NULL,
    payload anycompatible = NULL, push_type text = NULL, priority bigint = NULL, expires_at timestamptz = NULL,
    collapse_id text = NULL, topic text = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL,
    dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry', title text = NULL, subtitle text = NULL,
    body text = NULL, strict boolean = false, on_duplicate text = 'null', aps jsonb = NULL, interruption_level text = NULL,
    relevance_score double precision = NULL, target_content_id text = NULL, filter_criteria text = NULL,
    stale_date timestamptz = NULL, badge_add bigint = NULL, bodies jsonb = NULL, kind text = NULL,
    where_attributes jsonb = NULL, locales text[] = NULL, activity_type text = NULL, run_at_local text = NULL,
    time_zone text = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit(ROW($1, NULL, NULL, pg_catalog.to_jsonb($2), $3, $4, $5, $6, $7, $8, $9, $10::pg_catalog.text,
        CASE WHEN $10 IS NOT NULL THEN pg_catalog.pg_typeof($10) END, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
        $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, NULL, NULL, $33, $34), true, ROW($35, $36, $37, $38, NULL, $39,
        $40))
$$;

CREATE OR REPLACE FUNCTION carillon.start_activity(
    app text, tokens text[], attributes_type text, attributes text, content_state text, alert anycompatible = NULL,
    title text = NULL, body text = NULL, sound text = NULL, channel text = NULL, push_token boolean = true,
    everyone boolean = false, stale_date timestamptz = NULL, relevance_score double precision = NULL,
    apns_timestamp timestamptz = NULL, priority bigint = NULL, expires_at timestamptz = NULL, run_at timestamptz = NULL,
    lane bigint = NULL, reference text = NULL, dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry',
    topic text = NULL, aps jsonb = NULL, extra jsonb = NULL,
    where_attributes jsonb = NULL, locales text[] = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW($1, $2, 'start', $5, NULL, $3, $4, NULL, $6::pg_catalog.text, pg_catalog.pg_typeof($6),
        $7, $8, $9, $10, $11, $12, $13, $14, NULL, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28))
$$;

-- start_activity with JSON.
CREATE OR REPLACE FUNCTION carillon.start_activity(
    app text, tokens text[], attributes_type text, attributes anyelement, content_state anyelement, alert anycompatible = NULL,
    title text = NULL, body text = NULL, sound text = NULL, channel text = NULL, push_token boolean = true,
    everyone boolean = false, stale_date timestamptz = NULL, relevance_score double precision = NULL,
    apns_timestamp timestamptz = NULL, priority bigint = NULL, expires_at timestamptz = NULL, run_at timestamptz = NULL,
    lane bigint = NULL, reference text = NULL, dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry',
    topic text = NULL, aps jsonb = NULL, extra jsonb = NULL, where_attributes jsonb = NULL, locales text[] = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW($1, $2, 'start', pg_catalog.to_jsonb($5)::pg_catalog.text, NULL, $3,
        pg_catalog.to_jsonb($4)::pg_catalog.text, NULL, $6::pg_catalog.text, pg_catalog.pg_typeof($6), $7, $8, $9, $10, $11,
        $12, $13, $14, NULL, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28))
$$;

CREATE OR REPLACE FUNCTION carillon.update_activity(
    app text, tokens text[], content_state text, alert anycompatible = NULL, title text = NULL, body text = NULL,
    sound text = NULL, stale_date timestamptz = NULL, relevance_score double precision = NULL,
    apns_timestamp timestamptz = NULL, priority bigint = NULL, expires_at timestamptz = NULL, run_at timestamptz = NULL,
    lane bigint = NULL, reference text = NULL, dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry',
    topic text = NULL, aps jsonb = NULL, extra jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW($1, $2, 'update', $3, NULL, NULL, NULL, NULL, $4::pg_catalog.text,
        pg_catalog.pg_typeof($4), $5, $6, $7, NULL, NULL, NULL, $8, $9, NULL, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        $20, $21, NULL, NULL))
$$;

-- update_activity with JSON.
CREATE OR REPLACE FUNCTION carillon.update_activity(
    app text, tokens text[], content_state anyelement, alert anycompatible = NULL, title text = NULL, body text = NULL,
    sound text = NULL, stale_date timestamptz = NULL, relevance_score double precision = NULL,
    apns_timestamp timestamptz = NULL, priority bigint = NULL, expires_at timestamptz = NULL, run_at timestamptz = NULL,
    lane bigint = NULL, reference text = NULL, dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry',
    topic text = NULL, aps jsonb = NULL, extra jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW($1, $2, 'update', pg_catalog.to_jsonb($3)::pg_catalog.text, NULL, NULL, NULL, NULL,
        $4::pg_catalog.text, pg_catalog.pg_typeof($4), $5, $6, $7, NULL, NULL, NULL, $8, $9, NULL, $10, $11, $12, $13, $14, $15,
        $16, $17, $18, $19, $20, $21, NULL, NULL))
$$;

CREATE OR REPLACE FUNCTION carillon.end_activity(
    app text, tokens text[], content_state text = NULL, alert anycompatible = NULL, title text = NULL, body text = NULL,
    sound text = NULL, stale_date timestamptz = NULL, relevance_score double precision = NULL,
    dismissal_date timestamptz = NULL, apns_timestamp timestamptz = NULL, priority bigint = NULL, expires_at timestamptz = NULL,
    run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL, dedupe_key text = NULL, dedupe_for interval = NULL,
    on_unknown text = 'retry', topic text = NULL, aps jsonb = NULL, extra jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW($1, $2, 'end', $3, NULL, NULL, NULL, NULL, $4::pg_catalog.text,
        pg_catalog.pg_typeof($4), $5, $6, $7, NULL, NULL, NULL, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, NULL, NULL))
$$;

-- end_activity with JSON.
CREATE OR REPLACE FUNCTION carillon.end_activity(
    app text, tokens text[], content_state anyelement, alert anycompatible = NULL, title text = NULL, body text = NULL,
    sound text = NULL, stale_date timestamptz = NULL, relevance_score double precision = NULL,
    dismissal_date timestamptz = NULL, apns_timestamp timestamptz = NULL, priority bigint = NULL, expires_at timestamptz = NULL,
    run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL, dedupe_key text = NULL, dedupe_for interval = NULL,
    on_unknown text = 'retry', topic text = NULL, aps jsonb = NULL, extra jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_activity(ROW($1, $2, 'end', pg_catalog.to_jsonb($3)::pg_catalog.text, NULL, NULL, NULL, NULL,
        $4::pg_catalog.text, pg_catalog.pg_typeof($4), $5, $6, $7, NULL, NULL, NULL, $8, $9, $10, $11, $12, $13, $14, $15, $16,
        $17, $18, $19, $20, $21, $22, NULL, NULL))
$$;

-- One variant each: an anycompatible argument takes text and JSON, and only one is needed.
CREATE OR REPLACE FUNCTION carillon.start_media(
    app text, tokens text[], attributes anycompatible, everyone boolean = false, apns_timestamp timestamptz = NULL,
    priority bigint = NULL, expires_at timestamptz = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL,
    dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry', topic text = NULL, aps jsonb = NULL,
    extra jsonb = NULL,
    where_attributes jsonb = NULL, locales text[] = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_media(ROW($1, $2, 'start', pg_catalog.to_jsonb($3) OPERATOR(pg_catalog.#>>) '{}', $4, $5, $6, $7, $8,
        $9, $10, $11, $12, $13, $14, $15, $16, $17, $18))
$$;

CREATE OR REPLACE FUNCTION carillon.update_media(
    app text, tokens text[], attributes anycompatible, apns_timestamp timestamptz = NULL,
    priority bigint = NULL, expires_at timestamptz = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL,
    dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry', topic text = NULL, aps jsonb = NULL,
    extra jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_media(ROW($1, $2, 'update', pg_catalog.to_jsonb($3) OPERATOR(pg_catalog.#>>) '{}', NULL, $4, $5, $6, $7,
        $8, $9, $10, $11, $12, $13, $14, $15, NULL, NULL))
$$;

CREATE OR REPLACE FUNCTION carillon.end_media(
    app text, tokens text[], attributes anycompatible, apns_timestamp timestamptz = NULL,
    priority bigint = NULL, expires_at timestamptz = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL,
    dedupe_key text = NULL, dedupe_for interval = NULL, on_unknown text = 'retry', topic text = NULL, aps jsonb = NULL,
    extra jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_media(ROW($1, $2, 'end', pg_catalog.to_jsonb($3) OPERATOR(pg_catalog.#>>) '{}', NULL, $4, $5, $6, $7,
        $8, $9, $10, $11, $12, $13, $14, $15, NULL, NULL))
$$;

CREATE OR REPLACE FUNCTION carillon.publish(
    app text, channel text, content_state text = NULL, event text = 'update', alert anycompatible = NULL,
    stale_date timestamptz = NULL, dismissal_date timestamptz = NULL, relevance_score double precision = NULL,
    sound text = NULL, aps jsonb = NULL, apns_timestamp timestamptz = NULL, priority bigint = NULL,
    expires_at timestamptz = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL, dedupe_key text = NULL,
    dedupe_for interval = NULL, on_unknown text = 'retry', on_duplicate text = 'null', title text = NULL, body text = NULL,
    extra jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_publication(ROW($1, $2, $3, $4, $5::pg_catalog.text, pg_catalog.pg_typeof($5), $21, $22, $6, $7, $8,
        $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $23))
$$;

-- publish with JSON.
CREATE OR REPLACE FUNCTION carillon.publish(
    app text, channel text, content_state anyelement, event text = 'update', alert anycompatible = NULL,
    stale_date timestamptz = NULL, dismissal_date timestamptz = NULL, relevance_score double precision = NULL,
    sound text = NULL, aps jsonb = NULL, apns_timestamp timestamptz = NULL, priority bigint = NULL,
    expires_at timestamptz = NULL, run_at timestamptz = NULL, lane bigint = NULL, reference text = NULL, dedupe_key text = NULL,
    dedupe_for interval = NULL, on_unknown text = 'retry', on_duplicate text = 'null', title text = NULL, body text = NULL,
    extra jsonb = NULL
) RETURNS bigint LANGUAGE sql AS $$
    SELECT carillon.submit_publication(ROW($1, $2, pg_catalog.to_jsonb($3)::pg_catalog.text, $4, $5::pg_catalog.text,
        pg_catalog.pg_typeof($5), $21, $22, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $23))
$$;

DO $comments$
DECLARE
    variant record;
BEGIN
    FOR variant IN
        SELECT p.oid::regprocedure AS name, c.comment FROM pg_proc p JOIN (VALUES
            ('enqueue',
                'Enqueues a message to device tokens. Pass an array even for a single token: ARRAY[token]. Returns the id of the '
                'message, or null if there are no tokens or the dedupe_key is taken.'),
            ('broadcast',
                'Enqueues a message to every registered token of one kind of an app, by default the kind for the push type, or to '
                'those of them that have the given attributes, locales or activity type. '
                'Returns the id of the message, or null if there are no such tokens or the dedupe_key is taken.'),
            ('start_activity',
                'Starts a Live Activity on the devices of push-to-start tokens or, with everyone, on all devices of the app. '
                'Pass an array even for a single token. Returns the id of the message, or null if there are no tokens or the '
                'dedupe_key is taken.'),
            ('update_activity',
                'Updates Live Activities. An older update of a token is never sent after a newer one. Pass an array even for a '
                'single token. Returns the id of the message, or null if there are no tokens or the dedupe_key is taken.'),
            ('end_activity',
                'Ends Live Activities and sets their last content. Pass an array even for a single token. Returns the id of the '
                'message, or null if there are no tokens or the dedupe_key is taken.'),
            ('start_media',
                'Starts a remote media session on the devices of media_start tokens or, with everyone, on all devices of the app. '
                'Pass an array even for a single token. Returns the id of the message, or null if there are no tokens or the '
                'dedupe_key is taken.'),
            ('update_media',
                'Updates remote media sessions. An older update of a token is never sent after a newer one. Pass an array even for '
                'a single token. Returns the id of the message, or null if there are no tokens or the dedupe_key is taken.'),
            ('end_media',
                'Ends remote media sessions. Pass an array even for a single token. Returns the id of the message, or null if '
                'there are no tokens or the dedupe_key is taken.'),
            ('publish',
                'Publishes an update to the Live Activities that follow a channel, or ends them. Returns the id of the message, '
                'or null if the dedupe_key is taken.')
        ) AS c(name, comment) ON c.name = p.proname
        WHERE p.pronamespace = 'carillon'::regnamespace AND pg_get_userbyid(p.proowner) = current_user
    LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', variant.name, variant.comment);
    END LOOP;
END
$comments$;
