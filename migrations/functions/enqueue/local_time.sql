-- Times of the day in a time zone: the quiet hours of an app, and broadcasts with run_at_local. draft(), submit(), promote() and what
-- describes messages call these functions.
--
-- All follow PostgreSQL where clocks are changed: a time that a zone skips is as much later as the clocks are put forward, so 02:30
-- is 03:30; of a time that comes twice, the second counts.

-- PostgreSQL takes more than names of zones: abbreviations, and rules such as Berlin-1, whose sign is not what people expect. As in
-- the constraint of apps.
CREATE OR REPLACE FUNCTION carillon.is_time_zone(name text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN name COLLATE "C" ~ '^([A-Za-z_-]+(/[A-Za-z_-]+)+|Etc/GMT[+-][0-9]{1,2}|GMT|UTC)$' AND length(name) <= 64
        AND timestamptz 'epoch' AT TIME ZONE name IS NOT NULL;
EXCEPTION
    WHEN invalid_parameter_value THEN
        RETURN false;
END
$$;
COMMENT ON FUNCTION carillon.is_time_zone IS 'Internal: whether this is the name of a time zone that the server knows.';

-- quiet_end() is null outside the hours. Each day they last from one moment to another, whatever clocks show in between.
CREATE OR REPLACE FUNCTION carillon.quiet_end(hours text, zone text, at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT max(q.ends) FROM (
        SELECT (d.day + t.opening) AT TIME ZONE zone AS begins,
            (d.day + t.closing + CASE WHEN t.closing > t.opening THEN interval '0' ELSE interval '1 day' END) AT TIME ZONE zone AS ends
        FROM (SELECT left(hours, 5)::time AS opening, right(hours, 5)::time AS closing) AS t,
            (SELECT (at AT TIME ZONE zone)::date + n AS day FROM generate_series(-1, 0) AS n) AS d
    ) AS q WHERE at >= q.begins AND at < q.ends
$$;
COMMENT ON FUNCTION carillon.quiet_end IS
    'Internal: returns when the quiet hours that contain a time end; null if none contain it.';

-- The pushes of all other types answer something that happens now: a call rings, a Live Activity shows the score.
CREATE OR REPLACE FUNCTION carillon.quiet_until(
    app integer, push_type text, priority smallint, at timestamptz, zone text DEFAULT NULL
) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT carillon.quiet_end(a.quiet_hours, coalesce(zone, a.time_zone), at) FROM carillon.apps a
    WHERE a.id = app AND a.quiet_hours IS NOT NULL AND push_type IN ('alert', 'background')
        AND coalesce(priority, 5) <= a.quiet_priority
$$;
COMMENT ON FUNCTION carillon.quiet_until IS
    'Internal: returns until when a push that is due at a time waits for the end of the quiet hours; null if it does not.';

-- Null, and a time that has passed, mean at once.
CREATE OR REPLACE FUNCTION carillon.run_at_of(made carillon.draft, due timestamptz, zone text DEFAULT NULL) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(carillon.quiet_until((made).app_id, (made).push_type, (made).priority, t.at, zone),
        CASE WHEN t.at > now() THEN t.at END)
    FROM (SELECT greatest(due, now()) AS at) AS t
$$;
COMMENT ON FUNCTION carillon.run_at_of IS
    'Internal: returns when a message that is due then is sent, with regard to quiet hours; null for at once.';

CREATE OR REPLACE FUNCTION carillon.quiet_text(app carillon.apps, run_at timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT format('the app''s quiet hours last until %s in %s', right((app).quiet_hours, 5), (app).time_zone)
    WHERE carillon.quiet_end((app).quiet_hours, (app).time_zone, now()) = run_at
$$;
COMMENT ON FUNCTION carillon.quiet_text IS
    'Internal: says that a job is due when the present quiet hours of its app end; null if it is not.';
