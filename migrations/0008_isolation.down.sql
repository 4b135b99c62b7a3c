-- ALTER TABLE takes strong locks, and while a session waits for one, all later ones wait too.
SET LOCAL lock_timeout = '100ms';
-- Isolated roles stay isolated: they may not use the schema, `carillon migrate down` has revoked all other rights, and functions
-- still check their caller. Migrating up enables row-level security again.
REVOKE USAGE ON SCHEMA carillon FROM carillon_tenant;
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

DELETE FROM carillon.schema_migrations WHERE version = 8;
