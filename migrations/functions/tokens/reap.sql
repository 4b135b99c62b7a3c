-- The feedback pass: deletes dead tokens that have not been registered again since.
--
-- Each batch is a short transaction. Workers, 'carillon feedback' and reap_all() run it, one batch at a time. Running it twice on
-- the same feedback has no further effect.

-- With the wrong environment, every token gets BadDeviceToken. The answer is ignored if most pushes of the app failed with it in
-- any minute around that time, or if the counts no longer exist. Workers may write their counts a few minutes late.
CREATE OR REPLACE FUNCTION carillon.bad_token_is_dead(app integer, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT EXISTS (SELECT FROM carillon.apps a WHERE a.id = bad_token_is_dead.app AND a.reap_bad_tokens)
        AND NOT EXISTS (
            SELECT FROM carillon.breakers b WHERE b.app_id = bad_token_is_dead.app AND b.closed_at IS NULL)
        AND coalesce((
            SELECT bool_or(m.bad_tokens > 0) AND bool_and(NOT carillon.mostly_failed(m.bad_tokens, m.pushes)) FROM (
                SELECT sum(t.bad_tokens) AS bad_tokens, sum(t.sent + t.failed) AS pushes FROM carillon.push_counts t
                WHERE t.app_id = bad_token_is_dead.app AND t.minute BETWEEN date_trunc('minute', at) - interval '1 minute'
                    AND date_trunc('minute', at) + interval '4 minutes'
                GROUP BY t.minute) m), false)
$$;
COMMENT ON FUNCTION carillon.bad_token_is_dead IS 'Internal: returns whether a BadDeviceToken at that time means a dead token.';

-- The functions awaits_counts() and died_at() have no SET clause, so that the planner inlines them.
CREATE OR REPLACE FUNCTION carillon.awaits_counts(report carillon.feedback) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (report.reason OPERATOR(pg_catalog.=) 'BadDeviceToken' AND report.seen_at OPERATOR(pg_catalog.>)
        (pg_catalog.now() OPERATOR(pg_catalog.-) interval '5 minutes')) IS TRUE
$$;
COMMENT ON FUNCTION carillon.awaits_counts IS
    'Internal: returns whether a BadDeviceToken is so recent that workers may not have written their counts of that time yet.';

-- A token cannot have died after its death was reported, so a later time counts as the time of the report. A report from the future
-- was written before the clock was set back, and is ignored.
CREATE OR REPLACE FUNCTION carillon.died_at(report carillon.feedback) RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN report.seen_at OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp() AND (
            report.reason IS DISTINCT FROM 'BadDeviceToken'
            OR NOT carillon.awaits_counts(report) AND carillon.bad_token_is_dead(report.app_id, report.seen_at))
        THEN least(report.unregistered_at, report.seen_at) END
$$;
COMMENT ON FUNCTION carillon.died_at IS
    'Internal: returns since when the token of a row of feedback has been dead; null if the row does not apply.';

-- dead_tokens() returns a token once for each report of its death.
CREATE OR REPLACE FUNCTION carillon.dead_tokens(app integer, missed_from bigint DEFAULT NULL)
RETURNS TABLE (token text, at timestamptz)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT report.token, report.died_at FROM (
        SELECT unhandled.token, carillon.died_at(unhandled) FROM carillon.feedback unhandled
        WHERE unhandled.app_id = dead_tokens.app AND unhandled.handled_at IS NULL
        UNION ALL
        SELECT handled.token, carillon.died_at(handled) FROM carillon.feedback handled
        WHERE handled.app_id = dead_tokens.app AND handled.handled_at IS NOT NULL AND handled.id >= dead_tokens.missed_from
    ) report WHERE report.died_at IS NOT NULL
$$;
COMMENT ON FUNCTION carillon.dead_tokens IS
    'Internal: returns the feedback that applies to an app: unhandled rows, and all rows from missed_from on.';

-- reap_tokens() skips rows that are locked, because they may be being registered again. It returns their reports as `waiting`, and
-- the tokens that it deleted and that had an owner as `owned`, with their `owners`.
CREATE OR REPLACE FUNCTION carillon.reap_tokens(
    app integer, reports bigint[], gone text[], gone_at timestamptz[], OUT deleted bigint, OUT waiting bigint[],
    OUT owned text[], OUT owners text[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    candidates bigint;
BEGIN
    waiting := '{}';
    WITH gone AS (
        SELECT lower(u.token) AS token, max(u.at) AS at FROM unnest(gone, gone_at) AS u(token, at) GROUP BY 1
    ), seen AS MATERIALIZED (
        SELECT t.ctid AS tid, g.at FROM gone g JOIN carillon.tokens t
            ON t.app_id = reap_tokens.app AND t.token = g.token AND t.last_update < g.at
    ), dead AS MATERIALIZED (
        -- The time is checked again, because the row may have changed.
        SELECT t.ctid AS tid FROM seen s JOIN carillon.tokens t ON t.ctid = s.tid AND t.last_update < s.at
        FOR UPDATE OF t SKIP LOCKED
    ), deletion AS (
        DELETE FROM carillon.tokens t WHERE t.ctid = ANY (ARRAY(SELECT d.tid FROM dead d)) RETURNING t.token, t.owner
    )
    SELECT count(*), array_agg(d.token) FILTER (WHERE d.owner IS NOT NULL), array_agg(d.owner) FILTER (WHERE d.owner IS NOT NULL),
        (SELECT count(*) FROM seen)
    INTO deleted, owned, owners, candidates FROM deletion d;
    IF candidates > deleted THEN
        waiting := ARRAY(
            SELECT u.id FROM unnest(reports, gone, gone_at) AS u(id, token, at)
            JOIN carillon.tokens t ON t.app_id = reap_tokens.app AND t.token = lower(u.token) AND t.last_update < u.at);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.reap_tokens IS
    'Internal: deletes an app''s rows of tokens that were registered before they died; returns the reports to handle later.';

-- A table in which the deletion fails does not stop the others: a later pass catches up on it, from `first_report`.
CREATE OR REPLACE FUNCTION carillon.reap_tables(
    app integer, first_report bigint, gone text[], gone_at timestamptz[], OUT deleted bigint, OUT faults text[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    watched carillon.watched_tables;
    made record;
BEGIN
    deleted := 0;
    faults := '{}';
    FOR watched IN SELECT w.* FROM carillon.watched_tables w WHERE w.app_id = reap_tables.app ORDER BY w.id LOOP
        BEGIN
            IF watched.missed_from IS NULL THEN
                SELECT r.* INTO made FROM carillon.reap_watched(watched, gone, gone_at) r;
                deleted := deleted + made.deleted;
                IF made.fault IS NOT NULL THEN
                    faults := faults || (watched.relation || ': ' || made.fault);
                    UPDATE carillon.watched_tables w SET last_error = made.fault WHERE w.id = watched.id;
                END IF;
            ELSIF watched.missed_from > first_report THEN
                UPDATE carillon.watched_tables w SET missed_from = first_report WHERE w.id = watched.id;
            END IF;
        EXCEPTION
            WHEN OTHERS THEN
                faults := faults || (watched.relation || ': ' || SQLERRM);
                UPDATE carillon.watched_tables w SET last_error = SQLERRM, missed_from = first_report
                WHERE w.id = watched.id;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.reap_tables IS 'Internal: deletes dead tokens from the watched tables of an app.';

-- catch_up_next_table() catches up on the next watched table after `after`. It returns null if no table has missed feedback.
CREATE OR REPLACE FUNCTION carillon.catch_up_next_table(only_app integer, after bigint, max_rows integer)
RETURNS carillon.reap_batch
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    watched carillon.watched_tables;
    made record;
    batch carillon.reap_batch;
BEGIN
    SELECT w.* INTO watched FROM carillon.watched_tables w
    WHERE w.id > after AND w.missed_from IS NOT NULL AND (only_app IS NULL OR w.app_id = only_app)
    ORDER BY w.id LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT c.* INTO made FROM carillon.catch_up_table(watched, max_rows) c;
    UPDATE carillon.watched_tables w SET missed_from = made.missed_from, last_error = made.fault
    WHERE w.id = watched.id AND (w.missed_from, w.last_error) IS DISTINCT FROM (made.missed_from, made.fault);
    batch.state := 'more';
    -- A table without progress waits for the next pass.
    batch.next := ROW(CASE WHEN made.missed_from IS NULL OR made.missed_from = watched.missed_from THEN watched.id ELSE after END,
        NULL, NULL);
    batch.of_app := (SELECT a.name FROM carillon.apps a WHERE a.id = watched.app_id);
    batch.handled := 0;
    batch.deleted := made.deleted;
    batch.faults := CASE WHEN made.fault IS NULL THEN '{}' ELSE ARRAY[watched.relation || ': ' || made.fault] END;
    RETURN batch;
END
$$;
COMMENT ON FUNCTION carillon.catch_up_next_table IS 'Internal: applies some feedback that a watched table has missed.';

-- reap_new_feedback() handles feedback app by app. What awaits counts stays for a later pass.
CREATE OR REPLACE FUNCTION carillon.reap_new_feedback(only_app integer, after carillon.reap_position, max_rows integer)
RETURNS carillon.reap_batch
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    at_app CONSTANT integer := coalesce(after.app, -2147483648);
    at_report CONSTANT bigint := coalesce(after.report, 0);
    target integer;
    last_id bigint;
    ids bigint[];
    dead_ids bigint[];
    gone text[];
    gone_at timestamptz[];
    waiting bigint[] := '{}';
    owned text[];
    owners text[];
    made record;
    batch carillon.reap_batch := ROW('more', NULL, NULL, 0, 0, '{}');
BEGIN
    SELECT min(report.app_id), array_agg(report.id), max(report.id),
        array_agg(report.id) FILTER (WHERE report.died_at IS NOT NULL),
        array_agg(report.token) FILTER (WHERE report.died_at IS NOT NULL),
        array_agg(report.died_at) FILTER (WHERE report.died_at IS NOT NULL)
    INTO target, ids, last_id, dead_ids, gone, gone_at
    FROM (
        SELECT f.app_id, f.id, f.token, carillon.died_at(f) FROM carillon.feedback f
        WHERE f.app_id = coalesce(only_app, (
                SELECT n.app_id FROM carillon.feedback n
                WHERE n.handled_at IS NULL AND (n.app_id, n.id) > (at_app, at_report) AND NOT carillon.awaits_counts(n)
                ORDER BY n.app_id, n.id LIMIT 1))
            AND f.handled_at IS NULL AND (f.app_id, f.id) > (at_app, at_report) AND NOT carillon.awaits_counts(f)
        ORDER BY f.id LIMIT max_rows) report;
    IF ids IS NULL THEN
        batch.state := 'over';
        RETURN batch;
    END IF;
    batch.next := ROW(NULL, target, last_id);
    batch.of_app := (SELECT a.name FROM carillon.apps a WHERE a.id = target);
    IF gone IS NOT NULL THEN
        SELECT r.* INTO made FROM carillon.reap_tokens(target, dead_ids, gone, gone_at) r;
        batch.deleted := made.deleted;
        waiting := made.waiting;
        owned := made.owned;
        owners := made.owners;
        SELECT r.* INTO made FROM carillon.reap_tables(target, dead_ids[1], gone, gone_at) r;
        batch.deleted := batch.deleted + made.deleted;
        batch.faults := made.faults;
    END IF;
    UPDATE carillon.feedback f SET handled_at = now(), owner = owners[array_position(owned, lower(f.token))]
    WHERE f.app_id = target AND f.id = ANY (ids) AND f.id <> ALL (waiting);
    GET DIAGNOSTICS batch.handled = ROW_COUNT;
    RETURN batch;
END
$$;
COMMENT ON FUNCTION carillon.reap_new_feedback IS 'Internal: handles some feedback that no pass has handled yet.';

-- reap_batch() takes null as `after` first, then `next` from the previous batch. It is busy while another session runs a batch,
-- perhaps in a long transaction.
CREATE OR REPLACE FUNCTION carillon.reap_batch(
    app text DEFAULT NULL, after carillon.reap_position DEFAULT NULL, max_rows integer DEFAULT 1000
) RETURNS carillon.reap_batch
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '500ms'
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    only_app CONSTANT integer := CASE WHEN app IS NOT NULL THEN carillon.app_id(app) END;
    batch carillon.reap_batch;
BEGIN
    PERFORM FROM carillon.reap_lock l FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN ROW('busy', after, NULL, 0, 0, '{}')::carillon.reap_batch;
    END IF;
    IF after IS NULL THEN
        UPDATE carillon.watched_tables w SET last_error = NULL
        WHERE w.last_error IS NOT NULL AND w.missed_from IS NULL AND (only_app IS NULL OR w.app_id = only_app);
    END IF;
    -- Tables that fail once new feedback is being handled wait for the next pass.
    IF after IS NULL OR after.watched_table IS NOT NULL THEN
        batch := carillon.catch_up_next_table(only_app, coalesce(after.watched_table, 0), max_rows);
    END IF;
    IF batch.state IS NULL THEN
        batch := carillon.reap_new_feedback(only_app, after, max_rows);
    END IF;
    RETURN batch;
END
$$;
COMMENT ON FUNCTION carillon.reap_batch IS 'Internal: runs one batch of a feedback pass.';

CREATE OR REPLACE FUNCTION carillon.reap(app text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    batch carillon.reap_batch;
    total bigint := 0;
BEGIN
    PERFORM FROM carillon.reap_lock l FOR UPDATE;
    LOOP
        batch := carillon.reap_batch(reap.app, batch.next);
        total := total + batch.deleted;
        EXIT WHEN batch.state = 'over';
    END LOOP;
    RETURN total;
END
$$;
COMMENT ON FUNCTION carillon.reap IS
    'Runs a feedback pass, for one app or all, in one transaction. Returns the number of tokens deleted.';

CREATE OR REPLACE PROCEDURE carillon.reap_all(app text DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    batch carillon.reap_batch;
BEGIN
    LOOP
        batch := carillon.reap_batch(app, batch.next);
        COMMIT;
        EXIT WHEN batch.state = 'over';
        IF batch.state = 'busy' THEN
            PERFORM pg_catalog.pg_sleep(0.1);
        END IF;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE carillon.reap_all IS 'Runs a feedback pass and commits after each batch. Meant for pg_cron.';

-- keep_feedback() is for the lists of the legacy feedback service, which is the source that is called binary.
CREATE OR REPLACE FUNCTION carillon.keep_feedback(apps integer[], tokens text[], milliseconds bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.use_session_path();
    INSERT INTO carillon.feedback (app_id, token, unregistered_at, source)
    SELECT a.id, r.token, pg_catalog.to_timestamp(pg_catalog.float8(r.milliseconds) / float '1000'), 'binary'
    FROM unnest(tokens, milliseconds) AS r(token, milliseconds) CROSS JOIN pg_catalog.unnest(apps) AS a(id);
    PERFORM carillon.note_dead(a.id, tokens, ARRAY(
        SELECT pg_catalog.to_timestamp(pg_catalog.float8(m.number) / float '1000')
        FROM pg_catalog.unnest(milliseconds) WITH ORDINALITY AS m(number, place) ORDER BY m.place))
    FROM pg_catalog.unnest(apps) AS a(id);
END
$$;
COMMENT ON FUNCTION carillon.keep_feedback IS 'Internal: records device tokens of a legacy feedback list for each of the apps.';

-- reapable() changes and locks nothing.
CREATE OR REPLACE FUNCTION carillon.reapable(app text DEFAULT NULL)
RETURNS TABLE (of_app text, relation text, tokens bigint, fault text)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET jit = off AS $$
DECLARE
    only_app CONSTANT integer := CASE WHEN reapable.app IS NOT NULL THEN carillon.app_id(reapable.app) END;
    target record;
    watched carillon.watched_tables;
BEGIN
    FOR target IN
        SELECT a.id, a.name FROM carillon.apps a WHERE only_app IS NULL OR a.id = only_app ORDER BY a.name
    LOOP
        of_app := target.name;
        relation := 'carillon.tokens';
        fault := NULL;
        SELECT count(*) INTO tokens FROM carillon.tokens t JOIN (
            SELECT lower(d.token) AS token, max(d.at) AS at FROM carillon.dead_tokens(target.id) d GROUP BY 1
        ) g ON t.app_id = target.id AND t.token = g.token AND t.last_update < g.at;
        RETURN NEXT;
        FOR watched IN SELECT w.* FROM carillon.watched_tables w WHERE w.app_id = target.id ORDER BY w.id LOOP
            relation := watched.relation;
            tokens := NULL;
            fault := NULL;
            BEGIN
                SELECT carillon.run_watched_statement(watched, 'SELECT', array_agg(d.token), array_agg(d.at)) INTO tokens
                FROM carillon.dead_tokens(watched.app_id, watched.missed_from) d;
            EXCEPTION
                WHEN OTHERS THEN
                    fault := SQLERRM;
            END;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.reapable IS
    'Internal: returns what a feedback pass would delete now, table by table; fault says why that cannot be determined.';
