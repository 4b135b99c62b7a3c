-- Releases claims from which nothing was sent: their jobs return to the queue. A worker calls release() for a claim that it may no
-- longer send, because it is stopping or the app was paused, and for stray claims. It locks app by app, as find_cancelled() and
-- return_uncancelled() do.

-- An id alone does not name a claim, because a crash of PostgreSQL may undo a claim and give its id to another: the caller chooses
-- the ids by the times of the claims, in the same statement.
CREATE OR REPLACE FUNCTION carillon.release(worker bigint, claims bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target record;
    checked record;
    claim record;
BEGIN
    FOR target IN
        SELECT f.app_id, array_agg(f.id) AS claims FROM carillon.inflight f
        WHERE f.id = ANY (release.claims) AND f.worker_id = release.worker GROUP BY f.app_id ORDER BY f.app_id
    LOOP
        SELECT o.* INTO checked FROM (
            SELECT array_agg(coalesce(j.origin, j.id)) AS messages, array_agg(j.broadcast_id) AS broadcasts
            FROM carillon.inflight f, unnest(f.jobs) AS j
            WHERE f.app_id = target.app_id AND f.id = ANY (target.claims) AND f.worker_id = release.worker
        ) AS a, carillon.find_cancelled(target.app_id, a.messages, a.broadcasts, '{}') AS o;
        PERFORM carillon.drop_stopped(target.app_id, target.claims);
        FOR claim IN
            DELETE FROM carillon.inflight f
            WHERE f.app_id = target.app_id AND f.id = ANY (target.claims) AND f.worker_id = release.worker
            RETURNING f.jobs
        LOOP
            PERFORM carillon.return_uncancelled(target.app_id, claim.jobs, checked.cancelled, checked.unsure);
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.release IS 'Internal: releases claims from which nothing was sent.';
