-- API tokens, with which programs use the HTTP API of the dashboard. The owner of the schema creates and removes them.
-- call_with_token() finds the app of a token for each request.

CREATE OR REPLACE FUNCTION carillon.create_api_token(
    app text, name text, on_behalf_of text DEFAULT NULL, rights text[] DEFAULT NULL, expires_at timestamptz DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
    known CONSTANT text[] := '{send,read,tokens,forget}'::text[];
    chosen CONSTANT text[] := coalesce(rights, '{send}');
    -- Two random UUIDs: 244 random bits.
    token CONSTANT text := 'carillon_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
    refusal carillon.refusal;
BEGIN
    IF (octet_length(name) BETWEEN 1 AND 255) IS NOT TRUE THEN
        refusal := carillon.refusal('name', 'text of 1 to 255 bytes', quote_literal(name));
    ELSIF EXISTS (SELECT FROM carillon.api_tokens t WHERE t.app_id = target.id AND t.name = create_api_token.name) THEN
        refusal := carillon.refusal('name', 'a name that no token of the app has', quote_literal(name),
            'Remove that one with carillon.remove_api_token, or choose another name.', '42710');
    ELSIF chosen <@ known IS NOT TRUE OR cardinality(chosen) = 0 THEN
        refusal := carillon.refusal('rights', 'one or more of ' || array_to_string(known, ', '), chosen::text);
    ELSIF expires_at <= clock_timestamp() THEN
        refusal := carillon.refusal('expires_at', 'a time in the future, or null for a token that does not expire',
            quote_literal(expires_at));
    END IF;
    PERFORM carillon.refuse(refusal);
    INSERT INTO carillon.api_tokens (app_id, name, digest, rights, expires_at)
    VALUES (target.id, name, sha256(convert_to(token, 'UTF8')), chosen, expires_at);
    PERFORM carillon.act_for(on_behalf_of);
    PERFORM carillon.record_change('create API token', target.name,
        jsonb_build_object('name', name, 'rights', chosen, 'expires_at', expires_at));
    RETURN token;
END
$$;
COMMENT ON FUNCTION carillon.create_api_token IS
    'Creates a token with which a program can use the HTTP API for this app, with some of the rights send, read, tokens and '
    'forget: send by default. Returns the token, which cannot be shown again.';

CREATE OR REPLACE FUNCTION carillon.remove_api_token(app text, name text, on_behalf_of text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
BEGIN
    DELETE FROM carillon.api_tokens t WHERE t.app_id = target.id AND t.name = remove_api_token.name;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM carillon.act_for(on_behalf_of);
    PERFORM carillon.record_change('remove API token', target.name, jsonb_build_object('name', remove_api_token.name));
    RETURN true;
END
$$;
COMMENT ON FUNCTION carillon.remove_api_token IS
    'Removes an API token of an app; requests that use it are then refused. Returns false if there is none.';

-- PostgreSQL may log the parameters of a statement, so a token is named by its SHA-256. Finding that in an index takes a time that
-- depends on the digest, which nobody can choose: from the beginning of a digest, no token can be made.
--
-- Anybody can send a token that is unknown: that is no error, which PostgreSQL would log. A token that has expired is unknown too.
--
-- Each use is not worth a write: last_used_at is an hour old before it is written again. A standby notes nothing.
CREATE OR REPLACE FUNCTION carillon.app_of_token(token_digest bytea, needs text, app text) RETURNS carillon.apps
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    used CONSTANT carillon.api_tokens := (
        SELECT t FROM carillon.api_tokens t WHERE t.digest = token_digest AND (t.expires_at <= now()) IS NOT TRUE);
    target CONSTANT carillon.apps := (SELECT a FROM carillon.apps a WHERE a.id = used.app_id);
BEGIN
    IF target.id IS NULL THEN
        RETURN NULL;
    ELSIF app <> target.name THEN
        RAISE EXCEPTION USING ERRCODE = '28T01', MESSAGE = format('the token is for the app %L, not for %L', target.name, app),
            HINT = 'Name the app of the token in the path.';
    ELSIF needs <> ALL (used.rights) THEN
        RAISE EXCEPTION USING ERRCODE = '28T01', MESSAGE = format('the token lacks the right %L', needs),
            HINT = 'The owner of the schema creates one that has it with: carillon api-token create --right';
    END IF;
    IF needs = 'forget' THEN
        -- audit then says which program has erased a person.
        PERFORM carillon.act_for('API token ' || used.name);
    END IF;
    IF current_setting('transaction_read_only') = 'off' AND (used.last_used_at > now() - interval '1 hour') IS NOT TRUE THEN
        UPDATE carillon.api_tokens t SET last_used_at = now() WHERE t.ctid = (
            SELECT k.ctid FROM carillon.api_tokens k WHERE k.digest = token_digest FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    RETURN target;
END
$$;
COMMENT ON FUNCTION carillon.app_of_token IS
    'Internal: returns the app of an API token, or null if it is unknown or has expired; raises an error if it lacks the right or '
    'is for another app.';

-- The tokens of an app share connections: see APIEndpoint.swift.
CREATE OR REPLACE FUNCTION carillon.app_of_digest(token_digest bytea) RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT t.app_id FROM carillon.api_tokens t WHERE t.digest = token_digest AND (t.expires_at <= now()) IS NOT TRUE
$$;
COMMENT ON FUNCTION carillon.app_of_digest IS
    'Internal: the HTTP API. Returns the id of the app of an API token; null if it is unknown or has expired.';
