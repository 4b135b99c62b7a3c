DROP FUNCTION carillon.unisolate_app, carillon.isolate_app;
DO $$ BEGIN PERFORM carillon.enforce_isolation(false); END $$;
DROP FUNCTION carillon.enforce_isolation;
DO $$
DECLARE
    policy record;
BEGIN
    FOR policy IN SELECT p.policyname, p.tablename FROM pg_catalog.pg_policies p WHERE p.schemaname = 'carillon' LOOP
        EXECUTE format('DROP POLICY %I ON carillon.%I', policy.policyname, policy.tablename);
    END LOOP;
END
$$;
ALTER TABLE carillon.app_roles DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON ALL TABLES IN SCHEMA carillon FROM carillon_tenant;
REVOKE SELECT ON carillon.app_roles FROM carillon_worker;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA carillon FROM carillon_tenant;
GRANT SELECT ON carillon.schema_migrations TO carillon_tenant;

DELETE FROM carillon.schema_migrations WHERE version = 22;
