-- carillon.broadcast_progress() and carillon.broadcast_zones(), which users call: the counts of a message while it is sent and
-- afterwards. They only read.

-- Results are deleted after the retention, and the id is then unknown. If several apps use the id, the caller must name one.
CREATE OR REPLACE FUNCTION carillon.broadcast_progress(
    id bigint, app text DEFAULT NULL,
    OUT app_id integer, OUT tokens bigint, OUT sent bigint, OUT failed bigint, OUT expired bigint, OUT cancelled bigint,
    OUT waiting bigint, OUT finished boolean, OUT created_at timestamptz, OUT finished_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    refusal carillon.refusal;
    chosen CONSTANT integer[] := carillon.chosen_apps(broadcast_progress.app);
    apps integer[];
BEGIN
    IF cardinality(chosen) = 1 AND EXISTS (
        SELECT FROM carillon.split_messages b WHERE b.app_id = chosen[1] AND b.id = broadcast_progress.id)
    THEN
        apps := chosen;
    ELSE
        SELECT array_agg(DISTINCT a.app_id) INTO apps FROM (
            SELECT b.app_id FROM carillon.split_messages b WHERE b.id = broadcast_progress.id
            UNION ALL
            SELECT r.app_id FROM carillon.results r WHERE r.message_id = broadcast_progress.id
            UNION ALL
            SELECT u.app_id FROM carillon.waiting_apps() w, carillon.unfinished u
            WHERE u.app_id = w.app_id AND u.message_id = broadcast_progress.id
        ) a WHERE chosen IS NULL OR a.app_id = ANY (chosen);
    END IF;
    IF apps IS NULL THEN
        SELECT array_agg(DISTINCT j.app_id) INTO apps FROM carillon.find_job(broadcast_progress.id) j
        WHERE chosen IS NULL OR j.app_id = ANY (chosen);
    END IF;
    IF app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(app);
    ELSIF apps IS NULL THEN
        refusal := carillon.refusal('id', 'an id that enqueue or broadcast returned', id::text,
            'Workers delete results after --retention.', 'P0002');
    ELSIF cardinality(apps) > 1 THEN
        refusal := carillon.refusal('app', 'the name of one of the apps that have a message of this id', 'null', coalesce((
            SELECT carillon.list_of_apps(array_agg(a.name)) FROM carillon.apps a
            WHERE a.id = ANY (apps)), 'These apps have been removed: carillon.results has their counts by app_id.'));
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    app_id := apps[1];
    SELECT b.tokens, b.created_at INTO tokens, created_at
    FROM carillon.split_messages b WHERE b.app_id = apps[1] AND b.id = broadcast_progress.id;
    IF FOUND THEN
        SELECT coalesce(sum(r.sent), 0), coalesce(sum(r.failed), 0), coalesce(sum(r.expired), 0),
            coalesce(sum(r.cancelled), 0), max(r.finished_at)
        INTO sent, failed, expired, cancelled, finished_at FROM carillon.results r
        WHERE r.app_id = apps[1] AND r.broadcast_id = broadcast_progress.id;
        SELECT broadcast_progress.sent + coalesce(sum(u.sent), 0), broadcast_progress.failed + coalesce(sum(u.failed), 0),
            broadcast_progress.expired + coalesce(sum(u.expired), 0),
            broadcast_progress.cancelled + coalesce(sum(u.cancelled), 0)
        INTO sent, failed, expired, cancelled FROM carillon.unfinished u
        WHERE u.app_id = apps[1] AND u.broadcast_id = broadcast_progress.id;
        waiting := tokens - sent - failed - expired - cancelled;
    ELSE
        -- A message of one job: ended, partly ended, or waiting.
        SELECT r.sent, r.failed, r.expired, r.cancelled, 0, r.created_at, r.finished_at
        INTO sent, failed, expired, cancelled, waiting, created_at, finished_at
        FROM carillon.results r WHERE r.app_id = apps[1] AND r.message_id = broadcast_progress.id;
        IF NOT FOUND THEN
            SELECT u.sent, u.failed, u.expired, u.cancelled, u.remaining, u.created_at
            INTO sent, failed, expired, cancelled, waiting, created_at
            FROM carillon.unfinished u WHERE u.app_id = apps[1] AND u.message_id = broadcast_progress.id;
        END IF;
        IF NOT FOUND THEN
            SELECT 0, 0, 0, 0, p.token_count, p.created_at
            INTO sent, failed, expired, cancelled, waiting, created_at
            FROM carillon.find_job(broadcast_progress.id) p WHERE p.app_id = apps[1];
        END IF;
        tokens := sent + failed + expired + cancelled + waiting;
    END IF;
    finished := waiting <= 0;
    IF NOT finished THEN
        finished_at := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.broadcast_progress IS
    'Returns one row with the counts of a message or broadcast. An unknown id is an error.';

-- The jobs of a zone have consecutive ids among those of the broadcast. What retries and parts of a job become counts for its id.
CREATE OR REPLACE FUNCTION carillon.broadcast_zones(
    id bigint, app text DEFAULT NULL,
    OUT time_zone text, OUT run_at timestamptz, OUT tokens bigint, OUT sent bigint, OUT failed bigint, OUT expired bigint,
    OUT cancelled bigint, OUT waiting bigint
) RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH zones AS (
        SELECT p.app_id, z.* FROM carillon.broadcast_progress(broadcast_zones.id, broadcast_zones.app) AS p
        JOIN carillon.split_messages b ON b.app_id = p.app_id AND b.id = broadcast_zones.id
        CROSS JOIN unnest(b.zones) AS z
    ), counts AS (
        SELECT r.message_id, r.sent, r.failed, r.expired, r.cancelled FROM carillon.results r
        WHERE r.app_id = (SELECT z.app_id FROM zones z LIMIT 1) AND r.broadcast_id = broadcast_zones.id
        UNION ALL
        SELECT u.message_id, u.sent, u.failed, u.expired, u.cancelled FROM carillon.unfinished u
        WHERE u.app_id = (SELECT z.app_id FROM zones z LIMIT 1) AND u.broadcast_id = broadcast_zones.id
    )
    SELECT z.time_zone, z.run_at, z.tokens, e.sent, e.failed, e.expired, e.cancelled,
        z.tokens - e.sent - e.failed - e.expired - e.cancelled
    FROM zones z CROSS JOIN LATERAL (
        SELECT coalesce(sum(c.sent), 0)::bigint AS sent, coalesce(sum(c.failed), 0)::bigint AS failed,
            coalesce(sum(c.expired), 0)::bigint AS expired, coalesce(sum(c.cancelled), 0)::bigint AS cancelled
        FROM counts c WHERE c.message_id BETWEEN z.first_id AND z.last_id
    ) AS e
    ORDER BY z.run_at, z.time_zone
$$;
COMMENT ON FUNCTION carillon.broadcast_zones IS
    'Returns a row for each time zone of a broadcast with run_at_local: when it is due there, and its counts, as '
    'broadcast_progress returns them. No rows for other messages; an unknown id is an error.';
