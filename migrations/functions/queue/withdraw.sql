-- Takes pushes that have ended or must wait out of a claim. order_updates() and pace_devices() call withdraw() for them. They have
-- locked the claim's row of inflight and read its jobs; rows of unfinished are locked after it, in order of id.

-- What withdraw() leaves of a job keeps its id; its message is then counted in unfinished.
CREATE OR REPLACE FUNCTION carillon.withdraw(
    app integer, claim bigint, claimed_jobs carillon.job[], job bigint[], token text[], wait integer[] DEFAULT '{}'
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    rest carillon.job[];
    ended carillon.job[];
    later carillon.job[];
    waits integer[];
    begun carillon.ending[];
    stops carillon.stop[];
BEGIN
    WITH divided AS MATERIALIZED (
        SELECT d.*, count(*) OVER (PARTITION BY d.id) AS pieces FROM (
            SELECT t.id, t.stays, t.wait, array_agg(t.token ORDER BY t.place) AS tokens
            FROM (
                -- Upper and lower case are the same token, as when a claim is read. A join would compare every token with every
                -- other.
                SELECT b.id, (array_agg(b.token ORDER BY b.place))[1] AS token, min(b.place) AS place,
                    NOT bool_or(b.leaves) AS stays, max(b.wait) AS wait
                FROM (
                    SELECT j.id, lower(u.token) AS key, u.token, u.place, false AS leaves, NULL::integer AS wait
                    FROM unnest(claimed_jobs) AS j CROSS JOIN LATERAL unnest(j.tokens) WITH ORDINALITY AS u(token, place)
                    UNION ALL
                    SELECT l.job, lower(l.token), NULL, NULL, true, l.wait
                    FROM unnest(withdraw.job, withdraw.token, withdraw.wait) AS l(job, token, wait)
                ) AS b GROUP BY b.id, b.key HAVING min(b.place) IS NOT NULL
            ) AS t
            GROUP BY t.id, t.stays, t.wait
        ) AS d
    ), made AS (
        SELECT d.stays, d.wait, carillon.changed_job(j,
            id => CASE WHEN d.wait IS NOT NULL AND d.pieces <> 1 THEN nextval('carillon.messages_id_seq') END,
            tokens => d.tokens, payloads => carillon.payloads_of(j, d.tokens),
            origin => CASE WHEN d.pieces <> 1 THEN coalesce(j.origin, j.id) END,
            last_reason => CASE WHEN NOT d.stays AND d.wait IS NULL THEN 'Superseded' END) AS made
        FROM divided d JOIN unnest(claimed_jobs) AS j ON j.id = d.id
    )
    SELECT coalesce(array_agg(m.made ORDER BY (m.made).id) FILTER (WHERE m.stays), '{}'),
        coalesce(array_agg(m.made) FILTER (WHERE NOT m.stays AND m.wait IS NULL), '{}'),
        coalesce(array_agg(m.made) FILTER (WHERE m.wait IS NOT NULL), '{}'),
        array_agg(m.wait) FILTER (WHERE m.wait IS NOT NULL)
    INTO rest, ended, later, waits FROM made m;
    rest := rest || ARRAY(SELECT j FROM unnest(claimed_jobs) AS j WHERE coalesce(cardinality(j.tokens), 0) = 0);

    -- Messages that are now divided into several jobs.
    begun := ARRAY(
        SELECT carillon.ending(message_id => j.id, reference => j.reference, broadcast_id => j.broadcast_id,
            created_at => j.created_at, attempts => j.attempt - 1, remaining => carillon.count_tokens(j.tokens))
        FROM unnest(claimed_jobs) AS j WHERE j.origin IS NULL AND (
            SELECT count(*) FROM unnest(rest || ended || later) AS p WHERE p.id = j.id OR p.origin = j.id) > 1);
    IF cardinality(rest) > 0 THEN
        UPDATE carillon.inflight f SET jobs = rest WHERE f.app_id = app AND f.id = claim RETURNING f.stops INTO stops;
    ELSE
        DELETE FROM carillon.inflight f WHERE f.app_id = app AND f.id = claim RETURNING f.stops INTO stops;
    END IF;
    IF stops IS NOT NULL THEN
        ended := ARRAY(SELECT carillon.changed_job(e, tokens => carillon.without_tokens(e.tokens, carillon.forgotten_tokens(stops)))
            FROM unnest(ended) AS e);
    END IF;
    PERFORM carillon.use_session_path();
    PERFORM carillon.end_messages(app, begun);
    IF pg_catalog.cardinality(ended) > 0 THEN
        PERFORM carillon.end_as_cancelled(app, ended);
    END IF;
    -- promote() finds those that are cancelled meanwhile.
    IF pg_catalog.cardinality(later) > 0 THEN
        IF stops IS NOT NULL THEN
            SELECT s.jobs, s.waits INTO later, waits FROM carillon.stop_pushes(app, stops, later, waits) AS s;
        END IF;
        PERFORM carillon.return_jobs(app, later, waits);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.withdraw IS
    'Internal: withdraws pushes from a claim: those without a wait have ended as superseded, the others are sent later.';
