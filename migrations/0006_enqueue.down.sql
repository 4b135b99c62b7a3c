-- Each name has two functions with more than thirty arguments.
DO $$
DECLARE
    function regprocedure;
BEGIN
    FOR function IN
        SELECT p.oid FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname IN ('enqueue', 'broadcast')
    LOOP
        EXECUTE format('DROP FUNCTION %s', function);
    END LOOP;
END
$$;
DROP FUNCTION carillon.submit, carillon.store, carillon.check_payloads;

DELETE FROM carillon.schema_migrations WHERE version = 6;
