-- What a registration may say about a device token: environment, activity type, time zone, locale and attributes. The checks of
-- register_token() and of an import.

-- Apple's libraries name locales de_DE, zh-Hans-CN or en_US@rg=dezzzz. Only the separator and what is added are normalised.
CREATE OR REPLACE FUNCTION carillon.locale(locale text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_catalog.octet_length(locale) OPERATOR(pg_catalog.<=) 64
            AND locale OPERATOR(pg_catalog.~) '^[A-Za-z]{1,8}([-_][A-Za-z0-9]{1,8})*([.@].*)?$'
        THEN pg_catalog.translate(pg_catalog.regexp_replace(locale, '[.@].*', ''), '_', '-') END
$$;
COMMENT ON FUNCTION carillon.locale IS
    'Internal: returns a locale with hyphens, such as de-DE for de_DE; null if the text is not a locale.';

-- pg_timezone_names lists the names, but reads hundreds of files each time. The setting takes the same names, in any case, and also
-- rules such as Berlin-1, which the patterns exclude; it takes no abbreviation that is not a name. It ends with the function.
CREATE OR REPLACE FUNCTION carillon.time_zone(zone text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    IF zone ~ '^[A-Za-z_]+([/-][A-Za-z_]+)*$' OR zone ~* '^((etc/)?gmt[-+]?0|etc/gmt([+]([1-9]|1[0-2])|-([1-9]|1[0-4])))$'
        OR upper(zone COLLATE "C") IN ('EST5EDT', 'CST6CDT', 'MST7MDT', 'PST8PDT')
    THEN
        RETURN set_config('timezone', zone, true);
    END IF;
    RETURN NULL;
EXCEPTION
    WHEN invalid_parameter_value THEN
        RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.time_zone IS 'Internal: returns the name of a time zone as PostgreSQL writes it; null if it has none.';

CREATE OR REPLACE FUNCTION carillon.check_details(
    environment text, activity_type text, time_zone text, locale text, attributes jsonb
) RETURNS carillon.refusal
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN CASE
        WHEN environment NOT IN ('production', 'sandbox') THEN carillon.refusal('environment', 'production or sandbox',
            quote_literal(environment), 'Leave it out for the environment of the app.')
        WHEN octet_length(activity_type) NOT BETWEEN 1 AND 255 THEN carillon.refusal('activity_type', 'text of 1 to 255 bytes',
            quote_literal(activity_type), 'Pass the name of the type of ActivityAttributes that the token starts.')
        WHEN time_zone IS NOT NULL AND carillon.time_zone(time_zone) IS NULL THEN carillon.refusal('time_zone',
            'the name of a time zone, such as Europe/Berlin', quote_literal(time_zone),
            'SELECT name FROM pg_timezone_names lists those that PostgreSQL knows.')
        WHEN locale IS NOT NULL AND carillon.locale(locale) IS NULL THEN carillon.refusal('locale',
            'a locale such as de or pt-BR', quote_literal(locale),
            'Pass a language, or a language and a region, as Locale.preferredLanguages has them.')
        WHEN jsonb_typeof(attributes) <> 'object' THEN carillon.refusal('attributes', 'a JSON object', attributes::text,
            'Pass members that broadcasts choose tokens by.')
        WHEN octet_length(attributes::text) > 4096 THEN carillon.refusal('attributes', 'a JSON object of at most 4096 bytes',
            'one of ' || octet_length(attributes::text) || ' bytes',
            'Keep only what broadcasts choose tokens by.') END;
END
$$;
COMMENT ON FUNCTION carillon.check_details IS
    'Internal: returns the refusal of what a registration says about a token; null if it is valid.';
