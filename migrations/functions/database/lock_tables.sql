-- Locks tables against all other sessions, before a statement changes the tables themselves.
--
-- While a session waits for this lock, all later statements that name the table wait behind it, those of enqueue too. So an attempt
-- ends after 100 ms, and others go on before the next one.
--
-- That is too short for PostgreSQL to end an autovacuum of the table, which it does after deadlock_timeout, usually a second. So
-- the lock that a vacuum takes is taken first: statements on rows do not wait behind that, however long it takes. A caller that
-- waits for less than a second gets only attempts of 100 ms, and leaves an autovacuum to end by itself.

-- lock_tables() names the table that it has waited for, and who uses it. The locks last until the end of the transaction.
CREATE OR REPLACE FUNCTION carillon.lock_tables(tables text[], within interval DEFAULT '10 seconds') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    limit_of_attempt CONSTANT interval := interval '100 milliseconds';
    give_up_at CONSTANT timestamptz := clock_timestamp() + within;
    attempt_ends_at timestamptz := clock_timestamp() + CASE WHEN within < interval '1 second' THEN limit_of_attempt
        ELSE greatest(within, interval '2 seconds') END;
    strength text := 'SHARE UPDATE EXCLUSIVE';
    wait double precision := 0.05;  -- in seconds
    name text;
BEGIN
    LOOP
        BEGIN
            FOREACH name IN ARRAY tables LOOP
                PERFORM set_config('lock_timeout',
                    greatest(1, ceil(extract(epoch FROM attempt_ends_at - clock_timestamp()) * 1000))::text, true);
                EXECUTE format('LOCK TABLE ONLY carillon.%I IN %s MODE', name, strength);
            END LOOP;
            EXIT WHEN strength = 'ACCESS EXCLUSIVE';
            strength := 'ACCESS EXCLUSIVE';
        EXCEPTION
            -- What the attempt has locked is unlocked here.
            WHEN lock_not_available THEN
                IF clock_timestamp() >= give_up_at THEN
                    RAISE lock_not_available USING MESSAGE = format('carillon.%s is in use, and was not locked', name),
                        DETAIL = coalesce((
                            SELECT 'It is used by ' || string_agg(u.who, ', ') || '.' FROM (
                                SELECT DISTINCT coalesce('process ' || l.pid || ' (' || concat_ws(', ',
                                    nullif(a.application_name, ''), 'user ' || a.usename, a.state) || ')',
                                    'a prepared transaction') AS who
                                FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
                                LEFT JOIN pg_stat_activity a ON a.pid = l.pid
                                WHERE l.relation = format('carillon.%I', name)::regclass AND l.granted
                                    AND l.pid IS DISTINCT FROM pg_backend_pid() AND (strength = 'ACCESS EXCLUSIVE'
                                        OR l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock'))
                                ORDER BY 1 LIMIT 3) AS u),
                            'The session that used it has just ended.'),
                        HINT = 'Try again when that transaction has ended.';
                END IF;
                PERFORM pg_sleep(wait * (0.5 + random() / 2));
                wait := least(wait * 2, 0.5);
        END;
        attempt_ends_at := clock_timestamp() + limit_of_attempt;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.lock_tables IS
    'Internal: locks tables against all other sessions, waits for at most 100 ms at a time, and fails if it has waited in vain.';
