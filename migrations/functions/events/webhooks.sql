-- Webhooks: workers take the events of an app as a consumer does, and post them to a URL. The owner of the schema adds and removes
-- webhooks, because one sends device tokens elsewhere, and operators pause, resume and repeat them. The functions for workers run
-- as their owner, so that no role can read secrets from the table.
--
-- A worker claims a webhook by an update that skips locked rows, and posts without a transaction. It has a minute: then another
-- worker may attempt the same batch. A settlement names the batch and the attempt, so a worker that was late writes nothing.

-- Two random UUIDs have 244 random bits.
CREATE OR REPLACE FUNCTION carillon.new_webhook_secret() RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT 'whsec_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'base64')
$$;
COMMENT ON FUNCTION carillon.new_webhook_secret IS 'Internal: returns a new secret, as Standard Webhooks writes it.';

CREATE OR REPLACE FUNCTION carillon.unknown_webhook(name text) RETURNS carillon.refusal
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT carillon.refusal('name', 'the name of a webhook', quote_literal(name),
        'The view carillon.webhook_status lists them.', '42704')
$$;
COMMENT ON FUNCTION carillon.unknown_webhook IS 'Internal: builds the error for a name that no webhook has.';

CREATE OR REPLACE FUNCTION carillon.webhook_to_change(name text, on_behalf_of text) RETURNS carillon.webhooks
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target carillon.webhooks;
BEGIN
    SELECT w.* INTO target FROM carillon.webhooks w WHERE w.name = webhook_to_change.name FOR NO KEY UPDATE;
    IF target.id IS NULL THEN
        PERFORM carillon.refuse(carillon.unknown_webhook(webhook_to_change.name));
    END IF;
    PERFORM carillon.act_for(on_behalf_of);
    RETURN target;
END
$$;
COMMENT ON FUNCTION carillon.webhook_to_change IS
    'Internal: returns a webhook by name, locked until the transaction ends, or raises an error.';

CREATE OR REPLACE FUNCTION carillon.record_webhook(action text, webhook carillon.webhooks, details jsonb DEFAULT '{}') RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT carillon.record_change(action || ' webhook', a.name, jsonb_build_object('name', webhook.name) || details)
    FROM carillon.subscriptions s JOIN carillon.apps a ON a.id = s.app_id WHERE s.id = webhook.subscription_id
$$;
COMMENT ON FUNCTION carillon.record_webhook IS 'Internal: records a change of a webhook in audit.';

-- PostgreSQL's own error would show the row with its secret, so what the table would refuse is refused before.
CREATE OR REPLACE FUNCTION carillon.add_webhook(
    name text, app text, url text, kinds text[] DEFAULT NULL, allow_private boolean DEFAULT NULL, ca text DEFAULT NULL,
    on_behalf_of text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
    consumer CONSTANT text := 'webhook:' || name;
    added carillon.webhooks;
    refusal carillon.refusal := carillon.refused_kinds(kinds);
BEGIN
    PERFORM carillon.lock_to_count(target.id);
    IF (octet_length(name) BETWEEN 1 AND 200) IS NOT TRUE THEN
        refusal := carillon.refusal('name', 'text of 1 to 200 bytes', quote_literal(name));
    ELSIF EXISTS (SELECT FROM carillon.webhooks w WHERE w.name = add_webhook.name) THEN
        refusal := carillon.refusal('name', 'a name that no webhook has', quote_literal(name),
            'Remove that one with carillon.remove_webhook, or choose another name.', '42710');
    ELSIF carillon.has_too_many_consumers(target.id, consumer) THEN
        refusal := carillon.refusal('app', 'an app with fewer than 100 consumers', quote_literal(app),
            'The view carillon.consumers lists them.');
    ELSIF (octet_length(url) <= 2048
        AND url ~ '^https?://([a-zA-Z0-9._-]+|[[][0-9a-fA-F:.]+])(:[0-9]{1,5})?([/?][!"$-~]*)?$') IS NOT TRUE
    THEN
        refusal := carillon.refusal('url', 'an https URL of at most 2048 bytes, without a user and a fragment',
            quote_literal(regexp_replace(url, '//[^/]*@', '//***@')),
            'The receiver checks the signature, so the URL needs no password.');
    ELSIF substring(url FROM '^https?://[^/?]*:([0-9]{1,5})(?:[/?]|$)')::integer NOT BETWEEN 1 AND 65535 THEN
        refusal := carillon.refusal('url', 'a URL with a port from 1 to 65535, or without one', quote_literal(url));
    ELSIF url NOT LIKE 'https://%' AND allow_private IS NOT TRUE THEN
        refusal := carillon.refusal('url', 'an https URL, unless private addresses are allowed', quote_literal(url),
            'Events contain device tokens: without TLS, they can be read on the way.');
    ELSIF allow_private IS NOT TRUE AND NOT carillon.is_public_address(carillon.address_in(url)) THEN
        refusal := carillon.refusal('url', 'a URL with a public address, unless private addresses are allowed', quote_literal(url),
            'Pass allow_private => true to let workers connect to it.');
    ELSIF octet_length(ca) > 262144 THEN
        refusal := carillon.refusal('ca', 'root certificates as PEM, of at most 256 kB', octet_length(ca) || ' bytes');
    END IF;
    PERFORM carillon.refuse(refusal);
    PERFORM carillon.act_for(on_behalf_of);
    INSERT INTO carillon.subscriptions (app_id, consumer, mask) VALUES (target.id, consumer, carillon.mask_of(kinds))
    RETURNING id INTO added.subscription_id;
    added.secret := carillon.new_webhook_secret();
    INSERT INTO carillon.webhooks AS w (name, subscription_id, url, ca, allows_private, secret)
    VALUES (add_webhook.name, added.subscription_id, add_webhook.url, add_webhook.ca, coalesce(allow_private, false), added.secret)
    RETURNING w.* INTO added;
    PERFORM carillon.record_webhook('add', added, jsonb_build_object('url', added.url,
        'kinds', carillon.kinds_of(carillon.mask_of(kinds)), 'allow_private', nullif(added.allows_private, false)));
    NOTIFY carillon_events;
    RETURN added.secret;
END
$$;
COMMENT ON FUNCTION carillon.add_webhook IS
    'Makes workers post the events of an app to a URL, from the commit on; by default, of all kinds. An address that is not public '
    'needs allow_private. Returns the secret with which they sign, which cannot be shown again. Recorded in audit.';

CREATE OR REPLACE FUNCTION carillon.remove_webhook(name text, on_behalf_of text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.webhooks := carillon.webhook_to_change(name, on_behalf_of);
BEGIN
    PERFORM carillon.record_webhook('remove', target);
    DELETE FROM carillon.subscriptions s WHERE s.id = target.subscription_id;
END
$$;
COMMENT ON FUNCTION carillon.remove_webhook IS
    'Removes a webhook. Events that its receiver has not accepted are lost to it. Recorded in audit.';

-- For some time, requests have a signature of the old secret too, so that receivers need not change it at the same moment.
CREATE OR REPLACE FUNCTION carillon.rotate_webhook_secret(
    name text, keep_old interval DEFAULT NULL, on_behalf_of text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.webhooks := carillon.webhook_to_change(name, on_behalf_of);
    fresh CONSTANT text := carillon.new_webhook_secret();
BEGIN
    keep_old := coalesce(keep_old, interval '1 day');
    IF keep_old NOT BETWEEN interval '0' AND interval '30 days' THEN
        PERFORM carillon.refuse(carillon.refusal('keep_old', 'an interval of at most 30 days', keep_old::text));
    END IF;
    UPDATE carillon.webhooks w SET secret = fresh, old_secret = w.secret, old_secret_until = now() + keep_old
    WHERE w.id = target.id;
    PERFORM carillon.record_webhook('rotate secret of', target);
    RETURN fresh;
END
$$;
COMMENT ON FUNCTION carillon.rotate_webhook_secret IS
    'Replaces the secret of a webhook, and returns the new one, which cannot be shown again. Until keep_old is over, requests are '
    'signed with both. Recorded in audit.';

CREATE OR REPLACE FUNCTION carillon.pause_webhook(name text, reason text DEFAULT NULL, on_behalf_of text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.webhooks := carillon.webhook_to_change(name, on_behalf_of);
    why CONSTANT text := left(nullif(btrim(reason), ''), 1000);
BEGIN
    IF target.paused_at IS NOT NULL THEN
        RETURN false;
    END IF;
    UPDATE carillon.webhooks w SET paused_at = now(), paused_reason = why,
        paused_by = left(btrim(current_setting('carillon.on_behalf_of')), 60)
    WHERE w.id = target.id;
    PERFORM carillon.record_webhook('pause', target, jsonb_build_object('reason', why));
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.pause_webhook IS
    'Pauses a webhook: its events wait, until the retention is over. Returns false if it was paused. Recorded in audit.';

CREATE OR REPLACE FUNCTION carillon.resume_webhook(name text, on_behalf_of text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.webhooks := carillon.webhook_to_change(name, on_behalf_of);
BEGIN
    IF target.paused_at IS NULL AND target.failing_since IS NULL THEN
        RETURN false;
    END IF;
    -- Also attempts a batch now that would be attempted later. If none has failed, a worker is attempting it, or has died.
    UPDATE carillon.webhooks w SET paused_at = NULL, paused_by = NULL, paused_reason = NULL, failing_since = NULL,
        next_attempt_at = CASE WHEN w.failing_since IS NULL THEN w.next_attempt_at ELSE now() END
    WHERE w.id = target.id;
    PERFORM carillon.record_webhook('resume', target);
    NOTIFY carillon_events;
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.resume_webhook IS
    'Resumes a webhook that is paused or failing, and has workers attempt it at once. Returns false if there was nothing to '
    'resume. Recorded in audit.';

CREATE OR REPLACE FUNCTION carillon.redeliver_webhook(name text, since timestamptz, on_behalf_of text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.webhooks := carillon.webhook_to_change(name, on_behalf_of);
    events bigint;
BEGIN
    IF (since <= clock_timestamp()) IS NOT TRUE THEN
        PERFORM carillon.refuse(carillon.refusal('since', 'a time that is not in the future', since::text));
    END IF;
    SELECT carillon.untake(s.id, s.app_id, s.mask, since) INTO events FROM carillon.subscriptions s
    WHERE s.id = target.subscription_id;
    PERFORM carillon.record_webhook('redeliver', target, jsonb_build_object('since', since, 'events', events));
    NOTIFY carillon_events;
    RETURN events;
END
$$;
COMMENT ON FUNCTION carillon.redeliver_webhook IS
    'Posts the events that were stored for the app since a time to the webhook again, except broadcast_finished. Returns how many. '
    'Recorded in audit.';

-- Stops after 10,000 events, or after so many rows of events: some may have no event that the webhook follows.
CREATE OR REPLACE FUNCTION carillon.count_redelivery(
    name text, since timestamptz, max_rows_read integer DEFAULT 2000, OUT events bigint, OUT events_precision text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    max_events CONSTANT integer := 10000;
    rows_read CONSTANT integer := greatest(coalesce(max_rows_read, 2000), 1);
    target carillon.subscriptions;
BEGIN
    SELECT s.* INTO target FROM carillon.webhooks w JOIN carillon.subscriptions s ON s.id = w.subscription_id
    WHERE w.name = count_redelivery.name;
    IF target.id IS NULL THEN
        PERFORM carillon.refuse(carillon.unknown_webhook(name));
    END IF;
    SELECT count(*) INTO events FROM (
        SELECT FROM (
            SELECT e FROM carillon.events e WHERE e.app_id = target.app_id AND e.at >= since ORDER BY e.at LIMIT rows_read
        ) AS n CROSS JOIN LATERAL carillon.events_of(n.e, target.mask) LIMIT max_events) AS k;
    events_precision := CASE WHEN events = max_events OR EXISTS (
        SELECT FROM carillon.events e WHERE e.app_id = target.app_id AND e.at >= since ORDER BY e.at OFFSET rows_read LIMIT 1)
        THEN 'at least' ELSE 'exact' END;
END
$$;
COMMENT ON FUNCTION carillon.count_redelivery IS
    'Internal: counts the events that redeliver_webhook would post again. Reads at most max_rows_read rows of events.';

-- A worker holds the batches of many webhooks at a time, and applications choose the texts of events. So a batch of several events
-- is limited in bytes too, about those of its JSON. A subtransaction undoes what was taken in vain.
CREATE OR REPLACE FUNCTION carillon.next_batch(subscription bigint, app integer, app_name text) RETURNS carillon.taken_range[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    max_bytes CONSTANT bigint := 163840;
    bytes_of_names CONSTANT bigint := 160 + octet_length(to_json(app_name)::text);
    max_events bigint := 500;
    taken_events bigint;
    bytes bigint;
    batch carillon.taken_range[];
BEGIN
    LOOP
        BEGIN
            SELECT t.taken INTO batch FROM carillon.take_ranges(subscription, app, max_events) AS t;
            SELECT count(*), sum(bytes_of_names + coalesce(octet_length(to_json(e.reference)::text), 0)
                + coalesce(octet_length(e.token), 0) + coalesce(octet_length(to_json(e.reason)::text), 0))
            INTO taken_events, bytes FROM carillon.events_in(batch, app, app_name) AS e;
            EXIT WHEN taken_events <= 1 OR (bytes > max_bytes) IS NOT TRUE;
            RAISE EXCEPTION USING ERRCODE = 'BATCH', MESSAGE = 'undo';
        EXCEPTION
            WHEN SQLSTATE 'BATCH' THEN
                max_events := greatest(1, taken_events * max_bytes * 9 / (bytes * 10));
        END;
    END LOOP;
    RETURN nullif(batch, '{}');
END
$$;
COMMENT ON FUNCTION carillon.next_batch IS
    'Internal: takes the next batch of a webhook, and returns where its events are; null if there are none.';

CREATE OR REPLACE FUNCTION carillon.webhook_not_taken(webhook bigint, fault text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    UPDATE carillon.webhooks w SET failing_since = coalesce(w.failing_since, now()), failed_at = now(),
        last_error = left('PostgreSQL refuses its events: ' || fault, 1000),
        next_attempt_at = clock_timestamp() + (0.5 + random() / 2) * least(interval '1 hour', greatest(interval '5 seconds',
            CASE WHEN isfinite(w.failing_since) THEN now() - w.failing_since END))
    WHERE w.id = webhook
$$;
COMMENT ON FUNCTION carillon.webhook_not_taken IS 'Internal: records that no batch of a webhook could be taken.';

-- A webhook is due again if its next attempt is further away than any worker puts it: the clock was set back. `secrets` begins with
-- the current one.
-- With `apart`, it claims only those that fail or are slow, or only the others, so that these take no places of the others.
--
-- It checks the installation, because behind a pooler each statement may reach another database, and a copy must not post what the
-- original posts.
--
-- An error about one webhook stops no other: it is recorded as a failure of that one, which waits the longer the longer it fails.
-- After a statement_timeout nothing more is taken, because nothing would limit that.
CREATE OR REPLACE FUNCTION carillon.claim_webhooks(max_webhooks integer, apart boolean DEFAULT NULL) RETURNS TABLE (
    id bigint, name text, app text, url text, ca text, allows_private boolean, secrets text[], batch_id uuid, batch_at timestamptz,
    attempt integer, failing_seconds double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    lease CONSTANT interval := interval '1 minute';
    hook carillon.webhooks;
    app_id integer;
    fault text;
    is_timeout boolean;
BEGIN
    PERFORM carillon.check_installation();
    FOR hook IN
        SELECT w.* FROM carillon.webhooks w
        WHERE w.paused_at IS NULL
            AND (w.next_attempt_at <= clock_timestamp() OR w.next_attempt_at > clock_timestamp() + interval '2 hours')
            AND (apart IS NULL OR apart = (w.failing_since IS NOT NULL OR w.is_slow))
            AND (w.batch IS NOT NULL OR EXISTS (SELECT FROM carillon.untaken_events d WHERE d.subscription_id = w.subscription_id))
        ORDER BY w.next_attempt_at LIMIT max_webhooks FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        SELECT s.app_id, a.name INTO app_id, app FROM carillon.subscriptions s JOIN carillon.apps a ON a.id = s.app_id
        WHERE s.id = hook.subscription_id;
        IF hook.batch IS NULL THEN
            BEGIN
                fault := NULL;
                hook.batch := carillon.next_batch(hook.subscription_id, app_id, app);
            EXCEPTION
                WHEN query_canceled OR OTHERS THEN
                    fault := SQLERRM;
                    is_timeout := SQLSTATE = '57014';
            END;
            IF fault IS NOT NULL THEN
                PERFORM carillon.webhook_not_taken(hook.id, fault);
                EXIT WHEN is_timeout;
            END IF;
            CONTINUE WHEN hook.batch IS NULL;
            hook.batch_id := gen_random_uuid();
            hook.batch_at := now();
        END IF;
        hook.attempts := hook.attempts + 1;
        UPDATE carillon.webhooks w SET batch = hook.batch, batch_id = hook.batch_id, batch_at = hook.batch_at,
            attempts = hook.attempts, next_attempt_at = clock_timestamp() + lease
        WHERE w.id = hook.id;
        id := hook.id;
        name := hook.name;
        url := hook.url;
        ca := hook.ca;
        allows_private := hook.allows_private;
        secrets := ARRAY[hook.secret] || CASE WHEN hook.old_secret_until > now() THEN ARRAY[hook.old_secret] END;
        batch_id := hook.batch_id;
        batch_at := hook.batch_at;
        attempt := hook.attempts;
        failing_seconds := extract(epoch FROM now() - CASE WHEN isfinite(hook.failing_since) THEN hook.failing_since END);
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.claim_webhooks IS
    'Internal: takes the next batch of each webhook that is due, and returns what its worker needs.';

CREATE OR REPLACE FUNCTION carillon.webhook_batch(webhook bigint, batch_id uuid) RETURNS SETOF carillon.event
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    hook carillon.webhooks;
    app carillon.apps;
BEGIN
    SELECT w.* INTO hook FROM carillon.webhooks w WHERE w.id = webhook AND w.batch_id = webhook_batch.batch_id;
    SELECT a.* INTO app FROM carillon.subscriptions s JOIN carillon.apps a ON a.id = s.app_id WHERE s.id = hook.subscription_id;
    RETURN QUERY SELECT e.* FROM carillon.events_in(hook.batch, app.id, app.name) AS e;
END
$$;
COMMENT ON FUNCTION carillon.webhook_batch IS
    'Internal: returns the events of the batch of a webhook; fewer than were taken, once the retention of some is over.';

-- Without an error, the receiver has accepted the batch. No argument violates a constraint: PostgreSQL's error would show the row,
-- with its secret.
CREATE OR REPLACE FUNCTION carillon.settle_webhook(
    webhook bigint, batch_id uuid, attempt integer, error text, wait_seconds double precision, pauses boolean,
    slow boolean DEFAULT false
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    hook carillon.webhooks;
BEGIN
    UPDATE carillon.webhooks w SET
        (batch, batch_id, batch_at, attempts, next_attempt_at, failing_since, failed_at, last_error, accepted_at) = (
            SELECT CASE WHEN error IS NOT NULL THEN w.batch END, CASE WHEN error IS NOT NULL THEN w.batch_id END,
                CASE WHEN error IS NOT NULL THEN w.batch_at END, CASE WHEN error IS NOT NULL THEN w.attempts ELSE 0 END,
                clock_timestamp() + make_interval(secs => CASE WHEN error IS NOT NULL THEN coalesce(wait_seconds, 0) ELSE 0 END),
                CASE WHEN error IS NOT NULL THEN coalesce(w.failing_since, now()) END, CASE WHEN error IS NOT NULL THEN now() END,
                left(error, 1000), CASE WHEN error IS NULL THEN now() ELSE w.accepted_at END),
        is_slow = coalesce(slow, false),
        (paused_at, paused_reason) = (
            SELECT CASE WHEN pauses AND w.paused_at IS NULL THEN now() ELSE w.paused_at END,
                CASE WHEN pauses AND w.paused_at IS NULL THEN left(error, 1000) ELSE w.paused_reason END)
    WHERE w.id = webhook AND w.batch_id = settle_webhook.batch_id AND w.attempts = attempt
    RETURNING w.* INTO hook;
    -- A person may have paused it meanwhile.
    IF hook.id IS NOT NULL AND pauses AND hook.paused_by IS NULL THEN
        PERFORM carillon.record_webhook('pause', hook, jsonb_build_object('reason', hook.paused_reason));
    END IF;
    RETURN hook.id IS NOT NULL;
END
$$;
COMMENT ON FUNCTION carillon.settle_webhook IS
    'Internal: records whether the receiver of a webhook has accepted a batch; false if another attempt has begun since.';

-- When a worker looks again, unless it is notified before: a minute at most, because pauses and cancels do not notify.
CREATE OR REPLACE FUNCTION carillon.seconds_to_webhook() RETURNS double precision
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT greatest(0.1, least(60, min(extract(epoch FROM w.next_attempt_at - clock_timestamp())) FILTER (
        WHERE isfinite(w.next_attempt_at) AND (w.batch IS NOT NULL
            OR w.failing_since IS NOT NULL AND w.next_attempt_at > clock_timestamp()))))::double precision
    FROM carillon.webhooks w WHERE w.paused_at IS NULL HAVING count(*) > 0
$$;
COMMENT ON FUNCTION carillon.seconds_to_webhook IS
    'Internal: returns how long a worker may wait before it looks for webhooks that are due; null if there are none.';
