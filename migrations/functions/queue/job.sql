-- The type carillon.job: a row of a queue, or of a claim. Functions that move jobs make and change them with these, by the names of
-- fields.

-- A field that is added to the type later is null in jobs stored by older versions. This function and the next two have no SET
-- clause, so that PostgreSQL inlines them. `make docs` writes the lists in the next two from the arguments of this one.
CREATE OR REPLACE FUNCTION carillon.job(id bigint, lane smallint, tokens text[], payload json, payloads json[] DEFAULT NULL,
    push_type text DEFAULT 'alert', priority smallint DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    collapse_id text DEFAULT NULL, topic text DEFAULT NULL, reference text DEFAULT NULL, on_unknown text DEFAULT 'retry',
    attempt smallint DEFAULT 1, lost_claims smallint DEFAULT 0, origin bigint DEFAULT NULL, broadcast_id bigint DEFAULT NULL,
    created_at timestamptz DEFAULT NULL, last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL,
    unknown_attempts smallint DEFAULT 0) RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic, reference, on_unknown,
        attempt, lost_claims, unknown_attempts, origin, broadcast_id, created_at, last_status, last_reason)::carillon.job
$$;
COMMENT ON FUNCTION carillon.job IS 'Internal: builds a job from named arguments.';

CREATE OR REPLACE FUNCTION carillon.ready_job(ready carillon.messages) RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.job(
        id => ready.id, lane => ready.lane, tokens => ready.tokens, payload => ready.payload, payloads => ready.payloads,
        push_type => ready.push_type, priority => ready.priority, expires_at => ready.expires_at,
        collapse_id => ready.collapse_id, topic => ready.topic, reference => ready.reference, on_unknown => ready.on_unknown,
        attempt => ready.attempt, lost_claims => ready.lost_claims, origin => ready.origin, broadcast_id => ready.broadcast_id,
        created_at => ready.created_at, last_status => ready.last_status, last_reason => ready.last_reason,
        unknown_attempts => ready.unknown_attempts)
$$;
COMMENT ON FUNCTION carillon.ready_job IS 'Internal: returns the job of a row of messages.';

CREATE OR REPLACE FUNCTION carillon.scheduled_job(waiting carillon.scheduled) RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.job(
        id => waiting.id, lane => waiting.lane, tokens => waiting.tokens, payload => waiting.payload,
        payloads => waiting.payloads, push_type => waiting.push_type, priority => waiting.priority,
        expires_at => waiting.expires_at, collapse_id => waiting.collapse_id, topic => waiting.topic,
        reference => waiting.reference, on_unknown => waiting.on_unknown, attempt => waiting.attempt,
        lost_claims => waiting.lost_claims, origin => waiting.origin, broadcast_id => waiting.broadcast_id,
        created_at => waiting.created_at, last_status => waiting.last_status, last_reason => waiting.last_reason,
        unknown_attempts => waiting.unknown_attempts)
$$;
COMMENT ON FUNCTION carillon.scheduled_job IS 'Internal: returns the job of a row of scheduled.';

-- In changed_job(), a new reason replaces the status as well. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.changed_job(job carillon.job, id bigint DEFAULT NULL, tokens text[] DEFAULT NULL,
    payloads json[] DEFAULT NULL, attempt smallint DEFAULT NULL, lost_claims smallint DEFAULT NULL, origin bigint DEFAULT NULL,
    last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL, unknown_attempts smallint DEFAULT NULL,
    lane smallint DEFAULT NULL)
RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.job(id => coalesce(id, job.id), lane => coalesce(lane, job.lane), tokens => coalesce(tokens, job.tokens),
        payload => job.payload, payloads => coalesce(payloads, job.payloads), push_type => job.push_type,
        priority => job.priority, expires_at => job.expires_at, collapse_id => job.collapse_id, topic => job.topic,
        reference => job.reference, on_unknown => job.on_unknown, attempt => coalesce(attempt, job.attempt),
        lost_claims => coalesce(lost_claims, job.lost_claims), origin => coalesce(origin, job.origin),
        broadcast_id => job.broadcast_id, created_at => job.created_at,
        last_status => CASE WHEN last_reason IS NULL THEN job.last_status ELSE last_status END,
        last_reason => coalesce(last_reason, job.last_reason),
        unknown_attempts => coalesce(unknown_attempts, job.unknown_attempts, 0::smallint))
$$;
COMMENT ON FUNCTION carillon.changed_job IS
    'Internal: returns a job with new values in the named fields; null keeps the present value.';

CREATE OR REPLACE FUNCTION carillon.narrowed_job(job carillon.job, chosen text[]) RETURNS carillon.job
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    job.payloads := carillon.payloads_of(job, chosen);
    job.tokens := chosen;
    RETURN job;
END
$$;
COMMENT ON FUNCTION carillon.narrowed_job IS 'Internal: returns a job with only some of its tokens.';

-- If the job contains a token twice, in upper and lower case, the first one counts, as it does when a claim is read.
CREATE OR REPLACE FUNCTION carillon.payloads_of(job carillon.job, chosen text[]) RETURNS json[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN CASE WHEN job.payloads IS NOT NULL THEN ARRAY(
        SELECT p.payload FROM unnest(chosen) WITH ORDINALITY AS c(token, place) LEFT JOIN (
            SELECT DISTINCT ON (1) lower(coalesce(u.token, '') COLLATE "C") AS token, u.payload
            FROM unnest(job.tokens, job.payloads) WITH ORDINALITY AS u(token, payload, place) ORDER BY 1, u.place
        ) AS p ON p.token = lower(coalesce(c.token, '') COLLATE "C")
        ORDER BY c.place) END;
END
$$;
COMMENT ON FUNCTION carillon.payloads_of IS
    'Internal: returns the payloads that a job has for these tokens; null if all its tokens share one payload.';

-- count_tokens() takes upper and lower case for the same token; null counts as the empty token.
CREATE OR REPLACE FUNCTION carillon.count_tokens(tokens text[]) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT pg_catalog.count(DISTINCT pg_catalog.lower(coalesce(t.token, '') COLLATE pg_catalog."C"))::integer
    FROM pg_catalog.unnest(tokens) AS t(token)
$$;
COMMENT ON FUNCTION carillon.count_tokens IS 'Internal: returns the number of distinct tokens.';
