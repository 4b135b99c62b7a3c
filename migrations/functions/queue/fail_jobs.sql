-- Fails jobs, and ends those whose outcome PostgreSQL refuses to record, for example because of a constraint or trigger that a user
-- added. Such a job never blocks others. The worker calls settle_unrecorded() when settle() fails; functions that move jobs call
-- fail_jobs() for jobs that they have already deleted from their tables.

-- These errors are transient: connections (08), serialization failures and deadlocks (40), resources (53), locks and time limits
-- (55P03, 57014, 25P03, 25P04), a server that is stopping, starting or failing over (57P, 25006), I/O (58). Every other error would
-- recur. PostgresError.isTransient adds what concerns only a connection.
CREATE OR REPLACE FUNCTION carillon.is_transient(state text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT state OPERATOR(pg_catalog.~) '^(08...|40...|53...|55P03|57014|57P..|25006|25P03|25P04|58...)$'
$$;
COMMENT ON FUNCTION carillon.is_transient IS 'Internal: returns whether an error may be temporary, by its SQLSTATE.';

-- A refusal is an error that concerns the row. Errors of rights and of the schema (42, 3F000) say nothing about it: the statement
-- fails as a whole, and is repeated once they are fixed. But 42601 and 42704 are refusals, because a value that is cast to a type
-- such as ltree or regrole may raise them. Any other is one if a trigger has raised it, as the context shows.
CREATE OR REPLACE FUNCTION carillon.is_refusal(state text, context text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT NOT carillon.is_transient(state)
        AND (state OPERATOR(pg_catalog.!~) '^(3F000|42(?!601|704)...)$'
            -- A function of a trigger: in PL/pgSQL and without arguments, or in another procedural language. Ours are neither, and
            -- the other words of a context depend on lc_messages.
            -- Matches:        PL/pgSQL function refuse() line 2 at RAISE
            -- Matches:        PL/Python function "check"
            -- Does not match: PL/pgSQL function carillon.settle(integer,bigint) line 120 at SQL statement
            OR context OPERATOR(pg_catalog.~) '(?n)^[^"]*PL/(pgSQL.*[(][)]|(?!pgSQL))')
$$;
COMMENT ON FUNCTION carillon.is_refusal IS
    'Internal: returns whether PostgreSQL refuses a row, by the SQLSTATE and the context of the error.';

-- end_unrecorded() writes the results of the job if possible: a push with the status 200 was sent, and any other has failed. Each
-- push without another record becomes a failure with the given reason and its status; if PostgreSQL refuses the reference, the
-- failure has none. A token that is null was forgotten: its push is counted, and becomes a failure only if nothing else is written.
CREATE OR REPLACE FUNCTION carillon.end_unrecorded(
    app integer, job carillon.job, why text, token text[], status smallint[], apns_id uuid[], expired integer DEFAULT 0,
    worker bigint DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    sent_pushes CONSTANT integer := cardinality(array_positions(status, 200::smallint));
    ended CONSTANT carillon.ending := carillon.ending(message_id => coalesce(job.origin, job.id), reference => job.reference,
        broadcast_id => job.broadcast_id, created_at => job.created_at, attempts => job.attempt, sent => sent_pushes,
        failed => cardinality(token) - sent_pushes, expired => expired, remaining => CASE WHEN job.origin IS NOT NULL THEN 0 END);
    is_written boolean := false;
    name text;
    lost carillon.unfinished;
    context text;
BEGIN
    PERFORM carillon.use_session_path();
    -- The pushes have events even if their message cannot end.
    BEGIN
        PERFORM carillon.note_unrecorded(app, job, why, token, status, expired);
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
    END;
    BEGIN
        PERFORM carillon.end_messages(app, ARRAY[ended], worker);
        is_written := true;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
            -- Otherwise the message would never end.
            UPDATE carillon.unfinished u SET remaining = u.remaining - pg_catalog.cardinality(token) - ended.expired,
                sent = u.sent + ended.sent, failed = u.failed + ended.failed, expired = u.expired + ended.expired
            WHERE u.app_id = app AND u.message_id = job.origin;
            DELETE FROM carillon.unfinished u
            WHERE u.app_id = app AND u.message_id = job.origin AND u.remaining <= 0 RETURNING u.* INTO lost;
            IF FOUND THEN
                RAISE WARNING 'the counts of message % cannot be recorded: % sent, % failed, % expired, % cancelled',
                    ended.message_id, lost.sent, lost.failed, lost.expired, lost.cancelled
                    USING HINT = 'The pushes of its last job, and those that failed before, are in carillon.failures.';
            END IF;
    END;
    -- Keeps the content for requeue_failures(), if possible.
    BEGIN
        IF NOT is_written OR ended.failed > 0 THEN
            PERFORM carillon.keep_failed_content(app, ARRAY[job]);
        END IF;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
    END;
    FOREACH name IN ARRAY ARRAY[job.reference, NULL] LOOP
        BEGIN
            INSERT INTO carillon.failures
                (message_id, app_id, token, status, reason, apns_id, attempt, reference, broadcast_id)
            SELECT ended.message_id, app, coalesce(t.token, ''), t.status, why, t.apns_id, job.attempt, name,
                CASE WHEN NOT is_written THEN job.broadcast_id END
            FROM unnest(end_unrecorded.token, end_unrecorded.status, end_unrecorded.apns_id)
                AS t(token, status, apns_id)
            WHERE NOT is_written OR t.status IS DISTINCT FROM 200 AND t.token IS NOT NULL;
            RETURN true;
        EXCEPTION
            WHEN OTHERS OR assert_failure THEN
                GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
                IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                    RAISE;
                END IF;
        END;
    END LOOP;
    IF NOT is_written THEN
        RAISE WARNING 'the outcome of message % cannot be recorded: % sent, % failed, % expired',
            ended.message_id, ended.sent, ended.failed, ended.expired;
    END IF;
    RETURN is_written;
END
$$;
COMMENT ON FUNCTION carillon.end_unrecorded IS
    'Internal: ends a job that is in no table and whose outcome PostgreSQL refuses to record; returns false if nothing could be '
    'written.';

-- The other jobs stay in flight. 'unwritten' means that the job is settled but nothing could be recorded.
CREATE OR REPLACE FUNCTION carillon.settle_unrecorded(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint,
    job bigint, expired integer, token text[], status smallint[], apns_id uuid[]
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    claimed_jobs carillon.job[];
    stops carillon.stop[];
    refused carillon.job;
BEGIN
    SELECT f.jobs, f.stops INTO claimed_jobs, stops FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed AND f.settlements = settlement_number
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN carillon.why_unsettled(app, claim, worker, claimed, settlement_number);
    END IF;
    SELECT j.* INTO refused FROM unnest(claimed_jobs) AS j WHERE j.id = job;
    IF stops IS NOT NULL THEN
        refused := carillon.unforgotten_job(refused, stops);
        SELECT array_agg(CASE WHEN NOT t.is_forgotten THEN t.token END), array_agg(t.status),
            array_agg(CASE WHEN NOT t.is_forgotten THEN t.apns_id END) INTO token, status, apns_id
        FROM (
            SELECT u.*, lower(u.token) = ANY (carillon.forgotten_tokens(stops)) AS is_forgotten
            FROM unnest(token, status, apns_id) AS u(token, status, apns_id)
        ) AS t;
    END IF;
    IF cardinality(claimed_jobs) > 1 THEN
        UPDATE carillon.inflight f
        SET settlements = f.settlements + 1, jobs = ARRAY(SELECT j FROM unnest(claimed_jobs) AS j WHERE j.id <> job)
        WHERE f.app_id = app AND f.id = claim;
    ELSE
        DELETE FROM carillon.inflight f WHERE f.app_id = app AND f.id = claim;
    END IF;
    RETURN CASE WHEN carillon.end_unrecorded(app, refused, 'Unrecorded', token, status, apns_id, expired,
            settle_unrecorded.worker)
        THEN 'written' ELSE 'unwritten' END;
END
$$;
COMMENT ON FUNCTION carillon.settle_unrecorded IS 'Internal: settles the one job of a claim that settle() cannot record.';

-- If PostgreSQL refuses to record a job, end_unrecorded() records what it can.
CREATE OR REPLACE FUNCTION carillon.fail_jobs(app integer, jobs carillon.job[], why text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(jobs) / 2;
    -- For any other reason, the job fails before the attempt that it was waiting for.
    unbegun CONSTANT smallint := CASE WHEN why IN ('OutcomeUnknown', 'Poison') THEN 0 ELSE 1 END;
    tokens text[];
    context text;
BEGIN
    PERFORM carillon.use_session_path();
    INSERT INTO carillon.failures (message_id, app_id, reference, token, reason, attempt)
    SELECT coalesce(j.origin, j.id), fail_jobs.app, j.reference, t.token, why, j.attempt
    FROM pg_catalog.unnest(jobs) AS j, LATERAL (
        SELECT DISTINCT pg_catalog.lower(coalesce(u.token, '') COLLATE pg_catalog."C")
        FROM pg_catalog.unnest(j.tokens) AS u(token)) AS t(token);
    PERFORM carillon.keep_failed_content(app, jobs);
    PERFORM carillon.note_jobs(app, 'failed', jobs, why);
    PERFORM carillon.end_messages(app, ARRAY(
        SELECT carillon.ending(message_id => coalesce(j.origin, j.id), reference => j.reference,
            broadcast_id => j.broadcast_id, created_at => j.created_at, attempts => j.attempt - unbegun,
            failed => carillon.count_tokens(j.tokens), remaining => CASE WHEN j.origin IS NOT NULL THEN 0 END)
        FROM pg_catalog.unnest(jobs) AS j));
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
        IF NOT carillon.is_refusal(SQLSTATE, context) THEN
            RAISE;
        END IF;
        IF half > 0 THEN
            PERFORM carillon.fail_jobs(app, jobs[:half], why);
            PERFORM carillon.fail_jobs(app, jobs[half + 1:], why);
        ELSE
            tokens := ARRAY(
                SELECT DISTINCT lower(coalesce(t.token, '') COLLATE "C") FROM unnest(jobs[1].tokens) AS t(token));
            PERFORM carillon.end_unrecorded(app, jobs[1], why, tokens,
                array_fill(NULL::smallint, ARRAY[cardinality(tokens)]), array_fill(NULL::uuid, ARRAY[cardinality(tokens)]));
        END IF;
END
$$;
COMMENT ON FUNCTION carillon.fail_jobs IS 'Internal: fails every token of jobs that are in no table.';

-- The tokens of a discarded job cannot be read, so one failure represents all of them. Its content is not kept, because it can
-- never be sent.
CREATE OR REPLACE FUNCTION carillon.discard_unreadable(app integer, in_lane smallint, message bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    why CONSTANT text := 'Unreadable';
    whole carillon.job;
    context text;
BEGIN
    DELETE FROM carillon.messages m WHERE m.app_id = discard_unreadable.app AND m.lane = in_lane AND m.id = message
    RETURNING (carillon.job(id => m.id, lane => m.lane, tokens => '{""}', payload => '{}',
        reference => m.reference, attempt => m.attempt, lost_claims => m.lost_claims,
        origin => m.origin, broadcast_id => m.broadcast_id, created_at => m.created_at)).* INTO whole;
    IF whole.id IS NULL THEN
        RETURN;
    END IF;
    PERFORM carillon.use_session_path();
    BEGIN
        INSERT INTO carillon.failures (message_id, app_id, reference, token, reason, attempt)
        VALUES (coalesce(whole.origin, whole.id), discard_unreadable.app, whole.reference, '', why, whole.attempt);
        PERFORM carillon.note_jobs(discard_unreadable.app, 'failed', ARRAY[whole], why);
        PERFORM carillon.end_messages(discard_unreadable.app, ARRAY[carillon.ending(message_id => coalesce(whole.origin, whole.id),
            reference => whole.reference, broadcast_id => whole.broadcast_id, created_at => whole.created_at,
            attempts => whole.attempt - 1, failed => 1, remaining => CASE WHEN whole.origin IS NOT NULL THEN 0 END)]);
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
            PERFORM carillon.end_unrecorded(discard_unreadable.app, whole, why, '{""}', '{NULL}', '{NULL}');
    END;
END
$$;
COMMENT ON FUNCTION carillon.discard_unreadable IS
    'Internal: ends a message that is too large to be read, after an attempt to split it ran out of memory.';
