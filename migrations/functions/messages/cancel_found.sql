-- Cancels by reference or owner, for cancel(). cancel_found() takes the locks of cancel.sql, app by app.

-- open_messages() reads the queue of the apps, because no index finds a reference there.
CREATE OR REPLACE FUNCTION carillon.open_messages(apps integer[], reference text)
RETURNS TABLE (app_id integer, message_id bigint, broadcast_id bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT k.app_id, k.message_id, k.broadcast_id FROM (
        SELECT m.app_id, coalesce(m.origin, m.id) AS message_id, m.broadcast_id, m.reference FROM carillon.messages m
        UNION ALL
        SELECT s.app_id, coalesce(s.origin, s.id), s.broadcast_id, s.reference FROM carillon.scheduled s
        UNION ALL
        SELECT i.app_id, coalesce(j.origin, j.id), j.broadcast_id, j.reference
        FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) AS j
        UNION ALL
        SELECT u.app_id, u.message_id, u.broadcast_id, u.reference FROM carillon.unfinished u
    ) AS k
    WHERE k.reference = open_messages.reference AND (apps IS NULL OR k.app_id = ANY (apps))
$$;
COMMENT ON FUNCTION carillon.open_messages IS 'Internal: returns the messages with a reference that have not ended.';

CREATE OR REPLACE FUNCTION carillon.cancel_found(message_id bigint, app text, reference text, owner text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(cancel_found.app);
    refusal carillon.refusal;
    target record;
    taken record;
    jobs integer := 0;
BEGIN
    IF num_nonnulls(cancel_found.message_id, cancel_found.reference, cancel_found.owner) > 1 THEN
        refusal := carillon.refusal(CASE WHEN cancel_found.message_id IS NULL THEN 'owner' ELSE 'message_id' END,
            'null if another of message_id, reference and owner is given',
            quote_literal(coalesce(cancel_found.message_id::text, cancel_found.owner)),
            'Call cancel once for each.');
    ELSIF cancel_found.app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(cancel_found.app);
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    FOR target IN
        SELECT f.app_id, coalesce(array_agg(DISTINCT f.message_id) FILTER (WHERE b.id IS NULL), '{}') AS whole,
            coalesce(array_agg(DISTINCT b.id) FILTER (WHERE b.id IS NOT NULL), '{}') AS split
        FROM carillon.open_messages(chosen, cancel_found.reference) f
        LEFT JOIN carillon.split_messages b ON b.app_id = f.app_id AND b.id = f.broadcast_id
        WHERE cancel_found.reference IS NOT NULL GROUP BY f.app_id ORDER BY f.app_id
    LOOP
        jobs := jobs + carillon.cancel_jobs(target.app_id, target.whole, target.split);
    END LOOP;
    FOR target IN
        SELECT t.app_id, array_agg(t.token) AS tokens FROM carillon.tokens t
        WHERE t.owner = cancel_found.owner AND (chosen IS NULL OR t.app_id = ANY (chosen)) GROUP BY t.app_id ORDER BY t.app_id
    LOOP
        SELECT w.* INTO taken FROM carillon.take_waiting(target.app_id, target.tokens, NULL) AS w;
        PERFORM carillon.record_stopped(target.app_id, taken.ended, taken.begun);
        jobs := jobs + taken.ready + taken.scheduled;
        PERFORM carillon.record_on_behalf('cancel', target.app_id,
            jsonb_build_object('jobs', taken.ready + taken.scheduled, 'in_flight', taken.in_flight));
    END LOOP;
    RETURN jobs;
END
$$;
COMMENT ON FUNCTION carillon.cancel_found IS 'Internal: cancels messages by reference, or the pushes to the tokens of an owner.';
