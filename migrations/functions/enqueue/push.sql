-- carillon.push and carillon.push_each: enqueue for the messages that most applications send. PostgreSQL parses a call with few
-- arguments faster than one of enqueue with its 34, and one INSERT checks and stores a plain message, as plain.sql defines it. All
-- others are left to enqueue: other messages, those that it refuses, and all messages of an app with quiet hours or while a role is
-- isolated. The message is the same whichever function stores it.

-- These two accept text and untyped values.
CREATE OR REPLACE FUNCTION carillon.push(app text, tokens text[], payload text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    plain text;
    id bigint;
BEGIN
    IF carillon.is_single_token(tokens) AND octet_length(payload) <= carillon.payload_limit('alert') THEN
        BEGIN
            plain := CASE WHEN carillon.is_plain_payload(payload::json) THEN payload END;
        EXCEPTION
            -- enqueue refuses malformed JSON.
            WHEN data_exception OR program_limit_exceeded THEN
                NULL;
        END;
        INSERT INTO carillon.messages (app_id, tokens, payload)
        SELECT a.id, ARRAY[lower(tokens[1] COLLATE "C")], plain::json FROM carillon.apps a
        WHERE a.name = app AND NOT (a.is_guarded OR a.both_environments) AND a.quiet_hours IS NULL
            AND octet_length(plain) <= carillon.payload_limit('alert', a.protocol)
        RETURNING messages.id INTO id;
        IF FOUND THEN
            RETURN id;
        END IF;
    END IF;
    RETURN carillon.enqueue(app, tokens, payload => payload);
END
$$;

CREATE OR REPLACE FUNCTION carillon.push(app text, tokens text[], alert text, badge bigint, sound text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    plain text;
    id bigint;
BEGIN
    IF carillon.is_single_token(tokens) AND alert IS NOT NULL AND carillon.is_plain_text(alert, badge, sound) THEN
        plain := carillon.compose_plain(to_json(alert), badge, sound);
        INSERT INTO carillon.messages (app_id, tokens, payload)
        SELECT a.id, ARRAY[lower(tokens[1] COLLATE "C")], plain::json FROM carillon.apps a
        WHERE a.name = app AND NOT (a.is_guarded OR a.both_environments) AND a.quiet_hours IS NULL
            AND octet_length(plain) <= carillon.payload_limit('alert', a.protocol)
        RETURNING messages.id INTO id;
        IF FOUND THEN
            RETURN id;
        END IF;
    END IF;
    RETURN carillon.enqueue(app, tokens, alert, badge, sound);
END
$$;

-- These are for drivers that send json or jsonb.
CREATE OR REPLACE FUNCTION carillon.push(app text, tokens text[], payload anyelement) RETURNS bigint
LANGUAGE sql AS 'SELECT carillon.enqueue(app, tokens, payload => payload)';

CREATE OR REPLACE FUNCTION carillon.push(app text, tokens text[], alert anyelement, badge bigint, sound text) RETURNS bigint
LANGUAGE sql AS 'SELECT carillon.enqueue(app, tokens, alert, badge, sound)';

DO $comments$
DECLARE
    variant regprocedure;
BEGIN
    FOR variant IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'push' AND pg_get_userbyid(p.proowner) = current_user
    LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', variant,
            'Enqueues a message to device tokens: push(app, tokens, payload), or push(app, tokens, alert, badge, sound). Does what '
            'enqueue does with the same arguments, in less time. Pass an array even for a single token: ARRAY[token]. Returns the '
            'id of the message, or null if there are no tokens.');
    END LOOP;
END
$comments$;

-- All messages are stored by one statement, if all are plain. Otherwise it is undone, and push() takes each message.
CREATE OR REPLACE FUNCTION carillon.push_each(app text, tokens text[], payloads anycompatiblearray) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    given json[];
    ids bigint[];
    m carillon.message_arguments;
    refusal carillon.refusal;
    one record;
BEGIN
    -- A role that makes a type can make casts of it, too. None of these may run with the rights of this function.
    IF pg_typeof(payloads) <> ALL ('{text[],character varying[],json[],jsonb[]}'::regtype[]) THEN
        refusal := carillon.refusal('payloads', 'an array of text, json or jsonb', pg_typeof(payloads)::text);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    BEGIN
        -- An assignment converts an array of any type, and does nothing to json[].
        IF pg_typeof(payloads) = 'jsonb[]'::regtype THEN
            given := ARRAY(SELECT carillon.compact_json(to_jsonb(g.payload))::json FROM unnest(payloads) AS g(payload));
        ELSE
            given := payloads;
        END IF;
        WITH stored AS (
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT a.id, ARRAY[lower(t.token COLLATE "C")], t.payload
            FROM carillon.apps a CROSS JOIN (SELECT unnest(tokens) AS token, unnest(given) AS payload) t
            WHERE a.name = app AND NOT a.both_environments AND a.quiet_hours IS NULL AND carillon.may_use(a)
                AND carillon.is_token(t.token)
                AND octet_length(t.payload::text) <= carillon.payload_limit('alert', a.protocol)
                AND carillon.is_plain_payload(t.payload)
            RETURNING messages.id
        )
        SELECT array_agg(s.id) INTO ids FROM stored s;
        IF cardinality(ids) = cardinality(tokens) AND cardinality(ids) = cardinality(given) AND array_ndims(tokens) = 1
            AND array_ndims(given) = 1
        THEN
            RETURN ids;
        END IF;
        RAISE data_exception;
    EXCEPTION
        WHEN data_exception OR program_limit_exceeded THEN
            ids := '{}';
    END;
    m.app := app;
    m.tokens := tokens;
    m.payloads := coalesce(payloads::text[], '{}');
    m.payloads_type := pg_typeof(payloads);
    refusal := coalesce((carillon.draft(m)).refusal, (carillon.clean_tokens(tokens)).refusal);
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    FOR one IN SELECT unnest(tokens) AS token, unnest(payloads) AS payload LOOP
        ids := ids || carillon.push(app, ARRAY[one.token], one.payload);
    END LOOP;
    RETURN ids;
END
$$;
COMMENT ON FUNCTION carillon.push_each IS
    'Enqueues a message to each of the device tokens, with the payload at its position: as push(app, ARRAY[token], payload) would '
    'for each, in much less time. Returns the ids of the messages, in the order of the tokens.';
