CREATE OR REPLACE FUNCTION carillon.validity(not_after timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN not_after <= now() THEN 'expired' WHEN not_after <= now() + interval '30 days' THEN 'expiring' ELSE 'ok' END
$$;
COMMENT ON FUNCTION carillon.validity IS
    'Internal: returns the status of a usable credential: expired, expiring (within 30 days) or ok. A signing key does not expire.';
