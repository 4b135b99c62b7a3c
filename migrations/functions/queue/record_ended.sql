-- For whole messages, it does what end_messages() does, without a composite value for each. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.record_ended(
    app integer, worker bigint, ended bigint[], ended_remaining integer[], ended_reference text[], ended_broadcast bigint[],
    ended_created timestamptz[], ended_sent integer[], ended_failed integer[], ended_expired integer[],
    ended_attempts smallint[], ended_status smallint[], ended_reason text[], ended_unique_ids jsonb[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    -- Empty if each message had one push, sent at the first attempt. Reading them would be a tenth of a settlement of one message.
    IF pg_catalog.array_ndims(ended_remaining) IS NULL AND pg_catalog.array_ndims(ended_broadcast) IS NULL
        AND pg_catalog.array_ndims(ended_sent) IS NULL AND pg_catalog.array_ndims(ended_failed) IS NULL
        AND pg_catalog.array_ndims(ended_expired) IS NULL AND pg_catalog.array_ndims(ended_attempts) IS NULL
        AND pg_catalog.array_ndims(ended_status) IS NULL AND pg_catalog.array_ndims(ended_reason) IS NULL
        AND pg_catalog.array_ndims(ended_unique_ids) IS NULL
    THEN
        INSERT INTO carillon.results (message_id, app_id, reference, sent, created_at, worker_id)
        SELECT e.message_id, app, e.reference, 1, e.created_at, worker
        FROM unnest(ended, ended_reference, ended_created) AS e(message_id, reference, created_at);
        RETURN;
    END IF;
    INSERT INTO carillon.results
        (message_id, app_id, reference, broadcast_id, sent, failed, expired, attempts, created_at, worker_id,
        last_status, last_reason, apns_unique_ids)
    SELECT e.message_id, app, e.reference, e.broadcast_id, e.sent, e.failed, e.expired, e.attempts, e.created_at, worker,
        e.last_status, e.last_reason, e.apns_unique_ids
    FROM carillon.endings(messages => ended, remaining => ended_remaining, reference => ended_reference,
        broadcast => ended_broadcast, created => ended_created, sent => ended_sent, failed => ended_failed,
        expired => ended_expired, attempts => ended_attempts, status => ended_status, reason => ended_reason,
        unique_ids => ended_unique_ids) AS e
    WHERE e.remaining IS NULL;
    -- The others are counted in unfinished.
    IF pg_catalog.cardinality(pg_catalog.array_remove(ended_remaining, NULL)) > 0 THEN
        PERFORM carillon.end_messages(app, ARRAY(
            SELECT e FROM carillon.endings(messages => ended, remaining => ended_remaining, reference => ended_reference,
                broadcast => ended_broadcast, created => ended_created, sent => ended_sent, failed => ended_failed,
                expired => ended_expired, attempts => ended_attempts, status => ended_status, reason => ended_reason,
                unique_ids => ended_unique_ids) AS e
            WHERE e.remaining IS NOT NULL), worker);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.record_ended IS 'Internal: records messages of which pushes have ended, in results or unfinished.';
