-- Isolates apps from each other by giving each its own role. The policies take effect with the first isolated role.

-- Roles whose rights were granted by hand see the same rows as before.
DO $$
DECLARE
    relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['apps', 'messages', 'tokens', 'results', 'failures', 'channels'] LOOP
        EXECUTE format('CREATE POLICY all_apps ON carillon.%I TO carillon_app, carillon_reader, carillon_worker '
            || 'USING (true)', relation);
        EXECUTE format('CREATE POLICY no_tenants ON carillon.%I USING (NOT pg_has_role(''carillon_tenant'', ''USAGE''))',
            relation);
        EXECUTE format('CREATE POLICY own_apps ON carillon.%I TO carillon_tenant USING (%I IN (SELECT r.app_id '
            || 'FROM carillon.app_roles r WHERE pg_has_role(r.role, ''USAGE'')))', relation,
            CASE relation WHEN 'apps' THEN 'id' ELSE 'app_id' END);
    END LOOP;
END
$$;
CREATE POLICY all_roles ON carillon.app_roles TO carillon_worker USING (true);
CREATE POLICY own_roles ON carillon.app_roles TO carillon_tenant USING (pg_has_role(role, 'USAGE'));
ALTER TABLE carillon.app_roles ENABLE ROW LEVEL SECURITY;

INSERT INTO carillon.schema_migrations (version, name) VALUES (8, 'isolation');
