-- The schema itself, the roles that may use it, and the record of what has been applied to it.
--
-- `carillon migrate up` runs the numbered files in order, each in one transaction, and applies all functions, views and rights
-- together with the last one. `carillon migrate sql` prints all of them in this order, for psql.

DO $$
BEGIN
    IF current_setting('server_version_num')::int < 140000 THEN
        RAISE EXCEPTION 'Carillon needs PostgreSQL 14 or newer, but this server has version %', current_setting('server_version')
            USING ERRCODE = 'feature_not_supported';
    END IF;
    -- Payloads are sent byte for byte, and APNs reads UTF-8.
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'database % has the encoding %, but Carillon needs UTF8', current_database(),
            current_setting('server_encoding')
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'Create one with: CREATE DATABASE name ENCODING ''UTF8'' TEMPLATE template0';
    END IF;
END
$$;

-- Reports all missing rights in one error.
DO $$
DECLARE
    me pg_catalog.pg_roles;
    commands text[] := '{}';
BEGIN
    SELECT r.* INTO me FROM pg_catalog.pg_roles r WHERE r.rolname = current_user;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace n WHERE n.nspname = 'carillon')
        AND NOT has_database_privilege(current_database(), 'CREATE')
    THEN
        commands := ARRAY[format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user)];
    END IF;
    IF NOT me.rolsuper AND NOT me.rolcreaterole THEN
        commands := commands || ARRAY(
            SELECT format('CREATE ROLE %I', n.role) FROM unnest(ARRAY['carillon_app', 'carillon_reader', 'carillon_worker',
                'carillon_tenant', 'carillon_operator', 'carillon_reaper']) WITH ORDINALITY AS n(role, place)
            WHERE to_regrole(n.role) IS NULL ORDER BY n.place);
        IF pg_has_role(to_regrole('carillon_reaper'), 'MEMBER') IS NOT TRUE THEN
            commands := commands || format('GRANT carillon_reaper TO %I', current_user);
        END IF;
    END IF;
    IF cardinality(commands) > 0 THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('%s lacks rights that the migrations need', quote_ident(current_user)),
            HINT = E'Have a superuser, or the owner of this database with CREATEROLE, run here (from PostgreSQL 16 on with ADMIN '
                'OPTION on roles that exist):\n' || array_to_string(commands || format(
                'GRANT carillon_app, carillon_reader, carillon_worker, carillon_tenant, carillon_operator TO %I WITH ADMIN OPTION',
                current_user), E';\n') || E';\nThe last statement lets the owner grant these roles to others. Then run this again.';
    END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS carillon;
COMMENT ON SCHEMA carillon IS 'Apple push notifications: rows enqueued here are sent by the workers of Carillon.';

CREATE TABLE carillon.schema_migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   text,
    applied_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE carillon.schema_migrations IS 'Applied migrations.';
COMMENT ON COLUMN carillon.schema_migrations.version IS 'the number of the migration';
COMMENT ON COLUMN carillon.schema_migrations.name IS 'the name of the migration';
COMMENT ON COLUMN carillon.schema_migrations.checksum IS 'the SHA-256 of its file; null if it was applied by hand';
COMMENT ON COLUMN carillon.schema_migrations.applied_at IS 'when it was applied';

CREATE TABLE carillon.schema_routines (
    file       text PRIMARY KEY,
    checksum   text,
    release    text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE carillon.schema_routines IS 'Applied files of functions, views and rights.';
COMMENT ON COLUMN carillon.schema_routines.file IS 'the path of the file';
COMMENT ON COLUMN carillon.schema_routines.checksum IS 'the SHA-256 of the file; null if it was applied by hand';
COMMENT ON COLUMN carillon.schema_routines.release IS 'the version of the program that applied it';
COMMENT ON COLUMN carillon.schema_routines.applied_at IS 'when it was applied';

CREATE TABLE carillon.recorded_rights (
    role        text NOT NULL,
    kind        text NOT NULL,  -- schema, table, column, sequence or function
    object      text NOT NULL,  -- the name, with the arguments of a function
    column_name text NOT NULL,  -- empty, unless the right is on one column
    privilege   text NOT NULL,  -- as GRANT names it
    PRIMARY KEY (role, kind, object, column_name, privilege)
);

COMMENT ON TABLE carillon.recorded_rights IS 'Internal: the rights that were granted to the roles; carillon check compares them.';

CREATE TABLE carillon.installation (
    id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    created_at        timestamptz NOT NULL DEFAULT now(),
    -- Where pushes are sent from: see functions/database/installation.sql.
    system_identifier bigint NOT NULL DEFAULT 0,
    database_oid      bigint NOT NULL DEFAULT 0,
    name              text
);
CREATE UNIQUE INDEX installation_is_one_row ON carillon.installation ((true));
INSERT INTO carillon.installation DEFAULT VALUES;
COMMENT ON TABLE carillon.installation IS
    'Internal: one row, which identifies this installation and the database that may send its pushes. The id is part of each '
    'apns-id, so that two installations never assign the same one.';

-- Roles belong to the whole cluster, so another database may create or drop them at the same time. The `migrate down` of another
-- database cannot drop a role that has a grant in this schema.
--
-- carillon_reaper deletes dead tokens from watched tables and has no other rights. It needs CREATE until as_reaper() belongs to it.
-- carillon_tenant can use the schema only while a role is isolated in this database: see enforce_isolation().
DO $$
DECLARE
    role text;
    attempts int;
BEGIN
    FOREACH role IN ARRAY ARRAY['carillon_app', 'carillon_operator', 'carillon_reader', 'carillon_reaper', 'carillon_tenant',
        'carillon_worker'] LOOP
        attempts := 0;
        LOOP
            attempts := attempts + 1;
            BEGIN
                IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = role) THEN
                    EXECUTE format('CREATE ROLE %I NOLOGIN', role);
                END IF;
                IF role <> 'carillon_tenant' THEN
                    EXECUTE format('GRANT %s ON SCHEMA carillon TO %I',
                        CASE role WHEN 'carillon_reaper' THEN 'CREATE' ELSE 'USAGE' END, role);
                END IF;
                EXIT;
            EXCEPTION
                WHEN duplicate_object OR unique_violation OR undefined_object THEN
                    IF attempts = 20 THEN RAISE; END IF;
            END;
        END LOOP;
    END LOOP;
END
$$;

-- Lets programs that start before rights.sql is applied report which migration is missing.
GRANT SELECT ON carillon.schema_migrations, carillon.schema_routines
TO carillon_app, carillon_operator, carillon_reader, carillon_tenant, carillon_worker;

-- What people have changed. Functions and triggers write it in the same transaction as the change.
CREATE TABLE carillon.audit (
    id           bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor        name NOT NULL DEFAULT session_user,
    on_behalf_of text,
    source       text NOT NULL,
    action       text NOT NULL,
    app          text,
    details      jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT audit_on_behalf_of_has_1_to_255_bytes CHECK (octet_length(on_behalf_of) BETWEEN 1 AND 255),
    -- Pages show many rows.
    CONSTRAINT audit_details_is_256_kb_at_most CHECK (octet_length(details::text) <= 262144)
);
CREATE INDEX audit_by_app ON carillon.audit (app, id);
-- For maintenance, which deletes old rows.
CREATE INDEX audit_by_time ON carillon.audit USING brin (at);
COMMENT ON TABLE carillon.audit IS
    'Changes of apps, credentials, API tokens, isolated roles and watched tables; and what people did to messages and channels. '
    'Kept for a year.';
COMMENT ON COLUMN carillon.audit.id IS 'the id of the change';
COMMENT ON COLUMN carillon.audit.at IS 'when it was made';
COMMENT ON COLUMN carillon.audit.actor IS 'the PostgreSQL login that made the change';
COMMENT ON COLUMN carillon.audit.on_behalf_of IS
    'the person on whose behalf the login says it acts, unverified; on the command line, user and host; null if it names none';
COMMENT ON COLUMN carillon.audit.source IS
    'what the program says it is, unverified: dashboard, command line, pyapns, worker or SQL';
COMMENT ON COLUMN carillon.audit.action IS 'for example pause, set app, replace credential or requeue';
COMMENT ON COLUMN carillon.audit.app IS 'the name of the app at the time; null if the change does not concern a single app';
COMMENT ON COLUMN carillon.audit.details IS
    'what was changed: arguments, counts, and the earlier value of each member as NAME_before';

INSERT INTO carillon.schema_migrations (version, name) VALUES (1, 'schema');
