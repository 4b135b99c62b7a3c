-- What rights.sql has granted, so that a right that is missing later can be named: revoked by hand, or lost when a dump was
-- restored before its roles existed. rights.sql calls record_rights() at its end, and carillon check reads missing_rights().

-- One row for each right of one role, whoever has granted it. Partitions have no rights of their own.
CREATE OR REPLACE FUNCTION carillon.present_rights()
RETURNS TABLE (role text, kind text, object text, column_name text, privilege text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT r.rolname::text, o.kind, o.object, o.column_name, g.privilege_type
    FROM (
        SELECT 'schema', n.nspname::text, '', n.nspacl FROM pg_namespace n WHERE n.nspname = 'carillon'
        UNION ALL
        SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, c.oid::regclass::text, '', c.relacl
        FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND NOT c.relispartition
        UNION ALL
        SELECT 'column', c.oid::regclass::text, a.attname::text, a.attacl FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'carillon'::regnamespace AND NOT c.relispartition AND NOT a.attisdropped
        UNION ALL
        SELECT 'function', p.oid::regprocedure::text, '', p.proacl FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace
    ) AS o (kind, object, column_name, acl)
    CROSS JOIN LATERAL aclexplode(o.acl) AS g
    JOIN pg_roles r ON r.oid = g.grantee
    WHERE r.rolname = ANY (carillon.roles_of_all_apps() || name 'carillon_tenant')
$$;
COMMENT ON FUNCTION carillon.present_rights IS 'Internal: returns the rights that the roles of Carillon have in its schema.';

CREATE OR REPLACE FUNCTION carillon.record_rights() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    DELETE FROM carillon.recorded_rights;
    INSERT INTO carillon.recorded_rights SELECT p.* FROM carillon.present_rights() p;
$$;
COMMENT ON FUNCTION carillon.record_rights IS 'Internal: records the rights that rights.sql has granted.';

-- A missing object or role is a fault of the schema, not of its rights.
CREATE OR REPLACE FUNCTION carillon.missing_rights(of_role name, as_role name DEFAULT NULL) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT r.privilege || CASE WHEN r.column_name <> '' THEN format(' (%I)', r.column_name) ELSE '' END || ' on '
        || CASE r.kind WHEN 'schema' THEN 'schema ' ELSE '' END || r.object
    FROM carillon.recorded_rights r JOIN pg_roles a ON a.rolname = coalesce(as_role, of_role)
    WHERE r.role = of_role AND NOT CASE r.kind
        WHEN 'schema' THEN has_schema_privilege(a.oid, r.object, r.privilege)
        WHEN 'sequence' THEN has_sequence_privilege(a.oid, to_regclass(r.object), r.privilege)
        WHEN 'table' THEN has_table_privilege(a.oid, to_regclass(r.object), r.privilege)
        WHEN 'column' THEN has_column_privilege(a.oid, to_regclass(r.object), r.column_name, r.privilege)
        ELSE has_function_privilege(a.oid, to_regprocedure(r.object), r.privilege) END
    ORDER BY r.kind <> 'schema', r.kind = 'function', 1
$$;
COMMENT ON FUNCTION carillon.missing_rights IS
    'Internal: returns the rights that rights.sql granted to of_role and that as_role, which is of_role by default, does not have.';
