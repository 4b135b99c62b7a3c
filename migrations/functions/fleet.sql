-- Null: all turns of the next second are taken. Turns are spaced at nine tenths of max_rate, so that late pushes stay within the
-- rate of their second. An unused turn is lost.
CREATE OR REPLACE FUNCTION carillon.take_turn(app integer, pushes integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    takes interval;
    begins timestamptz;
    moment timestamptz;
BEGIN
    SELECT make_interval(secs => pushes / (0.9 * a.max_rate)) INTO takes FROM carillon.apps a
    WHERE a.id = app AND a.max_rate IS NOT NULL;
    IF takes IS NULL THEN
        RETURN 0;
    END IF;
    -- A crash may lose it: nothing is sent while the server starts.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT r.next_at INTO begins FROM carillon.rates r WHERE r.app_id = app FOR UPDATE;
    IF begins IS NULL THEN
        INSERT INTO carillon.rates AS r (app_id, next_at) VALUES (app, clock_timestamp())
        ON CONFLICT (app_id) DO UPDATE SET next_at = r.next_at RETURNING r.next_at INTO begins;
    END IF;
    moment := clock_timestamp();
    -- It is further ahead only after the clock was set back.
    IF begins < moment OR begins > moment + interval '1 minute' THEN
        begins := moment;
    ELSIF begins > moment + interval '1 second' THEN
        RETURN NULL;
    END IF;
    UPDATE carillon.rates SET next_at = begins + takes WHERE app_id = app;
    RETURN greatest(0, extract(epoch FROM begins - clock_timestamp()) * 1000000)::bigint;
END
$$;
COMMENT ON FUNCTION carillon.take_turn IS
    'Internal: takes a turn for some pushes of an app, which are sent when it begins; returns the microseconds until then.';

-- Null: the caller is to mint one with the time in `clock`, and to call again with it. If another worker was first, its token is
-- returned. A token is replaced after fifty minutes, or sooner if APNs refused it as too old; never within twenty minutes or
-- before rests_until. A token from the future was minted before the clock was set back.
--
-- `since` is the certificate's updated_at as the caller knows it: a token of an old key is never returned for a new one.
CREATE OR REPLACE FUNCTION carillon.provider_token(
    credential integer, since timestamptz, refused text, minted text, minted_at bigint,
    OUT token text, OUT made_at bigint, OUT renews_in bigint, OUT clock bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    known carillon.provider_tokens;
    age bigint;
    rest bigint;
BEGIN
    IF minted IS NOT NULL THEN
        -- One at a time: the next caller finds what this one wrote. The lock ends with the statement.
        PERFORM pg_advisory_xact_lock(('carillon.provider_tokens'::regclass::oid::bigint << 32) | credential);
        PERFORM FROM carillon.certificates c WHERE c.id = credential AND c.updated_at = since FOR SHARE;
    ELSE
        PERFORM FROM carillon.certificates c WHERE c.id = credential AND c.updated_at = since;
    END IF;
    clock := floor(extract(epoch FROM clock_timestamp()));
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT p.* INTO known FROM carillon.provider_tokens p WHERE p.certificate_id = credential;
    made_at := floor(extract(epoch FROM known.issued_at));
    age := clock - made_at;
    rest := coalesce(ceil(extract(epoch FROM known.rests_until)) - clock, 0);
    IF known.jwt IS NULL OR NOT (rest > 0 OR age BETWEEN -60 AND CASE WHEN known.jwt = refused THEN 1199 ELSE 2999 END)
    THEN
        -- The minted token took too long to arrive.
        IF minted IS NULL OR minted_at NOT BETWEEN clock - 60 AND clock + 60 THEN
            RETURN;
        END IF;
        INSERT INTO carillon.provider_tokens AS p (certificate_id, jwt, issued_at)
        VALUES (credential, minted, to_timestamp(minted_at))
        ON CONFLICT (certificate_id) DO UPDATE
        SET jwt = excluded.jwt, issued_at = excluded.issued_at, rests_until = NULL;
        known.jwt := minted;
        made_at := minted_at;
        age := clock - minted_at;
    END IF;
    token := known.jwt;
    renews_in := greatest(3000 - age, rest, 1);
END
$$;
COMMENT ON FUNCTION carillon.provider_token IS 'Internal: the provider token of a signing key, which workers share.';

-- That is an app with at least 100 pushes of which more than half failed as BadDeviceToken or because of their topic: most likely
-- its environment or its topic is wrong, and all other pushes would fail too. It counts by minutes: first the running minute,
-- which earlier good pushes cannot dilute, then this one and the one before, so that a new minute does not hide failures. An app
-- that another session is changing waits for the next call.
CREATE OR REPLACE FUNCTION carillon.open_breakers(apps integer[]) RETURNS TABLE (app_id integer, app text, reason text)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    target record;
    earlier integer;
    since timestamptz;
    tokens bigint;
    topics bigint;
    bad bigint;
    pushes bigint;
BEGIN
    FOR target IN
        SELECT a.id, a.name, a.environment, a.topic, b.closed_at, b.closed_bad, b.closed_pushes
        FROM carillon.apps a LEFT JOIN carillon.breakers b ON b.app_id = a.id
        WHERE a.id = ANY (apps) AND NOT a.paused ORDER BY a.id FOR NO KEY UPDATE OF a SKIP LOCKED
    LOOP
        FOREACH earlier IN ARRAY ARRAY[0, 1] LOOP
            since := greatest(date_trunc('minute', now()) - earlier * interval '1 minute',
                date_trunc('minute', target.closed_at));
            SELECT sum(t.bad_tokens), sum(t.bad_topics), sum(t.sent + t.failed) INTO tokens, topics, pushes
            FROM carillon.activity t WHERE t.minute >= since AND t.app_id = target.id;
            bad := tokens + topics;
            IF since = date_trunc('minute', target.closed_at) THEN
                bad := bad - target.closed_bad;
                pushes := pushes - target.closed_pushes;
            END IF;
            EXIT WHEN pushes >= 100 AND bad * 2 > pushes;
        END LOOP;
        CONTINUE WHEN (pushes >= 100 AND bad * 2 > pushes) IS NOT TRUE;
        app_id := target.id;
        app := target.name;
        reason := format('%s of %s pushes within %s failed %s. Fix that, and resume with: carillon app resume %s', bad, pushes,
            CASE earlier WHEN 0 THEN 'a minute' ELSE 'two minutes' END,
            CASE WHEN topics > tokens
                THEN format('because of their topic: the credential or the device tokens are probably not of %s',
                    coalesce('the topic ' || target.topic, 'that topic'))
                ELSE format('as BadDeviceToken: the app''s tokens are probably not of the environment %s',
                    target.environment) END,
            target.name);
        PERFORM set_config('carillon.source', 'worker', true);
        UPDATE carillon.apps a SET paused = true, paused_reason = open_breakers.reason WHERE a.id = target.id;
        INSERT INTO carillon.breakers AS b (app_id, bad, pushes) VALUES (target.id, bad, pushes)
        ON CONFLICT (app_id) DO UPDATE SET opened_at = now(), bad = excluded.bad,
            pushes = excluded.pushes, closed_at = NULL, closed_bad = 0, closed_pushes = 0;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.open_breakers IS
    'Internal: pauses each of the apps whose pushes fail because of its environment or topic.';

-- What workers do with requests about channels.

CREATE OR REPLACE FUNCTION carillon.take_channels(most integer) RETURNS TABLE (
    app_id integer, reference text, policy smallint, channel_id text, is_removal boolean, attempt integer
)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH due AS (
        SELECT c.app_id, c.reference FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id
        WHERE c.state IN ('requested', 'removing') AND c.next_try_at <= now() AND NOT a.paused
        ORDER BY c.next_try_at LIMIT most FOR UPDATE OF c SKIP LOCKED)
    UPDATE carillon.channels c SET attempts = c.attempts + 1, is_asked = true, next_try_at = now() + interval '1 minute'
    FROM due d WHERE c.app_id = d.app_id AND c.reference = d.reference
    RETURNING c.app_id, c.reference, c.policy, c.channel_id, c.state = 'removing', c.attempts
$$;
COMMENT ON FUNCTION carillon.take_channels IS 'Internal: takes requests for channels that are due, each for a minute.';

-- False: another worker took the request over meanwhile, and asks for another one.
CREATE OR REPLACE FUNCTION carillon.channel_made(app integer, reference text, attempt integer, channel_id text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM carillon.channels c WHERE c.app_id = app AND c.channel_id = channel_made.channel_id) THEN
        RETURN true;  -- recorded before, by a statement whose answer was lost
    END IF;
    UPDATE carillon.channels c SET channel_id = channel_made.channel_id, created_at = now(), last_error = NULL,
        is_asked = false, next_try_at = now(), state = CASE c.state WHEN 'requested' THEN 'ready' ELSE c.state END
    WHERE c.app_id = app AND c.reference = channel_made.reference AND c.attempts = attempt AND c.channel_id IS NULL
        AND c.state IN ('requested', 'removing');
    IF FOUND THEN
        RETURN true;
    END IF;
    INSERT INTO carillon.unknown_channels AS s (app_id, channel_id, is_ours) VALUES (app, channel_made.channel_id, true)
    ON CONFLICT (app_id, channel_id) DO UPDATE SET is_ours = true;
    RETURN false;
END
$$;
COMMENT ON FUNCTION carillon.channel_made IS 'Internal: records a channel that Apple has created.';

-- Null for `again`: Apple will never do it. Other requests of the app wait as long, so that a channel service that cannot be
-- reached does not keep the channels of other apps waiting.
CREATE OR REPLACE FUNCTION carillon.channel_failed(
    app integer, reference text, attempt integer, error text, again interval, is_unknown boolean
) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    UPDATE carillon.channels c SET last_error = error, is_asked = is_unknown,
        next_try_at = now() + coalesce(again, CASE
            -- What Apple never made is gone at once.
            WHEN c.state = 'removing' AND c.channel_id IS NULL THEN interval '0' ELSE interval '1 hour' END),
        state = CASE WHEN again IS NULL AND c.state = 'requested' THEN 'failed' ELSE c.state END
    WHERE c.app_id = app AND c.reference = channel_failed.reference AND c.attempts = attempt;
    UPDATE carillon.channels c SET next_try_at = now() + again
    WHERE c.app_id = app AND c.reference <> channel_failed.reference AND c.state IN ('requested', 'removing')
        AND c.next_try_at <= now() AND again IS NOT NULL
$$;
COMMENT ON FUNCTION carillon.channel_failed IS 'Internal: records that a request for a channel has failed.';

CREATE OR REPLACE FUNCTION carillon.channel_gone(app integer, reference text, attempt integer) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    DELETE FROM carillon.channels c
    WHERE c.app_id = app AND c.reference = channel_gone.reference AND c.attempts = attempt AND c.state = 'removing'
$$;
COMMENT ON FUNCTION carillon.channel_gone IS 'Internal: deletes a channel that Apple has removed, or never had.';

-- They are missing at once, and not only after the next comparison. A row that another session has locked is left to the
-- comparison, so that a settlement waits for no caller. It pins no search_path: see own_path().
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
    'Internal: marks channels as missing for which Apple has refused what was published.';

-- Channels that were recorded after `listed_at` may not be in the list.
CREATE OR REPLACE FUNCTION carillon.channels_listed(app integer, listed text[], listed_at timestamptz) RETURNS TABLE (
    channel_id text, reference text, state text, is_ours boolean, first_seen_at timestamptz
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE carillon.channels c SET state = 'missing', last_error = 'Apple no longer has this channel.'
    WHERE c.app_id = app AND c.state = 'ready' AND c.channel_id <> ALL (listed)
        AND coalesce(c.created_at, c.requested_at) < listed_at;
    UPDATE carillon.channels c SET state = 'ready', last_error = NULL
    WHERE c.app_id = app AND c.state = 'missing' AND c.channel_id = ANY (listed);
    DELETE FROM carillon.unknown_channels s
    WHERE s.app_id = app AND (s.channel_id <> ALL (listed) AND s.first_seen_at < listed_at
        OR EXISTS (SELECT FROM carillon.channels c WHERE c.channel_id = s.channel_id));
    -- Another app here may have the same topic at Apple, and this channel.
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
COMMENT ON FUNCTION carillon.channels_listed IS 'Internal: compares Apple''s list of channels with the table.';
