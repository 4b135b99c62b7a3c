-- What `carillon app move` calls in the target: the database that an app moves to. Nothing is enqueued or sent there for the app
-- until the source says that it has left.

-- Deletes what a move from this installation has brought that was undone there.
CREATE OR REPLACE FUNCTION carillon.discard_arrival(app text, source uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    arriving integer;
BEGIN
    SELECT a.id INTO arriving FROM carillon.apps a JOIN carillon.moves m ON m.app_id = a.id
    WHERE a.name = discard_arrival.app AND a.moved_to = '' AND m.source = discard_arrival.source FOR UPDATE;
    IF FOUND THEN
        PERFORM carillon.clear_arrival(arriving);
        DELETE FROM carillon.tokens k WHERE k.app_id = arriving;
        DELETE FROM carillon.moves m WHERE m.app_id = arriving;
        DELETE FROM carillon.apps a WHERE a.id = arriving;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.discard_arrival IS 'Internal: deletes an app that was to move here.';

-- Rows of watched_tables name tables of the application: a feedback pass must be able to delete here too. Called before the move
-- begins.
CREATE OR REPLACE FUNCTION carillon.expect_watched(relation text, token_column name, updated_column name, app_column name)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    present CONSTANT regclass := to_regclass(relation);
    fault CONSTANT text := CASE WHEN present IS NULL THEN 'there is no such table'
        ELSE (carillon.unfit_to_watch(present, token_column, updated_column, app_column)).message END;
BEGIN
    IF fault IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the app cannot watch %s here: %s', relation, fault),
            HINT = 'Create the table as in the source, with the same rights for carillon_reaper, or call '
                'carillon.unwatch_tokens in the source.';
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.expect_watched IS 'Internal: fails if an app that moves here watches a table that is not here.';

-- Returns the app if an earlier run of this move has added it; null if it is to be added.
CREATE OR REPLACE FUNCTION carillon.arriving_app(app text, move uuid, run bigint, source uuid) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    known integer;
BEGIN
    PERFORM carillon.check_installation();
    SELECT a.id INTO known FROM carillon.apps a JOIN carillon.moves m ON m.app_id = a.id
    WHERE a.name = arriving_app.app AND m.id = move FOR UPDATE;
    IF FOUND THEN
        UPDATE carillon.moves m SET run = greatest(m.run, arriving_app.run) WHERE m.app_id = known;
        RETURN known;
    END IF;
    PERFORM carillon.discard_arrival(app, source);
    IF EXISTS (SELECT FROM carillon.apps a WHERE a.name = arriving_app.app) THEN
        RAISE duplicate_object USING MESSAGE = format('the target has an app named %L already', app),
            HINT = 'Remove or rename one of the two.';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.arriving_app IS 'Internal: returns an app that is being moved here, if it was added already.';

-- The caller has just added the app.
CREATE OR REPLACE FUNCTION carillon.expect_app(app text, move uuid, run bigint, source uuid, peer text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    arriving integer;
BEGIN
    UPDATE carillon.apps a SET moved_to = '', is_guarded = true, paused = true,
        paused_reason = 'It is being moved here from ' || expect_app.peer
    WHERE a.name = expect_app.app RETURNING a.id INTO STRICT arriving;
    INSERT INTO carillon.moves (app_id, id, run, source, is_source, peer) VALUES (arriving, move, run, source, false, peer);
    RETURN arriving;
END
$$;
COMMENT ON FUNCTION carillon.expect_app IS 'Internal: marks an app as being moved here.';

-- Deletes the state that an earlier run has brought, if the source did not commit.
CREATE OR REPLACE FUNCTION carillon.clear_arrival(app integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    state record;
BEGIN
    FOR state IN SELECT t.* FROM carillon.moving_tables() t WHERE NOT t.is_history ORDER BY t.place LOOP
        EXECUTE format('DELETE FROM carillon.%I t WHERE %s', state.relation, state.condition) USING app;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.clear_arrival IS 'Internal: deletes the state of an app that has not arrived.';

-- Begins the transaction that brings the state. `numbers` are those of leaving_numbers(). This database then assigns larger ids, so
-- that no id of the app stands for two messages. The ids between are for what is written in the source after the app has left.
CREATE OR REPLACE FUNCTION carillon.begin_arrival(app integer, run bigint, numbers bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    margin CONSTANT bigint := 10000000000;
    present CONSTANT bigint[] := carillon.leaving_numbers();
    name text;
    place integer := 0;
BEGIN
    PERFORM carillon.lock_move(app, run);
    PERFORM carillon.clear_arrival(app);
    FOREACH name IN ARRAY carillon.moving_sequences() LOOP
        place := place + 1;
        IF name = 'subscriptions_id_seq' THEN
            -- These ids are unique among all apps, so they get new ones.
            UPDATE carillon.moves m SET id_offset = present[place] + 1000 WHERE m.app_id = app;
            PERFORM setval('carillon.subscriptions_id_seq', present[place] + 2000 + numbers[place]);
        ELSIF numbers[place] + margin > present[place] THEN
            PERFORM setval(format('carillon.%I', name)::regclass, numbers[place] + 2 * margin);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.begin_arrival IS 'Internal: prepares for the state of an app that moves here.';

-- Inserts rows as leaving_rows() and leaving_history() return them, under the ids of this database. Rows that are there already
-- were brought by a run that was killed before the source committed. Returns the ids of jobs.
CREATE OR REPLACE FUNCTION carillon.arriving_rows(app integer, run bigint, place integer, rows text[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    move CONSTANT carillon.moves := carillon.lock_move(app, run);
    relation CONSTANT text := (SELECT t.relation FROM carillon.moving_tables() t WHERE t.place = arriving_rows.place);
    columns CONSTANT text := (
        SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = format('carillon.%I', relation)::regclass AND a.attnum > 0 AND NOT a.attisdropped);
    values CONSTANT text := (
        SELECT string_agg(CASE
                WHEN a.attname = 'app_id' THEN '$1'
                -- A plain INSERT may have given it an id of its own.
                WHEN a.attname = 'id' AND relation IN ('messages', 'scheduled') THEN format('CASE WHEN EXISTS (SELECT FROM '
                    'carillon.%I t WHERE t.app_id = $1 AND t.id = r.id%s) THEN nextval(''carillon.messages_id_seq'') ELSE r.id END',
                    relation, CASE relation WHEN 'messages' THEN ' AND t.lane = r.lane' END)
                WHEN a.attname = 'subscription_id' OR relation = 'subscriptions' AND a.attname = 'id'
                    THEN format('r.%I + $3', a.attname)
                -- Workers of another database. Counts of one minute stay apart, also those that an earlier move has brought.
                WHEN a.attname = 'worker_id' AND relation = 'results' THEN 'NULL::bigint'
                WHEN a.attname = 'worker_id' THEN 'CASE WHEN r.worker_id > 0 THEN -2 * r.worker_id ELSE 2 * r.worker_id - 1 END'
                ELSE format('r.%I', a.attname) END, ', ' ORDER BY a.attnum)
        FROM pg_attribute a
        WHERE a.attrelid = format('carillon.%I', relation)::regclass AND a.attnum > 0 AND NOT a.attisdropped);
    ids bigint[];
BEGIN
    EXECUTE format('INSERT INTO carillon.%1$I (%2$s) SELECT %3$s FROM unnest($2::carillon.%1$I[]) r %4$s',
        relation, columns, values, CASE
            -- These have no key. What is there is told from what is not by its text.
            WHEN relation IN ('results', 'failures', 'events', 'unknown_outcomes', 'sent_pushes') THEN format(
                'WHERE NOT EXISTS (SELECT FROM carillon.%1$I t WHERE t.app_id = $1 AND t.%2$I = r.%2$I '
                    'AND t::text = ROW(%3$s)::carillon.%1$I::text)',
                relation, CASE relation WHEN 'events' THEN 'id' WHEN 'sent_pushes' THEN 'sent_at' ELSE 'message_id' END, values)
            WHEN relation NOT IN ('messages', 'scheduled') THEN 'ON CONFLICT DO NOTHING' END)
    USING app, rows, move.id_offset;
    IF relation IN ('messages', 'scheduled') THEN
        EXECUTE format('SELECT array_agg(r.id) FROM unnest($1::carillon.%I[]) r', relation) INTO ids USING rows;
    END IF;
    RETURN ids;
END
$$;
COMMENT ON FUNCTION carillon.arriving_rows IS 'Internal: inserts rows of an app that moves here.';

-- Tokens that have changed. Until the app is live, those of the source are right; from then on the later change is.
CREATE OR REPLACE FUNCTION carillon.arriving_changes(
    app integer, run bigint, tokens text[], rows text[], read_at timestamptz
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    is_live CONSTANT boolean := (carillon.lock_move(app, run)).moved_at IS NOT NULL;
BEGIN
    DELETE FROM carillon.tokens k WHERE k.app_id = app AND k.token = ANY (tokens)
        AND k.token <> ALL (ARRAY(SELECT r.token FROM unnest(rows::carillon.tokens[]) r))
        AND (NOT is_live OR k.last_update <= read_at);
    INSERT INTO carillon.tokens AS k (app_id, token, last_update, owner, badge, kind, expires_at, environment, activity_type,
        time_zone, locale, attributes)
    SELECT app, r.token, r.last_update, r.owner, r.badge, r.kind, r.expires_at, r.environment, r.activity_type,
        r.time_zone, r.locale, r.attributes
    FROM unnest(rows::carillon.tokens[]) r
    ON CONFLICT ON CONSTRAINT tokens_pkey DO UPDATE SET last_update = excluded.last_update, owner = excluded.owner,
        badge = excluded.badge, kind = excluded.kind, expires_at = excluded.expires_at,
        environment = excluded.environment, activity_type = excluded.activity_type, time_zone = excluded.time_zone,
        locale = excluded.locale, attributes = excluded.attributes
    WHERE NOT is_live OR excluded.last_update >= k.last_update;
END
$$;
COMMENT ON FUNCTION carillon.arriving_changes IS 'Internal: applies changes of tokens of an app that moves here.';

-- The first copy, in order. A change may have come first, if the copy is continued.
CREATE OR REPLACE FUNCTION carillon.arriving_tokens(app integer, run bigint, rows text[], last text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.arriving_changes(app, run, '{}', rows, now());
    UPDATE carillon.moves m SET tokens_until = last WHERE m.app_id = app;
END
$$;
COMMENT ON FUNCTION carillon.arriving_tokens IS 'Internal: inserts tokens of an app that moves here.';

-- Once the source has committed. Does nothing if the app is live already.
CREATE OR REPLACE FUNCTION carillon.arrive_app(app integer, run bigint, was_paused boolean, reason text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    move CONSTANT carillon.moves := carillon.lock_move(app, run);
BEGIN
    IF move.moved_at IS NOT NULL THEN
        RETURN;
    END IF;
    UPDATE carillon.moves m SET moved_at = clock_timestamp() WHERE m.app_id = app;
    UPDATE carillon.apps a SET moved_to = NULL, is_guarded = EXISTS (SELECT FROM carillon.app_roles), paused = was_paused,
        paused_reason = reason
    WHERE a.id = app;
END
$$;
COMMENT ON FUNCTION carillon.arrive_app IS 'Internal: lets an app that has moved here enqueue and send.';

CREATE OR REPLACE FUNCTION carillon.note_batch(app integer, run bigint, batch bigint, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.lock_move(app, run);
    UPDATE carillon.moves m SET late_batch = batch, late_ids = ids WHERE m.app_id = app;
END
$$;
COMMENT ON FUNCTION carillon.note_batch IS 'Internal: records which late batch has arrived.';

CREATE OR REPLACE FUNCTION carillon.end_arrival(app integer, run bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.lock_move(app, run);
    UPDATE carillon.moves m SET ended_at = coalesce(m.ended_at, now()), late_ids = NULL WHERE m.app_id = app;
END
$$;
COMMENT ON FUNCTION carillon.end_arrival IS 'Internal: records that the history of an app has moved here too.';
