-- Isolates apps from each other by giving each its own role. The policies take effect with the first isolated role.

-- Roles with rights that were granted by hand keep seeing what they saw before.
DO $$
DECLARE
    relation text;
BEGIN
    FOREACH relation IN ARRAY ARRAY['apps', 'messages', 'tokens', 'results', 'failures', 'channels'] LOOP
        EXECUTE format('CREATE POLICY all_apps ON carillon.%I TO carillon_app, carillon_reader, carillon_worker '
            || 'USING (true)', relation);
        EXECUTE format('CREATE POLICY no_tenants ON carillon.%I USING (NOT pg_has_role(''carillon_tenant'', ''USAGE''))',
            relation);
        EXECUTE format('CREATE POLICY own_apps ON carillon.%I TO carillon_tenant USING (%I IN (SELECT r.app_id '
            || 'FROM carillon.app_roles r WHERE pg_has_role(r.role, ''USAGE'')))', relation,
            CASE relation WHEN 'apps' THEN 'id' ELSE 'app_id' END);
    END LOOP;
END
$$;
CREATE POLICY all_roles ON carillon.app_roles TO carillon_worker USING (true);
CREATE POLICY own_roles ON carillon.app_roles TO carillon_tenant USING (pg_has_role(role, 'USAGE'));
ALTER TABLE carillon.app_roles ENABLE ROW LEVEL SECURITY;

-- MARK: API tokens

CREATE TABLE carillon.api_tokens (
    app_id     integer CONSTRAINT api_tokens_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    name       text,
    digest     bytea NOT NULL CONSTRAINT api_tokens_digest_is_unique UNIQUE,  -- SHA-256; the token itself is not stored
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, name),
    CONSTRAINT api_tokens_name_has_1_to_255_bytes CHECK (octet_length(name) BETWEEN 1 AND 255)
);
COMMENT ON TABLE carillon.api_tokens IS 'API tokens, with which programs can POST /messages, each for one app.';
COMMENT ON COLUMN carillon.api_tokens.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.api_tokens.name IS 'what the token is for';
COMMENT ON COLUMN carillon.api_tokens.digest IS 'the SHA-256 of the token, which itself is not stored';
COMMENT ON COLUMN carillon.api_tokens.created_at IS 'when it was created';

INSERT INTO carillon.schema_migrations (version, name) VALUES (8, 'isolation');
