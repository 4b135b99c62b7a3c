-- What operators change without being the owner of the schema: of each change it is recorded who made it, and when. The
-- dashboard calls these functions with the role carillon_operator, which has no rights on tables.

CREATE OR REPLACE FUNCTION carillon.refuse(refusal carillon.refusal) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.refuse IS 'Internal: raises a refusal, if there is one.';

CREATE OR REPLACE FUNCTION carillon.app_to_change(app text) RETURNS carillon.apps
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target carillon.apps;
    refusal carillon.refusal;
BEGIN
    SELECT a.* INTO target FROM carillon.apps a WHERE a.name = app_to_change.app FOR NO KEY UPDATE;
    IF target.id IS NULL THEN
        refusal := carillon.unknown_app(app_to_change.app);
        PERFORM carillon.refuse(refusal);
    END IF;
    RETURN target;
END
$$;
COMMENT ON FUNCTION carillon.app_to_change IS 'Internal: the app of that name, locked until the transaction ends.';

CREATE OR REPLACE FUNCTION carillon.pause_app(app text, reason text DEFAULT NULL, actor text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
    why CONSTANT text := nullif(left(btrim(reason), 1000), '');
BEGIN
    IF target.paused THEN
        RETURN false;
    END IF;
    PERFORM carillon.act_as(actor);
    UPDATE carillon.apps a SET paused = true, paused_reason = why WHERE a.id = target.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.pause_app IS
    'Stops sending for an app; its messages wait. Returns false if it was paused already. Recorded in audit.';

CREATE OR REPLACE FUNCTION carillon.resume_app(app text, actor text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
BEGIN
    IF NOT target.paused THEN
        RETURN false;
    END IF;
    PERFORM carillon.act_as(actor);
    UPDATE carillon.apps a SET paused = false WHERE a.id = target.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.resume_app IS
    'Sends again for an app that was paused. Returns false if it was not paused. Recorded in audit.';

-- Where pushes go, and with which credential, only the owner of the schema changes.
CREATE OR REPLACE FUNCTION carillon.limit_app(
    app text, max_rate integer, max_attempts integer, reap_bad_tokens boolean, actor text DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
    refusal carillon.refusal;
BEGIN
    IF max_rate < 1 THEN
        refusal := carillon.refusal('max_rate', 'a number above 0, or null for no limit', max_rate::text);
    ELSIF max_attempts IS NULL OR max_attempts < 1 THEN
        refusal := carillon.refusal('max_attempts', 'a number above 0', coalesce(max_attempts::text, 'null'));
    ELSIF reap_bad_tokens IS NULL THEN
        refusal := carillon.refusal('reap_bad_tokens', 'true or false', 'null');
    END IF;
    PERFORM carillon.refuse(refusal);
    IF (target.max_rate, target.max_attempts, target.reap_bad_tokens)
        IS NOT DISTINCT FROM (max_rate, max_attempts, reap_bad_tokens)
    THEN
        RETURN false;
    END IF;
    PERFORM carillon.act_as(actor);
    UPDATE carillon.apps a SET max_rate = limit_app.max_rate, max_attempts = limit_app.max_attempts,
        reap_bad_tokens = limit_app.reap_bad_tokens
    WHERE a.id = target.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.limit_app IS
    'Sets all limits of an app; a max_rate of null is no limit. Returns false if they were the same before. Recorded in audit.';

CREATE OR REPLACE FUNCTION carillon.cancel_message(id bigint, app text, actor text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.act_as(actor);
    RETURN carillon.cancel(cancel_message.id, app => cancel_message.app);
END
$$;
COMMENT ON FUNCTION carillon.cancel_message IS
    'Cancels what is not sent yet of a message of this app, as cancel does. Returns the number of jobs cancelled. Recorded in '
    'audit.';

-- In the order of time. Failures that one settlement wrote have one time and stay together.
CREATE OR REPLACE FUNCTION carillon.failures_end(app_id integer, after timestamptz, until timestamptz, depth integer)
RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT f.failed_at FROM carillon.failures f
    WHERE f.app_id = failures_end.app_id AND f.failed_at > after AND f.failed_at <= until
    ORDER BY f.failed_at OFFSET greatest(depth, 1) - 1 LIMIT 1
$$;
COMMENT ON FUNCTION carillon.failures_end IS
    'Internal: the time of the last of the next depth failures of an app; null: there are fewer.';

CREATE OR REPLACE FUNCTION carillon.failures_app(app text, after timestamptz, until timestamptz) RETURNS carillon.apps
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    target carillon.apps;
    refusal carillon.refusal;
BEGIN
    SELECT a.* INTO target FROM carillon.apps a WHERE a.name = app;
    IF target.id IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSIF after IS NULL OR until IS NULL THEN
        refusal := carillon.refusal(CASE WHEN after IS NULL THEN 'after' ELSE 'until' END, 'a time', 'null');
    END IF;
    PERFORM carillon.refuse(refusal);
    RETURN target;
END
$$;
COMMENT ON FUNCTION carillon.failures_app IS
    'Internal: the app whose failures are counted, requeued or dismissed, once the arguments are valid.';

CREATE OR REPLACE FUNCTION carillon.count_failures(
    app text, action text, after timestamptz, until timestamptz, reason text DEFAULT NULL,
    include_unknown boolean DEFAULT false, depth integer DEFAULT 5000, OUT pushes bigint, OUT is_all boolean
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    target CONSTANT carillon.apps := carillon.failures_app(app, after, until);
    last CONSTANT timestamptz := carillon.failures_end(target.id, after, until, depth);
BEGIN
    IF action = 'requeue' THEN
        SELECT count(*) INTO pushes FROM carillon.requeueable(target.id, reason, NULL,
            after + interval '1 microsecond', coalesce(last, until), include_unknown, false);
    ELSE
        SELECT count(*) INTO pushes FROM carillon.failures f
        WHERE f.app_id = target.id AND f.failed_at > after AND f.failed_at <= coalesce(last, until)
            AND f.requeued_at IS NULL AND f.dismissed_at IS NULL AND (reason IS NULL OR f.reason = reason);
    END IF;
    is_all := last IS NULL;
END
$$;
COMMENT ON FUNCTION carillon.count_failures IS
    'Counts the failures of an app between two times that requeue_step or dismiss_step would take, among the first depth of '
    'them; is_all: there are no more.';

CREATE OR REPLACE FUNCTION carillon.requeue_step(
    app text, after timestamptz, until timestamptz, reason text DEFAULT NULL, include_unknown boolean DEFAULT false,
    actor text DEFAULT NULL, depth integer DEFAULT 2000, OUT pushes bigint, OUT next timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    target CONSTANT carillon.apps := carillon.failures_app(app, after, until);
BEGIN
    next := carillon.failures_end(target.id, after, until, depth);
    pushes := carillon.requeue_some(target.id, reason, NULL, after + interval '1 microsecond', coalesce(next, until),
        include_unknown, false);
    IF pushes > 0 THEN
        PERFORM carillon.act_as(actor);
        PERFORM carillon.record_change('requeue', target.name, jsonb_build_object('reason', reason,
            'pushes', pushes, 'failed_after', after, 'failed_until', coalesce(next, until),
            'include_unknown', nullif(include_unknown, false)));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.requeue_step IS
    'Enqueues failed pushes of an app again, as requeue_failures does, among the first depth failures between two times. '
    'Returns their number, and the time to continue from; null: it is done. Recorded in audit.';

-- Dismissed failures stay: they are only no longer shown as something to do.
CREATE OR REPLACE FUNCTION carillon.dismiss_step(
    app text, after timestamptz, until timestamptz, reason text DEFAULT NULL, actor text DEFAULT NULL,
    depth integer DEFAULT 5000, OUT pushes bigint, OUT next timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    target CONSTANT carillon.apps := carillon.failures_app(app, after, until);
BEGIN
    next := carillon.failures_end(target.id, after, until, depth);
    UPDATE carillon.failures f SET dismissed_at = now()
    WHERE f.app_id = target.id AND f.failed_at > after AND f.failed_at <= coalesce(next, until)
        AND f.requeued_at IS NULL AND f.dismissed_at IS NULL AND (reason IS NULL OR f.reason = reason);
    GET DIAGNOSTICS pushes = ROW_COUNT;
    IF pushes > 0 THEN
        PERFORM carillon.act_as(actor);
        PERFORM carillon.record_change('dismiss', target.name, jsonb_build_object('reason', reason,
            'pushes', pushes, 'failed_after', after, 'failed_until', coalesce(next, until)));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.dismiss_step IS
    'Marks failures of an app that need no action, among the first depth between two times: dashboards hide them, and bulk '
    'requeues leave them out. Returns the same as requeue_step. Recorded in audit.';

-- As a rule the newest, among the 5,000 tokens that expire last.
CREATE OR REPLACE FUNCTION carillon.newest_activities(most integer DEFAULT 200) RETURNS TABLE (
    app text, token text, state text, registered_at timestamptz, ends_at timestamptz, updated_at timestamptz,
    message_id bigint, waiting integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT a.name, t.token,
        CASE WHEN s.is_final THEN 'ended' WHEN w.updates > 0 THEN 'update waits' WHEN s.token IS NULL THEN 'registered'
            ELSE 'updated' END,
        t.last_update, t.expires_at, to_timestamp(s.stamp), s.message_id, w.updates
    FROM (
        SELECT n.* FROM (
            SELECT * FROM carillon.tokens t WHERE t.expires_at > now() ORDER BY t.expires_at DESC LIMIT 5000) n
        WHERE n.kind = 'live_activity' ORDER BY n.expires_at DESC LIMIT least(most, 1000)) t
    JOIN carillon.apps a ON a.id = t.app_id
    LEFT JOIN carillon.activity_stamps s ON s.app_id = t.app_id AND s.token = t.token
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS updates FROM (
            SELECT FROM carillon.activity_updates u WHERE u.app_id = t.app_id AND u.token = t.token LIMIT 100) few) w
    ORDER BY t.expires_at DESC, a.name, t.token
$$;
COMMENT ON FUNCTION carillon.newest_activities IS
    'Returns the Live Activities that end last: whether an update waits, the last one sent and its timestamp, and the end.';

-- Payloads are about persons, so no role may call it: GRANT EXECUTE lets the login of a dashboard show them.
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
        FROM target t JOIN carillon.broadcasts b ON b.app_id = t.id AND b.id = message_contents.id
        JOIN carillon.messages m ON m.app_id = b.app_id AND m.lane = b.lane AND m.id BETWEEN b.id AND b.last_id LIMIT 1)
        UNION ALL
        (SELECT 'failed', f.tokens, f.payload, f.payloads, f.push_type, f.topic
        FROM target t CROSS JOIN LATERAL carillon.failed_parts(t.id, message_contents.id, 1000) p
        JOIN carillon.failed_messages f ON f.app_id = t.id AND f.message_id = p.message_id
        ORDER BY f.failed_at DESC LIMIT 1)
    )
    SELECT k.state, k.push_type, k.topic, CASE WHEN k.payloads IS NOT NULL THEN k.tokens[p.place] END,
        coalesce(k.payloads[p.place], k.payload)::text
    FROM (SELECT * FROM kept LIMIT 1) k,
        generate_series(1, CASE WHEN k.payloads IS NULL THEN 1 ELSE least(cardinality(k.payloads), 3) END) AS p(place)
$$;
COMMENT ON FUNCTION carillon.message_contents IS
    'Returns the payload of a message of this app while it is kept; of one with a payload for each device, the first three. No '
    'role may call it: grant EXECUTE to the login of a dashboard that shows payloads.';
