-- Writes what is secret. PostgreSQL may log the text and the parameters of every statement, for every user, but never the data of
-- COPY. So programs write credentials, provider tokens and the tokens of Apple's export service with COPY in binary format; in the
-- other formats, an error would show the line. They copy into a view, whose trigger writes to the table.

-- PostgreSQL's own error would show the row, so it is raised again without it.
CREATE OR REPLACE FUNCTION carillon.credential_written() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    violated text;
BEGIN
    INSERT INTO carillon.certificates (name, certificate, private_key, passphrase, key_id, team_id)
    VALUES (NEW.name, NEW.certificate, NEW.private_key, NEW.passphrase, NEW.key_id, NEW.team_id)
    ON CONFLICT (name) DO UPDATE SET certificate = excluded.certificate, private_key = excluded.private_key,
        passphrase = excluded.passphrase, key_id = excluded.key_id, team_id = excluded.team_id;
    RETURN NEW;
EXCEPTION
    WHEN integrity_constraint_violation THEN
        GET STACKED DIAGNOSTICS violated = CONSTRAINT_NAME;
        RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = SQLERRM, CONSTRAINT = violated;
END
$$;
COMMENT ON FUNCTION carillon.credential_written IS 'Internal: writes a row of credential_input into certificates.';

CREATE OR REPLACE TRIGGER credential_written INSTEAD OF INSERT ON carillon.credential_input FOR EACH ROW
EXECUTE FUNCTION carillon.credential_written();

-- Apple's console makes a token for one app of one team, so the team is that of the app's signing key unless the caller names one.
CREATE OR REPLACE FUNCTION carillon.export_token_written() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(NEW.app);
    team CONSTANT text := coalesce(NEW.team_id, (SELECT c.team_id FROM carillon.certificates c WHERE c.id = target.certificate_id));
    violated text;
BEGIN
    IF team IS NULL THEN
        PERFORM carillon.refuse(carillon.refusal('team_id', 'the id of the team, because the app has no signing key', NULL,
            'carillon metrics set-token takes it as --team-id.'));
    END IF;
    INSERT INTO carillon.export_tokens (app_id, token, team_id, not_after)
    VALUES (target.id, NEW.token, team, NEW.not_after)
    ON CONFLICT (app_id) DO UPDATE SET token = excluded.token, team_id = excluded.team_id, not_after = excluded.not_after;
    PERFORM carillon.record_change('set export token', NEW.app,
        jsonb_build_object('team_id', team, 'not_after', NEW.not_after));
    RETURN NEW;
EXCEPTION
    WHEN integrity_constraint_violation THEN
        GET STACKED DIAGNOSTICS violated = CONSTRAINT_NAME;
        RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = SQLERRM, CONSTRAINT = violated;
END
$$;
COMMENT ON FUNCTION carillon.export_token_written IS 'Internal: writes a row of export_token_input into export_tokens.';

CREATE OR REPLACE TRIGGER export_token_written INSTEAD OF INSERT ON carillon.export_token_input FOR EACH ROW
EXECUTE FUNCTION carillon.export_token_written();

-- One token at a time: the next session finds what this one wrote. The lock is that of a row: with an advisory lock, which any
-- login can take, a stranger could keep the fleet from minting tokens. The function sets its own lock_timeout, because behind a
-- pooler the worker's settings do not apply to COPY.
CREATE OR REPLACE FUNCTION carillon.provider_token_minted() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    minted CONSTANT carillon.provider_tokens := ROW(NEW.certificate_id, NEW.jwt, to_timestamp(NEW.issued_at), NULL);
    known carillon.provider_tokens;
BEGIN
    PERFORM FROM carillon.certificates c WHERE c.id = NEW.certificate_id AND c.updated_at = NEW.since FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT p.* INTO known FROM carillon.provider_tokens p WHERE p.certificate_id = NEW.certificate_id;
    -- The new one may have taken too long to arrive. It may be one that another database has had for a while.
    IF carillon.seconds_to_renewal(known, NEW.refused_at) > 0 OR carillon.seconds_to_renewal(minted, NEW.refused_at) = 0 THEN
        RETURN NULL;
    END IF;
    INSERT INTO carillon.provider_tokens AS p (certificate_id, jwt, issued_at)
    VALUES (minted.certificate_id, minted.jwt, minted.issued_at)
    ON CONFLICT (certificate_id) DO UPDATE
    SET jwt = excluded.jwt, issued_at = excluded.issued_at, rests_until = NULL;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION carillon.provider_token_minted IS
    'Internal: writes a row of provider_token_input into provider_tokens, unless the token there is still in use.';

CREATE OR REPLACE TRIGGER provider_token_minted INSTEAD OF INSERT ON carillon.provider_token_input FOR EACH ROW
EXECUTE FUNCTION carillon.provider_token_minted();
