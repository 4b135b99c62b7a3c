-- The daily partitions of results, failures, failed_messages, events and sent_pushes. Maintenance creates and drops them every
-- hour; rights.sql creates the first ones. Rows of a day without a partition go to the default partition.

-- partitions() returns no bounds for the default partition.
CREATE OR REPLACE FUNCTION carillon.partitions(parent text)
RETURNS TABLE (name text, lower_bound timestamptz, upper_bound timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC' AS $$
    SELECT c.relname, coalesce(substring(b.text FROM 'FROM [(]''([^'']+)''[)]')::timestamptz,
            CASE WHEN b.text <> 'DEFAULT' THEN '-infinity'::timestamptz END),
        substring(b.text FROM 'TO [(]''([^'']+)''[)]')::timestamptz
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid)) AS b(text)
    WHERE i.inhparent = format('carillon.%I', partitions.parent)::regclass
$$;
COMMENT ON FUNCTION carillon.partitions IS 'Internal: returns the partitions of a history table, with their bounds.';

-- The table that make_partition_table() makes gets the constraints, indexes and columns that users have added to the parent.
-- Attaching it later takes a weaker lock on the parent than CREATE TABLE … PARTITION OF. Rows rarely change and the table is
-- dropped whole, so inserts need not start a vacuum.
CREATE OR REPLACE FUNCTION carillon.make_partition_table(parent text, child text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    EXECUTE format('CREATE TABLE carillon.%I (LIKE carillon.%I INCLUDING ALL EXCLUDING IDENTITY EXCLUDING COMMENTS) '
        || 'WITH (autovacuum_vacuum_insert_threshold = -1)', child, parent);
    IF (SELECT c.relreplident = 'f' FROM pg_class c WHERE c.oid = format('carillon.%I', parent)::regclass) THEN
        EXECUTE format('ALTER TABLE carillon.%I REPLICA IDENTITY FULL', child);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.make_partition_table IS 'Internal: creates a table that can become a partition.';

-- replace_default_partition() moves rows that do not meet the condition into the new default partition, unless the CHECK `proof`
-- has shown that there are none; is_proven is null if there is no CHECK. lock_tables() takes the ACCESS EXCLUSIVE locks that others
-- would wait behind. PostgreSQL refuses DETACH PARTITION CONCURRENTLY if there is a default partition.
CREATE OR REPLACE FUNCTION carillon.replace_default_partition(
    parent text, lower_bound timestamptz, upper_bound timestamptz, condition text, proof text, is_proven boolean,
    lock_wait interval
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET datestyle = 'ISO' SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
    spare CONSTANT text := parent || '_default';
    child CONSTANT text := parent || to_char(upper_bound - interval '1 day', '_YYYYMMDD');
    columns text;
BEGIN
    PERFORM carillon.make_partition_table(parent, parent || '_next');
    PERFORM carillon.lock_tables(ARRAY[parent, spare], lock_wait);
    EXECUTE format('ALTER TABLE carillon.%I DETACH PARTITION carillon.%I', parent, spare);
    EXECUTE format('ALTER TABLE carillon.%I RENAME TO %I', spare, child);
    EXECUTE format('ALTER TABLE carillon.%I RENAME TO %I', parent || '_next', spare);
    EXECUTE format('COMMENT ON TABLE carillon.%I IS %L', spare,
        obj_description(format('carillon.%I', child)::regclass, 'pg_class'));
    IF is_proven IS NOT TRUE THEN
        SELECT string_agg(quote_ident(a.attname), ', ') INTO columns FROM pg_attribute a
        WHERE a.attrelid = format('carillon.%I', parent)::regclass AND a.attnum > 0 AND NOT a.attisdropped
            AND a.attgenerated = '';
        EXECUTE format('WITH moved AS (DELETE FROM carillon.%I WHERE NOT (%s) RETURNING *) '
            || 'INSERT INTO carillon.%I (%s) SELECT %s FROM moved', child, condition, spare, columns, columns);
    END IF;
    EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%s) TO (%L)',
        parent, child, coalesce(quote_literal(lower_bound), 'MINVALUE'), upper_bound);
    EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I DEFAULT', parent, spare);
    IF is_proven IS NOT NULL THEN
        EXECUTE format('ALTER TABLE carillon.%I DROP CONSTRAINT %I', child, proof);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.replace_default_partition IS
    'Internal: makes the default partition the partition of the days within the bounds, and puts an empty one in its place.';

-- If the default partition has rows of today, no partition for today can be attached. Then no rows move: the default partition
-- becomes the partition of all days up to now, and an empty table replaces it. PostgreSQL scans the whole partition to prove that
-- its rows belong to those days. If that would take long, a CHECK that blocks no writer proves it first; each call then does one
-- step in its own transaction and returns `more`. The CHECK must be dropped before the end of the day that it names, so it names a
-- day that ends at least two hours from now.
CREATE OR REPLACE FUNCTION carillon.make_partitions(parent text, OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET datestyle = 'ISO' SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
    small CONSTANT bigint := 32 * 1024 * 1024;  -- bytes: read in about ten milliseconds
    lock_wait CONSTANT interval := interval '500 milliseconds';  -- workers soon repeat a step that fails
    time_column CONSTANT text := CASE parent WHEN 'results' THEN 'finished_at' WHEN 'events' THEN 'at'
        WHEN 'sent_pushes' THEN 'sent_at' ELSE 'failed_at' END;
    spare CONSTANT text := parent || '_default';
    days date[] := ARRAY(
        SELECT d.day::date FROM generate_series(now()::date, now()::date + 3, interval '1 day') AS d(day)
        WHERE NOT EXISTS (SELECT FROM carillon.partitions(parent) p WHERE p.lower_bound <= d.day AND p.upper_bound > d.day)
        ORDER BY d.day);
    is_used boolean := false;
    lower_bound timestamptz;
    upper_bound timestamptz;
    condition text;  -- for rows within the bounds
    proof text;  -- the name of the CHECK
    old_proof text;
    is_proven boolean;
    day date;
BEGIN
    changed := 0;
    more := false;
    IF days[1] = now()::date THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM carillon.%I)', spare) INTO is_used;
    END IF;
    IF is_used THEN
        SELECT max(p.upper_bound) FILTER (WHERE p.upper_bound <= days[1]), least(
            min(p.lower_bound) FILTER (WHERE p.lower_bound > days[1]), (now() + interval '2 hours')::date + 1)
        INTO lower_bound, upper_bound FROM carillon.partitions(parent) p;
        condition := format('%I < %L', time_column, upper_bound)
            || coalesce(format(' AND %I >= %L', time_column, lower_bound), '');
        proof := 'days_up_to_' || to_char(upper_bound, 'YYYYMMDD');
    END IF;
    SELECT c.conname, c.convalidated INTO old_proof, is_proven FROM pg_constraint c
    WHERE c.conrelid = format('carillon.%I', spare)::regclass AND c.conname ~ '^days_up_to_[0-9]{8}$';
    IF old_proof IS DISTINCT FROM proof AND old_proof IS NOT NULL THEN
        -- Left behind by a worker that died.
        PERFORM carillon.lock_tables(ARRAY[spare], lock_wait);
        EXECUTE format('ALTER TABLE carillon.%I DROP CONSTRAINT %I', spare, old_proof);
        is_proven := NULL;
    END IF;

    IF is_used AND is_proven IS NOT TRUE AND pg_relation_size(format('carillon.%I', spare)::regclass) > small THEN
        IF is_proven IS NULL THEN
            PERFORM carillon.lock_tables(ARRAY[spare], lock_wait);
            EXECUTE format('ALTER TABLE carillon.%I ADD CONSTRAINT %I CHECK (%s) NOT VALID', spare, proof, condition);
            more := true;
            RETURN;
        END IF;
        BEGIN
            EXECUTE format('ALTER TABLE carillon.%I VALIDATE CONSTRAINT %I', spare, proof);
            more := true;
            RETURN;
        EXCEPTION
            WHEN check_violation THEN
                NULL;  -- there are rows of other days, which are moved below
        END;
    END IF;

    FOREACH day IN ARRAY days LOOP
        CONTINUE WHEN day < upper_bound;
        PERFORM carillon.make_partition_table(parent, parent || to_char(day, '_YYYYMMDD'));
    END LOOP;
    IF is_used THEN
        PERFORM carillon.replace_default_partition(parent, lower_bound, upper_bound, condition, proof, is_proven, lock_wait);
        changed := 1;
    ELSIF days <> '{}' THEN
        -- To attach a partition, PostgreSQL reads the default partition and locks it, after the parent.
        EXECUTE format('LOCK TABLE ONLY carillon.%I IN SHARE UPDATE EXCLUSIVE MODE', parent);
        PERFORM carillon.lock_tables(ARRAY[spare], lock_wait);
    END IF;
    FOREACH day IN ARRAY days LOOP
        CONTINUE WHEN day < upper_bound;
        EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%L) TO (%L)',
            parent, parent || to_char(day, '_YYYYMMDD'), day::timestamptz, (day + 1)::timestamptz);
        changed := changed + 1;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.make_partitions IS 'Internal: creates the partitions of today and the next three days.';

-- drop_partition() returns whether there may be more. A partition that is in use, or on which a view depends, is skipped until a
-- later call.
CREATE OR REPLACE FUNCTION carillon.drop_partition(parent text, horizon timestamptz, OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    child text;
    fault text;
    lock_wait interval := interval '500 milliseconds';
BEGIN
    FOR child IN
        SELECT p.name FROM carillon.partitions(parent) p
        WHERE p.upper_bound <= horizon AND p.name ~ ('^' || parent || '_[0-9]{8}$') ORDER BY p.upper_bound
    LOOP
        BEGIN
            PERFORM carillon.lock_tables(ARRAY[parent, child, parent || '_default'], lock_wait);
            EXECUTE format('DROP TABLE carillon.%I', child);
            changed := 1;
            more := true;
            RETURN;
        EXCEPTION
            WHEN lock_not_available THEN
                fault := coalesce(fault, format('%s is not dropped yet: %s is in use', child, parent));
                lock_wait := interval '0';  -- once for all
            WHEN OTHERS THEN
                fault := coalesce(fault, format('%s is not dropped: %s', child, SQLERRM));
        END;
    END LOOP;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING ERRCODE = 'object_in_use';
    END IF;
    changed := 0;
    more := false;
END
$$;
COMMENT ON FUNCTION carillon.drop_partition IS 'Internal: drops one partition that ended before the horizon.';
