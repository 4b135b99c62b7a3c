-- What `carillon app move` calls in the source: the database that an app leaves.

-- A trigger of `tokens`, which is there only while an app moves.
CREATE OR REPLACE FUNCTION carillon.note_moved_token() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO carillon.moved_tokens (app_id, token) VALUES (OLD.app_id, OLD.token);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO carillon.moved_tokens (app_id, token) VALUES (NEW.app_id, NEW.token);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.note_moved_token IS 'Internal: notes that a token of an app that moves has changed.';

-- With the locks of CREATE TRIGGER, all changes of tokens have ended that the triggers do not note.
CREATE OR REPLACE FUNCTION carillon.follow_tokens(app integer, is_on boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    event text;
BEGIN
    IF is_on = EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = 'carillon.tokens'::regclass AND t.tgname = 'move_delete_' || app)
    THEN
        RETURN;
    END IF;
    PERFORM carillon.lock_tables('{tokens}');
    FOREACH event IN ARRAY '{insert,update,delete}'::text[] LOOP
        EXECUTE CASE WHEN is_on THEN format(
                'CREATE TRIGGER move_%s_%s AFTER %1$s ON carillon.tokens FOR EACH ROW WHEN (%3$s) '
                    'EXECUTE FUNCTION carillon.note_moved_token()',
                event, app, array_to_string(ARRAY[CASE WHEN event <> 'insert' THEN 'OLD.app_id = ' || app END,
                    CASE WHEN event <> 'delete' THEN 'NEW.app_id = ' || app END], ' OR '))
            ELSE format('DROP TRIGGER IF EXISTS move_%s_%s ON carillon.tokens', event, app) END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.follow_tokens IS 'Internal: creates or drops the triggers that note changes of an app''s tokens.';

-- What a webhook keeps of its batch stands for rows that the move would renumber.
CREATE OR REPLACE FUNCTION carillon.refuse_webhooks(app integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM carillon.webhooks w JOIN carillon.subscriptions s ON s.id = w.subscription_id WHERE s.app_id = app) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the app has webhooks, which do not move',
            HINT = 'Remove them with carillon webhook remove, and add them in the target after the move.';
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.refuse_webhooks IS 'Internal: fails if an app has webhooks.';

-- Begins a move, or continues the one that has begun.
CREATE OR REPLACE FUNCTION carillon.leave_app(
    app text, target text, OUT app_id integer, OUT move uuid, OUT run bigint, OUT source uuid, OUT has_left boolean
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    leaving carillon.apps;
    known carillon.moves;
BEGIN
    PERFORM carillon.check_installation();
    SELECT a.* INTO leaving FROM carillon.apps a WHERE a.name = leave_app.app FOR NO KEY UPDATE;
    IF leaving.id IS NULL OR leaving.moved_to = '' THEN
        PERFORM carillon.refuse(carillon.unknown_app(leave_app.app));
    END IF;
    PERFORM carillon.refuse_webhooks(leaving.id);
    SELECT m.* INTO known FROM carillon.moves m WHERE m.app_id = leaving.id FOR UPDATE;
    IF known.is_source AND known.peer <> target THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('a move of the app %L to %s has begun', leave_app.app, known.peer),
            HINT = 'End it with the same command as before, or undo it with --cancel.';
    ELSIF NOT known.is_source AND known.ended_at IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the history of the app %L is still being moved here from %s', leave_app.app, known.peer);
    ELSIF known.is_source THEN
        UPDATE carillon.moves m SET run = m.run + 1 WHERE m.app_id = leaving.id RETURNING m.* INTO known;
    ELSE
        DELETE FROM carillon.moves m WHERE m.app_id = leaving.id;
        INSERT INTO carillon.moves AS m (app_id, is_source, peer) VALUES (leaving.id, true, target) RETURNING m.* INTO known;
        PERFORM carillon.record_change('move app', leave_app.app, jsonb_build_object('to', target));
    END IF;
    app_id := leaving.id;
    move := known.id;
    run := known.run;
    source := (SELECT i.id FROM carillon.installation i);
    has_left := leaving.moved_to IS NOT NULL;
    IF NOT has_left THEN
        PERFORM carillon.follow_tokens(leaving.id, true);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.leave_app IS 'Internal: begins or continues the move of an app to another database.';

-- The first copy. Triggers note what changes meanwhile.
CREATE OR REPLACE FUNCTION carillon.leaving_tokens(app integer, after text, max_rows integer, OUT rows text[], OUT last text)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(t::text), max(t.token) FROM (
        SELECT k.* FROM carillon.tokens k WHERE k.app_id = app AND k.token > coalesce(after, '') ORDER BY k.token LIMIT max_rows) t
$$;
COMMENT ON FUNCTION carillon.leaving_tokens IS 'Internal: returns the next tokens of an app that moves.';

-- Tokens that have changed, and those of them that are there now. If the caller commits after the target has, none is lost.
CREATE OR REPLACE FUNCTION carillon.leaving_changes(
    app integer, run bigint, max_rows integer, OUT tokens text[], OUT rows text[], OUT read_at timestamptz
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.lock_move(app, run);
    WITH gone AS (
        DELETE FROM carillon.moved_tokens m WHERE m.ctid = ANY (ARRAY(
            SELECT n.ctid FROM carillon.moved_tokens n WHERE n.app_id = app LIMIT max_rows))
        RETURNING m.token
    )
    SELECT array_agg(DISTINCT g.token) INTO tokens FROM gone g;
    -- A statement of its own sees what was committed before.
    SELECT coalesce(array_agg(k::text), '{}'), clock_timestamp() INTO rows, read_at
    FROM carillon.tokens k WHERE k.app_id = app AND k.token = ANY (tokens);
END
$$;
COMMENT ON FUNCTION carillon.leaving_changes IS 'Internal: takes notes of changed tokens of an app that moves.';

-- Pauses the app, so that workers claim nothing more, and returns how many pushes are in flight. Or ends this pause, if the move
-- does not continue now: the next run begins where this one ended. A pause by a person stays.
CREATE OR REPLACE FUNCTION carillon.drain_app(app integer, run bigint, is_on boolean) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    move CONSTANT carillon.moves := carillon.lock_move(app, run);
    reason CONSTANT text := 'It is moving to ' || move.peer;
BEGIN
    IF is_on THEN
        UPDATE carillon.moves m SET was_paused = a.paused, paused_reason = a.paused_reason FROM carillon.apps a
        WHERE m.app_id = app AND a.id = app AND a.paused_reason IS DISTINCT FROM reason;
        UPDATE carillon.apps a SET paused = true, paused_reason = reason
        WHERE a.id = app AND a.paused_reason IS DISTINCT FROM reason;
    ELSE
        UPDATE carillon.apps a SET paused = move.was_paused, paused_reason = move.paused_reason
        WHERE a.id = app AND a.moved_to IS NULL AND a.paused_reason = reason;
    END IF;
    RETURN (SELECT coalesce(sum(cardinality(j.tokens)), 0) FROM carillon.inflight f CROSS JOIN unnest(f.jobs) AS j
        WHERE f.app_id = app);
END
$$;
COMMENT ON FUNCTION carillon.drain_app IS
    'Internal: pauses an app that moves, or resumes it, and returns how many of its pushes are in flight.';

-- Deletes rows and returns them, at most max_rows. The caller commits after the target has. A claim or an open transaction that has
-- one of the rows makes it wait; what such a transaction inserts comes later. A cursor lets the next call in the same transaction
-- continue, instead of reading again past all that this one has deleted.
CREATE OR REPLACE FUNCTION carillon.leaving_rows(app integer, run bigint, place integer, max_rows integer) RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    chosen record;
    remaining refcursor := 'leaving_' || leaving_rows.place;
    part oid;
    address tid;
    parts oid[] := '{}';
    addresses tid[] := '{}';
    rows text[];
BEGIN
    PERFORM carillon.lock_move(app, run);
    SELECT t.* INTO STRICT chosen FROM carillon.moving_tables() t WHERE t.place = leaving_rows.place;
    IF chosen.relation = 'subscriptions' THEN
        PERFORM carillon.refuse_webhooks(app);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_cursors c WHERE c.name = 'leaving_' || leaving_rows.place) THEN
        OPEN remaining FOR EXECUTE format('SELECT t.tableoid AS part, t.ctid AS address FROM carillon.%I t WHERE %s',
            chosen.relation, chosen.condition) USING app;
    END IF;
    WHILE cardinality(addresses) < max_rows LOOP
        FETCH remaining INTO part, address;
        IF NOT FOUND THEN
            CLOSE remaining;
            EXIT;
        END IF;
        parts := parts || part;
        addresses := addresses || address;
    END LOOP;
    EXECUTE format('WITH gone AS (DELETE FROM carillon.%I t WHERE t.ctid = ANY ($1) AND (t.tableoid, t.ctid) IN (SELECT * FROM '
        'unnest($2, $1)) RETURNING t) SELECT array_agg(g.t::text) FROM gone g', chosen.relation)
    INTO rows USING addresses, parts;
    RETURN rows;
END
$$;
COMMENT ON FUNCTION carillon.leaving_rows IS 'Internal: takes rows of an app that moves out of one of its tables.';

-- The highest numbers, in the order of moving_sequences().
CREATE OR REPLACE FUNCTION carillon.leaving_numbers() RETURNS bigint[]
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(coalesce(pg_sequence_last_value(format('carillon.%I', s.name)::regclass), 1) ORDER BY s.place)
    FROM unnest(carillon.moving_sequences()) WITH ORDINALITY AS s(name, place)
$$;
COMMENT ON FUNCTION carillon.leaving_numbers IS 'Internal: returns the numbers that sequences have reached.';

-- The commit of this moves the app. It comes last in the transaction that has taken the rows, and fails while pushes are in flight.
-- A claim that took a row before leaving_rows() could has committed by now, and this sees it.
CREATE OR REPLACE FUNCTION carillon.depart_app(app integer, run bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    move CONSTANT carillon.moves := carillon.lock_move(app, run);
BEGIN
    IF EXISTS (SELECT FROM carillon.inflight f WHERE f.app_id = app) THEN
        RAISE object_in_use USING MESSAGE = 'pushes of the app are in flight';
    END IF;
    UPDATE carillon.moves m SET moved_at = clock_timestamp() WHERE m.app_id = app;
    UPDATE carillon.apps a SET moved_to = move.peer, is_guarded = true, paused = true,
        paused_reason = 'It has moved to ' || move.peer
    WHERE a.id = app;
END
$$;
COMMENT ON FUNCTION carillon.depart_app IS 'Internal: marks an app as moved to another database.';

-- What was written after the app had left: by plain INSERT, and by transactions that were open. Begins the next batch; the one
-- before has arrived already if the target has its number.
CREATE OR REPLACE FUNCTION carillon.leaving_batch(app integer, run bigint, arrived bigint, ids bigint[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    move CONSTANT carillon.moves := carillon.lock_move(app, run);
BEGIN
    IF arrived > move.late_batch THEN
        DELETE FROM carillon.scheduled s WHERE s.app_id = app AND s.id = ANY (ids);
        DELETE FROM carillon.messages m WHERE m.app_id = app AND m.id = ANY (ids);
    END IF;
    UPDATE carillon.moves m SET late_batch = arrived + 1 WHERE m.app_id = app;
    RETURN arrived + 1;
END
$$;
COMMENT ON FUNCTION carillon.leaving_batch IS 'Internal: begins a batch of rows that were written after an app had left.';

-- Takes history out of a table or its partitions, some pages at a time. After the last ones, next_partition is null.
CREATE OR REPLACE FUNCTION carillon.leaving_history(
    app integer, run bigint, place integer, partition text, page bigint,
    OUT rows text[], OUT next_partition text, OUT next_page bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    pages CONSTANT integer := 256;
    relation CONSTANT text := (SELECT t.relation FROM carillon.moving_tables() t WHERE t.place = leaving_history.place);
    parts CONSTANT text[] := ARRAY(
        SELECT c.relname FROM pg_partition_tree(format('carillon.%I', relation)::regclass) p JOIN pg_class c ON c.oid = p.relid
        WHERE p.isleaf UNION SELECT relation WHERE relation NOT IN (
            SELECT c.relname FROM pg_partitioned_table t JOIN pg_class c ON c.oid = t.partrelid) ORDER BY 1);
BEGIN
    PERFORM carillon.lock_move(app, run);
    partition := coalesce((SELECT min(p.name) FROM unnest(parts) AS p(name) WHERE p.name >= leaving_history.partition), parts[1]);
    page := coalesce(page, 0);
    EXECUTE format('WITH gone AS (DELETE FROM carillon.%I t WHERE t.app_id = $1 AND t.ctid >= %L AND t.ctid < %L RETURNING t) '
            'SELECT array_agg(g.t::carillon.%I::text) FROM gone g',
        partition, format('(%s,0)', page), format('(%s,0)', page + pages), relation)
    INTO rows USING app;
    next_partition := partition;
    next_page := page + pages;
    IF next_page * current_setting('block_size')::bigint >= pg_relation_size(format('carillon.%I', partition)::regclass) THEN
        next_partition := (SELECT min(p.name) FROM unnest(parts) AS p(name) WHERE p.name > partition);
        next_page := 0;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.leaving_history IS 'Internal: takes history of an app that has moved.';

-- Deletes tokens of an app that has moved. While triggers follow them, what is noted stays until the target has it. Without
-- triggers, what is left was written later, and is returned for the target.
CREATE OR REPLACE FUNCTION carillon.leaving_late_tokens(
    app integer, run bigint, max_rows integer, OUT deleted bigint, OUT tokens text[], OUT rows text[], OUT read_at timestamptz
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    move CONSTANT carillon.moves := carillon.lock_move(app, run);
    is_followed CONSTANT boolean := EXISTS (
        SELECT FROM pg_trigger t WHERE t.tgrelid = 'carillon.tokens'::regclass AND t.tgname = 'move_delete_' || app);
BEGIN
    IF move.moved_at IS NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the app has not moved';
    END IF;
    WITH gone AS (
        DELETE FROM carillon.tokens k WHERE k.ctid = ANY (ARRAY(
            SELECT t.ctid FROM carillon.tokens t WHERE t.app_id = app
                AND NOT EXISTS (SELECT FROM carillon.moved_tokens m WHERE m.app_id = app AND m.token = t.token)
            LIMIT max_rows))
        RETURNING k
    )
    SELECT count(*), coalesce(array_agg((g.k).token) FILTER (WHERE NOT is_followed), '{}'),
        coalesce(array_agg(g.k::text) FILTER (WHERE NOT is_followed), '{}'), clock_timestamp()
    INTO deleted, tokens, rows, read_at FROM gone g;
    -- These deletions are not for the target.
    DELETE FROM carillon.moved_tokens m WHERE m.app_id = app AND m.xmin = pg_current_xact_id()::xid;
END
$$;
COMMENT ON FUNCTION carillon.leaving_late_tokens IS 'Internal: deletes tokens of an app that has moved.';

-- The program waits for transactions that may still write for the app, and forwards what they wrote.
CREATE OR REPLACE FUNCTION carillon.end_departure(app integer, run bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.lock_move(app, run);
    UPDATE carillon.moves m SET ended_at = coalesce(m.ended_at, now()) WHERE m.app_id = app;
END
$$;
COMMENT ON FUNCTION carillon.end_departure IS 'Internal: records that nothing of an app is left that has moved.';

-- Undoes a move, unless the app has left.
CREATE OR REPLACE FUNCTION carillon.stay_app(app text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    chosen carillon.apps;
    move carillon.moves;
BEGIN
    SELECT a.* INTO chosen FROM carillon.apps a WHERE a.name = stay_app.app;
    SELECT m.* INTO move FROM carillon.moves m WHERE m.app_id = chosen.id AND m.is_source FOR UPDATE;
    IF chosen.id IS NULL OR move.moved_at IS NOT NULL THEN
        PERFORM carillon.refuse(carillon.unknown_app(stay_app.app));
    ELSIF move.app_id IS NULL THEN
        RETURN;
    END IF;
    PERFORM carillon.drain_app(chosen.id, move.run, false);
    PERFORM carillon.follow_tokens(chosen.id, false);
    DELETE FROM carillon.moved_tokens m WHERE m.app_id = chosen.id;
    DELETE FROM carillon.moves m WHERE m.app_id = chosen.id;
    PERFORM carillon.record_change('cancel move', stay_app.app, jsonb_build_object('to', move.peer));
END
$$;
COMMENT ON FUNCTION carillon.stay_app IS 'Internal: undoes the move of an app that has not left yet.';
