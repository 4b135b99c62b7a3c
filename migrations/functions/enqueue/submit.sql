-- carillon.enqueue and carillon.broadcast, from their arguments to stored jobs. enqueue.sql has the functions that users call.
-- submit() runs as its owner, because apps may not write all columns.

-- Lists with more than tokens_per_job() tokens are split, so that workers share them.
CREATE OR REPLACE FUNCTION carillon.tokens_per_job() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT 1000';
COMMENT ON FUNCTION carillon.tokens_per_job IS 'Internal: returns the maximum number of tokens of one job.';

CREATE OR REPLACE FUNCTION carillon.enqueue_job(
    id bigint, tokens text[], payloads json[], m carillon.message_arguments, made carillon.draft, lane integer,
    broadcast_id bigint
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    one CONSTANT json := CASE WHEN payloads IS NULL THEN made.payload WHEN cardinality(payloads) = 1 THEN payloads[1]::text END;
    each CONSTANT json[] := CASE WHEN one IS NULL THEN payloads END;
BEGIN
    IF made.run_at IS NOT NULL THEN
        INSERT INTO carillon.scheduled (id, app_id, lane, tokens, payload, payloads, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown, broadcast_id, run_at)
        VALUES (id, made.app_id, lane, tokens, one, each, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, coalesce(m.on_unknown, 'retry'), broadcast_id, made.run_at);
    ELSE
        INSERT INTO carillon.messages (id, app_id, lane, tokens, payload, payloads, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown, broadcast_id)
        VALUES (id, made.app_id, lane, tokens, one, each, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, coalesce(m.on_unknown, 'retry'), broadcast_id);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.enqueue_job IS 'Internal: stores one job of a message, in messages or scheduled.';

-- enqueue_jobs() stores a message of several jobs. With a cursor `slices`, `tokens` are those of the first job, and the cursor
-- returns those of the others, with their body if the message has several; without one, `tokens` and `payloads` are those of all
-- jobs. `away` says of each token, or of those of the first job, whether it is of the other environment. The tokens of a broadcast
-- with a badge have no payloads yet: each gets its own here. With a time zone, made.run_at is when the first job is due by its
-- clocks.
CREATE OR REPLACE FUNCTION carillon.enqueue_jobs(
    first bigint, tokens text[], payloads json[], slices refcursor, away boolean[], m carillon.message_arguments,
    made carillon.draft, lane integer, kind text
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    size CONSTANT integer := carillon.tokens_per_job();
    kind_of_all CONSTANT text := CASE WHEN slices IS NOT NULL THEN
        coalesce(kind, carillon.kind_of_push(made.push_type, made.payload)) END;
    job bigint;
    jobs integer := 0;
    pushes bigint := 0;
    body text;
    is_away boolean := away[1];
    zone text := made.time_zone;
    due timestamptz := made.run_at;
    zones carillon.broadcast_zone[];
    last carillon.broadcast_zone;
BEGIN
    IF slices IS NULL THEN
        OPEN slices FOR SELECT array_agg(t.token ORDER BY t.place),
            CASE WHEN payloads IS NOT NULL THEN array_agg(t.payload ORDER BY t.place) END, NULL, t.away, NULL, NULL
        FROM unnest(tokens, payloads, away) WITH ORDINALITY t (token, payload, away, place)
        GROUP BY t.away, (t.place - 1) / size ORDER BY t.away, (t.place - 1) / size;
        FETCH slices INTO tokens, payloads, body, is_away, zone, due;
    END IF;
    WHILE tokens IS NOT NULL LOOP
        job := CASE jobs WHEN 0 THEN first ELSE nextval('carillon.messages_id_seq') END;
        IF made.after_badge IS NOT NULL AND payloads IS NULL THEN
            payloads := carillon.own_payloads(made, tokens, m.badge_add);
        END IF;
        IF zone IS NOT NULL THEN
            made.run_at := carillon.run_at_of(made, due, zone);
            IF last.time_zone IS DISTINCT FROM zone THEN
                zones := CASE WHEN last.time_zone IS NOT NULL THEN zones || last END;
                last := ROW(zone, coalesce(made.run_at, now()), job, job, 0);
            END IF;
            last.last_id := job;
            last.tokens := last.tokens + cardinality(tokens);
        END IF;
        PERFORM carillon.enqueue_job(job, tokens, payloads, m, made, lane + CASE WHEN is_away THEN 10 ELSE 0 END, first);
        jobs := jobs + 1;
        pushes := pushes + cardinality(tokens);
        FETCH slices INTO tokens, payloads, body, is_away, zone, due;
        made.payload := coalesce(body, made.payload);
    END LOOP;
    CLOSE slices;
    INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens, reference, kind, zones)
    VALUES (first, job, made.app_id, lane, jobs, pushes, m.reference, kind_of_all,
        CASE WHEN last.time_zone IS NOT NULL THEN zones || last END);
END
$$;
COMMENT ON FUNCTION carillon.enqueue_jobs IS 'Internal: stores the jobs of a message that has several.';

-- audience_of() returns the tokens of a message, checked, and their payloads if each has its own. For a broadcast it returns the
-- first slice of the app's tokens, and the cursor of the others. `tokens` is null if there are none. `away` is as in
-- enqueue_jobs(), and `shift` is added to the lane.
CREATE OR REPLACE FUNCTION carillon.audience_of(
    m carillon.message_arguments, made carillon.draft, everyone boolean, wanted carillon.audience_arguments,
    OUT tokens text[], OUT payloads json[], OUT body text, OUT away boolean[], OUT shift integer, OUT zone text,
    OUT due timestamptz, OUT slices refcursor, OUT refusal carillon.refusal
)
LANGUAGE plpgsql AS $$
DECLARE
    token CONSTANT text := carillon.token(m.tokens[array_lower(m.tokens, 1)]);
    cleaned record;
    is_away boolean;
BEGIN
    refusal := made.refusal;
    shift := 0;
    IF refusal.message IS NULL AND everyone THEN
        refusal := carillon.check_audience(wanted);
        IF refusal.message IS NULL AND num_nonnulls(wanted.run_at_local, wanted.time_zone) > 0 THEN
            refusal := carillon.check_local_time(m, wanted);
        END IF;
    END IF;
    IF refusal.message IS NOT NULL THEN
        RETURN;
    END IF;
    IF everyone THEN
        wanted.kind := coalesce(wanted.kind, carillon.kind_of_push(made.push_type, made.payload));
        slices := carillon.open_audience(made, wanted, carillon.tokens_per_job());
        FETCH slices INTO tokens, payloads, body, is_away, zone, due;
        away := ARRAY[is_away];
        IF tokens IS NOT NULL AND wanted.run_at_local IS NOT NULL THEN
            refusal := carillon.check_last_zone(m, zone, due);
        END IF;
    ELSIF cardinality(m.tokens) = 1 AND token IS NOT NULL THEN
        tokens := ARRAY[token];
        payloads := made.payloads;
    ELSE
        cleaned := carillon.clean_tokens(m.tokens);
        tokens := cleaned.clean;
        refusal := cleaned.refusal;
        IF made.payloads IS NOT NULL THEN
            payloads := ARRAY(
                SELECT g.payload FROM unnest(made.payloads) WITH ORDINALITY AS g(payload, place)
                WHERE g.place = ANY (cleaned.places) ORDER BY g.place);
        END IF;
    END IF;
    IF refusal.message IS NOT NULL THEN
        RETURN;
    ELSIF tokens IS NULL AND m."strict" THEN
        refusal := CASE WHEN everyone THEN carillon.refusal('app', 'an app with registered tokens if strict is true',
                quote_literal(m.app) || ', which has none'
                    || CASE WHEN wanted.kind <> 'device' THEN ' of kind ' || wanted.kind ELSE '' END
                    || CASE WHEN num_nonnulls(wanted.where_attributes, wanted.locales, wanted.activity_type,
                        wanted.started_type) > 0 THEN ' that was asked for' ELSE '' END)
            ELSE carillon.refusal('tokens', 'one or more device tokens if strict is true',
                CASE WHEN m.tokens IS NULL THEN 'null' ELSE 'none' END) END;
    ELSIF made.home IS NOT NULL AND tokens IS NOT NULL AND NOT everyone THEN
        SELECT t.away, t.shift INTO away, shift FROM carillon.tokens_away(made, tokens) AS t;
    END IF;
    -- Most calls name no push type.
    IF m.push_type <> ALL ('{alert,background}') AND tokens IS NOT NULL AND NOT everyone THEN
        refusal := carillon.check_kinds(made.app_id, tokens, made.push_type, coalesce(made.payload, made.payloads[1]::text));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.audience_of IS 'Internal: returns the tokens of a message, or the refusal of an argument.';

-- submit() stores one job, or as many as the tokens need, and returns the id of the first. It returns null if there are no tokens
-- or another message has the dedupe_key.
--
-- enqueue and broadcast share this function, and refusals are raised only here: the error then has one line of context, without a
-- list of 35 types.
CREATE OR REPLACE FUNCTION carillon.submit(m carillon.message_arguments, everyone boolean, wanted carillon.audience_arguments)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    size integer;
    made carillon.draft;
    audience record;
    refusal carillon.refusal;
    clean text[];
    alert text;
    other_members text;
    own_members text;
    payload text;
    payloads json[];
    away boolean[];
    first bigint;
    holder bigint;
    lane integer;
BEGIN
    -- Most messages are plain, as plain.sql defines it, and have no argument that needs a closer check. Their cost is mainly that
    -- PL/pgSQL prepares each expression anew in each transaction, and looks up each function in it: so there are few here.
    IF NOT everyone AND carillon.is_single_token(m.tokens) AND carillon.is_plain_text(m.alert, m.badge, m.sound)
        AND num_nonnulls(m.push_type, m.priority, m.expires_at, m.collapse_id, m.topic, m.run_at, m.lane, m.dedupe_key,
            m.dedupe_for, m.aps, m.interruption_level, m.relevance_score, m.target_content_id, m.filter_criteria, m.stale_date,
            m.payloads, m.badge_add, m.bodies) = 0
        AND m.on_unknown = 'retry' AND m.on_duplicate = 'null'
    THEN
        IF num_nonnulls(m.alert_json, m.payload, m.content_available, m.mutable_content, m.category, m.thread_id, m.extra) = 0 THEN
            IF m.alert IS NULL THEN
                payload := CASE WHEN coalesce(m.title, m.subtitle, m.body) IS NOT NULL
                    THEN carillon.compose_plain(carillon.alert_of_lines(m.title, m.subtitle, m.body), m.badge, m.sound) END;
            ELSE
                payload := CASE WHEN coalesce(m.title, m.subtitle, m.body) IS NULL
                    THEN carillon.compose_plain(to_json(m.alert), m.badge, m.sound) END;
            END IF;
        ELSIF m.payload IS NOT NULL THEN
            payload := carillon.plain_payload(m);
        ELSIF num_nonnulls(m.alert, m.alert_json, coalesce(m.title, m.subtitle, m.body)) = 1
            AND (jsonb_typeof(m.alert_json) = 'object') IS NOT FALSE
            AND (jsonb_typeof(m.extra) = 'object' AND NOT m.extra ? 'aps') IS NOT FALSE
        THEN
            alert := CASE WHEN m.alert_json IS NOT NULL THEN carillon.compact_json(m.alert_json)
                WHEN m.alert IS NOT NULL THEN to_json(m.alert)::text
                ELSE carillon.alert_of_lines(m.title, m.subtitle, m.body)::text END;
            IF num_nonnulls(m.content_available, m.mutable_content, m.category, m.thread_id, m.extra) > 0 THEN
                other_members := carillon.other_members(m.content_available, m.mutable_content, m.category, m.thread_id);
                own_members := carillon.own_members(m.extra);
            END IF;
            payload := carillon.compose(alert, m.badge, to_json(m.sound)::text, other_members, own_members);
        END IF;
        IF m.reference IS NOT NULL THEN
            payload := CASE WHEN octet_length(m.reference) <= carillon.max_reference_bytes() THEN payload END;
        END IF;
        INSERT INTO carillon.messages (app_id, tokens, payload, reference)
        SELECT a.id, ARRAY[lower(m.tokens[1] COLLATE "C")], payload::json, m.reference FROM carillon.apps a WHERE a.name = m.app
            AND NOT (a.is_guarded OR a.both_environments) AND a.quiet_hours IS NULL
            AND octet_length(payload) <= carillon.payload_limit('alert', a.protocol)
        RETURNING messages.id INTO first;
        IF FOUND THEN
            RETURN first;
        END IF;
    END IF;
    size := carillon.tokens_per_job();
    made := CASE WHEN m.bodies IS NULL THEN carillon.draft(m) ELSE carillon.draft_of_bodies(m) END;
    audience := carillon.audience_of(m, made, everyone, wanted);
    refusal := audience.refusal;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    ELSIF audience.tokens IS NULL THEN
        RETURN NULL;
    ELSIF everyone THEN
        made.payload := coalesce(audience.body, made.payload);
        made.time_zone := audience.zone;
        made.run_at := coalesce(audience.due, made.run_at);
    ELSE
        clean := audience.tokens;
        payloads := audience.payloads;
        audience.tokens := NULL;
        audience.payloads := NULL;
    END IF;
    -- A single push of the app must not wait behind a list of thousands.
    lane := coalesce(m.lane, CASE WHEN everyone OR cardinality(clean) > size THEN 2 ELSE 1 END) + audience.shift;
    away := audience.away;
    -- Most calls end here.
    IF cardinality(clean) <= size AND num_nonnulls(m.dedupe_key, made.run_at, payloads, made.after_badge, made.bodies, away) = 0
    THEN
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
            topic, reference, on_unknown)
        VALUES (made.app_id, lane, clean, made.payload::json, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, coalesce(m.on_unknown, 'retry'))
        RETURNING messages.id INTO first;
        RETURN first;
    END IF;
    first := nextval('carillon.messages_id_seq');
    IF m.dedupe_key IS NOT NULL THEN
        holder := carillon.take_dedupe_key(made.app_id, m.dedupe_key, m.dedupe_for, made.run_at, first);
        IF holder IS DISTINCT FROM first THEN
            RETURN CASE m.on_duplicate WHEN 'existing' THEN holder END;
        END IF;
    END IF;
    IF NOT everyone AND num_nonnulls(made.after_badge, made.bodies) > 0 THEN
        payloads := carillon.own_payloads(made, clean, m.badge_add);
    END IF;
    IF cardinality(clean) <= size AND away IS NULL THEN
        PERFORM carillon.enqueue_job(first, clean, payloads, m, made, lane, NULL);
        RETURN first;
    END IF;
    -- Otherwise enqueue_job() would copy them for each job: millions of tokens, thousands of times.
    m.tokens := NULL;
    m.payloads := NULL;
    made.payloads := NULL;
    made.bodies := NULL;
    PERFORM carillon.enqueue_jobs(
        first, coalesce(clean, audience.tokens), payloads, audience.slices, away, m, made, lane, wanted.kind);
    RETURN first;
END
$$;
COMMENT ON FUNCTION carillon.submit IS 'Internal: stores a message for enqueue and broadcast.';
