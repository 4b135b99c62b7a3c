-- Triggers that users have added to our tables may rely on it. Only functions for workers call this, just before they write.
-- Functions that run as their owner keep search_path pinned: there the session belongs to an app, which could choose what plain
-- names mean.
--
-- What follows the call must not depend on search_path either: on PostgreSQL 14 an app may create functions in "public". So
-- relations and functions are named with their schemas, and operators have operands of exactly their own types, for which
-- PostgreSQL finds pg_catalog's first. unnest() of several arrays is always PostgreSQL's own.
CREATE OR REPLACE FUNCTION carillon.own_path() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_catalog.set_config('search_path', NULL, true);
END
$$;
COMMENT ON FUNCTION carillon.own_path IS 'Internal: restores the search_path of the session until the calling function returns.';

-- Without a name it stays the one of SET carillon.actor, or the login.
CREATE OR REPLACE FUNCTION carillon.act_as(actor text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT set_config('carillon.actor', coalesce(nullif(left(btrim(actor), 60), ''),
        nullif(current_setting('carillon.actor', true), ''), session_user), true)
$$;
COMMENT ON FUNCTION carillon.act_as IS 'Internal: names the person who makes the changes of this transaction.';

-- A null is a value: the limit that was none before.
CREATE OR REPLACE FUNCTION carillon.replaced(before jsonb, after jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(k.key, after -> k.key) || jsonb_object_agg(k.key || '_before', before -> k.key), '{}')
    FROM jsonb_object_keys(before || after) AS k(key)
    WHERE coalesce(before -> k.key, 'null') <> coalesce(after -> k.key, 'null')
$$;
COMMENT ON FUNCTION carillon.replaced IS 'Internal: the members that have another value, and each value before.';

-- Details that are null are left out. What replaced another value is kept with it: see replaced().
CREATE OR REPLACE FUNCTION carillon.record_change(action text, app text, details jsonb, changed jsonb DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    INSERT INTO carillon.audit (actor, source, action, app, details)
    VALUES (coalesce(nullif(left(btrim(current_setting('carillon.actor', true)), 60), ''), session_user),
        coalesce(nullif(left(current_setting('carillon.source', true), 60), ''), 'SQL'), action, app,
        jsonb_strip_nulls(details) || coalesce(changed, '{}'))
$$;
COMMENT ON FUNCTION carillon.record_change IS 'Internal: records a change in audit.';

-- What programs do as well, and often, is recorded only if a person does it, whom act_as or SET carillon.actor has named.
CREATE OR REPLACE FUNCTION carillon.record_of_person(action text, app_id integer, details jsonb, changed jsonb DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF current_setting('carillon.actor', true) <> '' THEN
        PERFORM carillon.record_change(action, (SELECT a.name FROM carillon.apps a WHERE a.id = record_of_person.app_id), details,
            changed);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.record_of_person IS 'Internal: records a change that a person makes, and none of a program.';
