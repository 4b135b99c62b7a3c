-- While it waits for a lock on these tables, everybody else waits for it.
SET LOCAL lock_timeout = '5s';
DROP FUNCTION carillon.unisolate_app, carillon.isolate_app, carillon.enforce_isolation;
-- Roles that are held to an app stay so: they lose every right below, and what asks for its caller goes on asking, because
-- older versions let everybody call functions. The way up switches row security on again.
DO $$
DECLARE
    policy record;
    relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['apps', 'messages', 'tokens', 'results', 'failures'] LOOP
        EXECUTE format('ALTER TABLE carillon.%I DISABLE ROW LEVEL SECURITY', relation);
    END LOOP;
    FOR policy IN SELECT p.policyname, p.tablename FROM pg_catalog.pg_policies p WHERE p.schemaname = 'carillon' LOOP
        EXECUTE format('DROP POLICY %I ON carillon.%I', policy.policyname, policy.tablename);
    END LOOP;
END
$$;
ALTER TABLE carillon.app_roles DISABLE ROW LEVEL SECURITY;

DELETE FROM carillon.schema_migrations WHERE version = 23;
