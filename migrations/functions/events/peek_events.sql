-- Events for consumers that cannot keep a transaction open: those of the HTTP API. peek_events() returns events and leaves them;
-- acknowledge_events() takes exactly these, once the consumer has processed them. So an answer that is lost comes again.
--
-- What commits later may have a lower id, so no single id says what was returned. A cursor lists the rows of untaken_events, each
-- by the id of its events and, if some of these are left, a dot and how many were returned or taken before.

-- peek_events() takes the events in a subtransaction and undoes it: variables keep their values.
CREATE OR REPLACE FUNCTION carillon.peek_events(
    app text, consumer text, n integer DEFAULT NULL, OUT events jsonb, OUT cursor text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF n NOT BETWEEN 1 AND 1000 THEN
        PERFORM carillon.refuse(carillon.refusal('n', 'a number from 1 to 1000', n::text, 'Leave it out for 100.'));
    END IF;
    BEGIN
        SELECT jsonb_agg(to_jsonb(e)) INTO events FROM carillon.take_events(consumer, n, coalesce(app, '')) e;
        SELECT string_agg(concat_ws('.', r.event_id, d.taken), ',' ORDER BY r.event_id) INTO cursor
        FROM (
            SELECT DISTINCT split_part(e ->> 'id', '-', 1)::bigint AS event_id FROM jsonb_array_elements(events) AS e) AS r
        LEFT JOIN (
            SELECT u.event_id, u.taken FROM carillon.subscriptions s
            JOIN carillon.apps a ON a.id = s.app_id AND a.name = peek_events.app
            JOIN carillon.untaken_events u ON u.subscription_id = s.id WHERE s.consumer = peek_events.consumer
        ) AS d ON d.event_id = r.event_id;
        RAISE EXCEPTION USING ERRCODE = 'PEEK0', MESSAGE = 'undo';
    EXCEPTION
        WHEN SQLSTATE 'PEEK0' THEN
            events := coalesce(events, '[]');
    END;
END
$$;
COMMENT ON FUNCTION carillon.peek_events IS
    'Internal: the HTTP API. Returns up to n events of a consumer (100 if null), as take_events would, and the cursor that '
    'acknowledge_events takes. They are not taken.';

CREATE OR REPLACE FUNCTION carillon.acknowledge_events(app text, consumer text, cursor text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(coalesce(acknowledge_events.app, ''));
    subscription CONSTANT bigint := (
        SELECT s.id FROM carillon.subscriptions s WHERE s.app_id = ANY (chosen) AND s.consumer = acknowledge_events.consumer);
    refusal carillon.refusal := carillon.refused_consumer(consumer);
    acknowledged bigint;
BEGIN
    IF refusal.message IS NOT NULL THEN
        PERFORM carillon.refuse(refusal);
    ELSIF cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(acknowledge_events.app);
    ELSIF subscription IS NULL THEN
        refusal := carillon.unknown_consumer(consumer);
    ELSIF (cursor ~ E'^([0-9]{1,18}(\\.[0-9]{1,9})?(,|$))*$') IS NOT TRUE THEN
        refusal := carillon.refusal('cursor', 'the cursor that came with the events', quote_literal(cursor),
            'Pass it as it came.');
    END IF;
    PERFORM carillon.refuse(refusal);
    WITH returned AS (
        SELECT split_part(c.entry, '.', 1)::bigint AS event_id,
            max(coalesce(nullif(split_part(c.entry, '.', 2), '')::integer, 2147483647)) AS taken
        FROM string_to_table(cursor, ',') AS c(entry) WHERE c.entry <> '' GROUP BY 1
    ), locked AS MATERIALIZED (
        SELECT u.ctid AS place, u.events, u.taken AS before, least(u.events, r.taken) AS taken
        FROM returned r JOIN carillon.untaken_events u ON u.subscription_id = subscription AND u.event_id = r.event_id
        WHERE r.taken > u.taken ORDER BY u.event_id FOR UPDATE OF u
    ), removed AS (
        DELETE FROM carillon.untaken_events u USING locked k WHERE u.ctid = k.place AND k.taken >= k.events
    ), changed AS (
        UPDATE carillon.untaken_events u SET taken = k.taken FROM locked k WHERE u.ctid = k.place AND k.taken < k.events
    )
    SELECT coalesce(sum(k.taken - k.before), 0) INTO acknowledged FROM locked k;
    RETURN acknowledged;
END
$$;
COMMENT ON FUNCTION carillon.acknowledge_events IS
    'Internal: the HTTP API. Takes the events that peek_events returned with this cursor. Returns how many of them were not taken '
    'before.';
