-- Consumers: programs that follow what becomes of an app's pushes, each under a name of its own. The functions run as their owner,
-- because an app may write neither of the tables. Several apps may have a consumer of the same name: take_events() takes the events
-- of those that the caller may use.

CREATE OR REPLACE FUNCTION carillon.mask_of(kinds text[]) RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN kinds IS NULL THEN -1
        ELSE (SELECT bit_or(1 << (array_position(carillon.event_kinds(), k.name) - 1)) FROM unnest(kinds) AS k(name)) END
$$;
COMMENT ON FUNCTION carillon.mask_of IS 'Internal: returns kinds of events as bits; null stands for all kinds, also later ones.';

CREATE OR REPLACE FUNCTION carillon.kinds_of(mask integer) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN mask <> -1 THEN ARRAY(
        SELECT k.name FROM unnest(carillon.event_kinds()) WITH ORDINALITY AS k(name, place)
        WHERE (mask >> (k.place::integer - 1)) & 1 = 1 ORDER BY k.place) END
$$;
COMMENT ON FUNCTION carillon.kinds_of IS 'Internal: returns the kinds of events that the bits stand for; null if these are all.';

-- A null names nothing that could be unknown.
CREATE OR REPLACE FUNCTION carillon.unknown_consumer(consumer text) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT carillon.refusal('consumer', 'the name of a consumer', quote_literal(consumer),
        CASE WHEN consumer IS NULL THEN 'Pass the name that was passed to carillon.subscribe.'
            ELSE 'Call carillon.subscribe first.' END, CASE WHEN consumer IS NULL THEN '22023' ELSE '42704' END)
$$;
COMMENT ON FUNCTION carillon.unknown_consumer IS 'Internal: builds the error for a consumer that follows nothing.';

-- The consumer of a webhook belongs to it: see webhooks.sql. A null is refused elsewhere.
CREATE OR REPLACE FUNCTION carillon.refused_consumer(consumer text) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT carillon.refusal('consumer', 'a name that does not begin with webhook:', quote_literal(consumer),
        'It is the consumer of a webhook: see carillon webhook --help.') WHERE consumer LIKE 'webhook:%'
$$;
COMMENT ON FUNCTION carillon.refused_consumer IS 'Internal: builds the error for the name of a consumer that belongs to a webhook.';

CREATE OR REPLACE FUNCTION carillon.refused_kinds(kinds text[]) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT carillon.refusal('kinds', 'kinds of events, or null for all', coalesce(quote_literal(u.unknown[1]), 'none'),
        'The kinds are: ' || array_to_string(carillon.event_kinds(), ', ') || '.')
    FROM (SELECT ARRAY(
        SELECT k.name FROM unnest(kinds) AS k(name) WHERE (k.name = ANY (carillon.event_kinds())) IS NOT TRUE) AS unknown) AS u
    WHERE cardinality(u.unknown) > 0 OR cardinality(kinds) = 0
$$;
COMMENT ON FUNCTION carillon.refused_kinds IS 'Internal: builds the error for unknown kinds of events.';

-- Each settlement stores a row for each consumer. The caller has called lock_to_count(). A caller may pass a name with a collation
-- for which all names are equal.
CREATE OR REPLACE FUNCTION carillon.has_too_many_consumers(app integer, consumer text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT count(*) >= 100 FROM carillon.subscriptions s
    WHERE s.app_id = app AND s.consumer <> has_too_many_consumers.consumer COLLATE "C"
$$;
COMMENT ON FUNCTION carillon.has_too_many_consumers IS 'Internal: returns whether an app can have no further consumer.';

-- A row of which some events were taken is given back whole.
CREATE OR REPLACE FUNCTION carillon.untake(subscription bigint, app integer, bits integer, since timestamptz) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    stored bigint;
BEGIN
    WITH stored AS (
        INSERT INTO carillon.untaken_events AS d (subscription_id, event_id, at, mask, events)
        SELECT k.* FROM (
            SELECT subscription, e.id, e.at, bits, (SELECT count(*)::integer FROM carillon.events_of(e, bits)) AS events
            FROM carillon.events e WHERE e.app_id = app AND e.at >= since
        ) AS k WHERE k.events > 0
        ON CONFLICT (subscription_id, event_id) DO UPDATE SET taken = 0 RETURNING d.events
    )
    SELECT coalesce(sum(s.events), 0) INTO stored FROM stored s;
    RETURN stored;
END
$$;
COMMENT ON FUNCTION carillon.untake IS
    'Internal: makes stored events of an app untaken for a subscription, and returns how many; without those of split messages.';

-- subscribe() changes nothing if the consumer follows these kinds already, so a program may call it at each start.
CREATE OR REPLACE FUNCTION carillon.subscribe(
    app text, consumer text, kinds text[] DEFAULT NULL, start_at timestamptz DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(coalesce(subscribe.app, ''));
    bits CONSTANT integer := carillon.mask_of(kinds);
    refusal carillon.refusal;
    subscription bigint;
BEGIN
    IF NOT EXISTS (
        SELECT FROM carillon.subscriptions s WHERE s.app_id = chosen[1] AND s.consumer = subscribe.consumer COLLATE "C")
    THEN
        PERFORM carillon.lock_to_count(chosen[1]);
    END IF;
    IF NOT EXISTS (SELECT FROM carillon.apps a WHERE a.id = ANY (chosen) AND a.moved_to IS NULL) THEN
        refusal := carillon.unknown_app(subscribe.app);
    ELSIF (octet_length(consumer) BETWEEN 1 AND 255) IS NOT TRUE THEN
        refusal := carillon.refusal('consumer', 'text of 1 to 255 bytes', quote_literal(consumer),
            'It names the program that takes the events.');
    ELSIF carillon.has_too_many_consumers(chosen[1], consumer) THEN
        refusal := carillon.refusal('consumer', 'one of at most 100 names for an app', quote_literal(consumer),
            'carillon.consumers lists the others. carillon.unsubscribe ends one.');
    ELSIF start_at > clock_timestamp() THEN
        refusal := carillon.refusal('start_at', 'a time that is not in the future, or null for now', start_at::text,
            'Subscribe when the events are wanted.');
    ELSE
        refusal := coalesce(carillon.refused_consumer(consumer), carillon.refused_kinds(kinds));
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    IF EXISTS (SELECT FROM carillon.subscriptions s
        WHERE s.app_id = chosen[1] AND s.consumer = subscribe.consumer AND s.mask = bits)
    THEN
        RETURN false;
    END IF;
    INSERT INTO carillon.subscriptions AS s (app_id, consumer, mask) VALUES (chosen[1], subscribe.consumer, bits)
    ON CONFLICT ON CONSTRAINT subscriptions_consumer_is_unique DO NOTHING RETURNING s.id INTO subscription;
    PERFORM carillon.record_on_behalf('subscribe', chosen[1], jsonb_build_object('consumer', consumer,
        'kinds', carillon.kinds_of(bits)));
    IF subscription IS NULL THEN
        UPDATE carillon.subscriptions s SET mask = bits
        WHERE s.app_id = chosen[1] AND s.consumer = subscribe.consumer;
        RETURN false;
    END IF;
    PERFORM carillon.untake(subscription, chosen[1], bits, start_at);
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.subscribe IS
    'Makes a consumer follow what becomes of an app''s pushes, from the commit on; by default, all kinds of events. With start_at, '
    'also takes what was stored for other consumers of the app since then. Returns false if the consumer follows the app already: '
    'its kinds are then replaced.';

-- Rows of untaken_events are left to maintenance, so that it waits for no session that takes events.
CREATE OR REPLACE FUNCTION carillon.unsubscribe(app text, consumer text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(coalesce(unsubscribe.app, ''));
    refusal carillon.refusal := CASE WHEN cardinality(chosen) = 0 THEN carillon.unknown_app(unsubscribe.app)
        ELSE carillon.refused_consumer(consumer) END;
BEGIN
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    DELETE FROM carillon.subscriptions s WHERE s.app_id = chosen[1] AND s.consumer = unsubscribe.consumer;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM carillon.record_on_behalf('unsubscribe', chosen[1], jsonb_build_object('consumer', consumer));
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.unsubscribe IS
    'Ends what subscribe began. Events that the consumer has not taken are lost. Returns false if it did not follow the app.';
