-- API tokens, with which programs POST /messages. The owner of the schema creates and removes them. The dashboard calls
-- enqueue_with_token() for each request.

CREATE OR REPLACE FUNCTION carillon.create_api_token(app text, name text, on_behalf_of text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.app_to_change(app);
    -- Two random UUIDs: 244 random bits.
    token CONSTANT text := 'carillon_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
BEGIN
    IF (octet_length(name) BETWEEN 1 AND 255) IS NOT TRUE THEN
        PERFORM carillon.refuse(carillon.refusal('name', 'text of 1 to 255 bytes', quote_literal(name)));
    ELSIF EXISTS (SELECT FROM carillon.api_tokens t WHERE t.app_id = target.id AND t.name = create_api_token.name) THEN
        PERFORM carillon.refuse(carillon.refusal('name', 'a name that no token of the app has', quote_literal(name),
            'Remove that one with carillon.remove_api_token, or choose another name.', '42710'));
    END IF;
    INSERT INTO carillon.api_tokens (app_id, name, digest) VALUES (target.id, name, sha256(convert_to(token, 'UTF8')));
    PERFORM carillon.act_for(on_behalf_of);
    PERFORM carillon.record_change('create API token', target.name, jsonb_build_object('name', name));
    RETURN token;
END
$$;
COMMENT ON FUNCTION carillon.create_api_token IS
    'Creates a token with which a program can POST /messages for this app. Returns the token, which cannot be shown again.';

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

-- enqueue_with_token() takes the SHA-256 of the token, because PostgreSQL may log the parameters of a statement, and the body as
-- text: it is read as JSON only once the token is known, because anybody can send one. `key` becomes the dedupe_key.
CREATE OR REPLACE FUNCTION carillon.enqueue_with_token(
    token_digest bytea, body text, key text DEFAULT NULL, OUT app text, OUT id bigint, OUT is_new boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    m carillon.message_arguments;
    message jsonb;
BEGIN
    SELECT a.name INTO app FROM carillon.api_tokens t JOIN carillon.apps a ON a.id = t.app_id WHERE t.digest = token_digest;
    IF app IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '28000', MESSAGE = 'unknown token',
            HINT = 'The owner of the schema creates one with carillon.create_api_token.';
    END IF;
    PERFORM carillon.check_installation();
    message := body::jsonb;
    m := carillon.message_of_json(app, message);
    SELECT s.id, s.is_new INTO id, is_new FROM carillon.submit_once(m, key, message) AS s;
END
$$;
COMMENT ON FUNCTION carillon.enqueue_with_token IS
    'Internal: POST /messages. Enqueues a message for the app of an API token, once for each key.';
