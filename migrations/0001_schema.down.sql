DROP TABLE carillon.audit, carillon.recorded_rights, carillon.schema_routines, carillon.schema_migrations, carillon.installation;
DROP SCHEMA carillon;

-- Keeps a role that another database uses or that another owner created. If a role is being dropped at the same moment, PostgreSQL
-- reports an internal error.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['carillon_app', 'carillon_operator', 'carillon_reader', 'carillon_reaper', 'carillon_tenant',
        'carillon_worker'] LOOP
        BEGIN
            EXECUTE format('DROP ROLE IF EXISTS %I', role);
        EXCEPTION
            WHEN dependent_objects_still_exist OR object_in_use OR insufficient_privilege OR undefined_object
                OR internal_error THEN
                RAISE NOTICE 'role % stays: %', role, SQLERRM;
        END;
    END LOOP;
END
$$;
