-- Pushes in flight that must not be sent again, because cancel() or forget() was called for one person. The other pushes of their
-- jobs go on as before.
--
-- mark_claims() writes a stop into each claim with such pushes: see stop_tokens.sql. A job that leaves the claim later loses these
-- pushes first. settle() refuses a claim that has stops, and then calls take_stops(): a claim without stops costs it nothing.
-- release(), take_over() and withdraw() ask for stops where they change the claim.
--
-- The functions pin no search_path, because they may run after use_session_path().

CREATE OR REPLACE FUNCTION carillon.stopped_tokens(stops carillon.stop[]) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(pg_catalog.array_agg(t.token), '{}')
    FROM pg_catalog.unnest(stops) AS s CROSS JOIN LATERAL pg_catalog.unnest(s.tokens) AS t(token)
$$;
COMMENT ON FUNCTION carillon.stopped_tokens IS 'Internal: returns the tokens whose pushes are not sent again.';

CREATE OR REPLACE FUNCTION carillon.forgotten_tokens(stops carillon.stop[]) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT carillon.stopped_tokens(pg_catalog.array_agg(s)) FROM pg_catalog.unnest(stops) AS s WHERE s.is_forgotten
$$;
COMMENT ON FUNCTION carillon.forgotten_tokens IS 'Internal: returns the tokens of which nothing is recorded.';

CREATE OR REPLACE FUNCTION carillon.without_tokens(tokens text[], forgotten text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(CASE WHEN lower(t.token COLLATE "C") = ANY (forgotten) THEN '' ELSE t.token END ORDER BY t.place)
    FROM unnest(tokens) WITH ORDINALITY AS t(token, place)
$$;
COMMENT ON FUNCTION carillon.without_tokens IS 'Internal: returns the tokens with an empty one for each that was forgotten.';

-- divide_jobs() returns the jobs without the stopped tokens, and their places in the argument; the parts that leave; and how many
-- pushes each message has that is now divided. What is left of a job keeps its id. A part that leaves has no content, and '' for
-- each token that was forgotten. A job that leaves whole has no reference either if tokens were forgotten: it is the person's.
CREATE OR REPLACE FUNCTION carillon.divide_jobs(
    jobs carillon.job[], stopped text[], forgotten text[], OUT rest carillon.job[], OUT places bigint[],
    OUT ended carillon.job[], OUT begun carillon.ending[]
)
LANGUAGE plpgsql IMMUTABLE SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    SELECT coalesce(pg_catalog.array_agg(d.rest ORDER BY d.place) FILTER (WHERE d.stays), '{}'),
        coalesce(pg_catalog.array_agg(d.place ORDER BY d.place) FILTER (WHERE d.stays), '{}'),
        coalesce(pg_catalog.array_agg(d.ended ORDER BY d.place) FILTER (WHERE d.leaves), '{}'),
        coalesce(pg_catalog.array_agg(carillon.ending(message_id => (d.job).id, reference => (d.job).reference,
            broadcast_id => (d.job).broadcast_id, created_at => (d.job).created_at, attempts => (d.job).attempt - 1,
            remaining => carillon.count_tokens((d.job).tokens)) ORDER BY d.place)
            FILTER (WHERE d.stays AND d.leaves AND (d.job).origin IS NULL), '{}')
    INTO rest, places, ended, begun
    FROM (
        SELECT w.place, w.job, w.stays, w.leaves,
            CASE WHEN NOT w.leaves THEN w.job WHEN w.stays THEN carillon.changed_job(w.job, tokens => w.staying,
                payloads => carillon.payloads_of(w.job, w.staying), origin => coalesce((w.job).origin, (w.job).id)) END AS rest,
            CASE WHEN w.leaves THEN carillon.job(id => (w.job).id, lane => (w.job).lane, tokens => w.leaving, payload => '{}',
                push_type => (w.job).push_type,
                reference => CASE WHEN w.stays OR forgotten = '{}' THEN (w.job).reference END, attempt => (w.job).attempt,
                origin => CASE WHEN w.stays THEN coalesce((w.job).origin, (w.job).id) ELSE (w.job).origin END,
                broadcast_id => (w.job).broadcast_id, created_at => (w.job).created_at, last_status => (w.job).last_status,
                last_reason => (w.job).last_reason) END AS ended
        FROM (
            SELECT n.place, n.job, t.staying, t.leaving, pg_catalog.cardinality(t.leaving) > 0 AS leaves,
                pg_catalog.cardinality(t.staying) > 0 OR pg_catalog.cardinality(t.leaving) = 0 AS stays
            FROM (SELECT u AS job, pg_catalog.row_number() OVER () AS place FROM pg_catalog.unnest(jobs) AS u) AS n
            CROSS JOIN LATERAL (
                SELECT coalesce(pg_catalog.array_agg(k.token ORDER BY k.place) FILTER (WHERE NOT k.is_stopped), '{}') AS staying,
                    coalesce(pg_catalog.array_agg(CASE WHEN k.key = ANY (forgotten) THEN '' ELSE k.key END)
                        FILTER (WHERE k.is_stopped AND k.is_first), '{}') AS leaving
                FROM (
                    -- Upper and lower case are the same token.
                    SELECT l.token, l.key, l.place, l.key = ANY (stopped) AS is_stopped,
                        pg_catalog.row_number() OVER (PARTITION BY l.key ORDER BY l.place) = 1 AS is_first
                    FROM (
                        SELECT u.token, pg_catalog.lower(coalesce(u.token, '') COLLATE pg_catalog."C") AS key, u.place
                        FROM pg_catalog.unnest((n.job).tokens) WITH ORDINALITY AS u(token, place)) AS l
                ) AS k
            ) AS t
        ) AS w
    ) AS d;
END
$$;
COMMENT ON FUNCTION carillon.divide_jobs IS 'Internal: takes stopped pushes out of jobs.';

-- begin_stopped() is called before the pushes are recorded as cancelled. It locks their rows of unfinished in one pass, in order of
-- id.
CREATE OR REPLACE FUNCTION carillon.begin_stopped(app integer, ended carillon.job[], begun carillon.ending[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM carillon.unfinished u WHERE u.app_id = app
        AND u.message_id = ANY (ARRAY(SELECT coalesce(j.origin, j.id) FROM pg_catalog.unnest(ended) AS j))
    ORDER BY u.message_id FOR UPDATE;
    PERFORM carillon.end_messages(app, begun);
END
$$;
COMMENT ON FUNCTION carillon.begin_stopped IS
    'Internal: counts the messages of which some pushes are about to end as cancelled.';

-- stop_pushes() is for jobs that leave a claim, with the waits of those that are sent later.
CREATE OR REPLACE FUNCTION carillon.stop_pushes(
    app integer, stops carillon.stop[], INOUT jobs carillon.job[], INOUT waits integer[]
)
LANGUAGE plpgsql AS $$
DECLARE
    divided pg_catalog.record;
BEGIN
    SELECT d.* INTO divided
    FROM carillon.divide_jobs(jobs, carillon.stopped_tokens(stops), carillon.forgotten_tokens(stops)) AS d;
    IF pg_catalog.cardinality(divided.ended) > 0 THEN
        PERFORM carillon.begin_stopped(app, divided.ended, divided.begun);
        PERFORM carillon.end_as_cancelled(app, divided.ended);
    END IF;
    jobs := divided.rest;
    SELECT coalesce(pg_catalog.array_agg(waits[p.place] ORDER BY p.n), '{}') INTO waits
    FROM pg_catalog.unnest(divided.places) WITH ORDINALITY AS p(place, n);
END
$$;
COMMENT ON FUNCTION carillon.stop_pushes IS 'Internal: ends the stopped pushes of jobs that leave a claim, and returns the others.';

-- drop_stopped() is for claims that are released or taken over.
CREATE OR REPLACE FUNCTION carillon.drop_stopped(app integer, claims bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    claim record;
    left_over carillon.job[];
BEGIN
    -- Whatever is committed while this waits is seen by the next statement.
    PERFORM FROM carillon.inflight f WHERE f.app_id = app AND f.id = ANY (claims) ORDER BY f.id FOR UPDATE;
    FOR claim IN
        SELECT f.id, f.jobs, f.stops FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = ANY (claims) AND f.stops IS NOT NULL ORDER BY f.id
    LOOP
        SELECT s.jobs INTO left_over FROM carillon.stop_pushes(app, claim.stops, claim.jobs, NULL) AS s;
        UPDATE carillon.inflight f SET jobs = left_over, stops = NULL WHERE f.app_id = app AND f.id = claim.id;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.drop_stopped IS 'Internal: ends the stopped pushes of claims.';

-- take_stops() returns null if the claim has none, was settled before or was taken over. Otherwise the stops are out of the claim,
-- and every row of unfinished that may change is locked, in order of id.
CREATE OR REPLACE FUNCTION carillon.take_stops(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint
) RETURNS carillon.stop[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    taken carillon.stop[];
    messages bigint[];
BEGIN
    SELECT f.stops, ARRAY(SELECT coalesce(j.origin, j.id) FROM unnest(f.jobs) AS j) INTO taken, messages
    FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
        AND f.settlements = settlement_number FOR UPDATE;
    IF taken IS NOT NULL THEN
        UPDATE carillon.inflight f SET stops = NULL WHERE f.app_id = app AND f.id = claim;
        PERFORM FROM carillon.unfinished u WHERE u.app_id = app AND u.message_id = ANY (messages)
        ORDER BY u.message_id FOR UPDATE;
    END IF;
    RETURN taken;
END
$$;
COMMENT ON FUNCTION carillon.take_stops IS 'Internal: takes the stops out of a claim that is about to be settled.';

CREATE OR REPLACE FUNCTION carillon.kept_references(stops carillon.stop[], messages bigint[], names text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(CASE WHEN m.id NOT IN (SELECT unnest(s.messages) FROM unnest(stops) AS s) THEN m.name END
        ORDER BY m.place), '{}')
    FROM unnest(messages, names) WITH ORDINALITY AS m(id, name, place)
$$;
COMMENT ON FUNCTION carillon.kept_references IS 'Internal: returns the references of messages, but those that were forgotten.';

CREATE OR REPLACE FUNCTION carillon.unforgotten_job(job carillon.job, stops carillon.stop[]) RETURNS carillon.job
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    forgotten CONSTANT text[] := carillon.forgotten_tokens(stops);
BEGIN
    job := carillon.narrowed_job(job, ARRAY(
        SELECT u.token FROM unnest(job.tokens) WITH ORDINALITY AS u(token, place)
        WHERE lower(coalesce(u.token, '') COLLATE "C") <> ALL (forgotten) ORDER BY u.place));
    IF cardinality(job.tokens) = 0 THEN
        job.payload := '{}';
    END IF;
    RETURN job;
END
$$;
COMMENT ON FUNCTION carillon.unforgotten_job IS
    'Internal: returns a job without the tokens that were forgotten, and without content if it had no others.';

-- unforgotten_failures() returns the columns `failed` of settle().
CREATE OR REPLACE FUNCTION carillon.unforgotten_failures(
    stops carillon.stop[], INOUT failed bigint[], INOUT reference text[], INOUT token text[], INOUT status smallint[],
    INOUT reason text[], INOUT unregistered_at timestamptz[], INOUT apns_id uuid[], INOUT unique_id uuid[], INOUT attempt smallint[]
)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(f.id), '{}'), carillon.kept_references(stops, array_agg(f.id), array_agg(f.reference)),
        coalesce(array_agg(f.token), '{}'), coalesce(array_agg(f.status), '{}'), coalesce(array_agg(f.reason), '{}'),
        coalesce(array_agg(f.unregistered_at), '{}'), coalesce(array_agg(f.apns_id), '{}'),
        coalesce(array_agg(f.unique_id), '{}'), coalesce(array_agg(f.attempt), '{}')
    FROM unnest(failed, reference, token, status, reason, unregistered_at, apns_id, unique_id, attempt)
        AS f(id, reference, token, status, reason, unregistered_at, apns_id, unique_id, attempt)
    WHERE lower(f.token) <> ALL (carillon.forgotten_tokens(stops))
$$;
COMMENT ON FUNCTION carillon.unforgotten_failures IS 'Internal: returns failed pushes, but those of tokens that were forgotten.';

-- stop_going_back() takes the stopped pushes out of what goes back. `jobs` are those of the claim: what is left of a job that goes
-- back whole replaces it there. The others are columns of settle(), and what is to be recorded.
CREATE OR REPLACE FUNCTION carillon.stop_going_back(
    stops carillon.stop[], INOUT jobs carillon.job[], INOUT going_back bigint[], INOUT whole boolean[], INOUT attempt smallint[],
    INOUT after integer[], INOUT status smallint[], INOUT reason text[], INOUT place integer[], INOUT token text[],
    OUT ended carillon.job[], OUT begun carillon.ending[]
)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    returning_jobs carillon.job[];
    rest carillon.job[];
    places bigint[];
BEGIN
    SELECT coalesce(array_agg(CASE WHEN g.whole THEN j ELSE carillon.changed_job(j, tokens => l.tokens,
        payloads => carillon.payloads_of(j, l.tokens), origin => coalesce(j.origin, j.id)) END ORDER BY g.place), '{}')
    INTO returning_jobs FROM unnest(going_back, whole) WITH ORDINALITY AS g(id, whole, place)
    JOIN unnest(jobs) AS j ON j.id = g.id
    LEFT JOIN (
        SELECT t.place, array_agg(t.token) AS tokens FROM unnest(place, token) AS t(place, token) GROUP BY t.place
    ) AS l ON l.place = g.place;
    SELECT d.rest, d.places, d.ended, d.begun INTO rest, places, ended, begun
    FROM carillon.divide_jobs(returning_jobs, carillon.stopped_tokens(stops), carillon.forgotten_tokens(stops)) AS d;
    SELECT array_agg(CASE WHEN k.n IS NULL THEN w.job ELSE rest[k.n] END ORDER BY w.place) INTO jobs
    FROM (SELECT u AS job, row_number() OVER () AS place FROM unnest(jobs) AS u) AS w
    LEFT JOIN (
        SELECT s.n, going_back[places[s.n]] AS id FROM generate_subscripts(rest, 1) AS s(n) WHERE whole[places[s.n]]
    ) AS k ON k.id = (w.job).id;
    SELECT coalesce(array_agg(s.n), '{}'), coalesce(array_agg(u.token), '{}') INTO place, token
    FROM generate_subscripts(rest, 1) AS s(n) CROSS JOIN LATERAL unnest((rest[s.n]).tokens) AS u(token)
    WHERE NOT whole[places[s.n]];
    SELECT coalesce(array_agg(going_back[p.place] ORDER BY p.n), '{}'), coalesce(array_agg(whole[p.place] ORDER BY p.n), '{}'),
        coalesce(array_agg(attempt[p.place] ORDER BY p.n), '{}'), coalesce(array_agg(after[p.place] ORDER BY p.n), '{}'),
        coalesce(array_agg(status[p.place] ORDER BY p.n), '{}'), coalesce(array_agg(reason[p.place] ORDER BY p.n), '{}')
    INTO going_back, whole, attempt, after, status, reason FROM unnest(places) WITH ORDINALITY AS p(place, n);
END
$$;
COMMENT ON FUNCTION carillon.stop_going_back IS 'Internal: takes stopped pushes out of the jobs that go back to the queue.';

-- What note_settled() finds in the jobs of a claim, and not among its arguments, counts as sent. So a claim keeps what stays in
-- flight, and otherwise no push that was forgotten, or that ends here as cancelled instead of going back. A job that never had a
-- token is kept, because it may go back.
CREATE OR REPLACE FUNCTION carillon.unstopped_jobs(
    stops carillon.stop[], jobs carillon.job[], stopped_jobs carillon.job[],
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[]
) RETURNS carillon.job[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    forgotten CONSTANT text[] := carillon.forgotten_tokens(stops);
BEGIN
    RETURN ARRAY(
        SELECT CASE WHEN cardinality(k.tokens) = cardinality((w.job).tokens) THEN w.job
            ELSE carillon.narrowed_job(w.job, k.tokens) END
        FROM (SELECT u AS job, row_number() OVER () AS place FROM unnest(jobs) AS u) AS w
        LEFT JOIN unnest(staying, staying_whole) WITH ORDINALITY AS s(id, whole, place) ON s.id = (w.job).id
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(t.token ORDER BY t.place), '{}') AS tokens
            FROM unnest((w.job).tokens) WITH ORDINALITY AS t(token, place)
            CROSS JOIN LATERAL (SELECT lower(coalesce(t.token, '') COLLATE "C")) AS l(token)
            WHERE s.whole OR l.token IN (
                SELECT lower(p.token COLLATE "C") FROM unnest(staying_place, staying_token) AS p(place, token)
                WHERE p.place = s.place)
            OR l.token <> ALL (forgotten) AND l.token NOT IN (
                SELECT e.token FROM unnest(stopped_jobs) AS j CROSS JOIN LATERAL unnest(j.tokens) AS e(token)
                -- Forgotten ones are empty here.
                WHERE j.id = (w.job).id AND e.token <> '')
        ) AS k WHERE cardinality(k.tokens) > 0 OR (w.job).tokens = '{}' ORDER BY w.place);
END
$$;
COMMENT ON FUNCTION carillon.unstopped_jobs IS
    'Internal: returns the jobs of a claim without pushes that were forgotten or are not sent again; what stays in flight is kept.';

-- settle_stopped() settles a claim with stops: it takes them out, calls settle() with what is not stopped, and puts them back if
-- jobs stay in flight.
CREATE OR REPLACE FUNCTION carillon.settle_stopped(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint,
    ended bigint[], ended_remaining integer[], ended_reference text[], ended_broadcast bigint[], ended_created timestamptz[],
    ended_sent integer[], ended_failed integer[], ended_expired integer[], ended_attempts smallint[], ended_status smallint[],
    ended_reason text[],
    failed bigint[], failed_reference text[], failed_token text[], failed_status smallint[], failed_reason text[],
    failed_unregistered_at timestamptz[], failed_apns_id uuid[], failed_unique_id uuid[], failed_attempt smallint[],
    going_back bigint[], going_back_whole boolean[], going_back_attempt smallint[], going_back_after integer[],
    going_back_status smallint[], going_back_reason text[], going_back_place integer[], going_back_token text[],
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[],
    unknown bigint[], identified bigint[], identified_token text[], identified_unique_id uuid[],
    expired bigint[], expired_token text[],
    kept bigint[], kept_token text[], kept_apns_id uuid[]
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    taken CONSTANT carillon.stop[] := carillon.take_stops(app, claim, worker, claimed, settlement_number);
    claimed_jobs carillon.job[];
    stopped_jobs carillon.job[];
    begun carillon.ending[];
    answer text;
BEGIN
    IF taken IS NULL THEN
        RETURN carillon.why_unsettled(app, claim, worker, claimed, settlement_number);
    END IF;
    SELECT f.jobs INTO claimed_jobs FROM carillon.inflight f WHERE f.app_id = app AND f.id = claim;
    SELECT g.* INTO claimed_jobs, going_back, going_back_whole, going_back_attempt, going_back_after, going_back_status,
        going_back_reason, going_back_place, going_back_token, stopped_jobs, begun
    FROM carillon.stop_going_back(taken, claimed_jobs, going_back, going_back_whole, going_back_attempt, going_back_after,
        going_back_status, going_back_reason, going_back_place, going_back_token) AS g;
    UPDATE carillon.inflight f SET jobs = carillon.unstopped_jobs(taken, claimed_jobs, stopped_jobs, staying, staying_whole,
        staying_place, staying_token)
    WHERE f.app_id = app AND f.id = claim;
    ended_reference := carillon.kept_references(taken, ended, ended_reference);
    SELECT f.* INTO failed, failed_reference, failed_token, failed_status, failed_reason, failed_unregistered_at,
        failed_apns_id, failed_unique_id, failed_attempt
    FROM carillon.unforgotten_failures(taken, failed, failed_reference, failed_token, failed_status, failed_reason,
        failed_unregistered_at, failed_apns_id, failed_unique_id, failed_attempt) AS f;
    SELECT coalesce(array_agg(i.id), '{}'), coalesce(array_agg(i.token), '{}'), coalesce(array_agg(i.unique_id), '{}')
    INTO identified, identified_token, identified_unique_id
    FROM unnest(identified, identified_token, identified_unique_id) AS i(id, token, unique_id)
    WHERE lower(i.token) <> ALL (carillon.forgotten_tokens(taken));
    SELECT coalesce(array_agg(x.id), '{}'), coalesce(array_agg(x.token), '{}') INTO expired, expired_token
    FROM unnest(expired, expired_token) AS x(id, token) WHERE lower(x.token) <> ALL (carillon.forgotten_tokens(taken));
    SELECT s.* INTO kept, kept_token, kept_apns_id
    FROM carillon.unforgotten_sent(taken, kept, kept_token, kept_apns_id) AS s;
    -- Before settle(), because it may end the rest of a message as cancelled.
    PERFORM carillon.end_messages(app, begun);
    answer := carillon.settle(
            app => app, claim => claim, worker => worker, claimed => claimed, settlement_number => settlement_number,
            ended => ended, ended_remaining => ended_remaining, ended_reference => ended_reference,
            ended_broadcast => ended_broadcast, ended_created => ended_created, ended_sent => ended_sent,
            ended_failed => ended_failed, ended_expired => ended_expired, ended_attempts => ended_attempts,
            ended_status => ended_status, ended_reason => ended_reason, failed => failed, failed_reference => failed_reference,
            failed_token => failed_token, failed_status => failed_status, failed_reason => failed_reason,
            failed_unregistered_at => failed_unregistered_at, failed_apns_id => failed_apns_id,
            failed_unique_id => failed_unique_id, failed_attempt => failed_attempt, going_back => going_back,
            going_back_whole => going_back_whole, going_back_attempt => going_back_attempt, going_back_after => going_back_after,
            going_back_status => going_back_status, going_back_reason => going_back_reason, going_back_place => going_back_place,
            going_back_token => going_back_token, staying => staying, staying_whole => staying_whole,
            staying_place => staying_place, staying_token => staying_token, unknown => unknown, identified => identified,
            identified_token => identified_token, identified_unique_id => identified_unique_id, expired => expired,
            expired_token => expired_token, kept => kept, kept_token => kept_token, kept_apns_id => kept_apns_id);
    IF cardinality(stopped_jobs) > 0 THEN
        PERFORM carillon.end_as_cancelled(app, stopped_jobs);
    END IF;
    UPDATE carillon.inflight f SET stops = taken WHERE f.app_id = app AND f.id = claim;
    RETURN answer;
END
$$;
COMMENT ON FUNCTION carillon.settle_stopped IS
    'Internal: records the outcomes of a claim with stops, as settle does, and nothing of what was forgotten.';
