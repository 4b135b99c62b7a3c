-- Splits jobs that have more tokens than one job may have. A worker calls split() for a row that does not fit into a claim, and
-- return_lost_jobs() calls split_job() for jobs that enter quarantine.

-- Workers and split() keep no larger payload, because every gateway refuses it. PostgreSQL inlines the function.
CREATE OR REPLACE FUNCTION carillon.max_payload_bytes() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 8192 $$;
COMMENT ON FUNCTION carillon.max_payload_bytes IS 'Internal: returns the size of the largest payload that a claim keeps.';

CREATE OR REPLACE FUNCTION carillon.oversized_payload() RETURNS json
LANGUAGE sql STABLE AS $$ SELECT pg_catalog.to_json(pg_catalog.repeat('x', carillon.max_payload_bytes())) $$;
COMMENT ON FUNCTION carillon.oversized_payload IS
    'Internal: returns the payload that replaces a larger one, and is refused as too large.';

-- The planner inlines this function, so every name is schema-qualified.
CREATE OR REPLACE FUNCTION carillon.shortened_token(token text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN pg_catalog.octet_length(token) OPERATOR(pg_catalog.<=) 512 THEN token
        -- At most 512 bytes again: a character has up to four. Servers in FIPS mode have no md5().
        ELSE pg_catalog.left(token, CASE WHEN pg_catalog.octet_length(token) OPERATOR(pg_catalog.=) pg_catalog.length(token)
                THEN 444 ELSE 111 END)
            OPERATOR(pg_catalog.||) '…' OPERATOR(pg_catalog.||)
            pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(token, 'UTF8')), 'hex') END
$$;
COMMENT ON FUNCTION carillon.shortened_token IS
    'Internal: returns a string that is too long to be a token, shortened to its beginning and a hash.';

-- The claim calls these two, and hardly ever. As subqueries of the claim, they would be prepared each time. PostgreSQL inlines no
-- PL/pgSQL.
CREATE OR REPLACE FUNCTION carillon.shortened_tokens(tokens text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT carillon.shortened_token(t.token) FROM pg_catalog.unnest(tokens) WITH ORDINALITY AS t(token, place)
        ORDER BY t.place);
END
$$;
COMMENT ON FUNCTION carillon.shortened_tokens IS 'Internal: returns an array of tokens, with those shortened that are too long.';

CREATE OR REPLACE FUNCTION carillon.use_session_commit() RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN pg_catalog.set_config('synchronous_commit', (
        SELECT c.reset_val FROM pg_catalog.pg_settings c WHERE c.name OPERATOR(pg_catalog.=) 'synchronous_commit'), true)
        IS NOT NULL;
END
$$;
COMMENT ON FUNCTION carillon.use_session_commit IS
    'Internal: restores the session''s own synchronous_commit for this transaction; returns true.';

CREATE OR REPLACE FUNCTION carillon.split_job(app integer, whole carillon.job, size integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    list text[];
    bodies json[];  -- a payload for each token, where the job has that
    -- If the number of payloads differs from that of tokens, no job gets any: each is then refused, as the whole would be.
    is_matched CONSTANT boolean := cardinality(whole.payloads) = cardinality(whole.tokens);
    unmatched CONSTANT json[] := CASE WHEN whole.payloads IS NOT NULL THEN '{}'::json[] END;
    pieces integer;
    stored integer;
    context text;
BEGIN
    SELECT array_agg(t.token ORDER BY t.place), CASE WHEN is_matched THEN array_agg(t.payload ORDER BY t.place) END
    INTO list, bodies FROM (
        -- Upper and lower case are the same token, and null counts as the empty token, as when a claim is read.
        SELECT min(u.token) AS token, min(u.place) AS place, (array_agg(u.payload ORDER BY u.place))[1] AS payload
        FROM (
            SELECT carillon.shortened_token(w.token) AS token, w.place, CASE
                WHEN octet_length(w.payload::text) > carillon.max_payload_bytes() THEN carillon.oversized_payload()
                ELSE w.payload END AS payload
            FROM unnest(whole.tokens, CASE WHEN is_matched THEN whole.payloads END)
                WITH ORDINALITY AS w(token, payload, place)
        ) AS u
        GROUP BY lower(coalesce(u.token, '') COLLATE "C")
    ) AS t;
    IF whole.origin IS NULL THEN
        INSERT INTO carillon.unfinished AS u (message_id, app_id, reference, broadcast_id, remaining, attempts, created_at)
        VALUES (whole.id, split_job.app, whole.reference, whole.broadcast_id, cardinality(list), whole.attempt - 1,
            coalesce(whole.created_at, now()))
        ON CONFLICT (app_id, message_id) DO UPDATE SET remaining = u.remaining + excluded.remaining;
    ELSIF cardinality(list) <> cardinality(whole.tokens) THEN
        UPDATE carillon.unfinished u SET remaining = u.remaining - cardinality(whole.tokens) + cardinality(list)
        WHERE u.app_id = split_job.app AND u.message_id = whole.origin;
    END IF;
    pieces := (cardinality(list) + size - 1) / size;
    BEGIN
        PERFORM carillon.use_session_path();
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic,
            reference, on_unknown, attempt, lost_claims, origin, broadcast_id, created_at, last_status, last_reason,
            unknown_attempts)
        SELECT split_job.app, whole.lane, pg_catalog.array_agg(t.token ORDER BY t.place), whole.payload,
            CASE WHEN bodies IS NULL THEN unmatched ELSE pg_catalog.array_agg(t.payload ORDER BY t.place) END,
            whole.push_type, whole.priority, whole.expires_at, whole.collapse_id, whole.topic, whole.reference,
            whole.on_unknown, whole.attempt, whole.lost_claims, coalesce(whole.origin, whole.id), whole.broadcast_id,
            whole.created_at, whole.last_status, whole.last_reason, coalesce(whole.unknown_attempts, 0::smallint)
        FROM unnest(list, bodies) WITH ORDINALITY AS t(token, payload, place)
        GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size;
        GET DIAGNOSTICS stored = ROW_COUNT;
        IF stored < pieces THEN
            RAISE EXCEPTION 'a trigger suppressed rows of carillon.messages';
        END IF;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
            -- Some jobs may be stored one by one; the others fail.
            PERFORM carillon.return_uncancelled(app, ARRAY(
                SELECT carillon.changed_job(whole, id => nextval('carillon.messages_id_seq'),
                    tokens => array_agg(t.token ORDER BY t.place),
                    payloads => CASE WHEN bodies IS NULL THEN unmatched ELSE array_agg(t.payload ORDER BY t.place) END,
                    origin => coalesce(whole.origin, whole.id))
                FROM unnest(list, bodies) WITH ORDINALITY AS t(token, payload, place)
                GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size), '{}', '{}');
    END;
    RETURN pieces;
END
$$;
COMMENT ON FUNCTION carillon.split_job IS
    'Internal: divides a job that is in no table into jobs of size tokens, each token once; returns their number.';

CREATE OR REPLACE FUNCTION carillon.split(app integer, in_lane smallint, message bigint, size integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    checked record;
    whole carillon.job;
BEGIN
    -- Before the row is locked, because a cancel locks it or waits for it.
    SELECT o.* INTO checked FROM carillon.messages m,
        carillon.find_cancelled(m.app_id, ARRAY[coalesce(m.origin, m.id)], ARRAY[m.broadcast_id], '{}') AS o
    WHERE m.app_id = split.app AND m.lane = in_lane AND m.id = message;
    IF cardinality(checked.unsure) > 0 THEN
        RETURN 0;
    END IF;
    DELETE FROM carillon.messages m WHERE m.app_id = split.app AND m.lane = in_lane AND m.id = message
    RETURNING (carillon.ready_job(m)).* INTO whole;
    IF whole.id IS NULL THEN
        RETURN 0;
    ELSIF cardinality(checked.cancelled) > 0 THEN
        PERFORM carillon.end_as_cancelled(app, ARRAY[whole]);
        RETURN 0;
    ELSIF octet_length(whole.payload::text) > coalesce(
        (carillon.rules_of(whole.push_type)).payload_limit, (carillon.rules_of('alert')).payload_limit)
    THEN
        -- Each job would have a copy and then fail.
        whole.payload := carillon.oversized_payload();
        PERFORM carillon.fail_jobs(app, ARRAY[whole], 'PayloadTooLarge');
        RETURN 0;
    END IF;
    IF cardinality(whole.tokens) = 0 THEN
        -- The job is large because of its payloads, and has no tokens. A claim ends a message without tokens.
        whole.payloads := NULL;
        PERFORM carillon.return_jobs(app, ARRAY[whole]);
        RETURN 1;
    END IF;
    RETURN carillon.split_job(app, whole, size);
END
$$;
COMMENT ON FUNCTION carillon.split IS 'Internal: splits a job with more tokens than one job may have into jobs of size tokens.';
