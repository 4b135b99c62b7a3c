-- Channels of APNs. Users request, record and remove them; a worker creates them at Apple, one request at a time.
--
-- A request for a channel is a row. A worker takes it for one minute, calls Apple, and records the answer: see take_channels().
-- Apple stores no reference, so a worker that dies before it records Apple's answer leaves a channel that is in no row of channels:
-- see unknown_channels.

-- find_channel() finds a channel by its reference or id, in the named app or in any app. It returns a refusal instead of raising
-- it.
CREATE OR REPLACE FUNCTION carillon.find_channel(app text, channel text, OUT known carillon.channels, OUT refusal carillon.refusal)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    target integer;
    matches carillon.channels[];
    mine CONSTANT integer[] := carillon.apps_of_caller();
BEGIN
    IF app IS NOT NULL THEN
        target := (SELECT a.id FROM carillon.apps a WHERE a.name = app AND carillon.may_use(a));
        IF target IS NULL THEN
            refusal := carillon.unknown_app(app);
            RETURN;
        END IF;
    END IF;
    -- A reference takes precedence over the id of another channel.
    matches := ARRAY(SELECT c FROM carillon.channels c
        WHERE (c.app_id = target OR target IS NULL AND (mine IS NULL OR c.app_id = ANY (mine)))
            AND (c.reference = channel OR c.channel_id = channel)
        ORDER BY c.reference <> channel, c.app_id LIMIT 2);
    IF cardinality(matches) = 0 THEN
        refusal := carillon.refusal('channel', 'the reference or the id of a channel', quote_literal(channel),
            'Request one with carillon.request_channel, or record one that Apple has with carillon.record_channel.',
            CASE WHEN channel IS NULL THEN '22023' ELSE '42704' END);
    ELSIF target IS NULL AND cardinality(matches) = 2 AND (matches[1]).app_id <> (matches[2]).app_id THEN
        refusal := carillon.refusal('app', 'the name of an app if several have the channel', NULL);
    ELSE
        known := matches[1];
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.find_channel IS 'Internal: returns the row of a channel, or a refusal.';

CREATE OR REPLACE FUNCTION carillon.check_channel(app text, protocol text, policy bigint, reference text) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE
        WHEN protocol <> 'http2' THEN
            carillon.refusal('app', 'an app with protocol http2', quote_literal(app) || ', which has ' || protocol)
        WHEN policy NOT IN (0, 1) OR policy IS NULL THEN
            carillon.refusal('policy', '0 (Apple stores nothing) or 1 (it stores the last message)', policy::text)
        WHEN octet_length(reference) NOT BETWEEN 1 AND 255 OR reference IS NULL OR reference ~ '[[:cntrl:]]' THEN
            carillon.refusal('reference', 'text of 1 to 255 bytes without control characters', quote_literal(reference)) END
$$;
COMMENT ON FUNCTION carillon.check_channel IS
    'Internal: returns the refusal of an argument of request_channel or record_channel; null if these are valid.';

-- request_channel() does nothing for a channel that exists or was already requested.
CREATE OR REPLACE FUNCTION carillon.request_channel(
    app text, policy bigint DEFAULT 0, reference text DEFAULT pg_catalog.gen_random_uuid()::pg_catalog.text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    max_channels CONSTANT integer := 10000;
    target carillon.apps;
    known carillon.channels;
    refusal carillon.refusal;
BEGIN
    policy := coalesce(policy, 0);
    reference := coalesce(reference, gen_random_uuid()::text);
    SELECT a.* INTO target FROM carillon.apps a
    WHERE a.name = app AND carillon.may_use(a);
    IF target.id IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSE
        refusal := carillon.check_channel(app, target.protocol, policy, reference);
    END IF;
    IF refusal.message IS NULL THEN
        SELECT c.* INTO known FROM carillon.channels c
        WHERE c.app_id = target.id AND c.reference = request_channel.reference FOR UPDATE;
        IF known.state IS NULL THEN
            PERFORM carillon.lock_to_count(target.id);
        END IF;
        IF known.state IN ('requested', 'ready') AND known.policy <> policy THEN
            refusal := carillon.refusal('policy', format('%s, which the channel %s has', known.policy, quote_literal(reference)),
                policy::text, 'The policy of a channel cannot change: request another one.');
        ELSIF known.state = 'removing' THEN
            refusal := carillon.refusal('reference', 'a channel that is not being removed', quote_literal(reference),
                'Request it again when it has been removed.', '55000');
        ELSIF known.state IS NULL AND (SELECT count(*) FROM carillon.channels c WHERE c.app_id = target.id) >= max_channels THEN
            refusal := carillon.refusal('app', format('an app with fewer than %s channels, which is Apple''s limit', max_channels),
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
        created_at = NULL, last_error = NULL, requested_at = now(), next_attempt_at = now()
    WHERE c.state IN ('failed', 'missing');
    IF FOUND THEN
        PERFORM carillon.record_on_behalf('request channel', target.id,
            jsonb_build_object('reference', reference, 'policy', policy), carillon.changed_members(
                jsonb_build_object('state', known.state, 'policy', known.policy, 'channel_id', known.channel_id),
                CASE WHEN known.state IS NOT NULL THEN jsonb_build_object('state', 'requested', 'policy', policy) END));
    END IF;
    RETURN reference;
END
$$;
COMMENT ON FUNCTION carillon.request_channel IS
    'Requests a channel, which a worker then creates at Apple. Returns its reference; channel() returns Apple''s id.';

CREATE OR REPLACE FUNCTION carillon.record_channel(app text, channel_id text, policy bigint, reference text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target integer;
    protocol text;
    refusal carillon.refusal;
BEGIN
    SELECT a.id, a.protocol INTO target, protocol FROM carillon.apps a
    WHERE a.name = app AND carillon.may_use(a);
    IF target IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSE
        refusal := carillon.check_channel(app, protocol, policy, reference);
    END IF;
    IF refusal.message IS NOT NULL THEN
        NULL;
    ELSIF (channel_id ~ '^[!-~]{1,255}$') IS NOT TRUE THEN
        refusal := carillon.refusal('channel_id', 'Apple''s id of a channel', quote_literal(channel_id));
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
    PERFORM carillon.record_on_behalf('record channel', target,
        jsonb_build_object('reference', reference, 'policy', policy, 'channel_id', channel_id));
    DELETE FROM carillon.unknown_channels s WHERE s.app_id = target AND s.channel_id = record_channel.channel_id;
END
$$;
COMMENT ON FUNCTION carillon.record_channel IS
    'Records a channel that was created elsewhere, for example in Apple''s console, so that publish accepts it.';

-- Each poll of channel() must see what was committed before it, which requires the isolation level READ COMMITTED.
CREATE OR REPLACE FUNCTION carillon.channel(reference text, app text DEFAULT NULL, wait interval DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
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
        -- The same transaction: now() is one in all of it, while a savepoint has a transaction id of its own.
        ELSIF (answer.known).requested_at = now() AND pg_current_xact_id_if_assigned() IS NOT NULL THEN
            RAISE EXCEPTION 'argument "wait" needs a channel whose request is committed'
            USING ERRCODE = 'object_not_in_prerequisite_state', COLUMN = 'wait',
                HINT = 'Commit after carillon.request_channel: until then, no worker sees the request.';
        END IF;
        PERFORM pg_sleep(least(0.1, greatest(0.001, extract(epoch FROM ends - clock_timestamp()))));
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.channel IS
    'Returns Apple''s id of a channel, or null if the channel is not ready. Raises an error if it is failed or missing. With '
    'wait, waits up to that long for Apple to create it.';

-- remove_channel() removes at once a channel that Apple never created.
CREATE OR REPLACE FUNCTION carillon.remove_channel(app text, channel text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    answer record := carillon.find_channel(coalesce(app, ''), channel);
BEGIN
    IF (answer.refusal).message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = (answer.refusal).code, MESSAGE = (answer.refusal).message,
            COLUMN = (answer.refusal).argument, HINT = (answer.refusal).hint;
    END IF;
    DELETE FROM carillon.channels c
    WHERE (c.app_id, c.reference) = ((answer.known).app_id, (answer.known).reference)
        AND (c.state = 'missing' OR c.channel_id IS NULL AND NOT c.request_is_open);
    UPDATE carillon.channels c SET state = 'removing', last_error = NULL,
        -- A request in progress ends first.
        next_attempt_at = CASE WHEN c.request_is_open THEN c.next_attempt_at ELSE now() END
    WHERE (c.app_id, c.reference) = ((answer.known).app_id, (answer.known).reference);
    PERFORM carillon.record_on_behalf('remove channel', (answer.known).app_id,
        jsonb_build_object('reference', (answer.known).reference, 'channel_id', (answer.known).channel_id,
            'policy', (answer.known).policy, 'state_before', (answer.known).state));
END
$$;
COMMENT ON FUNCTION carillon.remove_channel IS
    'Requests the removal of a channel, by its reference or id. A worker removes it at Apple and then deletes its row.';

CREATE OR REPLACE FUNCTION carillon.take_channels(max_rows integer, skipped integer[] DEFAULT '{}') RETURNS TABLE (
    app_id integer, reference text, policy smallint, channel_id text, is_removal boolean, attempt integer
)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH due AS (
        SELECT c.app_id, c.reference FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id
        WHERE c.state IN ('requested', 'removing') AND c.next_attempt_at <= now() AND NOT a.paused
            AND c.app_id <> ALL (skipped)
            AND EXISTS (SELECT FROM carillon.installation i WHERE i.system_identifier || '/' || i.database_oid = carillon.here())
        ORDER BY c.next_attempt_at LIMIT max_rows FOR UPDATE OF c SKIP LOCKED)
    UPDATE carillon.channels c SET attempts = c.attempts + 1, request_is_open = true, next_attempt_at = now() + interval '1 minute'
    FROM due d WHERE c.app_id = d.app_id AND c.reference = d.reference
    RETURNING c.app_id, c.reference, c.policy, c.channel_id, c.state = 'removing', c.attempts
$$;
COMMENT ON FUNCTION carillon.take_channels IS
    'Internal: takes due requests for channels, each for one minute, except those of the skipped apps.';

-- channel_made() returns false if another worker has taken the request over; that worker requests another channel.
CREATE OR REPLACE FUNCTION carillon.channel_made(app integer, reference text, attempt integer, channel_id text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM carillon.channels c WHERE c.app_id = app AND c.channel_id = channel_made.channel_id
        AND c.reference = channel_made.reference)
    THEN
        RETURN true;  -- already recorded by a statement whose answer was lost
    END IF;
    UPDATE carillon.channels c SET channel_id = channel_made.channel_id, created_at = now(), last_error = NULL,
        request_is_open = false, next_attempt_at = now(), state = CASE c.state WHEN 'requested' THEN 'ready' ELSE c.state END
    WHERE c.app_id = app AND c.reference = channel_made.reference AND c.attempts = attempt AND c.channel_id IS NULL
        AND c.state IN ('requested', 'removing');
    IF FOUND THEN
        RETURN true;
    END IF;
    INSERT INTO carillon.unknown_channels AS s (app_id, channel_id, is_ours) SELECT app, channel_made.channel_id, true
    WHERE NOT EXISTS (SELECT FROM carillon.channels c WHERE c.app_id = app AND c.channel_id = channel_made.channel_id)
    ON CONFLICT (app_id, channel_id) DO UPDATE SET is_ours = true;
    RETURN false;
END
$$;
COMMENT ON FUNCTION carillon.channel_made IS
    'Internal: records a channel that Apple has created; fails if another channel of the app has its id.';

-- A null `again` means that Apple will never fulfil the request. Other requests of the app are delayed by the same interval, so
-- that an unreachable channel service does not delay the channels of other apps.
CREATE OR REPLACE FUNCTION carillon.channel_failed(
    app integer, reference text, attempt integer, error text, again interval, is_unknown boolean
) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    UPDATE carillon.channels c SET last_error = error, request_is_open = is_unknown,
        next_attempt_at = now() + coalesce(again, CASE
            -- A channel that Apple never created is deleted at once.
            WHEN c.state = 'removing' AND c.channel_id IS NULL THEN interval '0' ELSE interval '1 hour' END),
        state = CASE WHEN again IS NULL AND c.state = 'requested' THEN 'failed' ELSE c.state END
    WHERE c.app_id = app AND c.reference = channel_failed.reference AND c.attempts = attempt;
    UPDATE carillon.channels c SET next_attempt_at = now() + again
    WHERE c.app_id = app AND c.reference <> channel_failed.reference AND c.state IN ('requested', 'removing')
        AND c.next_attempt_at <= now() AND again IS NOT NULL
$$;
COMMENT ON FUNCTION carillon.channel_failed IS 'Internal: records that a request for a channel failed.';

CREATE OR REPLACE FUNCTION carillon.channel_gone(app integer, reference text, attempt integer) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    DELETE FROM carillon.channels c
    WHERE c.app_id = app AND c.reference = channel_gone.reference AND c.attempts = attempt AND c.state = 'removing'
$$;
COMMENT ON FUNCTION carillon.channel_gone IS 'Internal: deletes the row of a channel that Apple removed or never had.';

-- channels_refused() marks channels as missing at once, before the next comparison. It skips rows that another session has locked,
-- which the comparison then handles, so that a settlement never waits for another session. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.channels_refused(app integer, tokens text[], reasons text[]) RETURNS void
LANGUAGE sql AS $$
    UPDATE carillon.channels c SET state = 'missing', last_error = 'Apple answered ' || lost.reason || '.'
    FROM (
        SELECT k.reference, r.reason FROM carillon.channels k JOIN (
            SELECT pg_catalog.lower(u.token) AS token, pg_catalog.min(u.reason) AS reason
            FROM unnest(tokens, reasons) AS u(token, reason)
            WHERE u.reason IN ('ChannelNotRegistered', 'BadChannelId') GROUP BY 1
        ) AS r ON r.token = pg_catalog.encode(pg_catalog.convert_to(k.channel_id, 'UTF8'), 'hex')
        WHERE k.app_id = channels_refused.app AND k.state = 'ready' FOR UPDATE OF k SKIP LOCKED
    ) AS lost
    WHERE c.app_id = channels_refused.app AND c.reference = lost.reference
$$;
COMMENT ON FUNCTION carillon.channels_refused IS
    'Internal: marks a channel as missing when Apple has refused an update because it does not know the channel.';

-- A channel recorded after `listed_at` may be missing from the list. In a copy of the database, many would be: unknown ones may be
-- removed at Apple.
CREATE OR REPLACE FUNCTION carillon.channels_listed(app integer, listed text[], listed_at timestamptz) RETURNS TABLE (
    channel_id text, reference text, state text, is_ours boolean, first_seen_at timestamptz
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.check_installation();
    UPDATE carillon.channels c SET state = 'missing', last_error = 'Apple no longer has this channel.'
    WHERE c.app_id = app AND c.state = 'ready' AND c.channel_id <> ALL (listed)
        AND coalesce(c.created_at, c.requested_at) < listed_at;
    UPDATE carillon.channels c SET state = 'ready', last_error = NULL
    WHERE c.app_id = app AND c.state = 'missing' AND c.channel_id = ANY (listed);
    DELETE FROM carillon.unknown_channels s
    WHERE s.app_id = app AND (s.channel_id <> ALL (listed) AND s.first_seen_at < listed_at
        OR EXISTS (SELECT FROM carillon.channels c WHERE c.channel_id = s.channel_id));
    -- Another app here may share the topic at Apple, and have this channel.
    INSERT INTO carillon.unknown_channels (app_id, channel_id)
    SELECT app, l.id FROM unnest(listed) AS l(id)
    WHERE NOT EXISTS (SELECT FROM carillon.channels c WHERE c.channel_id = l.id)
    ON CONFLICT DO NOTHING;
    RETURN QUERY
    SELECT c.channel_id, c.reference, c.state, NULL::boolean, NULL::timestamptz FROM carillon.channels c
    WHERE c.app_id = app
    UNION ALL
    SELECT s.channel_id, NULL, 'unknown', s.is_ours, s.first_seen_at FROM carillon.unknown_channels s
    WHERE s.app_id = app
    ORDER BY 2, 1;
END
$$;
COMMENT ON FUNCTION carillon.channels_listed IS 'Internal: compares Apple''s list of channels with the table channels.';
