-- New and changed apps and credentials: triggers of both tables, and the functions with which operators pause, resume and limit
-- an app. These lock the row of the app before they read it, so that audit records the values that they replace.

CREATE OR REPLACE FUNCTION carillon.certificate_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    NEW.updated_at := now();
    NEW.status := NULL;
    NEW.last_error := NULL;
    NEW.not_after := NULL;
    NEW.topics := NULL;
    DELETE FROM carillon.provider_tokens p WHERE p.certificate_id = NEW.id;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION carillon.certificate_changed IS
    'Internal: when a credential is replaced, clears its status and what was read from it, and deletes its provider token.';

CREATE OR REPLACE TRIGGER certificate_changed BEFORE UPDATE ON carillon.certificates FOR EACH ROW
WHEN ((OLD.certificate, OLD.private_key, OLD.passphrase, OLD.key_id, OLD.team_id)
    IS DISTINCT FROM (NEW.certificate, NEW.private_key, NEW.passphrase, NEW.key_id, NEW.team_id))
EXECUTE FUNCTION carillon.certificate_changed();

-- app_changed() records the counts of the current minute, so that pushes counted before the app was resumed do not open the breaker
-- again. What a feedback pass notes is no change of the app.
CREATE OR REPLACE FUNCTION carillon.app_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF NEW.feedback_error IS NOT DISTINCT FROM OLD.feedback_error THEN
        NEW.updated_at := now();
    END IF;
    IF OLD.paused AND NOT NEW.paused THEN
        NEW.paused_reason := NULL;
        UPDATE carillon.breakers b SET closed_at = now(), (closed_bad, closed_pushes) = (
            SELECT coalesce(sum(t.bad_tokens + t.bad_topics), 0), coalesce(sum(t.sent + t.failed), 0) FROM carillon.push_counts t
            WHERE t.minute = date_trunc('minute', now()) AND t.app_id = NEW.id)
        WHERE b.app_id = NEW.id AND b.closed_at IS NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION carillon.app_changed IS 'Internal: closes the breaker of an app that is resumed.';

CREATE OR REPLACE TRIGGER app_changed BEFORE UPDATE ON carillon.apps FOR EACH ROW EXECUTE FUNCTION carillon.app_changed();

-- See cancel.sql and requeue.sql.
CREATE OR REPLACE FUNCTION carillon.app_added() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    INSERT INTO carillon.app_locks (app_id, lock_number) SELECT NEW.id, p FROM generate_series(0, 65) AS p ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.app_added IS 'Internal: inserts the rows of app_locks of a new app.';

CREATE OR REPLACE TRIGGER app_added AFTER INSERT ON carillon.apps FOR EACH ROW EXECUTE FUNCTION carillon.app_added();

-- The caller counts in a later statement. An update, where a lock would be enough at READ COMMITTED: a transaction with an older
-- snapshot does not see what others have added, and fails here with 40001.
CREATE OR REPLACE FUNCTION carillon.lock_to_count(app integer) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    UPDATE carillon.app_locks l SET lock_number = l.lock_number WHERE l.app_id = app AND l.lock_number = 65
$$;
COMMENT ON FUNCTION carillon.lock_to_count IS
    'Internal: waits for other transactions that add what an app has a limited number of, so that it can be counted.';

CREATE OR REPLACE FUNCTION carillon.app_to_change(app text) RETURNS carillon.apps
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target carillon.apps;
BEGIN
    SELECT a.* INTO target FROM carillon.apps a WHERE a.name = app_to_change.app FOR NO KEY UPDATE;
    IF target.id IS NULL OR target.moved_to IS NOT NULL THEN
        PERFORM carillon.refuse(carillon.unknown_app(app_to_change.app));
    END IF;
    RETURN target;
END
$$;
COMMENT ON FUNCTION carillon.app_to_change IS
    'Internal: returns an app by name, locked until the transaction ends, or raises an error.';

CREATE OR REPLACE FUNCTION carillon.pause_app(app text, reason text DEFAULT NULL, on_behalf_of text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
    max_length CONSTANT integer := 1000;
    why CONSTANT text := nullif(btrim(reason), '');
BEGIN
    IF length(why) > max_length THEN
        PERFORM carillon.refuse(carillon.refusal('reason', format('text of at most %s characters', max_length),
            format('one of %s characters', length(why))));
    ELSIF target.paused THEN
        RETURN false;
    END IF;
    PERFORM carillon.act_for(on_behalf_of);
    UPDATE carillon.apps a SET paused = true, paused_reason = why WHERE a.id = target.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.pause_app IS
    'Pauses an app: its messages wait. Returns false if it was already paused. Recorded in audit.';

CREATE OR REPLACE FUNCTION carillon.resume_app(app text, on_behalf_of text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
BEGIN
    IF NOT target.paused THEN
        RETURN false;
    END IF;
    PERFORM carillon.act_for(on_behalf_of);
    UPDATE carillon.apps a SET paused = false WHERE a.id = target.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.resume_app IS 'Resumes a paused app. Returns false if it was not paused. Recorded in audit.';

-- limit_app() changes limits only: only the owner of the schema can change where an app sends and which credential it uses.
CREATE OR REPLACE FUNCTION carillon.limit_app(
    app text, max_rate integer, max_attempts integer, reap_bad_tokens boolean, on_behalf_of text DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
    refusal carillon.refusal;
BEGIN
    IF max_rate < 1 THEN
        refusal := carillon.refusal('max_rate', 'a number above 0, or null for no limit', max_rate::text);
    ELSIF max_attempts IS NULL OR max_attempts < 1 THEN
        refusal := carillon.refusal('max_attempts', 'a number above 0', coalesce(max_attempts::text, 'null'));
    ELSIF reap_bad_tokens IS NULL THEN
        refusal := carillon.refusal('reap_bad_tokens', 'true or false', 'null');
    END IF;
    PERFORM carillon.refuse(refusal);
    IF (target.max_rate, target.max_attempts, target.reap_bad_tokens)
        IS NOT DISTINCT FROM (max_rate, max_attempts, reap_bad_tokens)
    THEN
        RETURN false;
    END IF;
    PERFORM carillon.act_for(on_behalf_of);
    UPDATE carillon.apps a SET max_rate = limit_app.max_rate, max_attempts = limit_app.max_attempts,
        reap_bad_tokens = limit_app.reap_bad_tokens
    WHERE a.id = target.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.limit_app IS
    'Sets max_rate (null: no limit), max_attempts and reap_bad_tokens. Returns false if nothing changed. Recorded in audit.';

-- A release may change what it consists of: workers only compare it, also those of the previous release that still run.
CREATE OR REPLACE FUNCTION carillon.apps_fingerprint() RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN ARRAY[
        (SELECT count(*) FROM carillon.apps),
        (SELECT coalesce(sum(a.xmin::text::bigint), 0)::bigint FROM carillon.apps a),
        (SELECT count(*) FROM carillon.certificates),
        (SELECT coalesce(sum(c.xmin::text::bigint), 0)::bigint FROM carillon.certificates c)];
END
$$;
COMMENT ON FUNCTION carillon.apps_fingerprint IS
    'Internal: returns numbers that change with any change of an app or a credential.';
