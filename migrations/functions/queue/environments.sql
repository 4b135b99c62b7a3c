-- Apps with both_environments. The lane of a job says where it is sent: 0 to 2 in the app's own environment, 10 to 12 in the other.
-- enqueue knows that from tokens.environment. If APNs refuses a token as BadDeviceToken, settle() returns it to the queue in a lane
-- that is larger by 20, in which it is tried once in the other environment, and notes that in tokens.environment.

-- PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.lanes_beside(lane smallint) RETURNS smallint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY[lane % 10, lane % 10 + 10, lane % 10 + 20, lane % 10 + 30]::smallint[]
$$;
COMMENT ON FUNCTION carillon.lanes_beside IS 'Internal: returns the lanes that the jobs of a split message may be in.';

-- Each token is one lookup by primary key, whichever values the plan was made for. submit() calls it.
CREATE OR REPLACE FUNCTION carillon.tokens_away(made carillon.draft, tokens text[], OUT away boolean[], OUT shift integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    away := ARRAY(
        SELECT coalesce(k.environment <> made.home, false) FROM unnest(tokens) WITH ORDINALITY AS t(token, place)
        LEFT JOIN LATERAL (
            SELECT r.environment FROM carillon.tokens r WHERE r.app_id = made.app_id AND r.token = t.token OFFSET 0) k ON true
        ORDER BY t.place);
    shift := CASE WHEN true = ALL (away) THEN 10 ELSE 0 END;
    IF shift > 0 OR false = ALL (away) THEN
        away := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.tokens_away IS
    'Internal: returns for each token whether it is of the environment that is not the app''s; if all are of one, null and the '
    'shift of the lane.';

-- A token that a transaction of the user has locked is learned another time. Then, a settlement waits for nobody.
CREATE OR REPLACE FUNCTION carillon.learn_environments(app integer, jobs carillon.job[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    WITH tried AS (
        SELECT DISTINCT ON (1) lower(u.token COLLATE "C") AS token, CASE WHEN j.lane >= 30 THEN a.environment
            WHEN a.environment = 'sandbox' THEN 'production' ELSE 'sandbox' END AS environment
        FROM carillon.apps a, unnest(jobs) AS j, unnest(j.tokens) AS u(token)
        WHERE a.id = app AND j.last_reason = 'BadDeviceToken' ORDER BY 1
    ), free AS (
        SELECT k.token FROM carillon.tokens k WHERE k.app_id = app AND k.token = ANY (ARRAY(SELECT t.token FROM tried t))
        ORDER BY k.token FOR UPDATE SKIP LOCKED
    )
    UPDATE carillon.tokens k SET environment = t.environment FROM tried t JOIN free f ON f.token = t.token
    WHERE k.app_id = app AND k.token = t.token AND k.environment IS DISTINCT FROM t.environment;
END
$$;
COMMENT ON FUNCTION carillon.learn_environments IS
    'Internal: notes the environment in which tokens are tried that APNs has refused in the other.';
