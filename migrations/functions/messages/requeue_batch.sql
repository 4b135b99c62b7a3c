-- Counts, requeues and dismisses failures in batches, for dashboards: a batch takes as many failures as a short transaction can.

-- Failures are in order of time. Those that one settlement wrote have the same time and stay together.
CREATE OR REPLACE FUNCTION carillon.failure_batch_end(app_id integer, after timestamptz, until timestamptz, max_rows_read integer)
RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT f.failed_at FROM carillon.failures f
    WHERE f.app_id = failure_batch_end.app_id AND f.failed_at > after AND f.failed_at <= until
    ORDER BY f.failed_at OFFSET greatest(max_rows_read, 1) - 1 LIMIT 1
$$;
COMMENT ON FUNCTION carillon.failure_batch_end IS
    'Internal: returns the time of the last of the next max_rows_read failures of an app; null if there are fewer.';

CREATE OR REPLACE FUNCTION carillon.check_failure_batch(app text, after timestamptz, until timestamptz) RETURNS carillon.apps
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target carillon.apps;
    refusal carillon.refusal;
BEGIN
    SELECT a.* INTO target FROM carillon.apps a WHERE a.name = app;
    IF target.id IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSIF after IS NULL OR until IS NULL THEN
        refusal := carillon.refusal(CASE WHEN after IS NULL THEN 'after' ELSE 'until' END, 'a time', 'null');
    END IF;
    PERFORM carillon.refuse(refusal);
    RETURN target;
END
$$;
COMMENT ON FUNCTION carillon.check_failure_batch IS
    'Internal: checks the arguments, and returns the app whose failures are counted, requeued or dismissed.';

CREATE OR REPLACE FUNCTION carillon.count_failures(
    app text, action text, after timestamptz, until timestamptz, reason text DEFAULT NULL,
    include_unknown boolean DEFAULT false, max_rows_read integer DEFAULT 5000, OUT pushes bigint, OUT pushes_precision text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.check_failure_batch(app, after, until);
    last CONSTANT timestamptz := carillon.failure_batch_end(target.id, after, until, coalesce(max_rows_read, 5000));
BEGIN
    IF action = 'requeue' THEN
        SELECT count(*) INTO pushes FROM carillon.requeueable(target.id, reason, NULL,
            after + interval '1 microsecond', coalesce(last, until), include_unknown, false);
    ELSE
        SELECT count(*) INTO pushes FROM carillon.failures f
        WHERE f.app_id = target.id AND f.failed_at > after AND f.failed_at <= coalesce(last, until)
            AND f.requeued_at IS NULL AND f.dismissed_at IS NULL
            AND (count_failures.reason IS NULL OR f.reason = count_failures.reason);
    END IF;
    pushes_precision := CASE WHEN last IS NULL THEN 'exact' ELSE 'at least' END;
END
$$;
COMMENT ON FUNCTION carillon.count_failures IS
    'Internal: counts the failures of an app between two times that requeue_batch or dismiss_batch would process. Reads at most '
    'max_rows_read failures.';

CREATE OR REPLACE FUNCTION carillon.requeue_batch(
    app text, after timestamptz, until timestamptz, reason text DEFAULT NULL, include_unknown boolean DEFAULT false,
    on_behalf_of text DEFAULT NULL, max_rows_read integer DEFAULT 2000, OUT pushes bigint, OUT next timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.check_failure_batch(app, after, until);
BEGIN
    next := carillon.failure_batch_end(target.id, after, until, coalesce(max_rows_read, 2000));
    pushes := carillon.requeue_some(target.id, reason, NULL, after + interval '1 microsecond', coalesce(next, until),
        include_unknown, false);
    IF pushes > 0 THEN
        PERFORM carillon.act_for(on_behalf_of);
        PERFORM carillon.record_change('requeue', target.name, jsonb_build_object('reason', reason,
            'pushes', pushes, 'failed_after', after, 'failed_until', coalesce(next, until),
            'include_unknown', nullif(include_unknown, false)));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.requeue_batch IS
    'Internal: requeues failed pushes of an app between two times, as requeue_failures does. Reads at most max_rows_read failures. '
    'Returns their number and the time to continue from, which is null when done. Recorded in audit.';

-- Dismissed failures are kept; they are only no longer shown as needing action.
CREATE OR REPLACE FUNCTION carillon.dismiss_batch(
    app text, after timestamptz, until timestamptz, reason text DEFAULT NULL, on_behalf_of text DEFAULT NULL,
    max_rows_read integer DEFAULT 5000, OUT pushes bigint, OUT next timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.check_failure_batch(app, after, until);
BEGIN
    next := carillon.failure_batch_end(target.id, after, until, coalesce(max_rows_read, 5000));
    UPDATE carillon.failures f SET dismissed_at = now()
    WHERE f.app_id = target.id AND f.failed_at > after AND f.failed_at <= coalesce(next, until)
        AND f.requeued_at IS NULL AND f.dismissed_at IS NULL
        AND (dismiss_batch.reason IS NULL OR f.reason = dismiss_batch.reason);
    GET DIAGNOSTICS pushes = ROW_COUNT;
    IF pushes > 0 THEN
        PERFORM carillon.act_for(on_behalf_of);
        PERFORM carillon.record_change('dismiss', target.name, jsonb_build_object('reason', reason,
            'pushes', pushes, 'failed_after', after, 'failed_until', coalesce(next, until)));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.dismiss_batch IS
    'Internal: marks failures of an app between two times as needing no action. Reads at most max_rows_read failures. Dashboards '
    'hide them, and bulk requeues leave them out. Returns what requeue_batch returns. Recorded in audit.';
