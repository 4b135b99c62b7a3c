-- The order of the updates of a Live Activity, a media session or a channel: no device shows an older one after a newer one.
--
-- note_update() runs in the transaction that enqueues an update. A worker calls order_updates() for the updates of each claim
-- before it sends them. Both know a push by its token and its message: the id of its job, or the job's origin if it has one.
--
-- order_updates() locks the row of inflight, then rows of update_stamps in the order of tokens. It skips rows of the table updates
-- that a cancel has locked.

CREATE OR REPLACE FUNCTION carillon.note_update(
    app integer, message bigint, tokens text[], is_end boolean, due timestamptz, expires timestamptz
) RETURNS void
-- Uses one index plan for all values: a plan made while a table is small would be wrong when it is large.
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
BEGIN
    INSERT INTO carillon.updates (app_id, token, message_id, is_end, due_at, expires_at)
    -- A new update must follow what was sent, even if the clock was set back since. An update that still waits keeps its later
    -- time, and is the newer one until then.
    SELECT app, t.token, message, is_end, greatest(due, (
        SELECT s.due_at FROM carillon.update_stamps s WHERE s.app_id = app AND s.token = t.token)),
        -- 'epoch' means at once or never, so the update does not expire here.
        nullif(expires, 'epoch')
    FROM (SELECT DISTINCT lower(u.token) AS token FROM unnest(tokens) AS u(token)) AS t;
END
$$;
COMMENT ON FUNCTION carillon.note_update IS 'Internal: notes an update, so that no older one is sent after it.';

-- order_updates() decides which pushes are sent, and with which timestamps. A push is superseded if a newer update of its token is
-- due or was sent. It keeps its timestamp in all attempts. The answer is null if another worker has taken over the claim.
--
-- The timestamps of a token always increase, whatever the clock does. They are whole seconds, so frequent updates would push them
-- ahead of the clock: at `lead` seconds ahead, the newest update waits. If they are more than a minute ahead, the clock was set
-- back, and no update waits.
--
-- Three kinds of pushes have no row in the table updates: those that were ordered before, starts, and plain INSERTs. If the push is
-- the one that was ordered last, it keeps that place. Otherwise, a message id of at most update_stamps.highest means that it is
-- older than that one, and a higher id that it is newer. An end counts as newer than all updates that wait with it: an update that
-- was enqueued after the end would show an activity that is over. Only a channel goes on after an end.
CREATE OR REPLACE FUNCTION carillon.order_updates(
    app integer, claim bigint, worker bigint, claimed timestamptz, job bigint[], token text[]
) RETURNS carillon.push_decisions
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    clock CONSTANT timestamptz := clock_timestamp();
    seconds CONSTANT bigint := floor(extract(epoch FROM clock));
    lead CONSTANT integer := 5;
    claimed_jobs carillon.job[];
    stops carillon.stop[];
    answer carillon.push_decisions;
    jobs bigint[];  -- the pushes that leave the claim
    tokens text[];
    waits integer[];
BEGIN
    SELECT f.jobs, f.stops INTO claimed_jobs, stops FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- The stamps are locked first, so that two workers never order updates of one token at the same time.
    PERFORM FROM carillon.update_stamps s
    WHERE s.app_id = app AND s.token = ANY (ARRAY(SELECT DISTINCT lower(t.token) FROM unnest(order_updates.token) AS t(token)))
    ORDER BY s.token FOR UPDATE;
    WITH wanted AS MATERIALIZED (  -- the pushes that are still in the claim and were not stopped
        SELECT w.place, h.message, h.token, h.has_end
        FROM unnest(order_updates.job, order_updates.token) WITH ORDINALITY AS w(job, token, place)
        JOIN (
            SELECT DISTINCT j.id, coalesce(j.origin, j.id) AS message, lower(t.token) AS token,
                j.push_type <> 'channel' AS has_end
            FROM unnest(claimed_jobs) AS j CROSS JOIN LATERAL unnest(j.tokens) AS t(token)
        ) AS h ON h.id = w.job AND h.token = lower(w.token)
        WHERE stops IS NULL OR h.token <> ALL (carillon.stopped_tokens(stops))
    ), ranked AS MATERIALIZED (  -- with what orders them: is_end, due_at, message
        SELECT w.place, w.message, w.token, w.has_end, u.due_at IS NOT NULL OR s.token IS NOT NULL AS is_ordered,
            coalesce(u.is_end, w.message = s.message_id AND s.is_final, false) AS is_end,
            CASE WHEN u.due_at IS NOT NULL THEN u.due_at
                WHEN w.message = s.message_id THEN s.due_at
                WHEN w.message > s.highest THEN greatest(clock, s.due_at) ELSE '-infinity' END AS due_at
        FROM wanted w
        LEFT JOIN carillon.updates u ON u.app_id = app AND u.token = w.token AND u.message_id = w.message
        LEFT JOIN carillon.update_stamps s ON s.app_id = app AND s.token = w.token
    ), newest AS MATERIALIZED (  -- the last of each token, unless a newer one is due
        SELECT n.* FROM (
            SELECT DISTINCT ON (p.token) p.message, p.token, p.has_end, p.is_end, p.due_at FROM ranked p WHERE p.is_ordered
            ORDER BY p.token, p.is_end DESC, p.due_at DESC, p.message DESC
        ) AS n
        WHERE NOT EXISTS (
            SELECT FROM carillon.updates u WHERE u.app_id = app AND u.token = n.token
                AND (u.is_end, u.due_at, u.message_id) > (n.is_end, n.due_at, n.message) AND u.due_at <= clock
                AND (u.expires_at > clock) IS NOT FALSE)
    ), early AS MATERIALIZED (  -- those that wait
        SELECT n.token, n.message, ceil((s.stamp + 1 - lead - extract(epoch FROM clock)) * 1000)::integer AS wait
        FROM newest n JOIN carillon.update_stamps s ON s.app_id = app AND s.token = n.token
        WHERE s.message_id <> n.message AND s.stamp BETWEEN seconds + lead AND seconds + 60
            AND (s.is_final, s.due_at, s.message_id) < (n.is_end AND n.has_end, n.due_at, n.message)
    ), stamped AS (  -- those that are sent
        INSERT INTO carillon.update_stamps AS s (app_id, token, message_id, is_final, due_at, highest, stamp)
        SELECT app, n.token, n.message, n.is_end AND n.has_end, n.due_at, (
            -- The highest id among the rows deleted here. An update with a higher id may have been due earlier.
            SELECT greatest(n.message, max(o.message_id)) FROM carillon.updates o
            WHERE o.app_id = app AND o.token = n.token
                AND (o.is_end, o.due_at, o.message_id) <= (n.is_end, n.due_at, n.message)), seconds
        FROM newest n WHERE n.token NOT IN (SELECT e.token FROM early e) ORDER BY n.token
        ON CONFLICT (app_id, token) DO UPDATE SET message_id = excluded.message_id, is_final = excluded.is_final,
            due_at = greatest(s.due_at, excluded.due_at), highest = greatest(s.highest, excluded.highest),
            stamp = CASE WHEN s.message_id = excluded.message_id THEN s.stamp
                ELSE greatest(excluded.stamp, s.stamp + 1) END
        WHERE s.message_id = excluded.message_id
            OR (s.is_final, s.due_at, s.message_id) < (excluded.is_final, excluded.due_at, excluded.message_id)
        RETURNING s.token, s.message_id, s.stamp
    ), forgotten AS (
        -- A row that a cancel has locked is skipped, and deleted with a later update.
        DELETE FROM carillon.updates u WHERE u.ctid = ANY (ARRAY(
            SELECT o.ctid FROM stamped s JOIN newest n ON n.token = s.token
            JOIN carillon.updates o ON o.app_id = app AND o.token = s.token
                AND (o.is_end, o.due_at, o.message_id) <= (n.is_end, n.due_at, n.message) FOR UPDATE OF o SKIP LOCKED))
    ), decided AS (
        SELECT w.place, w.job, w.token, o.stamp, e.wait,
            CASE WHEN o.stamp IS NOT NULL THEN 'send' WHEN e.wait IS NOT NULL THEN 'later' ELSE 'superseded' END AS decision
        FROM unnest(order_updates.job, order_updates.token) WITH ORDINALITY AS w(job, token, place)
        LEFT JOIN ranked p ON p.place = w.place
        LEFT JOIN early e ON e.token = p.token AND e.message = p.message
        LEFT JOIN stamped s ON s.token = p.token AND s.message_id = p.message
        CROSS JOIN LATERAL (SELECT CASE WHEN NOT p.is_ordered THEN seconds ELSE s.stamp END) AS o(stamp)
    )
    SELECT array_agg(d.decision ORDER BY d.place), array_agg(d.stamp ORDER BY d.place),
        count(*) FILTER (WHERE d.decision = 'superseded'), array_agg(d.job) FILTER (WHERE d.decision <> 'send'),
        array_agg(d.token) FILTER (WHERE d.decision <> 'send'), array_agg(d.wait) FILTER (WHERE d.decision <> 'send')
    INTO answer.decisions, answer.stamps, answer.superseded, jobs, tokens, waits FROM decided d;
    IF jobs IS NOT NULL THEN
        PERFORM carillon.withdraw(app, claim, claimed_jobs, jobs, tokens, waits);
    END IF;
    RETURN answer;
END
$$;
COMMENT ON FUNCTION carillon.order_updates IS
    'Internal: orders the updates of Live Activities, media sessions and channels in a claim.';
