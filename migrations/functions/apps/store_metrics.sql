-- What Apple has counted, which `carillon metrics fetch` and `carillon metrics import` store. No role may write the table itself.

-- A later report replaces the counts of an earlier one. A null is a number that Apple hides. Rows that would not change are left
-- out, so storing the same report again changes nothing. Of two counts of the same in one call, the last one is stored.
CREATE OR REPLACE FUNCTION carillon.store_metrics(
    app text, days text[], push_types text[], statuses text[], counts bigint[], OUT added bigint, OUT changed bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
BEGIN
    WITH given AS (
        SELECT DISTINCT ON (g.day, g.push_type, g.status) g.day, g.push_type, g.status, g.count
        FROM unnest(days::date[], push_types, statuses, counts) WITH ORDINALITY AS g(day, push_type, status, count, place)
        ORDER BY g.day, g.push_type, g.status, g.place DESC
    ), written AS (
        INSERT INTO carillon.exported_metrics AS m (app_id, day, push_type, status, count)
        SELECT target.id, g.day, g.push_type, g.status, g.count FROM given g
        ON CONFLICT (app_id, day, push_type, status) DO UPDATE SET count = excluded.count
        WHERE m.count IS DISTINCT FROM excluded.count
        RETURNING m.xmax = 0 AS is_new
    )
    SELECT count(*) FILTER (WHERE w.is_new), count(*) FILTER (WHERE NOT w.is_new) INTO added, changed FROM written w;
END
$$;
COMMENT ON FUNCTION carillon.store_metrics IS
    'Internal: stores what Apple has counted of an app; returns how many counts are new, and how many have changed.';

CREATE OR REPLACE FUNCTION carillon.remove_export_token(app text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
BEGIN
    DELETE FROM carillon.export_tokens t WHERE t.app_id = target.id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM carillon.record_change('remove export token', app, '{}');
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.remove_export_token IS
    'Internal: removes the token with which programs ask Apple for metrics of an app; false if there is none. Recorded in audit.';
