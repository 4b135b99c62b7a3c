-- Notes what became of pushes for the consumers that follow their app. Every function in which pushes end calls one of these, and
-- all of them store events with store_events(). For an app without consumers, they read one index entry and write nothing.
--
-- Only forget() changes a row of events, and each consumer has a row of untaken_events for it. So no consumer has a position in a
-- sequence of commits: a transaction that commits late is found like any other. Writers wait for nobody, because no two of them
-- write the same row and no foreign key locks one.
--
-- They pin no search_path, because that would slow each settlement, and may run after use_session_path().

-- The place of a kind gives its bit in a mask, so new kinds are added at the end. The function has no SET clause, so that
-- PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.event_kinds() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '{sent,failed,expired,superseded,token_dead,finished,broadcast_finished,app_held,app_resumed,credential_ending}'
        ::pg_catalog.text[]
$$;
COMMENT ON FUNCTION carillon.event_kinds IS 'Internal: returns the kinds of events, in the order of their bits.';

CREATE OR REPLACE FUNCTION carillon.followed_kinds(app integer) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT pg_catalog.bit_or(s.mask) FROM carillon.subscriptions s WHERE s.app_id = app);
END
$$;
COMMENT ON FUNCTION carillon.followed_kinds IS
    'Internal: returns the kinds of events of an app that any consumer follows, as bits; null if it has no consumer.';

-- store_events() stores a row of events, and a row of untaken_events for each consumer that follows any of them. The end of a split
-- message has a row of untaken_events only, stored when its last job ends: take_events() passes over it until all jobs have ended.
--
-- NOTIFY locks the whole cluster until its commit is on disk, so it is only for transactions of workers.
CREATE OR REPLACE FUNCTION carillon.store_events(noted carillon.events, last_jobs_of bigint[], notifies boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    counts CONSTANT integer[] := ARRAY[pg_catalog.cardinality(noted.sent), pg_catalog.cardinality(noted.failed),
        pg_catalog.cardinality(noted.expired), pg_catalog.cardinality(noted.superseded), pg_catalog.cardinality(noted.dead_token),
        pg_catalog.cardinality(noted.finished), 0, (noted.notice = 'app_held')::integer, (noted.notice = 'app_resumed')::integer,
        (noted.notice = 'credential_ending')::integer];
BEGIN
    noted.id := pg_catalog.nextval('carillon.event_ids');
    noted.at := pg_catalog.now();
    INSERT INTO carillon.untaken_events (subscription_id, event_id, at, mask, events)
    SELECT k.id, noted.id, noted.at, k.mask, k.events
    FROM (
        SELECT s.id, s.mask, (SELECT pg_catalog.sum(c.number) FROM pg_catalog.unnest(counts) WITH ORDINALITY AS c(number, place)
            WHERE (s.mask >> (c.place::integer - 1)) & 1 = 1)::integer AS events
        FROM carillon.subscriptions s WHERE s.app_id = noted.app_id
    ) AS k WHERE k.events > 0;
    IF FOUND THEN
        INSERT INTO carillon.events VALUES (noted.*);
    ELSIF noted.message_broadcast IS NULL THEN
        RETURN;
    END IF;
    IF pg_catalog.cardinality(last_jobs_of) > 0 THEN
        WITH ends AS MATERIALIZED (
            SELECT b.id, pg_catalog.nextval('carillon.event_ids') AS event_id FROM pg_catalog.unnest(last_jobs_of) AS b(id)
        )
        INSERT INTO carillon.untaken_events (subscription_id, event_id, at, mask, events, broadcast_id)
        SELECT s.id, e.event_id, noted.at, s.mask, 1, e.id FROM carillon.subscriptions s CROSS JOIN ends e
        WHERE s.app_id = noted.app_id AND s.mask & 64 = 64;
    END IF;
    IF notifies THEN
        NOTIFY carillon_events;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.store_events IS
    'Internal: stores events for the consumers that follow their app, and notifies them at the commit.';

-- What note_settled() does not find among failed pushes, and pushes that go back or stay, was sent or has expired. If pushes of a
-- message were sent and others have expired, `expired` has the latter. A job that contains a token twice, in upper and lower case,
-- has more tokens than pushes.
CREATE OR REPLACE FUNCTION carillon.sent_and_expired(
    claimed_jobs carillon.job[], ended bigint[], ended_sent integer[], ended_expired integer[],
    failed bigint[], failed_token text[],
    going_back bigint[], going_back_whole boolean[], going_back_place integer[], going_back_token text[],
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[],
    expired bigint[], expired_token text[], INOUT noted carillon.events
)
LANGUAGE plpgsql AS $$
BEGIN
    IF pg_catalog.cardinality(failed) + pg_catalog.cardinality(going_back) + pg_catalog.cardinality(staying)
        + pg_catalog.cardinality(ended_expired) = 0
    THEN
        IF pg_catalog.cardinality(ended_sent) = 0 THEN
            -- Most likely, each job has one token.
            SELECT pg_catalog.array_agg(coalesce(j.origin, j.id)), pg_catalog.array_agg(j.tokens[1])
            INTO noted.sent, noted.sent_token FROM pg_catalog.unnest(claimed_jobs) AS j
            HAVING pg_catalog.max(pg_catalog.cardinality(j.tokens)) = 1 AND pg_catalog.count(*) = pg_catalog.cardinality(ended);
        ELSE
            SELECT pg_catalog.array_agg(coalesce(j.origin, j.id)), pg_catalog.array_agg(t.token)
            INTO noted.sent, noted.sent_token
            FROM pg_catalog.unnest(claimed_jobs) AS j CROSS JOIN LATERAL pg_catalog.unnest(j.tokens) AS t(token)
            HAVING pg_catalog.count(*) = (SELECT pg_catalog.sum(s.number) FROM pg_catalog.unnest(ended_sent) AS s(number));
        END IF;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    WITH leaving AS (
        SELECT g.id, g.whole, t.token FROM unnest(going_back, going_back_whole) WITH ORDINALITY AS g(id, whole, place)
        LEFT JOIN unnest(going_back_place, going_back_token) AS t(place, token) ON t.place = g.place
        UNION ALL
        SELECT k.id, k.whole, t.token FROM unnest(staying, staying_whole) WITH ORDINALITY AS k(id, whole, place)
        LEFT JOIN unnest(staying_place, staying_token) AS t(place, token) ON t.place = k.place
    ), push AS (
        SELECT coalesce(j.origin, j.id) AS message, pg_catalog.lower(coalesce(t.token, '') COLLATE pg_catalog."C") AS token,
            pg_catalog.min(j.id) AS job
        FROM pg_catalog.unnest(claimed_jobs) AS j CROSS JOIN LATERAL pg_catalog.unnest(j.tokens) AS t(token)
        WHERE j.id NOT IN (SELECT l.id FROM leaving l WHERE l.whole)
        GROUP BY 1, 2
    ), ended_push AS (
        SELECT p.message, p.token, e.sent = 0 OR e.expired > 0 AND EXISTS (
            SELECT FROM unnest(sent_and_expired.expired, expired_token) AS x(message, token)
            WHERE x.message = p.message AND pg_catalog.lower(x.token COLLATE pg_catalog."C") = p.token) AS is_expired
        FROM push p JOIN (
            SELECT u.id, pg_catalog.sum(coalesce(u.sent, 1)) AS sent, pg_catalog.sum(coalesce(u.expired, 0)) AS expired
            FROM unnest(sent_and_expired.ended, ended_sent, ended_expired) AS u(id, sent, expired) GROUP BY u.id
        ) AS e ON e.id = p.message
        WHERE NOT EXISTS (
            SELECT FROM unnest(sent_and_expired.failed, failed_token) AS f(message, token)
            WHERE f.message = p.message AND pg_catalog.lower(f.token COLLATE pg_catalog."C") = p.token)
        AND NOT EXISTS (
            SELECT FROM leaving l WHERE l.id = p.job AND pg_catalog.lower(l.token COLLATE pg_catalog."C") = p.token)
    )
    SELECT pg_catalog.array_agg(d.message) FILTER (WHERE NOT d.is_expired),
        pg_catalog.array_agg(d.token) FILTER (WHERE NOT d.is_expired),
        pg_catalog.array_agg(d.message) FILTER (WHERE d.is_expired),
        pg_catalog.array_agg(d.token) FILTER (WHERE d.is_expired)
    INTO noted.sent, noted.sent_token, noted.expired, noted.expired_token FROM ended_push d;
END
$$;
COMMENT ON FUNCTION carillon.sent_and_expired IS
    'Internal: adds to a row of events the pushes of a claim that were sent or have expired.';

-- note_settled() runs before the settlement is recorded: pushes come before the end of their message. Messages that end in
-- unfinished are noted there, by note_finished().
CREATE OR REPLACE FUNCTION carillon.note_settled(
    app integer, kinds integer, claimed_jobs carillon.job[],
    ended bigint[], ended_remaining integer[], ended_reference text[], ended_broadcast bigint[],
    ended_sent integer[], ended_failed integer[], ended_expired integer[],
    failed bigint[], failed_token text[], failed_status smallint[], failed_reason text[], failed_unregistered_at timestamptz[],
    claimed timestamptz,
    going_back bigint[], going_back_whole boolean[], going_back_place integer[], going_back_token text[],
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[],
    expired bigint[], expired_token text[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    noted carillon.events;
    last_jobs_of bigint[];
BEGIN
    noted.app_id := app;
    noted.message := ended;
    noted.message_reference := CASE WHEN pg_catalog.cardinality(ended_reference) > 0 THEN ended_reference END;
    noted.message_broadcast := CASE WHEN pg_catalog.cardinality(ended_broadcast) > 0 THEN ended_broadcast END;
    IF kinds & 5 <> 0 THEN
        noted := carillon.sent_and_expired(claimed_jobs, ended, ended_sent, ended_expired, failed, failed_token, going_back,
            going_back_whole, going_back_place, going_back_token, staying, staying_whole, staying_place, staying_token, expired,
            expired_token, noted);
    END IF;
    IF pg_catalog.cardinality(failed) > 0 AND kinds & 2 <> 0 THEN
        noted.failed := failed;
        noted.failed_token := failed_token;
        noted.failed_status := failed_status;
        noted.failed_reason := failed_reason;
    END IF;
    IF pg_catalog.cardinality(failed) > 0 AND kinds & 16 <> 0 THEN
        -- As in record_failed().
        SELECT pg_catalog.array_agg(f.id), pg_catalog.array_agg(f.token),
            pg_catalog.array_agg(coalesce(f.unregistered_at, claimed))
        INTO noted.dead, noted.dead_token, noted.dead_at
        FROM unnest(note_settled.failed, failed_token, failed_reason, failed_unregistered_at)
            AS f(id, token, reason, unregistered_at)
        WHERE f.unregistered_at IS NOT NULL OR f.reason = 'BadDeviceToken'
            AND (SELECT a.reap_bad_tokens FROM carillon.apps a WHERE a.id = app);
    END IF;
    IF kinds & 96 <> 0 AND pg_catalog.cardinality(ended_remaining) + pg_catalog.cardinality(ended_broadcast) = 0 THEN
        noted.finished := ended;
        noted.finished_sent := CASE WHEN pg_catalog.cardinality(ended_sent) > 0 THEN ended_sent END;
        noted.finished_failed := CASE WHEN pg_catalog.cardinality(ended_failed) > 0 THEN ended_failed END;
        noted.finished_expired := CASE WHEN pg_catalog.cardinality(ended_expired) > 0 THEN ended_expired END;
    ELSIF kinds & 96 <> 0 THEN
        SELECT pg_catalog.array_agg(e.id), pg_catalog.array_agg(coalesce(e.sent, 1)), pg_catalog.array_agg(e.failed),
            pg_catalog.array_agg(e.expired)
        INTO noted.finished, noted.finished_sent, noted.finished_failed, noted.finished_expired
        FROM unnest(ended, ended_remaining, ended_broadcast, ended_sent, ended_failed, ended_expired)
            AS e(id, remaining, broadcast, sent, failed, expired)
        WHERE e.remaining IS NULL AND e.broadcast IS NULL;
        last_jobs_of := carillon.last_jobs_of(app, ARRAY(
            SELECT e.id FROM unnest(ended, ended_remaining, ended_broadcast) AS e(id, remaining, broadcast)
            WHERE e.remaining IS NULL AND e.broadcast IS NOT NULL), ended_broadcast);
    END IF;
    PERFORM carillon.store_events(noted, last_jobs_of, true);
END
$$;
COMMENT ON FUNCTION carillon.note_settled IS 'Internal: notes the events of a settlement.';

CREATE OR REPLACE FUNCTION carillon.last_jobs_of(app integer, ended bigint[], broadcasts bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT b.id FROM carillon.split_messages b
        WHERE b.app_id = app AND b.id = ANY (broadcasts) AND b.last_id = ANY (ended));
END
$$;
COMMENT ON FUNCTION carillon.last_jobs_of IS 'Internal: returns the split messages whose last job is among those that have ended.';

-- note_finished() is for messages of which end_messages() has recorded pushes: those that have ended have a row of results of this
-- transaction.
CREATE OR REPLACE FUNCTION carillon.note_finished(app integer, messages bigint[], notifies boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    noted carillon.events;
    broadcasts bigint[];
BEGIN
    IF (carillon.followed_kinds(app) & 96 <> 0) IS NOT TRUE THEN
        RETURN;
    END IF;
    noted.app_id := app;
    SELECT pg_catalog.array_agg(r.message_id), pg_catalog.array_agg(r.reference), pg_catalog.array_agg(r.broadcast_id),
        pg_catalog.array_agg(r.message_id) FILTER (WHERE r.broadcast_id IS NULL),
        pg_catalog.array_agg(r.sent) FILTER (WHERE r.broadcast_id IS NULL),
        pg_catalog.array_agg(r.failed) FILTER (WHERE r.broadcast_id IS NULL),
        pg_catalog.array_agg(r.expired) FILTER (WHERE r.broadcast_id IS NULL),
        pg_catalog.array_agg(r.cancelled) FILTER (WHERE r.broadcast_id IS NULL)
    INTO noted.message, noted.message_reference, broadcasts, noted.finished, noted.finished_sent, noted.finished_failed,
        noted.finished_expired, noted.finished_cancelled
    FROM carillon.results r
    WHERE r.app_id = app AND r.message_id = ANY (messages) AND r.finished_at = pg_catalog.now();
    IF noted.message IS NOT NULL THEN
        noted.message_broadcast := CASE WHEN pg_catalog.cardinality(pg_catalog.array_remove(broadcasts, NULL)) > 0
            THEN broadcasts END;
        PERFORM carillon.store_events(noted, carillon.last_jobs_of(app, noted.message, noted.message_broadcast), notifies);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.note_finished IS 'Internal: notes messages that have finished.';

-- note_jobs() is for jobs all of whose pushes have failed or were superseded. A superseded push without a token was forgotten.
CREATE OR REPLACE FUNCTION carillon.note_jobs(app integer, kind text, jobs carillon.job[], why text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    bit CONSTANT integer := CASE kind WHEN 'failed' THEN 2 ELSE 8 END;
    noted carillon.events;
    ended bigint[];
    ended_token pg_catalog.text[];
BEGIN
    IF (carillon.followed_kinds(app) & bit <> 0) IS NOT TRUE THEN
        RETURN;
    END IF;
    SELECT pg_catalog.array_agg(p.message), pg_catalog.array_agg(p.token) INTO ended, ended_token
    FROM (
        SELECT DISTINCT coalesce(j.origin, j.id) AS message, pg_catalog.lower(coalesce(t.token, '') COLLATE pg_catalog."C") AS token
        FROM pg_catalog.unnest(jobs) AS j CROSS JOIN LATERAL pg_catalog.unnest(j.tokens) AS t(token)) AS p
    WHERE kind = 'failed' OR p.token <> '';
    noted.app_id := app;
    SELECT pg_catalog.array_agg(coalesce(j.origin, j.id)), pg_catalog.array_agg(j.reference), pg_catalog.array_agg(j.broadcast_id)
    INTO noted.message, noted.message_reference, noted.message_broadcast FROM pg_catalog.unnest(jobs) AS j;
    IF kind = 'failed' THEN
        noted.failed := ended;
        noted.failed_token := ended_token;
        noted.failed_reason := pg_catalog.array_fill(why, ARRAY[pg_catalog.cardinality(ended_token)]);
    ELSE
        noted.superseded := ended;
        noted.superseded_token := ended_token;
    END IF;
    PERFORM carillon.store_events(noted, NULL, true);
END
$$;
COMMENT ON FUNCTION carillon.note_jobs IS 'Internal: notes jobs whose pushes have failed or were superseded.';

-- note_unrecorded() is for a job that end_unrecorded() ends. Its other pushes have expired. A token that is null was forgotten.
CREATE OR REPLACE FUNCTION carillon.note_unrecorded(
    app integer, job carillon.job, why text, token text[], status smallint[], expired integer
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    message CONSTANT bigint := coalesce(job.origin, job.id);
    noted carillon.events;
BEGIN
    IF carillon.followed_kinds(app) IS NULL THEN
        RETURN;
    END IF;
    noted.app_id := app;
    noted.message := ARRAY[message];
    noted.message_reference := ARRAY[job.reference];
    noted.message_broadcast := CASE WHEN job.broadcast_id IS NOT NULL THEN ARRAY[job.broadcast_id] END;
    SELECT pg_catalog.array_agg(message) FILTER (WHERE t.status = 200), pg_catalog.array_agg(t.token) FILTER (WHERE t.status = 200),
        pg_catalog.array_agg(message) FILTER (WHERE t.status IS DISTINCT FROM 200),
        pg_catalog.array_agg(t.token) FILTER (WHERE t.status IS DISTINCT FROM 200),
        pg_catalog.array_agg(t.status) FILTER (WHERE t.status IS DISTINCT FROM 200),
        pg_catalog.array_agg(why) FILTER (WHERE t.status IS DISTINCT FROM 200)
    INTO noted.sent, noted.sent_token, noted.failed, noted.failed_token, noted.failed_status, noted.failed_reason
    FROM unnest(note_unrecorded.token, note_unrecorded.status) AS t(token, status) WHERE t.token IS NOT NULL;
    IF note_unrecorded.expired > 0 THEN
        SELECT pg_catalog.array_agg(message), pg_catalog.array_agg(p.token) INTO noted.expired, noted.expired_token
        FROM (
            SELECT DISTINCT pg_catalog.lower(coalesce(u.token, '') COLLATE pg_catalog."C")
            FROM pg_catalog.unnest(job.tokens) AS u(token)
            EXCEPT
            SELECT pg_catalog.lower(t.token COLLATE pg_catalog."C") FROM pg_catalog.unnest(note_unrecorded.token) AS t(token)
        ) AS p(token);
    END IF;
    PERFORM carillon.store_events(noted, NULL, true);
END
$$;
COMMENT ON FUNCTION carillon.note_unrecorded IS 'Internal: notes the pushes of a job whose outcome PostgreSQL refuses to record.';

-- note_dead() is for tokens of the legacy feedback service, which no push has met. It pins its path, because the session of a
-- feedback pass has that of its login, and because it is seldom called.
CREATE OR REPLACE FUNCTION carillon.note_dead(app integer, tokens text[], died_at timestamptz[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    noted carillon.events;
BEGIN
    IF carillon.followed_kinds(app) & 16 <> 0 AND pg_catalog.cardinality(tokens) > 0 THEN
        noted.app_id := app;
        noted.dead_token := tokens;
        noted.dead_at := died_at;
        PERFORM carillon.store_events(noted, NULL, true);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.note_dead IS 'Internal: notes dead tokens of a legacy feedback list.';

CREATE OR REPLACE FUNCTION carillon.note_notice(app integer, kind text, reason text, notifies boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    noted carillon.events;
BEGIN
    IF carillon.followed_kinds(app) & 896 <> 0 THEN
        noted.app_id := app;
        noted.notice := kind;
        noted.notice_reason := reason;
        PERFORM carillon.store_events(noted, NULL, notifies);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.note_notice IS 'Internal: notes that an app is held or resumed, or that its credential is ending.';

-- The triggers run as their owner, so that whoever may change the table needs no right on the functions and tables of events.

-- Workers write holds.
CREATE OR REPLACE FUNCTION carillon.hold_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM carillon.note_notice(NEW.app_id, 'app_held', NEW.reason, true);
    ELSE
        PERFORM carillon.note_notice(OLD.app_id, 'app_resumed', OLD.reason, true);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.hold_changed IS 'Internal: notes that a hold of an app has begun or ended.';
CREATE OR REPLACE TRIGGER hold_changed AFTER INSERT OR DELETE ON carillon.holds FOR EACH ROW
EXECUTE FUNCTION carillon.hold_changed();

-- People pause apps, and so do breakers.
CREATE OR REPLACE FUNCTION carillon.pause_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.note_notice(NEW.id, CASE WHEN NEW.paused THEN 'app_held' ELSE 'app_resumed' END,
        'paused' || coalesce(': ' || CASE WHEN NEW.paused THEN NEW.paused_reason ELSE OLD.paused_reason END, ''), false);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.pause_changed IS 'Internal: notes that an app was paused or resumed.';
CREATE OR REPLACE TRIGGER pause_changed AFTER UPDATE OF paused ON carillon.apps FOR EACH ROW
WHEN (OLD.paused IS DISTINCT FROM NEW.paused) EXECUTE FUNCTION carillon.pause_changed();

-- Workers find that a credential is about to expire, or has expired.
CREATE OR REPLACE FUNCTION carillon.credential_ending() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.note_notice(a.id, 'credential_ending', format('credential %s %s %s', NEW.name,
        CASE NEW.status WHEN 'expired' THEN 'expired' ELSE 'expires' END,
        to_char(NEW.not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')), true)
    FROM carillon.apps a WHERE a.certificate_id = NEW.id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.credential_ending IS 'Internal: notes that the credential of apps is about to expire, or has expired.';
CREATE OR REPLACE TRIGGER credential_ending AFTER UPDATE OF status ON carillon.certificates FOR EACH ROW
WHEN (NEW.status IN ('expiring', 'expired') AND OLD.status IS DISTINCT FROM NEW.status)
EXECUTE FUNCTION carillon.credential_ending();
