-- Times of the day in a time zone: the quiet hours of an app, and broadcasts with run_at_local. draft(), submit(), promote() and
-- what describes messages call these functions.
--
-- All follow PostgreSQL where clocks are changed: a time that a zone skips is as much later as the clocks are put forward, so 02:30
-- is 03:30; of a time that comes twice, the second counts.

-- A time of the day is its next occurrence, from `after` on; with a date, it is that time.
CREATE OR REPLACE FUNCTION carillon.next_local_time(local text, zone text, after timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN length(local) > 8 THEN local::timestamp AT TIME ZONE zone ELSE (
        SELECT min(t.at) FROM (
            SELECT ((after AT TIME ZONE zone)::date + n + local::time) AT TIME ZONE zone AS at FROM generate_series(-1, 2) AS n
        ) AS t WHERE t.at >= after) END
$$;
COMMENT ON FUNCTION carillon.next_local_time IS 'Internal: returns when clocks in a time zone next show a time.';

CREATE OR REPLACE FUNCTION carillon.check_local_time(m carillon.message_arguments, wanted carillon.audience_arguments)
RETURNS carillon.refusal
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    takes CONSTANT text := 'a time such as 09:00, or a date and a time such as 2026-12-24 09:00';
BEGIN
    IF wanted.run_at_local IS NULL THEN
        RETURN CASE WHEN wanted.time_zone IS NOT NULL THEN carillon.refusal('time_zone', 'null unless run_at_local is given',
            quote_literal(wanted.time_zone), 'It is the zone of tokens without one in a broadcast with run_at_local.') END;
    ELSIF wanted.run_at_local !~ '^([0-9]{4}-[0-9]{2}-[0-9]{2}[ T])?([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$'
        OR length(wanted.run_at_local) > 8 AND NOT carillon.is_usual(wanted.run_at_local::timestamp AT TIME ZONE 'UTC')
    THEN
        RETURN carillon.refusal('run_at_local', takes, quote_literal(wanted.run_at_local));
    ELSIF m.run_at IS NOT NULL THEN
        RETURN carillon.refusal('run_at', 'null if run_at_local is given', quote_literal(m.run_at),
            'run_at_local may have a date: 2026-12-24 09:00.');
    ELSIF wanted.time_zone IS NOT NULL AND carillon.time_zone(wanted.time_zone) IS NULL THEN
        RETURN carillon.refusal('time_zone', 'the name of a time zone, such as Europe/Berlin', quote_literal(wanted.time_zone),
            'SELECT name FROM pg_timezone_names lists those that PostgreSQL knows.');
    END IF;
    RETURN NULL;
EXCEPTION
    WHEN datetime_field_overflow THEN
        RETURN carillon.refusal('run_at_local', takes, quote_literal(wanted.run_at_local));
END
$$;
COMMENT ON FUNCTION carillon.check_local_time IS
    'Internal: returns the refusal of a local time or of the zone of tokens without one; null if both are valid.';

-- The zone is that of the first tokens, which are due last; null if they have none that is known.
CREATE OR REPLACE FUNCTION carillon.check_last_zone(m carillon.message_arguments, zone text, run_at timestamptz)
RETURNS carillon.refusal
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN zone IS NULL THEN carillon.refusal('time_zone',
            'a time zone, because some tokens have none that is known and the app has none', 'null',
            'Set the app''s with carillon app set --time-zone, or pass one.')
        WHEN m.expires_at <= greatest(run_at, now()) AND m.expires_at > timestamptz 'epoch' THEN carillon.refusal('expires_at',
            format('a time after %s, when the last tokens are due, in %s', run_at, zone), quote_literal(m.expires_at),
            'Their pushes would expire before they are sent.') END
$$;
COMMENT ON FUNCTION carillon.check_last_zone IS
    'Internal: returns the refusal of a broadcast with run_at_local whose last tokens have no zone or would expire first.';

-- quiet_end() is null outside the hours. Each day they last from one moment to another, whatever clocks show in between.
CREATE OR REPLACE FUNCTION carillon.quiet_end(hours text, zone text, at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT max(q.ends) FROM (
        SELECT (d.day + t.opening) AT TIME ZONE zone AS begins,
            (d.day + t.closing + CASE WHEN t.closing < t.opening THEN interval '1 day' ELSE '0' END) AT TIME ZONE zone AS ends
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
