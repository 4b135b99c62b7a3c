-- Stopping an app most of whose pushes fail as BadDeviceToken.

-- Pauses those of the apps of which more than half of the pushes failed as BadDeviceToken, if they are a hundred or more:
-- the environment is wrong, most likely, and the rest of the queue would fail in the same way. Pushes are counted by
-- minutes of the clock: first those of the running one, which good pushes of before do not dilute, then those of it and the
-- one before, so that the turn of a minute forgives nothing. An app that somebody else is changing just now is left for the
-- next time.
CREATE FUNCTION carillon.open_breakers(apps integer[]) RETURNS TABLE (app_id integer, app text, reason text)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    target record;
    earlier integer;
    since timestamptz;
    bad bigint;
    pushes bigint;
BEGIN
    FOR target IN
        SELECT a.id, a.name, a.environment, b.closed_at, b.closed_bad_tokens, b.closed_pushes
        FROM carillon.apps a LEFT JOIN carillon.breakers b ON b.app_id = a.id
        WHERE a.id = ANY (apps) AND NOT a.paused ORDER BY a.id FOR NO KEY UPDATE OF a SKIP LOCKED
    LOOP
        FOREACH earlier IN ARRAY ARRAY[0, 1] LOOP
            since := greatest(date_trunc('minute', now()) - earlier * interval '1 minute',
                date_trunc('minute', target.closed_at));
            SELECT sum(t.bad_tokens), sum(t.sent + t.failed) INTO bad, pushes FROM carillon.activity t
            WHERE t.minute >= since AND t.app_id = target.id;
            IF since = date_trunc('minute', target.closed_at) THEN
                bad := bad - target.closed_bad_tokens;
                pushes := pushes - target.closed_pushes;
            END IF;
            EXIT WHEN pushes >= 100 AND bad * 2 > pushes;
        END LOOP;
        CONTINUE WHEN (pushes >= 100 AND bad * 2 > pushes) IS NOT TRUE;
        app_id := target.id;
        app := target.name;
        reason := format('%s of %s pushes within %s failed as BadDeviceToken: the app''s tokens are probably not of '
            'the environment %s. Mend that, and resume with: carillon app resume %s', bad, pushes,
            CASE earlier WHEN 0 THEN 'a minute' ELSE 'two minutes' END, target.environment, target.name);
        UPDATE carillon.apps a SET paused = true, paused_reason = open_breakers.reason WHERE a.id = target.id;
        INSERT INTO carillon.breakers AS b (app_id, bad_tokens, pushes) VALUES (target.id, bad, pushes)
        ON CONFLICT (app_id) DO UPDATE SET opened_at = now(), bad_tokens = excluded.bad_tokens,
            pushes = excluded.pushes, closed_at = NULL, closed_bad_tokens = 0, closed_pushes = 0;
        RETURN NEXT;
    END LOOP;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;
GRANT EXECUTE ON FUNCTION carillon.open_breakers TO carillon_worker;

INSERT INTO carillon.schema_migrations (version, name) VALUES (23, 'breakers');
