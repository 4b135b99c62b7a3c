-- Publishes to channels. enqueue.sql has carillon.publish, which users call. The update is noted in the transaction that enqueues
-- it, as in submit_activity.sql.

CREATE OR REPLACE FUNCTION carillon.check_publication(p carillon.publication, channel carillon.channels, content_state jsonb)
RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    refusal carillon.refusal;
BEGIN
    IF channel.state <> 'ready' THEN
        refusal := carillon.refusal('channel', 'a channel that is ready',
            format('%L, which is %s%s', p.channel, channel.state, ': ' || channel.last_error),
            CASE channel.state
                WHEN 'requested' THEN
                    'A worker asks Apple for it. Wait with carillon.channel(reference, wait => ''30 seconds'').'
                WHEN 'removing' THEN 'Wait until it has been removed, then request it again with carillon.request_channel.'
                ELSE 'Request it again with carillon.request_channel.' END, '55000');
    ELSIF p.event = 'start' OR NOT carillon.is_name(p.event) THEN
        refusal := carillon.refusal('event', '''update'' or ''end''', quote_literal(p.event),
            CASE p.event WHEN 'start' THEN 'A channel cannot start Live Activities: use carillon.start_activity.'
                ELSE 'Another event, whose name has at most 64 lower-case letters, digits and hyphens, is sent unchecked.' END);
    ELSIF jsonb_typeof(content_state) IS DISTINCT FROM 'object' AND (p.state_text IS NOT NULL OR p.event = 'update') THEN
        refusal := carillon.refusal('content_state', 'a JSON object', p.state_text, NULL,
            CASE WHEN content_state IS NULL AND p.state_text IS NOT NULL THEN '22P02' ELSE '22023' END);
    ELSIF p.dismissal_date IS NOT NULL AND p.event <> 'end' THEN
        refusal := carillon.refusal('dismissal_date', 'a time only if event is ''end''', quote_literal(p.dismissal_date));
    ELSIF p.dismissal_date < timestamptz 'epoch' OR p.dismissal_date >= timestamptz '2201-01-01 00:00:00Z' THEN
        refusal := carillon.refusal('dismissal_date', 'a time from 1970 to 2200', quote_literal(p.dismissal_date));
    ELSIF p.apns_timestamp < timestamptz '1970-01-01 00:00:01Z' OR p.apns_timestamp >= timestamptz '2201-01-01 00:00:00Z' THEN
        refusal := carillon.refusal('apns_timestamp', 'a time after 1970-01-01 00:00:00 UTC, up to the year 2200',
            quote_literal(p.apns_timestamp));
    ELSIF p.expires_at > timestamptz 'epoch' AND channel.policy = 0 THEN
        refusal := carillon.refusal('expires_at', 'null for a channel that stores nothing (policy 0)', quote_literal(p.expires_at),
            'Apple delivers its messages at once or never.');
    ELSIF jsonb_typeof(p.aps) <> 'object' THEN
        refusal := carillon.refusal('aps', 'a JSON object', p.aps::text);
    ELSIF p.aps ?| ARRAY['timestamp', 'event', 'content-state', 'dismissal-date'] THEN
        refusal := carillon.refusal('aps', 'members that have no argument of their own', p.aps::text,
            'Use the arguments apns_timestamp, event, content_state and dismissal_date.');
    ELSIF p.event NOT IN ('update', 'end') THEN
        PERFORM carillon.note_unknown('event', p.event, 'It is ordered like an update. A device may ignore it.');
    END IF;
    RETURN refusal;
END
$$;
COMMENT ON FUNCTION carillon.check_publication IS
    'Internal: returns the first argument of publish that is refused, other than those of every message; null if none is.';

-- submit_publication() stores one job of the push type channel, whose token stands for the channel: see token_text().
CREATE OR REPLACE FUNCTION carillon.submit_publication(p carillon.publication) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    answer record := carillon.find_channel(coalesce(p.app, ''), p.channel);
    refusal carillon.refusal := answer.refusal;
    made carillon.draft;
    m carillon.message_arguments;
    alert carillon.activity_arguments;
    shown record;
    content_state CONSTANT jsonb := carillon.jsonb_or_null(p.state_text);
    -- Apple stores a message for at most eight hours.
    storage CONSTANT interval := interval '8 hours';
    token CONSTANT text := encode(convert_to((answer.known).channel_id, 'UTF8'), 'hex');
    size integer;
    id bigint;
    holder bigint;
BEGIN
    p.event := coalesce(p.event, 'update');
    IF refusal.message IS NULL THEN
        refusal := carillon.check_publication(p, answer.known, content_state);
    END IF;
    IF refusal.message IS NULL THEN
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
        -- An update with an alert is urgent. Other updates have priority 5, which Apple does not count against the budget.
        m.priority := coalesce(p.priority, CASE WHEN m.aps ? 'alert' THEN 10 ELSE 5 END);
        m.expires_at := p.expires_at;
        m.run_at := p.run_at;
        m.lane := p.lane;
        m.reference := p.reference;
        m.dedupe_key := p.dedupe_key;
        m.dedupe_for := p.dedupe_for;
        m.on_unknown := coalesce(p.on_unknown, 'retry');
        m.on_duplicate := p.on_duplicate;
        made := carillon.draft(m, 'channel');
        refusal := CASE
            WHEN (shown.refusal).message IS NOT NULL THEN shown.refusal
            WHEN shown.alert IS NOT NULL AND p.aps ? 'alert' THEN
                carillon.refusal('aps', 'no member "alert" if alert, title or body is given', p.aps::text)
            ELSE made.refusal END;
        -- A worker replaces the timestamp 0 with the time of sending, so nine bytes are reserved in the payload.
        made.payload := '{"aps":{"timestamp":' || coalesce(floor(extract(epoch FROM p.apns_timestamp)), 0) || ','
            || substr(made.payload, 9);
        size := octet_length(made.payload) + CASE WHEN p.apns_timestamp IS NULL THEN 9 ELSE 0 END;
        IF (refusal.message IS NULL OR refusal.code = '54000') AND size > (carillon.rules_of('channel')).payload_limit THEN
            refusal := carillon.refusal('content_state', 'a value for a payload of ' || carillon.payload_size('channel'),
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
        holder := carillon.take_dedupe_key(made.app_id, p.dedupe_key, p.dedupe_for, p.run_at, id);
        IF holder IS DISTINCT FROM id THEN
            RETURN CASE p.on_duplicate WHEN 'existing' THEN holder END;
        END IF;
    END IF;
    PERFORM carillon.enqueue_job(id, ARRAY[token], NULL, m, made, coalesce(p.lane, 1)::integer, NULL);
    PERFORM carillon.note_update(made.app_id, id, ARRAY[token], p.event = 'end', greatest(clock_timestamp(), p.run_at),
        m.expires_at);
    RETURN id;
END
$$;
COMMENT ON FUNCTION carillon.submit_publication IS 'Internal: stores a message for publish.';
