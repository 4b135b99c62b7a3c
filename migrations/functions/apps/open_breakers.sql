-- Pauses apps most of whose pushes fail because of their settings. A worker calls open_breakers() after it has written its counts
-- of pushes. It locks rows of apps in order of id, and skips those that are locked. app_changed() closes a breaker.

-- mostly_failed() has no SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.mostly_failed(bad numeric, pushes numeric) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT bad OPERATOR(pg_catalog.*) 2 OPERATOR(pg_catalog.>) pushes $$;
COMMENT ON FUNCTION carillon.mostly_failed IS
    'Internal: returns whether more than half of an app''s pushes failed, so that its settings are probably wrong.';

-- open_breakers() opens the breaker of an app if most of its pushes failed as BadDeviceToken or because of their topic. Most likely
-- its environment or topic is wrong, and all other pushes would fail too.
--
-- The check covers two periods: the current minute alone, so that earlier successful pushes do not dilute the failures, and the
-- current minute with the previous one, so that the start of a new minute does not hide them. If another session is changing the
-- app, the next call checks it.
CREATE OR REPLACE FUNCTION carillon.open_breakers(apps integer[]) RETURNS TABLE (app_id integer, app text, reason text)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    fewest CONSTANT integer := 100;  -- fewer pushes prove nothing
    target record;
    earlier integer;
    since timestamptz;
    tokens bigint;
    topics bigint;
    bad bigint;
    pushes bigint;
    opens boolean;
BEGIN
    FOR target IN
        SELECT a.id, a.name, a.environment, a.topic, b.closed_at, b.closed_bad, b.closed_pushes
        FROM carillon.apps a LEFT JOIN carillon.breakers b ON b.app_id = a.id
        WHERE a.id = ANY (apps) AND NOT a.paused ORDER BY a.id FOR NO KEY UPDATE OF a SKIP LOCKED
    LOOP
        FOREACH earlier IN ARRAY ARRAY[0, 1] LOOP
            since := greatest(date_trunc('minute', now()) - earlier * interval '1 minute',
                date_trunc('minute', target.closed_at));
            SELECT sum(t.bad_tokens), sum(t.bad_topics), sum(t.sent + t.failed) INTO tokens, topics, pushes
            FROM carillon.push_counts t WHERE t.minute >= since AND t.app_id = target.id;
            bad := tokens + topics;
            IF since = date_trunc('minute', target.closed_at) THEN
                bad := bad - target.closed_bad;
                pushes := pushes - target.closed_pushes;
            END IF;
            opens := pushes >= fewest AND carillon.mostly_failed(bad, pushes);
            EXIT WHEN opens;
        END LOOP;
        CONTINUE WHEN opens IS NOT TRUE;
        app_id := target.id;
        app := target.name;
        reason := format('%s of %s pushes within %s failed %s. Fix that, and resume with: carillon app resume %s', bad, pushes,
            CASE earlier WHEN 0 THEN 'a minute' ELSE 'two minutes' END,
            CASE WHEN topics > tokens
                THEN format('because of their topic: the credential or the device tokens probably do not belong to %s',
                    coalesce('the topic ' || target.topic, 'that topic'))
                ELSE format('as BadDeviceToken: the app''s tokens probably do not belong to the environment %s',
                    target.environment) END,
            -- As a word of a command.
            CASE WHEN target.name ~ '^[A-Za-z0-9._-]+$' THEN target.name
                ELSE format('''%s''', replace(target.name, '''', E'''\\''''')) END);
        PERFORM set_config('carillon.source', 'worker', true);
        UPDATE carillon.apps a SET paused = true, paused_reason = open_breakers.reason WHERE a.id = target.id;
        INSERT INTO carillon.breakers (app_id) VALUES (target.id)
        ON CONFLICT (app_id) DO UPDATE SET closed_at = NULL, closed_bad = 0, closed_pushes = 0;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.open_breakers IS
    'Internal: pauses those of the apps whose pushes fail because of their environment or topic.';
