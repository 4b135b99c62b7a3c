-- The turns of apps with a max_rate. A worker calls take_rate_turn() before it sends pushes of such an app. The lock on the row of
-- rates makes workers take turns one after the other.

-- take_rate_turn() returns null if all turns of the next second are taken. Turns are spaced for nine tenths of max_rate, so that
-- late pushes do not exceed the rate in the second in which they are sent. An unused turn is lost.
CREATE OR REPLACE FUNCTION carillon.take_rate_turn(app integer, pushes integer) RETURNS bigint
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
    -- A crash may lose the most recent turns. New ones may then begin while pushes of the lost ones are still being sent.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT r.next_at INTO begins FROM carillon.rates r WHERE r.app_id = app FOR UPDATE;
    IF begins IS NULL THEN
        INSERT INTO carillon.rates AS r (app_id, next_at) VALUES (app, clock_timestamp())
        ON CONFLICT (app_id) DO UPDATE SET next_at = r.next_at RETURNING r.next_at INTO begins;
    END IF;
    moment := clock_timestamp();
    -- It is further ahead only if the clock was set back.
    IF begins < moment OR begins > moment + interval '1 minute' THEN
        begins := moment;
    ELSIF begins > moment + interval '1 second' THEN
        RETURN NULL;
    END IF;
    UPDATE carillon.rates SET next_at = begins + takes WHERE app_id = app;
    RETURN greatest(0, extract(epoch FROM begins - clock_timestamp()) * 1000000)::bigint;
END
$$;
COMMENT ON FUNCTION carillon.take_rate_turn IS
    'Internal: takes a turn for some pushes of an app, to be sent when it begins; returns the microseconds until then.';
