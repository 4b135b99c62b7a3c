DO $$
DECLARE
    function regprocedure;
BEGIN
    FOR function IN
        SELECT p.oid FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'publish'
    LOOP
        EXECUTE format('DROP FUNCTION %s', function);
    END LOOP;
END
$$;
DROP FUNCTION carillon.submit_publication, carillon.remove_channel, carillon.channel,
    carillon.record_channel, carillon.request_channel;
DROP TYPE carillon.publication;

DELETE FROM carillon.schema_migrations WHERE version = 25;
