-- carillon.enqueue, from checked arguments to stored jobs.
--
-- A call for one token costs what a transaction costs, so the number of functions and expressions on its way is small.
-- It runs as its owner: apps have no right to the columns in which the queue keeps its own numbers.

-- The most tokens one job holds. Longer lists are cut, so that the fleet shares them.
CREATE FUNCTION carillon.tokens_per_job() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT 1000';

-- Takes a dedupe key for a while, which begins when the message is due. False: it is taken, by a message whose while is
-- not over. Two callers with one key wait for each other, so exactly one of them enqueues.
CREATE FUNCTION carillon.take_key(
    app_id integer, key text, period interval, run_at timestamptz, message_id bigint
) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO carillon.dedupe AS d (app_id, key, message_id, until)
    VALUES (take_key.app_id, take_key.key, take_key.message_id,
        greatest(now(), run_at) + coalesce(period, interval '1 day'))
    ON CONFLICT (app_id, key) DO UPDATE SET message_id = excluded.message_id, until = excluded.until
        WHERE d.until <= now();
    RETURN FOUND;
END
$$;

-- The tokens of one call: checked, in lower case, each once, in the order given.
CREATE FUNCTION carillon.clean_tokens(tokens text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    clean text[];
    bad bigint;
BEGIN
    IF array_ndims(tokens) IS DISTINCT FROM 1 THEN
        PERFORM carillon.refuse('tokens', 'an array of one or more device tokens',
            CASE WHEN tokens IS NULL THEN 'null' WHEN cardinality(tokens) = 0 THEN 'none'
                ELSE 'an array of arrays' END);
    END IF;
    SELECT array_agg(once.token ORDER BY once.place), min(once.place) FILTER (WHERE once.token IS NULL)
    INTO clean, bad
    FROM (
        SELECT carillon.token(t.token) AS token, min(t.place) AS place
        FROM unnest(tokens) WITH ORDINALITY t (token, place) GROUP BY 1
    ) once;
    IF bad IS NOT NULL THEN
        PERFORM carillon.refuse('tokens', 'device tokens of 2 to 512 hex digits, an even number of them',
            quote_nullable(left(tokens[array_lower(tokens, 1) + bad - 1], 50)) || ' in place ' || bad);
    END IF;
    RETURN clean;
END
$$;

-- Stores one job.
CREATE FUNCTION carillon.store(
    id bigint, tokens text[], made carillon.draft, expires_at timestamptz, collapse_id text, topic text,
    run_at timestamptz, lane integer, reference text, on_unknown text, broadcast_id bigint
) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF made.scheduled THEN
        INSERT INTO carillon.scheduled (id, app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
            topic, reference, on_unknown, broadcast_id, run_at)
        VALUES (id, made.app_id, lane, tokens, made.payload::json, made.push_type, made.priority, expires_at,
            collapse_id, topic, reference, on_unknown, broadcast_id, run_at);
    ELSE
        INSERT INTO carillon.messages (id, app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
            topic, reference, on_unknown, broadcast_id)
        VALUES (id, made.app_id, lane, tokens, made.payload::json, made.push_type, made.priority, expires_at,
            collapse_id, topic, reference, on_unknown, broadcast_id);
    END IF;
END
$$;

-- Stores a message: one job, or as many as its tokens need. The first job's id is the id of the whole.
CREATE FUNCTION carillon.submit(
    everyone boolean, app text, tokens text[], alert text, badge integer, sound text, content_available boolean,
    mutable_content boolean, category text, thread_id text, extra jsonb, payload json, push_type text,
    priority integer, expires_at timestamptz, collapse_id text, topic text, run_at timestamptz, lane integer,
    reference text, dedupe_key text, dedupe_for interval, on_unknown text
) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    size CONSTANT integer := carillon.tokens_per_job();
    made carillon.draft := carillon.draft(app, alert, badge, sound, content_available, mutable_content, category,
        thread_id, extra, payload, push_type, priority, expires_at, collapse_id, topic, run_at, lane, dedupe_key,
        dedupe_for, on_unknown);
    clean text[];
    token text := carillon.token(tokens[array_lower(tokens, 1)]);
    first bigint;
    job bigint;
    jobs integer := 0;
    pushes bigint := 0;
    parts refcursor;
    part text[];
BEGIN
    IF cardinality(tokens) = 1 AND token IS NOT NULL THEN
        clean := ARRAY[token];
    ELSIF NOT everyone THEN
        clean := carillon.clean_tokens(tokens);
    END IF;
    -- The way of most calls, and the short one.
    IF cardinality(clean) <= size AND dedupe_key IS NULL AND made.scheduled IS NULL THEN
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
            topic, reference, on_unknown)
        VALUES (made.app_id, lane, clean, made.payload::json, made.push_type, made.priority, expires_at, collapse_id,
            topic, reference, on_unknown)
        RETURNING messages.id INTO first;
        RETURN first;
    END IF;
    first := nextval('carillon.messages_id_seq');
    job := first;
    IF dedupe_key IS NOT NULL AND NOT carillon.take_key(made.app_id, dedupe_key, dedupe_for, run_at, first) THEN
        RETURN NULL;
    END IF;
    IF cardinality(clean) <= size THEN
        PERFORM carillon.store(first, clean, made, expires_at, collapse_id, topic, run_at, lane, reference, on_unknown,
            NULL);
        RETURN first;
    END IF;
    IF everyone THEN
        -- Along the primary key, part after part, in one snapshot: as fast as reading, whatever the number of tokens.
        OPEN parts FOR WITH RECURSIVE part AS (
            SELECT NULL::text[] AS tokens, '' AS last
            UNION ALL
            SELECT next.tokens, next.last FROM part CROSS JOIN LATERAL (
                SELECT array_agg(t.token) AS tokens, max(t.token) AS last FROM (
                    SELECT k.token FROM carillon.tokens k WHERE k.app_id = made.app_id AND k.token > part.last
                    ORDER BY k.token LIMIT size) t) next
            WHERE next.tokens IS NOT NULL)
        SELECT p.tokens FROM part p WHERE p.tokens IS NOT NULL;
    ELSE
        OPEN parts FOR SELECT array_agg(t.token ORDER BY t.place)
        FROM unnest(clean) WITH ORDINALITY t (token, place)
        GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size;
    END IF;
    LOOP
        FETCH parts INTO part;
        EXIT WHEN NOT FOUND;
        IF jobs > 0 THEN
            job := nextval('carillon.messages_id_seq');
        END IF;
        PERFORM carillon.store(job, part, made, expires_at, collapse_id, topic, run_at, lane, reference, on_unknown,
            first);
        jobs := jobs + 1;
        pushes := pushes + cardinality(part);
    END LOOP;
    CLOSE parts;
    IF jobs = 0 THEN
        PERFORM carillon.refuse('app', 'an app with registered tokens', quote_literal(app) || ', which has none');
    END IF;
    INSERT INTO carillon.broadcasts (id, last_id, app_id, lane, jobs, tokens, reference)
    VALUES (first, job, made.app_id, lane, jobs, pushes, reference);
    RETURN first;
END
$$;

-- Enqueues a message and returns its id; null when its dedupe_key is taken.
CREATE FUNCTION carillon.enqueue(
    app text, tokens text[], alert text DEFAULT NULL, badge integer DEFAULT NULL, sound text DEFAULT NULL,
    content_available boolean DEFAULT NULL, mutable_content boolean DEFAULT NULL, category text DEFAULT NULL,
    thread_id text DEFAULT NULL, extra jsonb DEFAULT NULL, payload json DEFAULT NULL, push_type text DEFAULT NULL,
    priority integer DEFAULT NULL, expires_at timestamptz DEFAULT NULL, collapse_id text DEFAULT NULL,
    topic text DEFAULT NULL, run_at timestamptz DEFAULT NULL, lane integer DEFAULT 1, reference text DEFAULT NULL,
    dedupe_key text DEFAULT NULL, dedupe_for interval DEFAULT NULL, on_unknown text DEFAULT 'retry'
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN carillon.submit(false, app, tokens, to_json(alert)::text, badge, sound, content_available,
        mutable_content, category, thread_id, extra, payload, push_type, priority, expires_at, collapse_id, topic,
        run_at, lane, reference, dedupe_key, dedupe_for, on_unknown);
END
$$;

-- The same with the alert as JSON. Here it has no default: a call without an alert means the function above.
CREATE FUNCTION carillon.enqueue(
    app text, tokens text[], alert jsonb, badge integer DEFAULT NULL, sound text DEFAULT NULL,
    content_available boolean DEFAULT NULL, mutable_content boolean DEFAULT NULL, category text DEFAULT NULL,
    thread_id text DEFAULT NULL, extra jsonb DEFAULT NULL, payload json DEFAULT NULL, push_type text DEFAULT NULL,
    priority integer DEFAULT NULL, expires_at timestamptz DEFAULT NULL, collapse_id text DEFAULT NULL,
    topic text DEFAULT NULL, run_at timestamptz DEFAULT NULL, lane integer DEFAULT 1, reference text DEFAULT NULL,
    dedupe_key text DEFAULT NULL, dedupe_for interval DEFAULT NULL, on_unknown text DEFAULT 'retry'
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN carillon.submit(false, app, tokens, carillon.compact(alert), badge, sound, content_available,
        mutable_content, category, thread_id, extra, payload, push_type, priority, expires_at, collapse_id, topic,
        run_at, lane, reference, dedupe_key, dedupe_for, on_unknown);
END
$$;

INSERT INTO carillon.schema_migrations (version, name) VALUES (7, 'enqueue');
