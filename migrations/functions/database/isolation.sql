-- Isolates apps from each other by giving each its own role. The owner of the schema calls isolate_app() and unisolate_app();
-- 0008_isolation.up.sql has the policies. Functions that run as their owner bypass these and ask apps_of_caller().

-- The tables whose rows belong to apps, each with the policies of 0008_isolation.up.sql.
CREATE OR REPLACE FUNCTION carillon.guarded_tables() RETURNS name[]
LANGUAGE sql IMMUTABLE AS $$ SELECT '{apps,messages,tokens,results,failures,channels}'::pg_catalog.name[] $$;
COMMENT ON FUNCTION carillon.guarded_tables IS
    'Internal: returns the tables that row-level security guards while a role is isolated.';

CREATE OR REPLACE FUNCTION carillon.roles_of_all_apps() RETURNS name[]
LANGUAGE sql IMMUTABLE AS $$ SELECT '{carillon_app,carillon_reader,carillon_operator,carillon_worker}'::pg_catalog.name[] $$;
COMMENT ON FUNCTION carillon.roles_of_all_apps IS 'Internal: returns the roles whose members see all apps.';

CREATE OR REPLACE FUNCTION carillon.wider_role(role oid) RETURNS name
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT g.name FROM (
        SELECT unnest(carillon.roles_of_all_apps() || '{pg_read_all_data,pg_write_all_data}'::name[]) AS name
        UNION ALL SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n WHERE n.nspname = 'carillon') AS g
    WHERE pg_has_role(wider_role.role, g.name, 'MEMBER') LIMIT 1
$$;
COMMENT ON FUNCTION carillon.wider_role IS
    'Internal: returns a role that sees all apps and of which this one is a member; null if there is none.';

-- Roles belong to the cluster: a role that is isolated in another database is a carillon_tenant here too, and must not use the
-- schema while nothing limits it. Every upgrade calls enforce_isolation() with the current state, which then needs no lock.
CREATE OR REPLACE FUNCTION carillon.enforce_isolation(is_on boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    -- Of new apps.
    has_default CONSTANT boolean := EXISTS (
        SELECT FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE d.adrelid = 'carillon.apps'::regclass AND a.attname = 'is_guarded'
            AND pg_get_expr(d.adbin, d.adrelid) = is_on::text);
    relation regclass;
BEGIN
    PERFORM carillon.lock_tables(ARRAY(
        SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND c.relrowsecurity <> is_on
            AND c.relname = ANY (carillon.guarded_tables())
        UNION SELECT 'apps' WHERE NOT has_default OR EXISTS (
            SELECT FROM carillon.apps a WHERE a.is_guarded <> (is_on OR a.moved_to IS NOT NULL))
        ORDER BY 1));
    IF has_schema_privilege('carillon_tenant', 'carillon', 'USAGE') <> is_on THEN
        EXECUTE CASE WHEN is_on THEN 'GRANT USAGE ON SCHEMA carillon TO carillon_tenant'
            ELSE 'REVOKE USAGE ON SCHEMA carillon FROM carillon_tenant' END;
        DELETE FROM carillon.recorded_rights r WHERE r.kind = 'schema' AND r.role = 'carillon_tenant';
        INSERT INTO carillon.recorded_rights
        SELECT p.* FROM carillon.present_rights() p WHERE p.kind = 'schema' AND p.role = 'carillon_tenant';
    END IF;
    FOR relation IN
        SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND c.relrowsecurity <> is_on
            AND c.relname = ANY (carillon.guarded_tables()) ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE %s %s ROW LEVEL SECURITY', relation, CASE WHEN is_on THEN 'ENABLE' ELSE 'DISABLE' END);
    END LOOP;
    IF NOT has_default THEN
        EXECUTE format('ALTER TABLE carillon.apps ALTER is_guarded SET DEFAULT %L', is_on);
    END IF;
    UPDATE carillon.apps a SET is_guarded = is_on OR a.moved_to IS NOT NULL
    WHERE a.is_guarded <> (is_on OR a.moved_to IS NOT NULL);
END
$$;
COMMENT ON FUNCTION carillon.enforce_isolation IS
    'Internal: enables or disables row-level security, the check of enqueue''s caller and the schema for isolated roles.';

-- A carillon_tenant may use only the apps in app_roles, unless it also has the rights of the schema's owner (who may be a member in
-- order to grant the role). The caller is the login or the role it has set, even inside functions that run as their owner.
-- PostgreSQL does not say who owns the function that called: it could be one of an isolated role. So while a role is isolated, a
-- caller without rights on Carillon may use no app.
CREATE OR REPLACE FUNCTION carillon.apps_of_caller() RETURNS integer[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE
        WHEN pg_has_role(c.role, 'carillon_app', 'USAGE') OR pg_has_role(c.role, current_user, 'USAGE') THEN NULL
        WHEN pg_has_role(c.role, 'carillon_tenant', 'USAGE') OR NOT (
                EXISTS (SELECT FROM unnest(carillon.roles_of_all_apps()) AS g(role) WHERE pg_has_role(c.role, g.role, 'USAGE'))
                OR NOT EXISTS (SELECT FROM carillon.app_roles)
                -- Rights that were granted by hand.
                OR EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.prosecdef
                    AND has_function_privilege(c.role, p.oid, 'EXECUTE')))
            THEN ARRAY(SELECT r.app_id FROM carillon.app_roles r WHERE pg_has_role(c.role, r.role, 'USAGE')) END
    FROM (SELECT coalesce(nullif(current_setting('role'), 'none')::name, session_user) AS role) c
$$;
COMMENT ON FUNCTION carillon.apps_of_caller IS 'Internal: returns the apps that the caller may use; null means every app.';

-- While no role is isolated, may_use() does not look up the caller: enqueue calls it each time. PostgreSQL inlines it. Nobody may
-- use an app that has moved to another database: it is guarded too.
CREATE OR REPLACE FUNCTION carillon.may_use(app carillon.apps) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT NOT app.is_guarded
        OR app.moved_to IS NULL AND coalesce(app.id OPERATOR(pg_catalog.=) ANY (carillon.apps_of_caller()), true)
$$;
COMMENT ON FUNCTION carillon.may_use IS 'Internal: returns whether the caller may enqueue messages of an app.';

-- Two calls must not both have read apps before one of them locks it. So the first statement of isolate_app() and unisolate_app()
-- lets one call in at a time. It keeps nobody from reading, and does not wait for roles that can only name the table: a statement
-- that they may not run, but can prepare, locks it in ROW EXCLUSIVE mode.
CREATE OR REPLACE FUNCTION carillon.isolate_app(app text, role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    isolated integer;
    refusal carillon.refusal;
    known pg_roles;
    wider name;
BEGIN
    LOCK TABLE carillon.app_roles IN SHARE UPDATE EXCLUSIVE MODE;
    isolated := carillon.app_id(app);
    SELECT r.* INTO known FROM pg_roles r WHERE r.rolname = role;
    wider := carillon.wider_role(known.oid);
    IF known.oid IS NULL THEN
        refusal := carillon.refusal('role', 'the name of a role', quote_literal(role),
            'Create it with: CREATE ROLE ' || quote_ident(role) || ' LOGIN', '42704');
    ELSIF known.rolsuper OR known.rolbypassrls THEN
        refusal := carillon.refusal('role', 'a role that can be isolated',
            quote_literal(role) || ', which bypasses row-level security', 'Let the app log in as a role without such rights.');
    ELSIF wider IS NOT NULL THEN
        refusal := carillon.refusal('role', 'a role that can be isolated',
            quote_literal(role) || ', which sees all apps as a member of ' || wider,
            format('REVOKE %I FROM %I, or from the role through which it is a member.', wider, role));
    END IF;
    PERFORM carillon.refuse(refusal);
    INSERT INTO carillon.app_roles (app_id, role) VALUES (isolated, known.oid) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM carillon.record_change('isolate', app, jsonb_build_object('role', role));
    END IF;
    BEGIN
        EXECUTE format('GRANT carillon_tenant TO %I', role);
    EXCEPTION
        WHEN insufficient_privilege THEN
            RAISE insufficient_privilege USING MESSAGE = SQLERRM, HINT = format(
                'Have a superuser, or a role with ADMIN OPTION on carillon_tenant (before PostgreSQL 16 with CREATEROLE), run: '
                'GRANT carillon_tenant TO %I WITH ADMIN OPTION', current_user);
    END;
    IF NOT pg_has_role(known.oid, 'carillon_tenant', 'USAGE') THEN
        PERFORM carillon.refuse(carillon.refusal('role', 'a role that can be isolated',
            quote_literal(role) || ', which does not inherit rights and could do nothing', format('ALTER ROLE %I INHERIT', role)));
    END IF;
    -- Last, because its locks stop enqueues until the transaction ends.
    PERFORM carillon.enforce_isolation(true);
END
$$;
COMMENT ON FUNCTION carillon.isolate_app IS
    'Isolates a role to this app: it can neither read nor change rows of other apps. Call it again to give the role another app '
    'too.';

-- The role of unisolate_app() may have been dropped already. Row-level security is disabled when the last isolated role is removed.
CREATE OR REPLACE FUNCTION carillon.unisolate_app(app text, role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    isolated integer;
    -- Null if there is no such role.
    known CONSTANT oid := (SELECT o.oid FROM pg_roles o WHERE o.rolname = unisolate_app.role);
BEGIN
    LOCK TABLE carillon.app_roles IN SHARE UPDATE EXCLUSIVE MODE;
    isolated := carillon.app_id(unisolate_app.app);
    -- A dropped role leaves its oid behind.
    DELETE FROM carillon.app_roles r WHERE r.app_id = isolated
        AND (r.role::oid = known OR known IS NULL AND NOT EXISTS (SELECT FROM pg_roles o WHERE o.oid = r.role::oid));
    IF NOT FOUND THEN
        PERFORM carillon.refuse(carillon.refusal('role', 'a role that is isolated to the app', quote_literal(unisolate_app.role),
            coalesce((SELECT 'These roles are isolated to it: ' || string_agg(r.role::text, ', ' ORDER BY r.role::text) || '.'
                FROM carillon.app_roles r WHERE r.app_id = isolated), 'No role is isolated to it.'), '42704'));
    END IF;
    PERFORM carillon.record_change('unisolate', unisolate_app.app, jsonb_build_object('role', unisolate_app.role));
    IF known IS NOT NULL AND NOT EXISTS (SELECT FROM carillon.app_roles r JOIN pg_roles o ON o.oid = r.role
        WHERE o.rolname = unisolate_app.role)
    THEN
        EXECUTE format('REVOKE carillon_tenant FROM %I', unisolate_app.role);
    END IF;
    IF NOT EXISTS (SELECT FROM carillon.app_roles) THEN
        PERFORM carillon.enforce_isolation(false);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.unisolate_app IS 'Revokes a role''s access to an app, which isolate_app had given it.';
