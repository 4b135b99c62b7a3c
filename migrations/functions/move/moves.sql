-- `carillon app move` moves an app to another database. leave.sql has what it calls in the source, arrive.sql what it calls in the
-- target; docs/moving.md describes the steps. Each function does one step, and may be called again after the program, a worker or a
-- database was killed: the row of `moves` in the source says where the app is. Only the owner of the schema may call them.
--
-- Rows travel as the text of a row of their table, so both databases must have the same version of the schema.

-- In the order in which rows are taken: promote() moves jobs from scheduled to messages, and events are found by what consumers
-- have not taken. Rows of the state move with the app; those of history follow.
CREATE OR REPLACE FUNCTION carillon.moving_tables() RETURNS TABLE (place integer, relation text, is_history boolean, condition text)
LANGUAGE sql IMMUTABLE AS $$
    VALUES (1, 'scheduled', false, 't.app_id = $1'), (2, 'messages', false, 't.app_id = $1'),
        (3, 'split_messages', false, 't.app_id = $1'), (4, 'cancelled', false, 't.app_id = $1'),
        (5, 'unknown_outcomes', false, 't.app_id = $1'), (6, 'dedupe', false, 't.app_id = $1'),
        (7, 'updates', false, 't.app_id = $1'), (8, 'update_stamps', false, 't.app_id = $1'),
        (9, 'unfinished', false, 't.app_id = $1'), (10, 'device_slots', false, 't.app_id = $1'),
        (11, 'rates', false, 't.app_id = $1'), (12, 'channels', false, 't.app_id = $1'),
        (13, 'unknown_channels', false, 't.app_id = $1'), (14, 'watched_tables', false, 't.app_id = $1'),
        (15, 'breakers', false, 't.app_id = $1'), (16, 'api_tokens', false, 't.app_id = $1'),
        (17, 'feedback', false, 't.app_id = $1 AND t.handled_at IS NULL'),
        (18, 'events', false, 't.app_id = $1 AND t.id IN (SELECT u.event_id FROM carillon.untaken_events u '
            'JOIN carillon.subscriptions s ON s.id = u.subscription_id WHERE s.app_id = $1)'),
        (19, 'untaken_events', false,
            't.subscription_id IN (SELECT s.id FROM carillon.subscriptions s WHERE s.app_id = $1)'),
        (20, 'subscriptions', false, 't.app_id = $1'),
        (21, 'push_count_sums', true, 't.app_id = $1'), (22, 'push_counts', true, 't.app_id = $1'),
        (23, 'feedback', true, 't.app_id = $1'), (24, 'failed_messages', true, 't.app_id = $1'),
        (25, 'failures', true, 't.app_id = $1'), (26, 'results', true, 't.app_id = $1'),
        (27, 'sent_pushes', true, 't.app_id = $1'), (28, 'exported_metrics', true, 't.app_id = $1')
$$;
COMMENT ON FUNCTION carillon.moving_tables IS 'Internal: returns the tables whose rows move with an app.';

-- Fences off earlier runs of `carillon app move` that have not noticed their end. The lock keeps a later one waiting. What one
-- database has committed must not be lost after the other has committed too.
CREATE OR REPLACE FUNCTION carillon.lock_move(app integer, run bigint) RETURNS carillon.moves
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    move carillon.moves;
BEGIN
    SELECT m.* INTO move FROM carillon.moves m WHERE m.app_id = app FOR UPDATE;
    IF move.run IS DISTINCT FROM lock_move.run THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'another run of carillon app move has taken this move over';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    RETURN move;
END
$$;
COMMENT ON FUNCTION carillon.lock_move IS 'Internal: locks a move for this run, or fails if there was a later one.';

-- The largest ids that rows of the app may have. The target assigns larger ones from then on.
CREATE OR REPLACE FUNCTION carillon.moving_sequences() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT '{messages_id_seq,feedback_id_seq,watched_tables_id_seq,subscriptions_id_seq,event_ids}'::pg_catalog.text[]
$$;
COMMENT ON FUNCTION carillon.moving_sequences IS 'Internal: returns the sequences whose numbers move with an app.';
