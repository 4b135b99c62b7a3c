-- How claims are stored. rights.sql and adopt() call this, and it changes the table only if it is not as it should be.

-- LZ4 halves what a claim writes to the WAL, at no cost. With pglz, a claim would take a third longer, so without LZ4 nothing is
-- compressed. It waits only once, because an upgrade holds other locks meanwhile; the next upgrade tries again.
CREATE OR REPLACE FUNCTION carillon.choose_compression() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    has_lz4 CONSTANT boolean := EXISTS (
        SELECT FROM pg_settings s WHERE s.name = 'default_toast_compression' AND 'lz4' = ANY (s.enumvals));
BEGIN
    IF EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = 'carillon.inflight'::regclass AND a.attname = 'jobs'
            AND CASE WHEN has_lz4 THEN a.attstorage = 'x' AND a.attcompression = 'l' ELSE a.attstorage = 'e' END)
    THEN
        RETURN;
    END IF;
    PERFORM carillon.lock_tables('{inflight}', '0');
    IF has_lz4 THEN
        ALTER TABLE carillon.inflight ALTER jobs SET COMPRESSION lz4, ALTER jobs SET STORAGE EXTENDED;
    ELSE
        ALTER TABLE carillon.inflight ALTER jobs SET STORAGE EXTERNAL;
    END IF;
EXCEPTION
    WHEN lock_not_available THEN
        NULL;
END
$$;
COMMENT ON FUNCTION carillon.choose_compression IS
    'Internal: has claims compressed with LZ4 if the server can do that, and not at all otherwise.';
