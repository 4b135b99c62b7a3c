-- Functions for dashboards. A page may show every app, so each function stops after a fixed number of rows.

-- estimated_depth() is VOLATILE, because EXPLAIN is refused in other functions.
CREATE OR REPLACE FUNCTION carillon.estimated_depth(app_id integer, lane smallint DEFAULT NULL, before bigint DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM carillon.messages WHERE app_id = %s', estimated_depth.app_id)
        || coalesce(' AND lane = ' || estimated_depth.lane, '') || coalesce(' AND id < ' || before, '') INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric::bigint;
END
$$;
COMMENT ON FUNCTION carillon.estimated_depth IS
    'Internal: returns the planner''s estimate of the number of ready jobs of an app, or of those in a lane before an id.';

-- queue_depth() counts from the newest row, because claims leave dead rows at the oldest end. STABLE, so that app_status reads only
-- the requested apps. The settings force the order of the index, whatever the planner expects of the limit.
CREATE OR REPLACE FUNCTION carillon.queue_depth(app_id integer, exact_up_to bigint DEFAULT 1000) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    depth bigint;
BEGIN
    SELECT count(*) INTO depth FROM (
        SELECT FROM carillon.messages m WHERE m.app_id = queue_depth.app_id
        ORDER BY m.lane DESC, m.id DESC LIMIT coalesce(queue_depth.exact_up_to, 1000) + 1) few;
    RETURN CASE WHEN depth > coalesce(queue_depth.exact_up_to, 1000)
        THEN greatest(depth, carillon.estimated_depth(queue_depth.app_id)) ELSE depth END;
END
$$;
COMMENT ON FUNCTION carillon.queue_depth IS
    'Internal: returns the number of ready jobs of an app: exact up to exact_up_to, an estimate above it. depth_precision says '
    'which.';

-- One more than exact_up_to: counting stopped there, and the estimate was no higher.
CREATE OR REPLACE FUNCTION carillon.depth_precision(depth bigint, exact_up_to bigint DEFAULT 1000) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN depth <= coalesce(exact_up_to, 1000) THEN 'exact' WHEN depth = coalesce(exact_up_to, 1000) + 1 THEN 'at least'
        ELSE 'about' END
$$;
COMMENT ON FUNCTION carillon.depth_precision IS
    'Internal: returns how exact a result of queue_depth is: exact, at least (a lower bound) or about (an estimate).';

-- scheduled_depth() reads along the primary key, so an app with few jobs is found quickly even next to one with millions.
CREATE OR REPLACE FUNCTION carillon.scheduled_depth(app_id integer, max_count bigint DEFAULT NULL) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT count(*) FROM (
        SELECT FROM carillon.scheduled s WHERE s.app_id = scheduled_depth.app_id ORDER BY s.app_id, s.id LIMIT max_count) few
$$;
COMMENT ON FUNCTION carillon.scheduled_depth IS
    'Internal: returns the number of scheduled jobs of an app, including retries. Counting stops at max_count.';

-- next_due() reads along the index by time.
CREATE OR REPLACE FUNCTION carillon.next_due(
    app text DEFAULT NULL, only_retries boolean DEFAULT false, after timestamptz DEFAULT '-infinity',
    max_rows integer DEFAULT 100, max_rows_read integer DEFAULT 5000
) RETURNS TABLE (
    app text, id bigint, message_id bigint, run_at timestamptz, tokens integer, attempt smallint, last_status smallint,
    last_reason text, reference text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT a.name, s.id, coalesce(s.broadcast_id, s.origin, s.id), s.run_at, cardinality(s.tokens), s.attempt, s.last_status,
        s.last_reason, s.reference
    FROM (SELECT * FROM carillon.scheduled s WHERE s.run_at > coalesce(next_due.after, '-infinity')
        ORDER BY s.run_at, s.id LIMIT coalesce(max_rows_read, 5000)) s
    LEFT JOIN carillon.apps a ON a.id = s.app_id
    WHERE (next_due.app IS NULL OR a.name = next_due.app) AND (only_retries IS NOT TRUE OR s.attempt > 1)
    ORDER BY s.run_at, s.id LIMIT coalesce(max_rows, 100)
$$;
COMMENT ON FUNCTION carillon.next_due IS
    'Internal: returns the jobs that are due next after a time, including retries, of one app or of all apps. Reads at most '
    'max_rows_read jobs.';

-- kinds_of_tokens() finds one kind after the other along tokens_by_kind. Kinds that are not known come last.
CREATE OR REPLACE FUNCTION carillon.kinds_of_tokens(app integer, max_kinds integer DEFAULT 50) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE found AS (
        SELECT '' AS kind, 0 AS place
        UNION ALL
        SELECT next.kind, f.place + 1 FROM found f CROSS JOIN LATERAL (
            SELECT t.kind FROM carillon.tokens t
            WHERE t.app_id = kinds_of_tokens.app AND t.kind > f.kind AND t.kind <> 'device' ORDER BY t.kind LIMIT 1) AS next
        WHERE f.place < max_kinds
    )
    SELECT k.kind FROM (SELECT 'device' AS kind UNION ALL SELECT f.kind FROM found f WHERE f.place > 0) AS k
    ORDER BY array_position(carillon.token_kinds(), k.kind), k.kind
$$;
COMMENT ON FUNCTION carillon.kinds_of_tokens IS
    'Internal: returns device, and the other kinds of the registered tokens of an app, at most max_kinds.';

-- With more than 10 apps, the limit of token_counts() for each kind is 10,000 for all apps together. VOLATILE, because EXPLAIN is
-- refused in other functions.
CREATE OR REPLACE FUNCTION carillon.token_counts(max_apps integer DEFAULT 100)
RETURNS TABLE (app text, kind text, tokens bigint, tokens_precision text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    one record;
    plan json;
    shown CONSTANT integer := coalesce(max_apps, 100);
    bound CONSTANT bigint := (SELECT least(1000, 10000 / greatest(least(count(*), shown), 1)) FROM carillon.apps);
BEGIN
    FOR one IN
        SELECT a.id, a.name, k.kind FROM (SELECT * FROM carillon.apps ORDER BY name LIMIT shown) a
        CROSS JOIN LATERAL carillon.kinds_of_tokens(a.id) WITH ORDINALITY AS k(kind, place) ORDER BY a.name, k.place
    LOOP
        IF one.kind = 'device' THEN
            -- Counts device tokens among the first rows of any kind: millions of other rows may precede the first device token.
            SELECT CASE WHEN count(*) > bound THEN count(*) ELSE count(*) FILTER (WHERE few.kind = 'device') END INTO tokens
            FROM (
                SELECT t.kind FROM carillon.tokens t WHERE t.app_id = one.id
                ORDER BY t.app_id, t.token LIMIT bound + 1) few;
        ELSE
            SELECT count(*) INTO tokens FROM (
                SELECT FROM carillon.tokens t WHERE t.app_id = one.id AND t.kind = one.kind AND t.kind <> 'device'
                LIMIT bound + 1) few;
        END IF;
        tokens_precision := CASE WHEN tokens > bound THEN 'about' ELSE 'exact' END;
        IF tokens > bound THEN
            EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM carillon.tokens WHERE app_id = %s AND kind = %L', one.id, one.kind)
                INTO plan;
            tokens := greatest(bound, (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric::bigint);
        END IF;
        CONTINUE WHEN tokens = 0;
        app := one.name;
        kind := one.kind;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.token_counts IS
    'Internal: returns the number of registered tokens of each app and kind: exact up to 1,000, or up to a lower limit if there '
    'are many apps, and estimated beyond.';

-- untaken_depth() reads the oldest rows. Whether a split message has ended takes as long as its jobs are many, so this is looked up
-- for the first few only, one for each 100 rows that may be read. The batch of a webhook is taken, but not accepted.
CREATE OR REPLACE FUNCTION carillon.untaken_depth(app text, consumer text, max_rows_read bigint)
RETURNS TABLE (events bigint, events_precision text, oldest_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    max_ends CONSTANT bigint := max_rows_read / 100;
    target carillon.subscriptions;
BEGIN
    SELECT s.* INTO target FROM carillon.subscriptions s JOIN carillon.apps a ON a.id = s.app_id
    WHERE a.name = untaken_depth.app AND s.consumer = untaken_depth.consumer;
    RETURN QUERY
    WITH few AS MATERIALIZED (
        SELECT d.at, d.events - d.taken AS events, d.broadcast_id, count(d.broadcast_id) OVER (ORDER BY d.event_id) AS ends
        FROM (SELECT d.* FROM carillon.untaken_events d WHERE d.subscription_id = target.id
            ORDER BY d.subscription_id, d.event_id LIMIT max_rows_read + 1) AS d
    ), counted AS (
        SELECT f.at, f.events FROM few f
        WHERE CASE WHEN f.broadcast_id IS NULL THEN true WHEN (f.ends > max_ends) IS NOT TRUE
            THEN carillon.split_message_has_ended(target.app_id, f.broadcast_id) END
        UNION ALL
        SELECT r.at, r.last - r.first FROM carillon.webhooks w CROSS JOIN LATERAL unnest(w.batch) AS r
        WHERE w.subscription_id = target.id
    )
    SELECT coalesce(sum(c.events), 0)::bigint, CASE WHEN EXISTS (
        SELECT FROM few f HAVING count(*) > max_rows_read OR max(f.ends) > max_ends) THEN 'at least' ELSE 'exact' END, min(c.at)
    FROM counted c;
END
$$;
COMMENT ON FUNCTION carillon.untaken_depth IS
    'Internal: returns how many events wait for a consumer of an app, or for the receiver of a webhook, and since when. Reads at '
    'most max_rows_read rows; null: all.';

CREATE OR REPLACE FUNCTION carillon.feedback_schedule(OUT next_run timestamptz, OUT every interval)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT t.next_run, t.every FROM carillon.fleet_tasks t WHERE t.name = 'feedback'
$$;
COMMENT ON FUNCTION carillon.feedback_schedule IS
    'Internal: returns when the next feedback pass of a worker is due, and the interval between passes.';

-- newest_activities() looks at the 5,000 tokens that expire last, which are usually the newest. Media sessions need not expire: of
-- these, it looks at about as many, those of the first 1,000 apps.
DROP FUNCTION IF EXISTS carillon.newest_activities(integer);
CREATE OR REPLACE FUNCTION carillon.newest_activities(max_rows integer DEFAULT 200) RETURNS TABLE (
    app text, token text, state text, registered_at timestamptz, ends_at timestamptz, updated_at timestamptz,
    message_id bigint, waiting integer, kind text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT a.name, t.token,
        CASE WHEN s.is_final THEN 'ended' WHEN w.updates > 0 THEN 'update waits' WHEN s.token IS NULL THEN 'registered'
            ELSE 'updated' END,
        t.last_update, t.expires_at, to_timestamp(s.stamp), s.message_id, w.updates, t.kind
    FROM (
        (SELECT n.* FROM (
            SELECT * FROM carillon.tokens t WHERE t.expires_at > now() ORDER BY t.expires_at DESC LIMIT 5000) n
        WHERE n.kind = 'live_activity' ORDER BY n.expires_at DESC LIMIT least(coalesce(max_rows, 200), 1000))
        UNION ALL
        SELECT n.* FROM (SELECT a.id FROM carillon.apps a ORDER BY a.name LIMIT 1000) f CROSS JOIN LATERAL (
            SELECT * FROM carillon.tokens t
            WHERE t.app_id = f.id AND t.kind = 'media_session' AND (t.expires_at IS NULL OR t.expires_at > now())
            LIMIT (SELECT greatest(5, 5000 / greatest(count(*), 1)) FROM carillon.apps)) n
        ORDER BY last_update DESC LIMIT least(coalesce(max_rows, 200), 1000)) t
    JOIN carillon.apps a ON a.id = t.app_id
    LEFT JOIN carillon.update_stamps s ON s.app_id = t.app_id AND s.token = t.token
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS updates FROM (
            SELECT FROM carillon.updates u WHERE u.app_id = t.app_id AND u.token = t.token LIMIT 100) few) w
    ORDER BY t.last_update DESC, a.name, t.token
$$;
COMMENT ON FUNCTION carillon.newest_activities IS
    'Internal: returns the newest Live Activities and media sessions: whether an update waits, the last update sent and its '
    'timestamp, and when the token expires.';

-- Payloads contain personal data, so no role may call message_contents(). GRANT EXECUTE lets the login of a dashboard show them.
CREATE OR REPLACE FUNCTION carillon.message_contents(id bigint, app text) RETURNS TABLE (
    state text, push_type text, topic text, token text, payload text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH target AS (SELECT a.id FROM carillon.apps a WHERE a.name = message_contents.app), kept AS (
        (SELECT 'ready' AS state, m.tokens, m.payload, m.payloads, m.push_type, m.topic
        FROM target t CROSS JOIN LATERAL carillon.filled_lanes(t.id) l
        JOIN carillon.messages m ON m.app_id = l.app_id AND m.lane = l.lane AND m.id = message_contents.id LIMIT 1)
        UNION ALL
        (SELECT 'scheduled', s.tokens, s.payload, s.payloads, s.push_type, s.topic
        FROM target t JOIN carillon.scheduled s ON s.app_id = t.id
            AND (s.id = message_contents.id OR s.origin = message_contents.id) LIMIT 1)
        UNION ALL
        (SELECT 'in flight', j.tokens, j.payload, j.payloads, j.push_type, j.topic
        FROM target t JOIN carillon.inflight i ON i.app_id = t.id CROSS JOIN LATERAL unnest(i.jobs) j
        WHERE message_contents.id IN (j.id, j.origin, j.broadcast_id) LIMIT 1)
        UNION ALL
        (SELECT 'ready', m.tokens, m.payload, m.payloads, m.push_type, m.topic
        FROM target t JOIN carillon.split_messages b ON b.app_id = t.id AND b.id = message_contents.id
        JOIN carillon.messages m ON m.app_id = b.app_id AND m.lane = ANY (carillon.lanes_beside(b.lane))
            AND m.id BETWEEN b.id AND b.last_id LIMIT 1)
        UNION ALL
        (SELECT 'failed', f.tokens, f.payload, f.payloads, f.push_type, f.topic
        FROM target t CROSS JOIN LATERAL carillon.failed_jobs(t.id, message_contents.id, 1000) p
        JOIN carillon.failed_messages f ON f.app_id = t.id AND f.message_id = p.message_id
        ORDER BY f.failed_at DESC LIMIT 1)
    )
    SELECT k.state, k.push_type, k.topic, CASE WHEN k.payloads IS NOT NULL THEN k.tokens[p.place] END,
        coalesce(k.payloads[p.place], k.payload)::text
    FROM (SELECT * FROM kept LIMIT 1) k,
        generate_series(1, CASE WHEN k.payloads IS NULL THEN 1 ELSE least(cardinality(k.payloads), 3) END) AS p(place)
$$;
COMMENT ON FUNCTION carillon.message_contents IS
    'Returns the payload of a message of this app while it is kept; if each device has its own payload, the first three. No '
    'role may call it: grant EXECUTE to the login of a dashboard that may show payloads.';
