-- carillon.take_events(), with which a consumer takes what became of pushes. What it returns has been taken once its transaction
-- commits, and comes again after a rollback.
--
-- It locks the rows of untaken_events that it takes, and passes over rows that another session has locked: several sessions share
-- the work of a consumer, and none waits. If it takes only a part of a row of events, it counts in untaken_events how many it took.

-- events_of() has no SET clause, so that PostgreSQL inlines it: it is called for each row of events. A column that is null has the
-- defaults that note_settled() left out. Pushes come before the end of their message.
CREATE OR REPLACE FUNCTION carillon.events_of(noted carillon.events, mask integer) RETURNS TABLE (
    place integer, number bigint, kind text, message_id bigint, broadcast_id bigint, reference text, token text, status smallint,
    reason text, unregistered_at timestamptz, sent bigint, failed bigint, expired bigint, cancelled bigint)
LANGUAGE sql STABLE AS $$
    SELECT v.place, v.number, v.kind, v.message, n.broadcast, n.reference,
        nullif(pg_catalog.lower(v.token COLLATE pg_catalog."C"), ''), v.status, v.reason, v.unregistered_at, v.sent, v.failed,
        v.expired, v.cancelled
    FROM (
        SELECT 1 AS place, t.number, 'sent' AS kind, t.message, t.token, NULL::smallint AS status, NULL::text AS reason,
            NULL::timestamptz AS unregistered_at, NULL::bigint AS sent, NULL::bigint AS failed, NULL::bigint AS expired,
            NULL::bigint AS cancelled
        FROM ROWS FROM (pg_catalog.unnest(noted.sent), pg_catalog.unnest(noted.sent_token)) WITH ORDINALITY
            AS t(message, token, number) WHERE mask & 1 = 1
        UNION ALL
        SELECT 2, t.number, 'failed', t.message, t.token, t.status, t.reason, NULL, NULL, NULL, NULL, NULL
        FROM ROWS FROM (pg_catalog.unnest(noted.failed), pg_catalog.unnest(noted.failed_token),
            pg_catalog.unnest(noted.failed_status), pg_catalog.unnest(noted.failed_reason)) WITH ORDINALITY
            AS t(message, token, status, reason, number) WHERE mask & 2 = 2
        UNION ALL
        SELECT 3, t.number, 'expired', t.message, t.token, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM ROWS FROM (pg_catalog.unnest(noted.expired), pg_catalog.unnest(noted.expired_token)) WITH ORDINALITY
            AS t(message, token, number) WHERE mask & 4 = 4
        UNION ALL
        SELECT 4, t.number, 'superseded', t.message, t.token, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM ROWS FROM (pg_catalog.unnest(noted.superseded), pg_catalog.unnest(noted.superseded_token)) WITH ORDINALITY
            AS t(message, token, number) WHERE mask & 8 = 8
        UNION ALL
        SELECT 5, t.number, 'token_dead', t.message, t.token, NULL, NULL, t.died_at, NULL, NULL, NULL, NULL
        FROM ROWS FROM (pg_catalog.unnest(noted.dead), pg_catalog.unnest(noted.dead_token), pg_catalog.unnest(noted.dead_at))
            WITH ORDINALITY AS t(message, token, died_at, number) WHERE mask & 16 = 16
        UNION ALL
        SELECT 6, t.number, 'finished', t.message, NULL, NULL, NULL, NULL, coalesce(t.sent, 1), coalesce(t.failed, 0),
            coalesce(t.expired, 0), coalesce(t.cancelled, 0)
        FROM ROWS FROM (pg_catalog.unnest(noted.finished), pg_catalog.unnest(noted.finished_sent),
            pg_catalog.unnest(noted.finished_failed), pg_catalog.unnest(noted.finished_expired),
            pg_catalog.unnest(noted.finished_cancelled)) WITH ORDINALITY AS t(message, sent, failed, expired, cancelled, number)
        WHERE mask & 32 = 32
        UNION ALL
        SELECT 7, 1, noted.notice, NULL, NULL, NULL, noted.notice_reason, NULL, NULL, NULL, NULL, NULL
        WHERE noted.notice IS NOT NULL AND mask & CASE noted.notice WHEN 'app_held' THEN 128 WHEN 'app_resumed' THEN 256
            ELSE 512 END <> 0
    ) AS v
    LEFT JOIN (
        SELECT m.id, pg_catalog.min(m.reference) AS reference, pg_catalog.min(m.broadcast) AS broadcast
        FROM ROWS FROM (pg_catalog.unnest(noted.message), pg_catalog.unnest(noted.message_reference),
            pg_catalog.unnest(noted.message_broadcast)) AS m(id, reference, broadcast) GROUP BY m.id
    ) AS n ON n.id = v.message
$$;
COMMENT ON FUNCTION carillon.events_of IS 'Internal: returns the events in a row of events that have one of the kinds.';

-- It counts as broadcast_progress() does, and also jobs whose counts could not be recorded.
CREATE OR REPLACE FUNCTION carillon.split_message_has_ended(app integer, message bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN (SELECT b.tokens FROM carillon.split_messages b WHERE b.app_id = app AND b.id = message) <= (
        SELECT coalesce(sum(r.sent + r.failed + r.expired + r.cancelled), 0) FROM carillon.results r
        WHERE r.app_id = app AND r.broadcast_id = message) + (
        SELECT count(*) FROM carillon.failures f WHERE f.app_id = app AND f.broadcast_id = message);
END
$$;
COMMENT ON FUNCTION carillon.split_message_has_ended IS 'Internal: returns whether all pushes of a split message have ended.';

CREATE OR REPLACE FUNCTION carillon.end_of_split_message(app integer, message bigint) RETURNS TABLE (
    happened_at timestamptz, place integer, number bigint, kind text, message_id bigint, broadcast_id bigint, reference text,
    token text, status smallint, reason text, unregistered_at timestamptz, sent bigint, failed bigint, expired bigint,
    cancelled bigint)
LANGUAGE sql STABLE AS $$
    SELECT r.finished_at, 8, 1::bigint, 'broadcast_finished', b.id, b.id, b.reference, NULL::text, NULL::smallint, NULL::text,
        NULL::timestamptz, r.sent, r.failed, r.expired, r.cancelled
    FROM carillon.split_messages b CROSS JOIN LATERAL (
        SELECT pg_catalog.sum(r.sent) AS sent, pg_catalog.sum(r.failed) AS failed, pg_catalog.sum(r.expired) AS expired,
            pg_catalog.sum(r.cancelled) AS cancelled, pg_catalog.max(r.finished_at) AS finished_at
        FROM carillon.results r WHERE r.app_id = b.app_id AND r.broadcast_id = b.id) AS r
    WHERE b.app_id = app AND b.id = message
$$;
COMMENT ON FUNCTION carillon.end_of_split_message IS
    'Internal: returns the event that a split message has finished, with its sums.';

-- take_ranges() is for callers that have turned off other plans than those with an index. Each FETCH locks one row. A query would
-- lock rows of which nothing is taken, and could read all rows of the consumer to delete some.
CREATE OR REPLACE FUNCTION carillon.take_ranges(
    subscription bigint, app integer, INOUT missing bigint, OUT taken carillon.taken_range[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    waiting refcursor;
    entry carillon.untaken_events;
BEGIN
    taken := '{}';
    OPEN waiting NO SCROLL FOR
        SELECT d.* FROM carillon.untaken_events d
        WHERE d.subscription_id = subscription
            AND (d.broadcast_id IS NULL OR carillon.split_message_has_ended(app, d.broadcast_id))
        ORDER BY d.subscription_id, d.event_id FOR UPDATE SKIP LOCKED;
    WHILE missing > 0 LOOP
        FETCH waiting INTO entry;
        EXIT WHEN NOT FOUND;
        missing := missing - (entry.events - entry.taken);
        IF missing < 0 THEN
            entry.events := entry.events + missing;
            UPDATE carillon.untaken_events d SET taken = entry.events WHERE CURRENT OF waiting;
        ELSE
            DELETE FROM carillon.untaken_events d WHERE CURRENT OF waiting;
        END IF;
        taken := taken
            || ROW(entry.event_id, entry.at, entry.mask, entry.taken, entry.events, entry.broadcast_id)::carillon.taken_range;
    END LOOP;
    CLOSE waiting;
END
$$;
COMMENT ON FUNCTION carillon.take_ranges IS
    'Internal: takes events of a subscription, and returns where they are; missing is how many may still be taken.';

-- events_in() has no SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.events_in(ranges carillon.taken_range[], app integer, app_name text)
RETURNS SETOF carillon.event
LANGUAGE sql STABLE AS $$
    SELECT pg_catalog.format('%s-%s-%s', r.event_id, r.place, r.number), r.kind, r.happened_at, app_name, r.message_id,
        r.broadcast_id, r.reference, r.token, r.status, r.reason, r.unregistered_at, r.sent, r.failed, r.expired, r.cancelled
    FROM (
        SELECT d.ordinality, d.event_id, d.first, d.last, v.*,
            pg_catalog.row_number() OVER (PARTITION BY d.ordinality ORDER BY v.place, v.number) AS rank
        FROM pg_catalog.unnest(ranges) WITH ORDINALITY AS d CROSS JOIN LATERAL (
            -- OFFSET 0 keeps the planner from reading all events in order to join them.
            SELECT d.at AS happened_at, v.* FROM (
                SELECT e FROM carillon.events e WHERE e.id = d.event_id AND e.at = d.at OFFSET 0
            ) AS n CROSS JOIN LATERAL carillon.events_of(n.e, d.mask) AS v
            UNION ALL
            SELECT v.* FROM carillon.end_of_split_message(app, d.broadcast_id) AS v WHERE d.broadcast_id IS NOT NULL
        ) AS v
    ) AS r WHERE r.rank > r.first AND r.rank <= r.last ORDER BY r.ordinality, r.rank
$$;
COMMENT ON FUNCTION carillon.events_in IS 'Internal: returns the events that take_ranges() has taken.';

CREATE OR REPLACE FUNCTION carillon.take_events(consumer text, n integer DEFAULT 100, app text DEFAULT NULL)
RETURNS SETOF carillon.event
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(take_events.app);
    refusal carillon.refusal := carillon.refused_consumer(consumer);
    is_known boolean := false;
    missing bigint := coalesce(n, 100);
    followed record;
    taken carillon.taken_range[];
BEGIN
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument, HINT = refusal.hint;
    ELSIF missing NOT BETWEEN 1 AND 100000 THEN
        refusal := carillon.refusal('n', 'a number from 1 to 100000', missing::text);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    ELSIF take_events.app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(take_events.app);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument, HINT = refusal.hint;
    END IF;
    -- In any order, so that an app with many events does not keep back those of others.
    FOR followed IN
        SELECT s.id, s.app_id, a.name FROM carillon.subscriptions s JOIN carillon.apps a ON a.id = s.app_id
        WHERE s.consumer = take_events.consumer AND (chosen IS NULL OR s.app_id = ANY (chosen)) ORDER BY random()
    LOOP
        is_known := true;
        SELECT t.missing, t.taken INTO missing, taken FROM carillon.take_ranges(followed.id, followed.app_id, missing) AS t;
        RETURN QUERY SELECT e.* FROM carillon.events_in(taken, followed.app_id, followed.name) AS e;
        EXIT WHEN missing <= 0;
    END LOOP;
    IF NOT is_known THEN
        refusal := carillon.unknown_consumer(consumer);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument, HINT = refusal.hint;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.take_events IS
    'Takes up to n events of a consumer, of one app or of all that you may use. Your COMMIT acknowledges them, and after a '
    'ROLLBACK they come again. Several sessions may take events of one consumer at the same time.';
