-- The timetable of apps that have a max_rate: whoever sends takes a turn first, so the whole fleet keeps to one pace.

-- When the next turn of an app may begin. Apps without max_rate have no row.
CREATE TABLE carillon.rates (
    app_id  integer PRIMARY KEY,
    next_at timestamptz NOT NULL
);
-- Updated several times a second: kept heap-only and small.
ALTER TABLE carillon.rates SET (
    fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0
);

-- Takes a turn for so many pushes of an app, and answers in how many microseconds it begins; all of them go out then. Null:
-- the timetable is full for a second, and the pushes have to wait elsewhere. Turns follow each other at nine tenths of
-- max_rate: what goes out a little late stays within the rate of its second. A turn that is not used is lost.
CREATE FUNCTION carillon.take_turn(app integer, pushes integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    takes interval;
    begins timestamptz;
    moment timestamptz;
BEGIN
    SELECT make_interval(secs => pushes / (0.9 * a.max_rate)) INTO takes FROM carillon.apps a
    WHERE a.id = app AND a.max_rate IS NOT NULL;
    IF takes IS NULL THEN
        RETURN 0;
    END IF;
    -- A crash may forget it: nothing is sent while the server starts.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT r.next_at INTO begins FROM carillon.rates r WHERE r.app_id = app FOR UPDATE;
    IF begins IS NULL THEN
        INSERT INTO carillon.rates AS r (app_id, next_at) VALUES (app, clock_timestamp())
        ON CONFLICT (app_id) DO UPDATE SET next_at = r.next_at RETURNING r.next_at INTO begins;
    END IF;
    moment := clock_timestamp();
    -- So far ahead it is only after the clock was set back.
    IF begins < moment OR begins > moment + interval '1 minute' THEN
        begins := moment;
    ELSIF begins > moment + interval '1 second' THEN
        RETURN NULL;
    END IF;
    UPDATE carillon.rates SET next_at = begins + takes WHERE app_id = app;
    RETURN greatest(0, extract(epoch FROM begins - clock_timestamp()) * 1000000)::bigint;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE ON carillon.rates TO carillon_worker;
GRANT EXECUTE ON FUNCTION carillon.take_turn TO carillon_worker;

INSERT INTO carillon.schema_migrations (version, name) VALUES (20, 'rates');
