-- Erases one person from all tables of an app. docs/privacy.md says what each table holds, and what becomes of it.
--
-- What is in flight cannot be unsent. mark_claims() writes a stop into its claim, so that its settlement records nothing of the
-- person: see stops.sql. The functions take locks in this order: first those of lock_person(), then the others that take_waiting()
-- takes, then rows of the tables that order and pace pushes, then unfinished, and last rows of history and dedupe.

-- An owner or token within a reference counts if no letter or digit is next to it. A short owner counts only if it is the whole
-- reference: in order-42, 42 would be the number of an order.
CREATE OR REPLACE FUNCTION carillon.owner_pattern(owner text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN owner ~ '^([0-9]{1,7}|.{1,3})$' THEN '^' || w.word || '$'
        ELSE '(?:^|[^[:alnum:]])' || w.word || '(?:$|[^[:alnum:]])' END
    FROM (SELECT regexp_replace(owner, '([^[:alnum:]])', E'\\\\\\1', 'g') AS word) AS w
$$;
COMMENT ON FUNCTION carillon.owner_pattern IS 'Internal: returns a pattern of the references and keys that contain an owner.';

-- The cost of a pattern grows with its length, for each text that it is compared with: so only texts that contain the owner are,
-- and tokens are in no pattern. Of an owner with very many tokens, only some count. The function has no SET clause, so that
-- PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.names_owner(name text, owner text, tokens text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT strpos(name, owner) > 0 AND name ~ carillon.owner_pattern(owner)
        OR owner IS NOT NULL AND name ~* '[0-9a-f]{16}' AND regexp_split_to_array(lower(name), '[^[:alnum:]]+') && tokens[:100]
$$;
COMMENT ON FUNCTION carillon.names_owner IS
    'Internal: returns whether a reference or key contains an owner, or one of their tokens; not true if the owner is null.';

-- Rows of unfinished are locked in one pass, in order of id, with those of `messages`, which record_stopped() changes later.
CREATE OR REPLACE FUNCTION carillon.forget_open(app integer, forgotten text[], owner text, messages bigint[])
RETURNS TABLE (kind text, removed bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    FOREACH kind IN ARRAY ARRAY['updates', 'update_stamps', 'device_slots'] LOOP
        EXECUTE format('DELETE FROM carillon.%I d WHERE d.ctid = ANY (ARRAY(SELECT o.ctid FROM carillon.%I o '
            || 'WHERE o.app_id = $1 AND o.token = ANY ($2) ORDER BY o.token FOR UPDATE))', kind, kind) USING app, forgotten;
        GET DIAGNOSTICS removed = ROW_COUNT;
        RETURN NEXT;
    END LOOP;
    kind := 'unfinished';
    PERFORM FROM carillon.unfinished u WHERE u.app_id = app AND (u.message_id = ANY (messages)
        OR carillon.names_owner(u.reference, owner, forgotten) OR u.apns_unique_ids ?| forgotten)
    ORDER BY u.message_id FOR UPDATE;
    UPDATE carillon.unfinished u SET
        reference = CASE WHEN carillon.names_owner(u.reference, owner, forgotten) THEN NULL ELSE u.reference END,
        apns_unique_ids = nullif(u.apns_unique_ids - forgotten, '{}')
    WHERE u.app_id = app AND (carillon.names_owner(u.reference, owner, forgotten) OR u.apns_unique_ids ?| forgotten);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION carillon.forget_open IS 'Internal: erases a person from what is kept of messages that have not ended.';

-- The content of a failed message is kept while other failures need it, and while other pushes may still fail. PostgreSQL hashes
-- tokens for = ANY, and compares each with each for <@ and &&.
CREATE OR REPLACE FUNCTION carillon.forget_failures(app integer, forgotten text[], owner text)
RETURNS TABLE (kind text, removed bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    messages bigint[];
    unnamed bigint;
BEGIN
    WITH gone AS (
        DELETE FROM carillon.failures f WHERE f.app_id = app AND lower(f.token COLLATE "C") = ANY (forgotten)
        RETURNING f.message_id
    )
    SELECT count(*), coalesce(array_agg(DISTINCT g.message_id), '{}') INTO removed, messages FROM gone g;
    UPDATE carillon.failures f SET reference = NULL
    WHERE f.app_id = app AND carillon.names_owner(f.reference, owner, forgotten);
    GET DIAGNOSTICS unnamed = ROW_COUNT;
    kind := 'failures';
    removed := removed + unnamed;
    RETURN NEXT;

    kind := 'failed_messages';
    DELETE FROM carillon.failed_messages m WHERE m.app_id = app AND CASE
        WHEN m.tokens IS NULL THEN m.message_id = ANY (messages)
            AND NOT EXISTS (SELECT FROM carillon.failures f WHERE f.app_id = app AND f.message_id = m.message_id)
            AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.app_id = app AND u.message_id = m.message_id)
        ELSE NOT EXISTS (SELECT FROM unnest(m.tokens) AS t(token) WHERE (t.token = ANY (forgotten)) IS NOT TRUE) END;
    GET DIAGNOSTICS removed = ROW_COUNT;
    UPDATE carillon.failed_messages m SET
        reference = CASE WHEN carillon.names_owner(m.reference, owner, forgotten) THEN NULL ELSE m.reference END,
        (tokens, payloads) = (
            SELECT CASE WHEN m.tokens IS NOT NULL THEN array_agg(u.token ORDER BY u.place) END,
                CASE WHEN m.tokens IS NOT NULL THEN array_agg(u.payload ORDER BY u.place) END
            FROM unnest(m.tokens, m.payloads) WITH ORDINALITY AS u(token, payload, place)
            WHERE (u.token = ANY (forgotten)) IS NOT TRUE)
    WHERE m.app_id = app AND (carillon.names_owner(m.reference, owner, forgotten)
        OR EXISTS (SELECT FROM unnest(m.tokens) AS t(token) WHERE t.token = ANY (forgotten)));
    GET DIAGNOSTICS unnamed = ROW_COUNT;
    removed := removed + unnamed;
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION carillon.forget_failures IS
    'Internal: erases a person from failures and from the content that is kept of them.';

-- The number of events of a row stays, because untaken_events counts them: take_events() returns an event of the person without a
-- token.
CREATE OR REPLACE FUNCTION carillon.forget_events(app integer, forgotten text[], owner text, OUT kind text, OUT removed bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    kind := 'events';
    UPDATE carillon.events e SET message_reference = (
            SELECT array_agg(CASE WHEN carillon.names_owner(r.text, owner, forgotten) THEN NULL ELSE r.text END ORDER BY r.place)
            FROM unnest(e.message_reference) WITH ORDINALITY AS r(text, place)),
        sent_token = carillon.without_tokens(e.sent_token, forgotten),
        failed_token = carillon.without_tokens(e.failed_token, forgotten),
        expired_token = carillon.without_tokens(e.expired_token, forgotten),
        superseded_token = carillon.without_tokens(e.superseded_token, forgotten),
        dead_token = carillon.without_tokens(e.dead_token, forgotten)
    WHERE e.app_id = app AND (
        EXISTS (SELECT FROM unnest(e.message_reference) AS r(text) WHERE carillon.names_owner(r.text, owner, forgotten))
        OR EXISTS (SELECT FROM unnest(e.sent_token || e.failed_token || e.expired_token || e.superseded_token || e.dead_token)
            AS t(token) WHERE lower(t.token COLLATE "C") = ANY (forgotten)));
    GET DIAGNOSTICS removed = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION carillon.forget_events IS 'Internal: erases a person from events.';

-- forget_rest() has the tables that no other row needs. Texts in audit that an app chose are in these members.
CREATE OR REPLACE FUNCTION carillon.forget_rest(app carillon.apps, owner text, forgotten text[], ended bigint[])
RETURNS TABLE (kind text, removed bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    member text;
    changed bigint;
BEGIN
    kind := 'results';
    UPDATE carillon.results r SET
        reference = CASE WHEN carillon.names_owner(r.reference, owner, forgotten) THEN NULL ELSE r.reference END,
        apns_unique_ids = nullif(r.apns_unique_ids - forgotten, '{}')
    WHERE r.app_id = app.id AND (carillon.names_owner(r.reference, owner, forgotten) OR r.apns_unique_ids ?| forgotten);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN NEXT;
    kind := 'feedback';
    DELETE FROM carillon.feedback f
    WHERE f.app_id = app.id AND (f.owner = forget_rest.owner OR lower(f.token COLLATE "C") = ANY (forgotten));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN NEXT;
    kind := 'audit';
    removed := 0;
    FOREACH member IN ARRAY ARRAY['reference', 'token', 'owner'] LOOP
        UPDATE carillon.audit a SET details = a.details - member
        WHERE a.app = app.name AND carillon.names_owner(a.details ->> member, owner, forgotten);
        GET DIAGNOSTICS changed = ROW_COUNT;
        removed := removed + changed;
    END LOOP;
    RETURN NEXT;
    kind := 'dedupe';
    DELETE FROM carillon.dedupe d
    WHERE d.app_id = app.id AND (carillon.names_owner(d.key, owner, forgotten) OR d.message_id = ANY (ended));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN NEXT;
    kind := 'tokens';
    DELETE FROM carillon.tokens t WHERE t.app_id = app.id AND t.token = ANY (ARRAY(
        SELECT o.token FROM carillon.tokens o WHERE o.app_id = app.id AND o.owner = forget_rest.owner
        ORDER BY o.token FOR UPDATE));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN NEXT;
END
$$;
COMMENT ON FUNCTION carillon.forget_rest IS 'Internal: erases a person from results, feedback, audit, dedupe and tokens.';

-- Other transactions cancel first and register a token then, or the other way round. So lock_person() never waits for a token while
-- it holds a lock of cancel.sql, and keeps neither lock while it waits for the other: an exception releases what was locked since
-- the BEGIN of its block.
CREATE OR REPLACE FUNCTION carillon.lock_person(app integer, owner text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    is_waited_for boolean;
BEGIN
    LOOP
        is_waited_for := false;
        BEGIN
            PERFORM FROM carillon.app_locks l WHERE l.app_id = app AND l.lock_number <= 64
            ORDER BY l.lock_number FOR UPDATE;
            is_waited_for := true;
            PERFORM FROM carillon.tokens t WHERE t.app_id = app AND t.owner = lock_person.owner ORDER BY t.token FOR UPDATE NOWAIT;
            RETURN;
        EXCEPTION
            WHEN lock_not_available THEN
                IF NOT is_waited_for THEN
                    RAISE;
                END IF;
        END;
        BEGIN
            PERFORM FROM carillon.tokens t WHERE t.app_id = app AND t.owner = lock_person.owner ORDER BY t.token FOR UPDATE;
            RAISE EXCEPTION USING ERRCODE = 'CA001';
        EXCEPTION
            WHEN SQLSTATE 'CA001' THEN
                NULL;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.lock_person IS
    'Internal: locks the queue of an app against retries and cancels, and the tokens of an owner against registrations.';

CREATE OR REPLACE FUNCTION carillon.forget(app text, owner text) RETURNS TABLE (kind text, removed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
    target carillon.apps;
    forgotten text[];
    taken record;
    refusal carillon.refusal;
BEGIN
    SELECT a.* INTO target FROM carillon.apps a
    WHERE a.name = forget.app AND a.id = ANY (carillon.chosen_apps(coalesce(forget.app, '')));
    IF target.id IS NULL THEN
        refusal := carillon.unknown_app(forget.app);
    ELSIF EXISTS (SELECT FROM carillon.moves m WHERE m.app_id = target.id AND NOT m.is_source AND m.ended_at IS NULL) THEN
        -- What is still to come would name the person again.
        refusal := ROW(format('the history of the app %L is still being moved here', forget.app),
            'Try again when carillon app move has ended.', 'app', '55000')::carillon.refusal;
    ELSIF coalesce(forget.owner, '') = '' OR octet_length(forget.owner) > 2048 THEN
        refusal := carillon.refusal('owner', 'the owner of tokens, text of 1 to 2048 bytes',
            quote_literal(left(forget.owner, 40)), 'Pass what register_token was given as owner.');
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    PERFORM carillon.lock_person(target.id, forget.owner);
    -- A dead token that a feedback pass deleted may have been registered since, for somebody else.
    forgotten := ARRAY(
        SELECT t.token FROM carillon.tokens t WHERE t.app_id = target.id AND t.owner = forget.owner
        UNION
        SELECT lower(f.token COLLATE "C") FROM carillon.feedback f
        WHERE f.app_id = target.id AND f.owner = forget.owner AND NOT EXISTS (
            SELECT FROM carillon.tokens t WHERE t.app_id = target.id AND t.token = lower(f.token COLLATE "C")));
    SELECT w.* INTO taken FROM carillon.take_waiting(target.id, forgotten, forget.owner) AS w;
    RETURN QUERY VALUES ('messages', taken.ready), ('scheduled', taken.scheduled), ('inflight', taken.in_flight),
        ('split_messages', taken.split);
    RETURN QUERY SELECT o.* FROM carillon.forget_open(target.id, forgotten, forget.owner, ARRAY(
        SELECT coalesce(j.origin, j.id) FROM unnest(taken.ended) AS j)) AS o;
    PERFORM carillon.record_stopped(target.id, taken.ended, taken.begun);
    RETURN QUERY SELECT f.* FROM carillon.forget_failures(target.id, forgotten, forget.owner) AS f;
    RETURN QUERY SELECT e.* FROM carillon.forget_events(target.id, forgotten, forget.owner) AS e;
    RETURN QUERY SELECT s.* FROM carillon.forget_sent(target.id, forgotten) AS s;
    -- Messages that had no other recipient. Those in flight are not sent again, so they need no dedupe key either. A job of a split
    -- message is not one: its id may be that of the whole message.
    RETURN QUERY SELECT r.* FROM carillon.forget_rest(target, forget.owner, forgotten, ARRAY(
        SELECT j.id FROM unnest(taken.ended) AS j WHERE j.origin IS NULL AND j.broadcast_id IS NULL
        UNION ALL
        SELECT j.id FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) AS j
        WHERE i.app_id = target.id AND j.origin IS NULL AND j.broadcast_id IS NULL AND cardinality(j.tokens) > 0 AND NOT EXISTS (
            SELECT FROM unnest(j.tokens) AS t(token)
            WHERE lower(coalesce(t.token, '') COLLATE "C") <> ALL (forgotten)))) AS r;
    PERFORM carillon.record_change('forget', target.name, jsonb_build_object('tokens', cardinality(forgotten)));
END
$$;
COMMENT ON FUNCTION carillon.forget IS
    'Erases a person: the tokens of an owner, waiting pushes to them, and what history says about both. Pushes in flight may '
    'arrive; they are not retried, and nothing of them is recorded but counts. Returns for each table how many rows were deleted '
    'or changed; for inflight, how many pushes are in flight. Recorded in audit, without the owner.';
