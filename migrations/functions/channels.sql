-- Channels of APNs, and what is published to them.
--
-- A request is a row. A worker takes it for a minute, asks Apple, and records the answer: see take_channels(). Apple knows
-- nothing of our names, so a worker that dies between Apple's answer and the record leaves a channel that no row of channels
-- has: see unknown_channels.

-- A channel that exists or is requested already stays as it is.
CREATE OR REPLACE FUNCTION carillon.request_channel(
    app text, policy bigint DEFAULT 0, reference text DEFAULT pg_catalog.gen_random_uuid()::pg_catalog.text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    most CONSTANT integer := 10000;
    target carillon.apps;
    known carillon.channels;
    refusal carillon.refusal;
BEGIN
    SELECT a.* INTO target FROM carillon.apps a
    WHERE a.name = app AND (NOT a.is_guarded OR coalesce(a.id = ANY (carillon.apps_of_caller()), true));
    IF target.id IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSIF target.protocol <> 'http2' THEN
        refusal := carillon.refusal('app', 'an app of the protocol http2', quote_literal(app) || ', which has ' || target.protocol);
    ELSIF policy NOT IN (0, 1) OR policy IS NULL THEN
        refusal := carillon.refusal('policy', '0 (Apple stores nothing) or 1 (it stores the last message)', policy::text);
    ELSIF octet_length(reference) NOT BETWEEN 1 AND 255 OR reference IS NULL OR reference ~ '[[:cntrl:]]' THEN
        refusal := carillon.refusal('reference', 'text of 1 to 255 bytes without control characters', quote_literal(reference));
    ELSE
        SELECT c.* INTO known FROM carillon.channels c
        WHERE c.app_id = target.id AND c.reference = request_channel.reference FOR UPDATE;
        IF known.state IN ('requested', 'ready') AND known.policy <> policy THEN
            refusal := carillon.refusal('policy', format('%s, which the channel %s has', known.policy, quote_literal(reference)),
                policy::text, 'The policy of a channel cannot change: request another one.');
        ELSIF known.state = 'removing' THEN
            refusal := carillon.refusal('reference', 'a channel that is not being removed', quote_literal(reference),
                'Request it again when it has been removed.', '55000');
        ELSIF known.state IS NULL AND (SELECT count(*) FROM carillon.channels c WHERE c.app_id = target.id) >= most THEN
            refusal := carillon.refusal('app', 'an app with fewer than 10000 channels, which is Apple''s limit',
                quote_literal(app), 'Remove channels that are not needed.', '54000');
        END IF;
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    INSERT INTO carillon.channels AS c (app_id, reference, policy) VALUES (target.id, reference, policy)
    ON CONFLICT ON CONSTRAINT channels_pkey DO UPDATE SET state = 'requested', policy = excluded.policy, channel_id = NULL,
        created_at = NULL, last_error = NULL, requested_at = now(), next_try_at = now()
    WHERE c.state IN ('failed', 'missing');
    IF FOUND THEN
        PERFORM carillon.record_of_person('request channel', target.id,
            jsonb_build_object('reference', reference, 'policy', policy), carillon.replaced(
                jsonb_build_object('state', known.state, 'policy', known.policy, 'channel_id', known.channel_id),
                CASE WHEN known.state IS NOT NULL THEN jsonb_build_object('state', 'requested', 'policy', policy) END));
    END IF;
    RETURN reference;
END
$$;
COMMENT ON FUNCTION carillon.request_channel IS
    'Requests a channel, which a worker asks Apple to create. Returns its reference; channel() returns Apple''s id.';

CREATE OR REPLACE FUNCTION carillon.record_channel(app text, channel_id text, policy bigint, reference text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    target integer;
    protocol text;
    refusal carillon.refusal;
BEGIN
    SELECT a.id, a.protocol INTO target, protocol FROM carillon.apps a
    WHERE a.name = app AND (NOT a.is_guarded OR coalesce(a.id = ANY (carillon.apps_of_caller()), true));
    IF target IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSIF protocol <> 'http2' THEN
        refusal := carillon.refusal('app', 'an app of the protocol http2', quote_literal(app) || ', which has ' || protocol);
    ELSIF (channel_id ~ '^[!-~]{1,255}$') IS NOT TRUE THEN
        refusal := carillon.refusal('channel_id', 'Apple''s id of a channel', quote_nullable(channel_id));
    ELSIF policy NOT IN (0, 1) OR policy IS NULL THEN
        refusal := carillon.refusal('policy', '0 (Apple stores nothing) or 1 (it stores the last message)', policy::text);
    ELSIF octet_length(reference) NOT BETWEEN 1 AND 255 OR reference IS NULL OR reference ~ '[[:cntrl:]]' THEN
        refusal := carillon.refusal('reference', 'text of 1 to 255 bytes without control characters', quote_literal(reference));
    ELSIF EXISTS (SELECT FROM carillon.channels c
        WHERE c.app_id = target AND (c.reference = record_channel.reference OR c.channel_id = record_channel.channel_id))
    THEN
        refusal := carillon.refusal('channel_id', 'a channel and a reference that are not recorded yet',
            quote_literal(channel_id) || ' and ' || quote_literal(reference), NULL, '23505');
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    INSERT INTO carillon.channels (app_id, reference, policy, channel_id, state)
    VALUES (target, reference, policy, channel_id, 'ready');
    PERFORM carillon.record_of_person('record channel', target,
        jsonb_build_object('reference', reference, 'policy', policy, 'channel_id', channel_id));
    DELETE FROM carillon.unknown_channels s WHERE s.app_id = target AND s.channel_id = record_channel.channel_id;
END
$$;
COMMENT ON FUNCTION carillon.record_channel IS
    'Records a channel that was created elsewhere, such as in Apple''s console, so that publish accepts it.';

-- Each look sees what was committed before it, which needs the isolation level READ COMMITTED.
CREATE OR REPLACE FUNCTION carillon.channel(reference text, app text DEFAULT NULL, wait interval DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    answer record;
    ends CONSTANT timestamptz := clock_timestamp() + wait;
BEGIN
    LOOP
        answer := carillon.find_channel(app, reference);
        IF (answer.refusal).message IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = (answer.refusal).code, MESSAGE = (answer.refusal).message,
                COLUMN = (answer.refusal).argument, HINT = coalesce((answer.refusal).hint, 'Pass the argument app.');
        END IF;
        CASE (answer.known).state
            WHEN 'ready' THEN RETURN (answer.known).channel_id;
            WHEN 'failed', 'missing' THEN
                RAISE EXCEPTION 'the channel % is %: %', quote_literal(reference), (answer.known).state,
                    coalesce((answer.known).last_error, 'the reason is unknown')
                USING ERRCODE = 'object_not_in_prerequisite_state',
                    HINT = 'Fix that, and request it again with carillon.request_channel.';
            ELSE NULL;
        END CASE;
        IF wait IS NULL OR clock_timestamp() >= ends THEN
            RETURN NULL;
        ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'argument "wait" needs the isolation level READ COMMITTED'
            USING ERRCODE = 'feature_not_supported', COLUMN = 'wait',
                HINT = 'At other levels, a transaction never sees what a worker records.';
        ELSIF (SELECT c.xmin::text::bigint = pg_current_xact_id_if_assigned()::text::bigint % 4294967296
            FROM carillon.channels c WHERE (c.app_id, c.reference) = ((answer.known).app_id, (answer.known).reference))
        THEN
            RAISE EXCEPTION 'argument "wait" needs a channel whose request is committed'
            USING ERRCODE = 'object_not_in_prerequisite_state', COLUMN = 'wait',
                HINT = 'Commit after carillon.request_channel: until then, no worker sees the request.';
        END IF;
        PERFORM pg_sleep(least(0.1, greatest(0.001, extract(epoch FROM ends - clock_timestamp()))));
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.channel IS
    'Returns Apple''s id of a channel; null: it is not ready. With wait, waits that long at most for Apple to create it.';

-- A channel that Apple never made is removed at once.
CREATE OR REPLACE FUNCTION carillon.remove_channel(app text, channel text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    answer record := carillon.find_channel(coalesce(app, ''), channel);
BEGIN
    IF (answer.refusal).message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = (answer.refusal).code, MESSAGE = (answer.refusal).message,
            COLUMN = (answer.refusal).argument, HINT = (answer.refusal).hint;
    END IF;
    DELETE FROM carillon.channels c
    WHERE (c.app_id, c.reference) = ((answer.known).app_id, (answer.known).reference)
        AND (c.state = 'missing' OR c.channel_id IS NULL AND NOT c.is_asked);
    UPDATE carillon.channels c SET state = 'removing', last_error = NULL,
        -- A request that is under way ends first.
        next_try_at = CASE WHEN c.is_asked THEN c.next_try_at ELSE now() END
    WHERE (c.app_id, c.reference) = ((answer.known).app_id, (answer.known).reference);
    PERFORM carillon.record_of_person('remove channel', (answer.known).app_id,
        jsonb_build_object('reference', (answer.known).reference, 'channel_id', (answer.known).channel_id,
            'policy', (answer.known).policy, 'state_before', (answer.known).state));
END
$$;
COMMENT ON FUNCTION carillon.remove_channel IS
    'Requests the removal of a channel, by its reference or id. A worker has Apple remove it, and then deletes its row.';

-- One job of the push type channel, whose token stands for the channel: see token_text(). Refusals are raised here, so that the
-- error has one line of context without a list of twenty types.
CREATE OR REPLACE FUNCTION carillon.submit_publication(p carillon.publication) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    answer record := carillon.find_channel(coalesce(p.app, ''), p.channel);
    refusal carillon.refusal := answer.refusal;
    made carillon.draft;
    m carillon.message_arguments;
    alert carillon.activity_arguments;
    shown record;
    content_state CONSTANT jsonb := carillon.parsed_jsonb(p.state_text);
    -- Apple stores a message for eight hours at most.
    storage CONSTANT interval := interval '8 hours';
    token CONSTANT text := encode(convert_to((answer.known).channel_id, 'UTF8'), 'hex');
    size integer;
    id bigint;
    holder bigint;
BEGIN
    IF refusal.message IS NOT NULL THEN
        NULL;
    ELSIF (answer.known).state <> 'ready' THEN
        refusal := carillon.refusal('channel', 'a channel that is ready',
            format('%L, which is %s%s', p.channel, (answer.known).state, ': ' || (answer.known).last_error),
            CASE (answer.known).state
                WHEN 'requested' THEN
                    'A worker asks Apple for it. Wait with carillon.channel(reference, wait => ''30 seconds'').'
                WHEN 'removing' THEN 'Wait until it has been removed, then request it again with carillon.request_channel.'
                ELSE 'Request it again with carillon.request_channel.' END, '55000');
    ELSIF p.event NOT IN ('update', 'end') OR p.event IS NULL THEN
        refusal := carillon.refusal('event', '''update'' or ''end''', quote_literal(p.event),
            CASE p.event WHEN 'start' THEN 'A channel cannot start Live Activities: use carillon.start_activity.' END);
    ELSIF jsonb_typeof(content_state) IS DISTINCT FROM 'object' AND (p.state_text IS NOT NULL OR p.event = 'update') THEN
        refusal := carillon.refusal('content_state', 'a JSON object', p.state_text, NULL,
            CASE WHEN content_state IS NULL AND p.state_text IS NOT NULL THEN '22P02' ELSE '22023' END);
    ELSIF p.dismissal_date IS NOT NULL AND p.event <> 'end' THEN
        refusal := carillon.refusal('dismissal_date', 'a time only if event is ''end''', quote_literal(p.dismissal_date));
    ELSIF NOT isfinite(p.dismissal_date) OR p.dismissal_date < timestamptz 'epoch' THEN
        refusal := carillon.refusal('dismissal_date', 'a time from 1970 on', quote_literal(p.dismissal_date));
    ELSIF NOT isfinite(p.apns_timestamp) OR p.apns_timestamp < timestamptz '1970-01-01 00:00:01Z' THEN
        refusal := carillon.refusal('apns_timestamp', 'a time after 1970-01-01 00:00:00 UTC', quote_literal(p.apns_timestamp));
    ELSIF p.expires_at > timestamptz 'epoch' AND (answer.known).policy = 0 THEN
        refusal := carillon.refusal('expires_at', 'null for a channel that stores nothing (policy 0)', quote_literal(p.expires_at),
            'Apple delivers its messages at once or never.');
    ELSIF jsonb_typeof(p.aps) <> 'object' THEN
        refusal := carillon.refusal('aps', 'a JSON object', p.aps::text);
    ELSIF p.aps ?| ARRAY['timestamp', 'event', 'content-state', 'dismissal-date'] THEN
        refusal := carillon.refusal('aps', 'members that have no argument of their own', p.aps::text,
            'Use the arguments apns_timestamp, event, content_state and dismissal_date.');
    ELSE
        alert.alert := p.alert;
        alert.alert_type := p.alert_type;
        alert.title := p.title;
        alert.body := p.body;
        alert.sound := p.sound;
        shown := carillon.activity_alert(alert);
        m.app := p.app;
        m.aps := jsonb_build_object('event', p.event)
            || CASE WHEN content_state IS NULL THEN '{}' ELSE jsonb_build_object('content-state', content_state) END
            || CASE WHEN p.dismissal_date IS NULL THEN '{}'
                ELSE jsonb_build_object('dismissal-date', floor(extract(epoch FROM p.dismissal_date))::bigint) END
            || CASE WHEN shown.alert IS NULL THEN '{}' ELSE jsonb_build_object('alert', shown.alert) END
            || coalesce(p.aps, '{}');
        m.extra := p.extra;
        m.stale_date := p.stale_date;
        m.relevance_score := p.relevance_score;
        -- An update with an alert is urgent. Others have priority 5, which Apple does not count against the budget.
        m.priority := coalesce(p.priority, CASE WHEN m.aps ? 'alert' THEN 10 ELSE 5 END);
        m.expires_at := p.expires_at;
        m.run_at := p.run_at;
        m.lane := p.lane;
        m.reference := p.reference;
        m.dedupe_key := p.dedupe_key;
        m.dedupe_for := p.dedupe_for;
        m.on_unknown := p.on_unknown;
        m.on_duplicate := p.on_duplicate;
        made := carillon.draft(m, 'channel');
        refusal := CASE
            WHEN (shown.refusal).message IS NOT NULL THEN shown.refusal
            WHEN shown.alert IS NOT NULL AND p.aps ? 'alert' THEN
                carillon.refusal('aps', 'no member "alert" if alert, title or body is given', p.aps::text)
            ELSE made.refusal END;
        -- A worker replaces the timestamp 0 by the time of sending, for which the payload needs nine bytes more.
        made.payload := '{"aps":{"timestamp":' || coalesce(floor(extract(epoch FROM p.apns_timestamp)), 0) || ','
            || substr(made.payload, 9);
        size := octet_length(made.payload) + CASE WHEN p.apns_timestamp IS NULL THEN 9 ELSE 0 END;
        IF (refusal.message IS NULL OR refusal.code = '54000') AND size > (carillon.rules_of('channel')).payload_limit THEN
            refusal := carillon.refusal('content_state', 'what makes a payload of ' || carillon.payload_size('channel'),
                format('one of %s bytes', size), NULL, '54000');
        END IF;
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    IF (answer.known).policy = 1 AND m.expires_at IS NULL THEN
        m.expires_at := greatest(now(), p.run_at) + storage;
    ELSIF (answer.known).policy = 0 THEN
        m.expires_at := NULL;
    END IF;
    id := nextval('carillon.messages_id_seq');
    IF p.dedupe_key IS NOT NULL THEN
        holder := carillon.take_key(made.app_id, p.dedupe_key, p.dedupe_for, p.run_at, id);
        IF holder IS DISTINCT FROM id THEN
            RETURN CASE p.on_duplicate WHEN 'holder' THEN holder END;
        END IF;
    END IF;
    PERFORM carillon.store(id, ARRAY[token], NULL, m, made, coalesce(p.lane, 1)::integer, NULL);
    PERFORM carillon.note_update(made.app_id, id, ARRAY[token], p.event = 'end', greatest(clock_timestamp(), p.run_at),
        m.expires_at);
    RETURN id;
END
$$;
COMMENT ON FUNCTION carillon.submit_publication IS 'Internal: stores a message for publish.';
