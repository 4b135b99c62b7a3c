-- Records what people change. Functions and triggers write to audit in the same transaction as the change. Operators' functions
-- call act_for() first, and record_change() last.
--
-- The actor is the login, which PostgreSQL has checked. Programs say on whose behalf they act, and what they are, in settings of
-- the session, which every login can set to anything: these stand beside the actor, and nothing relies on them.

-- Without a name, act_for() keeps the one from SET carillon.on_behalf_of, or else uses the login.
CREATE OR REPLACE FUNCTION carillon.act_for(person text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT set_config('carillon.on_behalf_of', coalesce(nullif(left(btrim(person), 60), ''),
        nullif(current_setting('carillon.on_behalf_of', true), ''), session_user), true)
$$;
COMMENT ON FUNCTION carillon.act_for IS 'Internal: names the person on whose behalf this transaction makes changes.';

-- changed_members() also records a null, for example of a limit that was null before.
CREATE OR REPLACE FUNCTION carillon.changed_members(before jsonb, after jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(k.key, after -> k.key) || jsonb_object_agg(k.key || '_before', before -> k.key), '{}')
    FROM jsonb_object_keys(before || after) AS k(key)
    WHERE coalesce(before -> k.key, 'null') <> coalesce(after -> k.key, 'null')
$$;
COMMENT ON FUNCTION carillon.changed_members IS 'Internal: returns the members whose values differ, each with its earlier value.';

-- record_change() leaves out details that are null. `changed` has new and earlier values: see changed_members().
CREATE OR REPLACE FUNCTION carillon.record_change(action text, app text, details jsonb, changed jsonb DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    INSERT INTO carillon.audit (on_behalf_of, source, action, app, details)
    VALUES (nullif(nullif(left(btrim(current_setting('carillon.on_behalf_of', true)), 60), ''), session_user),
        coalesce(nullif(left(current_setting('carillon.source', true), 60), ''), 'SQL'), action, app,
        jsonb_strip_nulls(details) || coalesce(changed, '{}'))
$$;
COMMENT ON FUNCTION carillon.record_change IS 'Internal: records a change in audit.';

-- record_on_behalf() is for actions that programs perform too, and often: it records them only if act_for() or
-- SET carillon.on_behalf_of has named a person.
CREATE OR REPLACE FUNCTION carillon.record_on_behalf(action text, app_id integer, details jsonb, changed jsonb DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF current_setting('carillon.on_behalf_of', true) <> '' THEN
        PERFORM carillon.record_change(action, (SELECT a.name FROM carillon.apps a WHERE a.id = record_on_behalf.app_id), details,
            changed);
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.record_on_behalf IS
    'Internal: records a change if it is made on behalf of a person, and not if a program makes it.';

-- app_record() leaves out columns that workers write and columns that are derived.
CREATE OR REPLACE FUNCTION carillon.app_record(app carillon.apps) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT to_jsonb(app) - '{id,certificate_id,gateway_ca,feedback_error,is_guarded,created_at,updated_at}'::text[]
        || jsonb_build_object('credential', (SELECT c.name FROM carillon.certificates c WHERE c.id = (app).certificate_id),
            'gateway_ca', 'SHA-256 ' || left(encode(sha256(convert_to((app).gateway_ca, 'UTF8')), 'hex'), 16) || '…')
$$;
COMMENT ON FUNCTION carillon.app_record IS 'Internal: returns the settings of an app that audit records.';

-- Columns that only workers write do not count as changes: see app_record().
CREATE OR REPLACE FUNCTION carillon.app_recorded() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    before CONSTANT jsonb := coalesce(carillon.app_record(OLD), '{}');
    after CONSTANT jsonb := coalesce(carillon.app_record(NEW), '{}');
    changed jsonb := carillon.changed_members(before, after);
    pausing CONSTANT text[] := '{paused,paused_before,paused_reason,paused_reason_before}';
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        SELECT jsonb_object_agg(v.key, v.value) INTO changed FROM jsonb_each(before || after) v
        WHERE v.key <> 'name' AND v.value <> 'false';
        PERFORM carillon.record_change(CASE TG_OP WHEN 'INSERT' THEN 'add app' ELSE 'remove app' END,
            (before || after) ->> 'name', changed);
        RETURN NULL;
    END IF;
    IF OLD.paused <> NEW.paused THEN
        PERFORM carillon.record_change(CASE WHEN NEW.paused THEN 'pause' ELSE 'resume' END, NEW.name, '{}',
            (SELECT jsonb_object_agg(v.key, v.value) FROM jsonb_each(changed) v WHERE v.key = ANY (pausing)));
        changed := changed - pausing;
    END IF;
    IF changed <> '{}' THEN
        PERFORM carillon.record_change('set app', NEW.name, '{}', changed);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.app_recorded IS
    'Internal: records every change of an app, whether made by a function or by plain SQL.';
CREATE OR REPLACE TRIGGER app_recorded AFTER INSERT OR UPDATE OR DELETE ON carillon.apps FOR EACH ROW
EXECUTE FUNCTION carillon.app_recorded();

-- certificate_recorded() never records the content of a credential, only which columns were replaced.
CREATE OR REPLACE FUNCTION carillon.certificate_recorded() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF TG_OP <> 'UPDATE' OR (OLD.name, OLD.certificate, OLD.private_key, OLD.passphrase, OLD.key_id, OLD.team_id)
        IS DISTINCT FROM (NEW.name, NEW.certificate, NEW.private_key, NEW.passphrase, NEW.key_id, NEW.team_id)
    THEN
        PERFORM carillon.record_change(
            CASE TG_OP WHEN 'INSERT' THEN 'add' WHEN 'UPDATE' THEN 'replace' ELSE 'remove' END || ' credential', NULL,
            jsonb_build_object('credential', coalesce(NEW.name, OLD.name), 'key_id', coalesce(NEW.key_id, OLD.key_id),
                'team_id', coalesce(NEW.team_id, OLD.team_id), 'replaced', (
                    SELECT jsonb_agg(p.name) FROM (VALUES
                        ('certificate', OLD.certificate IS DISTINCT FROM NEW.certificate),
                        ('private_key', OLD.private_key IS DISTINCT FROM NEW.private_key),
                        ('passphrase', OLD.passphrase IS DISTINCT FROM NEW.passphrase)) AS p(name, is_other)
                    WHERE p.is_other AND TG_OP = 'UPDATE')),
            CASE TG_OP WHEN 'UPDATE' THEN carillon.changed_members(
                jsonb_build_object('credential', OLD.name, 'key_id', OLD.key_id, 'team_id', OLD.team_id),
                jsonb_build_object('credential', NEW.name, 'key_id', NEW.key_id, 'team_id', NEW.team_id)) END);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.certificate_recorded IS 'Internal: records that a credential was added, replaced or removed.';
CREATE OR REPLACE TRIGGER certificate_recorded AFTER INSERT OR UPDATE OR DELETE ON carillon.certificates FOR EACH ROW
EXECUTE FUNCTION carillon.certificate_recorded();
