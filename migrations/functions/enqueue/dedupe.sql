-- Dedupe keys. submit() and submit_publication() call take_dedupe_key() in the transaction that enqueues the message: its lock on
-- the row of dedupe is what makes two callers with one key wait for each other.

-- ended_unsent() is true if every push was cancelled or expired and every attempt was answered.
CREATE OR REPLACE FUNCTION carillon.ended_unsent(app integer, message bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(r.cancelled + r.expired) > 0 AND sum(r.sent + r.failed) = 0
        AND sum(r.cancelled + r.expired) >= coalesce(
            (SELECT b.tokens FROM carillon.split_messages b
            WHERE b.app_id = ended_unsent.app AND b.id = ended_unsent.message), 0)
        AND NOT bool_or(EXISTS (
            SELECT FROM carillon.unknown_outcomes u WHERE u.app_id = r.app_id AND u.message_id = r.message_id)), false)
    FROM (
        SELECT m.* FROM carillon.results m
        WHERE m.message_id = ended_unsent.message AND m.broadcast_id IS NULL
        UNION ALL
        SELECT p.* FROM carillon.results p WHERE p.broadcast_id = ended_unsent.message
    ) AS r
    WHERE r.app_id = ended_unsent.app
$$;
COMMENT ON FUNCTION carillon.ended_unsent IS
    'Internal: returns whether a message has ended without any push that may have been delivered.';

-- The interval of a key starts when the message is due. Another message holds the key if its interval has not ended and it may have
-- been sent. Callers with the same key wait for each other, so exactly one of them enqueues.
CREATE OR REPLACE FUNCTION carillon.take_dedupe_key(
    app_id integer, key text, period interval, run_at timestamptz, message_id bigint
) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO carillon.dedupe AS d (app_id, key, message_id, until)
    VALUES (take_dedupe_key.app_id, take_dedupe_key.key, take_dedupe_key.message_id,
        greatest(now(), run_at) + coalesce(period, interval '1 day'))
    ON CONFLICT (app_id, key) DO UPDATE SET message_id = excluded.message_id, until = excluded.until, request = NULL
        WHERE d.until <= now() OR carillon.ended_unsent(d.app_id, d.message_id);
    IF FOUND THEN
        RETURN take_dedupe_key.message_id;
    END IF;
    RETURN (SELECT d.message_id FROM carillon.dedupe d WHERE d.app_id = take_dedupe_key.app_id AND d.key = take_dedupe_key.key);
END
$$;
COMMENT ON FUNCTION carillon.take_dedupe_key IS 'Internal: takes a dedupe key, or returns the message that holds it.';
