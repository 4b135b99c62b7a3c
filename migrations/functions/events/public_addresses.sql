-- Which addresses a webhook may have without allow_private. Workers check each address when they connect to it, whatever its name
-- was; add_webhook() refuses a URL that names an address as they would.

-- `make docs` writes the list, from NetworkAddress.swift. An IPv6 address may contain one of IPv4, as those of NAT64 do (RFC 6052).
CREATE OR REPLACE FUNCTION carillon.is_public_address(address inet) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT (family(own.address) = 4 OR own.address <<= '2000::/3') AND NOT own.address <<= ANY (ARRAY[
        '0.0.0.0/8',
        '10.0.0.0/8',
        '100.64.0.0/10',
        '127.0.0.0/8',
        '169.254.0.0/16',
        '172.16.0.0/12',
        '192.0.0.0/24',
        '192.0.2.0/24',
        '192.88.99.0/24',
        '192.168.0.0/16',
        '198.18.0.0/15',
        '198.51.100.0/24',
        '203.0.113.0/24',
        '224.0.0.0/3',
        '2001::/23',
        '2001:db8::/32',
        '2002::/16',
        '3fff::/20'
    ]::inet[])
    FROM (
        SELECT CASE WHEN address <<= ANY ('{::ffff:0:0/96,64:ff9b::/96}'::inet[])
            THEN '0.0.0.0'::inet + (address - network(set_masklen(address, 96))) ELSE address END AS address) AS own
$$;
COMMENT ON FUNCTION carillon.is_public_address IS
    'Internal: returns whether an address may be that of a host of the public internet.';

CREATE OR REPLACE FUNCTION carillon.address_in(url text) RETURNS inet
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN coalesce(substring(url FROM '^https?://[[]([^]]*)]'),
        substring(url FROM '^https?://((?:0|[1-9][0-9]{0,2})(?:[.](?:0|[1-9][0-9]{0,2})){3})(?:[:/?]|$)'),
        -- A number, or several, of which some may be octal or hexadecimal: the system would read them as an address.
        CASE WHEN url ~* '^https?://(?:[^/?:]*[.])?(?:[0-9]+|0x[0-9a-f]*)[.]?(?:[:/?]|$)' THEN '0.0.0.0' END)::inet;
EXCEPTION
    WHEN invalid_text_representation THEN
        RETURN NULL;  -- not an address, so nobody can connect to it
END
$$;
COMMENT ON FUNCTION carillon.address_in IS
    'Internal: returns the address that a URL names, 0.0.0.0 if it is not in its usual form; null if it has the name of a host.';
