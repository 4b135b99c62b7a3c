-- ALTER TABLE takes strong locks, and while a session waits for one, all later ones wait too.
SET LOCAL lock_timeout = '5s';
-- Isolated roles stay isolated: they lose all rights, and functions still check their caller, because functions of older versions
-- may be executed by everybody. Migrating up enables row-level security again.
DO $$
DECLARE
    policy record;
    relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['apps', 'messages', 'tokens', 'results', 'failures', 'channels'] LOOP
        EXECUTE format('ALTER TABLE carillon.%I DISABLE ROW LEVEL SECURITY', relation);
    END LOOP;
    FOR policy IN SELECT p.policyname, p.tablename FROM pg_catalog.pg_policies p WHERE p.schemaname = 'carillon' LOOP
        EXECUTE format('DROP POLICY %I ON carillon.%I', policy.policyname, policy.tablename);
    END LOOP;
END
$$;
ALTER TABLE carillon.app_roles DISABLE ROW LEVEL SECURITY;

-- Rights that rights.sql granted.
REVOKE ALL ON ALL TABLES IN SCHEMA carillon FROM carillon_app, carillon_tenant, carillon_worker, carillon_reader, carillon_operator;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA carillon FROM carillon_worker;
GRANT SELECT ON carillon.schema_migrations, carillon.schema_routines
TO carillon_app, carillon_operator, carillon_reader, carillon_tenant, carillon_worker;
REVOKE ALL ON FUNCTION carillon.as_reaper FROM carillon_worker;
GRANT EXECUTE ON FUNCTION carillon.as_reaper TO PUBLIC;

DELETE FROM carillon.schema_migrations WHERE version = 8;
