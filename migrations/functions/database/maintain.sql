-- Maintenance, which workers run every hour, and pg_cron may. Each step is done in short transactions. A step waits at most 100 ms
-- at a time for a lock, skips locked rows, and runs in one session at a time.

-- delete_old() skips locked rows. `more` tells whether rows are left. Its conditions are text, which nothing checks before it runs:
-- PublicationTests runs each, and PartitionTests shows what most of them delete.
CREATE OR REPLACE FUNCTION carillon.delete_old(relation text, horizon timestamptz, OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    max_rows CONSTANT integer := 10000;
    is_old CONSTANT text := CASE regexp_replace(relation, '^sent_pushes_.*', 'sent_pushes')
        WHEN 'results_default' THEN 't.finished_at < $1'
        WHEN 'failures_default' THEN 't.failed_at < $1'
        WHEN 'failed_messages_default' THEN 't.failed_at < $1'
        WHEN 'events_default' THEN 't.at < $1'
        -- Of a partition. The setting of an app that was removed is null too.
        WHEN 'sent_pushes' THEN 't.sent_at < now()
            - coalesce((SELECT a.keep_sent FROM carillon.apps a WHERE a.id = t.app_id), interval ''0'')'
        WHEN 'untaken_events' THEN 't.at < $1
            OR NOT EXISTS (SELECT FROM carillon.subscriptions s WHERE s.id = t.subscription_id)'
        WHEN 'cancelled' THEN 't.cancelled_at < $1'
        WHEN 'push_counts' THEN 't.minute < greatest($1, now() - interval ''1 day'')'
        WHEN 'push_count_sums' THEN 't.start < greatest($1, now() - interval ''2 days'')'
        WHEN 'dedupe' THEN 't.until <= now()'
        WHEN 'feedback' THEN 't.handled_at < $1'
        -- Tokens whose Live Activity has ended.
        WHEN 'tokens' THEN 't.expires_at <= now()'
        WHEN 'audit' THEN 't.at < least($1, now() - interval ''1 year'')'
        WHEN 'exported_metrics' THEN 't.day < least($1, now() - interval ''1 year'')'
        -- A Live Activity lives for at most 12 hours. A media session may live longer: an update that has waited for so long, as
        -- in a paused app, loses its order.
        WHEN 'updates' THEN 't.due_at < least($1, now() - interval ''1 day'')'
        WHEN 'update_stamps' THEN 't.due_at < least($1, now() - interval ''1 day'')'
        WHEN 'device_slots' THEN 't.last_at < now() - interval ''1 hour'''
        -- Kept as long as the results of the message, because ended_unsent() reads both.
        WHEN 'unknown_outcomes' THEN 't.noted_at < $1
            AND NOT EXISTS (SELECT FROM carillon.results r WHERE r.app_id = t.app_id AND r.message_id = t.message_id)
            AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.app_id = t.app_id AND u.message_id = t.message_id)
            AND NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = t.app_id AND s.id = t.message_id)
            AND NOT EXISTS (SELECT FROM carillon.messages m
                WHERE m.app_id = t.app_id AND m.lane IN (SELECT l.lane FROM carillon.filled_lanes(t.app_id) l)
                AND m.id = t.message_id)'
        -- Deleted after the results of its jobs.
        WHEN 'split_messages' THEN 't.created_at < $1
            AND NOT EXISTS (SELECT FROM carillon.results r WHERE r.app_id = t.app_id AND r.broadcast_id = t.id)
            AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.app_id = t.app_id AND u.broadcast_id = t.id)
            AND NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = t.app_id AND s.broadcast_id = t.id)
            AND NOT EXISTS (
                SELECT FROM carillon.messages m WHERE m.app_id = t.app_id AND m.lane = t.lane
                AND m.id BETWEEN t.id AND t.last_id AND m.broadcast_id = t.id)'
    END;
BEGIN
    EXECUTE format('DELETE FROM carillon.%I d WHERE d.ctid = ANY (ARRAY('
        || 'SELECT t.ctid FROM carillon.%I t WHERE %s LIMIT %s FOR UPDATE SKIP LOCKED))', relation, relation, is_old, max_rows)
    USING horizon;
    GET DIAGNOSTICS changed = ROW_COUNT;
    more := changed = max_rows;
END
$$;
COMMENT ON FUNCTION carillon.delete_old IS 'Internal: deletes a batch of rows older than the horizon.';

-- Each app has a time of its own, so rows are also deleted from partitions that another app needs.
CREATE OR REPLACE FUNCTION carillon.delete_sent(OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    child text;
BEGIN
    FOR child IN SELECT p.name FROM carillon.partitions('sent_pushes') p ORDER BY p.lower_bound LOOP
        SELECT d.* INTO changed, more FROM carillon.delete_old(child, NULL) AS d;
        EXIT WHEN changed > 0;
    END LOOP;
    more := changed > 0;
END
$$;
COMMENT ON FUNCTION carillon.delete_sent IS 'Internal: deletes a batch of sent pushes that their apps no longer keep.';

-- A worker may write the counts of a minute a little late, so the last two sums of an app are computed again. Sums never shrink,
-- because old counts are deleted. An app that has just moved here is left out until its own counts have arrived: a sum without them
-- would stand for both.
CREATE OR REPLACE FUNCTION carillon.sum_push_counts(OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    size CONSTANT interval := interval '20 minutes';
    until CONSTANT timestamptz := date_bin(size, now() - interval '1 minute', 'epoch');
BEGIN
    INSERT INTO carillon.push_count_sums AS s (start, app_id, sent, failed, expired, retried)
    SELECT date_bin(size, t.minute, 'epoch'), a.id, sum(t.sent), sum(t.failed), sum(t.expired), sum(t.retried)
    FROM carillon.apps a CROSS JOIN LATERAL (
        SELECT coalesce(max(s.start) - size, '-infinity') AS since FROM carillon.push_count_sums s WHERE s.app_id = a.id
    ) last JOIN carillon.push_counts t ON t.app_id = a.id AND t.minute >= last.since AND t.minute < until
    WHERE NOT EXISTS (SELECT FROM carillon.moves m WHERE m.app_id = a.id AND NOT m.is_source AND m.ended_at IS NULL)
    GROUP BY 1, 2
    ON CONFLICT (app_id, start) DO UPDATE SET sent = greatest(s.sent, excluded.sent),
        failed = greatest(s.failed, excluded.failed), expired = greatest(s.expired, excluded.expired),
        retried = greatest(s.retried, excluded.retried)
    WHERE excluded.sent > s.sent OR excluded.failed > s.failed OR excluded.expired > s.expired OR excluded.retried > s.retried;
    GET DIAGNOSTICS changed = ROW_COUNT;
    more := false;
END
$$;
COMMENT ON FUNCTION carillon.sum_push_counts IS 'Internal: computes the sums of push_counts that are missing.';

-- maintain_step() returns how many partitions or rows it changed, whether there is more to do, and the error with its SQLSTATE. It
-- does nothing while another session runs the same step. Runs as its owner, because only the owner of a table can create or drop
-- its partitions. Without a retention, it takes that of the workers.
CREATE OR REPLACE FUNCTION carillon.maintain_step(
    action text, target text, retention interval DEFAULT NULL, OUT changed bigint, OUT more boolean, OUT error text,
    OUT state text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    retention := coalesce(retention, (SELECT c.retention FROM carillon.fleet_tasks c WHERE c.name = 'maintain'), interval '7 days');
    IF retention < interval '1 hour' THEN
        RAISE EXCEPTION 'argument "retention" takes an interval of 1 hour or more, got %', retention
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    changed := 0;
    more := false;
    PERFORM FROM carillon.maintenance m WHERE m.action = maintain_step.action AND m.target = maintain_step.target
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    BEGIN
        IF action = 'make' THEN
            SELECT s.* INTO changed, more FROM carillon.make_partitions(target) AS s;
        ELSIF action = 'drop' THEN
            SELECT s.* INTO changed, more FROM carillon.drop_partition(target, now() - CASE target
                WHEN 'sent_pushes' THEN coalesce((SELECT max(a.keep_sent) FROM carillon.apps a), interval '0')
                ELSE retention END) AS s;
        ELSIF target = 'sent_pushes' AND action = 'delete' THEN
            SELECT s.* INTO changed, more FROM carillon.delete_sent() AS s;
        ELSIF action = 'sum' THEN
            SELECT s.* INTO changed, more FROM carillon.sum_push_counts() AS s;
        ELSE
            SELECT s.* INTO changed, more FROM carillon.delete_old(target, now() - retention) AS s;
        END IF;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            changed := 0;
            more := false;
            error := SQLERRM;
            state := SQLSTATE;
    END;
    IF error IS NOT NULL THEN
        UPDATE carillon.maintenance m SET last_failure = now(), last_error = maintain_step.error
        WHERE m.action = maintain_step.action AND m.target = maintain_step.target;
    ELSIF NOT more THEN
        UPDATE carillon.maintenance m SET last_success = now()
        WHERE m.action = maintain_step.action AND m.target = maintain_step.target;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.maintain_step IS 'Internal: does part of one step of maintenance.';

-- maintain() commits after each part of a step, and warns about steps that failed.
CREATE OR REPLACE PROCEDURE carillon.maintain(retention interval DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    step pg_catalog.record;
    done pg_catalog.record;
BEGIN
    FOR step IN SELECT m.action, m.target FROM carillon.maintenance m ORDER BY m.run_order LOOP
        LOOP
            SELECT s.* INTO done FROM carillon.maintain_step(step.action, step.target, retention) AS s;
            COMMIT;
            IF done.error IS NOT NULL THEN
                RAISE WARNING 'step "% %" failed: %', step.action, step.target, done.error;
            END IF;
            EXIT WHEN NOT done.more;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE carillon.maintain IS
    'Creates and drops partitions, sums counts of pushes, and deletes rows older than the retention, as workers do every hour. '
    'By default, the retention is that of the workers, or seven days if none has run. Meant for pg_cron.';

-- default_partition_rows() is exact up to 1,000, and the planner's estimate beyond.
CREATE OR REPLACE FUNCTION carillon.default_partition_rows() RETURNS TABLE (relation text, rows bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    max_rows CONSTANT integer := 1000;
    plan json;
BEGIN
    FOREACH relation IN ARRAY ARRAY['results', 'failures', 'failed_messages', 'events', 'sent_pushes'] LOOP
        EXECUTE format('SELECT count(*) FROM (SELECT FROM carillon.%I LIMIT %s) few', relation || '_default', max_rows + 1)
            INTO rows;
        IF rows > max_rows THEN
            EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM carillon.%I', relation || '_default') INTO plan;
            rows := greatest(rows, (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric::bigint);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.default_partition_rows IS
    'Internal: returns how many rows of each history table are outside the daily partitions because maintenance is late.';

-- When a task of the fleet is due, or null while a worker has it. `seconds` is the interval of the caller; null is that of the row.
CREATE OR REPLACE FUNCTION carillon.task_due_at(task carillon.fleet_tasks, seconds double precision, clock timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF task.worker_id IS NOT NULL THEN
        -- A worker that was declared dead has no row.
        RETURN CASE WHEN NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = task.worker_id) THEN clock END;
    ELSIF task.next_run <= clock OR task.next_run - task.every > clock THEN
        -- If it was last begun in the future, the clock of the database was set back.
        RETURN clock;
    END IF;
    RETURN least(task.next_run, task.next_run - task.every + make_interval(secs => seconds));
END
$$;
COMMENT ON FUNCTION carillon.task_due_at IS 'Internal: returns when a task of the fleet is due; null while a worker does it.';
