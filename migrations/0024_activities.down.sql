-- Each name has two functions with many arguments.
DO $$
DECLARE
    function regprocedure;
BEGIN
    FOR function IN
        SELECT p.oid FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace
            AND p.proname IN ('start_activity', 'update_activity', 'end_activity')
    LOOP
        EXECUTE format('DROP FUNCTION %s', function);
    END LOOP;
END
$$;
DROP FUNCTION carillon.submit_activity, carillon.check_activity, carillon.activity_alert, carillon.parsed_jsonb;
DROP TYPE carillon.activity_arguments;

DELETE FROM carillon.schema_migrations WHERE version = 24;
