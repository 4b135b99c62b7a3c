DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT CASE WHEN i.type LIKE '%column' THEN 'COLUMN' ELSE i.type END AS kind, i.identity
        FROM pg_catalog.pg_description d
        CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.classoid, d.objoid, d.objsubid) AS i
        WHERE i.schema = 'carillon' AND (i.type IN ('function', 'table', 'view', 'type') OR i.type LIKE '%column')
    LOOP
        EXECUTE format('COMMENT ON %s %s IS NULL', one.kind, one.identity);
    END LOOP;
END
$$;

DELETE FROM carillon.schema_migrations WHERE version = 25;
