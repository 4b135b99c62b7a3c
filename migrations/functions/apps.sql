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
    'Internal: removes the provider token, the status and what was read of a credential that is replaced.';

CREATE OR REPLACE TRIGGER certificate_changed BEFORE UPDATE ON carillon.certificates FOR EACH ROW
WHEN ((OLD.certificate, OLD.private_key, OLD.passphrase, OLD.key_id, OLD.team_id)
    IS DISTINCT FROM (NEW.certificate, NEW.private_key, NEW.passphrase, NEW.key_id, NEW.team_id))
EXECUTE FUNCTION carillon.certificate_changed();

-- Pushes that were counted before do not open it again.
CREATE OR REPLACE FUNCTION carillon.app_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    NEW.updated_at := now();
    IF OLD.paused AND NOT NEW.paused THEN
        NEW.paused_reason := NULL;
        UPDATE carillon.breakers b SET closed_at = now(), (closed_bad, closed_pushes) = (
            SELECT coalesce(sum(t.bad_tokens + t.bad_topics), 0), coalesce(sum(t.sent + t.failed), 0) FROM carillon.activity t
            WHERE t.minute = date_trunc('minute', now()) AND t.app_id = NEW.id)
        WHERE b.app_id = NEW.id AND b.closed_at IS NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION carillon.app_changed IS 'Internal: closes the breaker of an app that is resumed.';

CREATE OR REPLACE TRIGGER app_changed BEFORE UPDATE ON carillon.apps FOR EACH ROW EXECUTE FUNCTION carillon.app_changed();

-- The rest is written by workers, or derived.
CREATE OR REPLACE FUNCTION carillon.app_record(app carillon.apps) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT to_jsonb(app) - '{id,certificate_id,gateway_ca,feedback_error,is_guarded,created_at,updated_at}'::text[]
        || jsonb_build_object('credential', (SELECT c.name FROM carillon.certificates c WHERE c.id = (app).certificate_id),
            'gateway_ca', 'SHA-256 ' || left(encode(sha256(convert_to((app).gateway_ca, 'UTF8')), 'hex'), 16) || '…')
$$;
COMMENT ON FUNCTION carillon.app_record IS 'Internal: what audit records of an app.';

-- What workers note there is no change.
CREATE OR REPLACE FUNCTION carillon.app_recorded() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    before CONSTANT jsonb := coalesce(carillon.app_record(OLD), '{}');
    after CONSTANT jsonb := coalesce(carillon.app_record(NEW), '{}');
    changed jsonb := carillon.replaced(before, after);
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
COMMENT ON FUNCTION carillon.app_recorded IS 'Internal: records what was changed of an app, however it was changed.';
CREATE OR REPLACE TRIGGER app_recorded AFTER INSERT OR UPDATE OR DELETE ON carillon.apps FOR EACH ROW
EXECUTE FUNCTION carillon.app_recorded();

-- Never what is in a credential: only which part was replaced.
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
            CASE TG_OP WHEN 'UPDATE' THEN carillon.replaced(
                jsonb_build_object('credential', OLD.name, 'key_id', OLD.key_id, 'team_id', OLD.team_id),
                jsonb_build_object('credential', NEW.name, 'key_id', NEW.key_id, 'team_id', NEW.team_id)) END);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.certificate_recorded IS 'Internal: records that a credential was added, replaced or removed.';
CREATE OR REPLACE TRIGGER certificate_recorded AFTER INSERT OR UPDATE OR DELETE ON carillon.certificates FOR EACH ROW
EXECUTE FUNCTION carillon.certificate_recorded();

-- A carillon_tenant is limited to those of app_roles, unless it has the rights of the schema's owner, who may be a member to
-- grant the role. The caller is the login, or the role that it has set, even within functions that run as their owner.
CREATE OR REPLACE FUNCTION carillon.apps_of_caller() RETURNS integer[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN pg_has_role(c.role, 'carillon_tenant', 'USAGE') AND NOT pg_has_role(c.role, 'carillon_app', 'USAGE')
            AND NOT pg_has_role(c.role, current_user, 'USAGE')
        THEN ARRAY(SELECT r.app_id FROM carillon.app_roles r WHERE pg_has_role(c.role, r.role, 'USAGE')) END
    FROM (SELECT coalesce(nullif(current_setting('role'), 'none')::name, session_user) AS role) c
$$;
COMMENT ON FUNCTION carillon.apps_of_caller IS 'Internal: the apps that the caller may use; null: every one.';

-- Control characters are escaped, so that the message stays one line.
CREATE OR REPLACE FUNCTION carillon.refusal(
    argument text, takes text, got text, hint text DEFAULT NULL, code text DEFAULT '22023'
) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(pg_catalog.format('argument "%s" takes %s, got %s', argument, takes, coalesce((
            SELECT pg_catalog.string_agg(CASE
                WHEN c.letter OPERATOR(pg_catalog.=) E'\n' THEN '\n'
                WHEN c.letter OPERATOR(pg_catalog.=) E'\r' THEN '\r'
                WHEN c.letter OPERATOR(pg_catalog.=) E'\t' THEN '\t'
                WHEN c.letter OPERATOR(pg_catalog.~) '[[:cntrl:]]' THEN '\u' OPERATOR(pg_catalog.||)
                    pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.ascii(c.letter)), 4, '0')
                ELSE c.letter END, '' ORDER BY c.place)
            FROM pg_catalog.string_to_table(CASE WHEN pg_catalog.length(got) OPERATOR(pg_catalog.>) 80
                THEN pg_catalog.left(got, 77) OPERATOR(pg_catalog.||) '…' ELSE got END, NULL)
                WITH ORDINALITY AS c(letter, place)),
            CASE WHEN got IS NULL THEN 'null' ELSE 'an empty text' END)),
        hint, argument, code)::carillon.refusal
$$;
COMMENT ON FUNCTION carillon.refusal IS 'Internal: the error for an argument: what it takes, and what it got.';

CREATE OR REPLACE FUNCTION carillon.unknown_app(app text) RETURNS carillon.refusal
LANGUAGE sql STABLE AS $$
    SELECT carillon.refusal('app', 'the name of an app', pg_catalog.quote_nullable(app), coalesce(
        (SELECT 'The apps are: ' OPERATOR(pg_catalog.||) pg_catalog.string_agg(few.name, ', ' ORDER BY few.name)
            OPERATOR(pg_catalog.||) '.' FROM (
                SELECT a.name FROM carillon.apps a CROSS JOIN LATERAL carillon.apps_of_caller() AS o(mine)
                WHERE o.mine IS NULL OR a.id OPERATOR(pg_catalog.=) ANY (o.mine) ORDER BY a.name LIMIT 10) few),
        'There is no app yet. Add one with: carillon app add'), '42704')
$$;
COMMENT ON FUNCTION carillon.unknown_app IS 'Internal: the error for an unknown app.';

-- For callers that refuse no other argument.
CREATE OR REPLACE FUNCTION carillon.app_id(app text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    id CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = app);
    refusal carillon.refusal;
BEGIN
    IF id IS NULL THEN
        refusal := carillon.unknown_app(app);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    RETURN id;
END
$$;
COMMENT ON FUNCTION carillon.app_id IS 'Internal: the id of an app, or an error.';

CREATE OR REPLACE FUNCTION carillon.parsed(value text) RETURNS json
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN value::json;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.parsed IS 'Internal: a text as JSON; null: it is not JSON.';

-- A driver may send JSON as text: without this, a device would show braces and quotes.
CREATE OR REPLACE FUNCTION carillon.broken_json(argument text, value text) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE AS $$
    SELECT carillon.refusal(argument, 'text, or a JSON object', value, 'It begins like a JSON object but is not one. '
        || CASE argument WHEN 'alert' THEN 'To show such text unchanged, pass it as body.' ELSE 'Correct it.' END, '22P02')
    WHERE value ~ '^\s*\{\s*["'']' AND json_typeof(carillon.parsed(value)) IS DISTINCT FROM 'object'
$$;
COMMENT ON FUNCTION carillon.broken_json IS
    'Internal: the refusal of text that begins like a JSON object and is none; null: it is JSON, or plain text.';
