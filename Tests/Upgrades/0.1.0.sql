-- The schema and some rows of 0.1.0, as FrozenSchemaTests upgrades it. `make freeze` has written it before the tag
-- 0.1.0. Afterwards it is not changed: it is what users have.

-- 0001_schema.up.sql
BEGIN;
SET LOCAL standard_conforming_strings = on;

-- The schema itself, the roles that may use it, and the record of what has been applied to it.
--
-- `carillon migrate up` runs the numbered files in order, each in one transaction, and applies all functions, views and rights
-- together with the last one. To do the same by hand:
--     export PGOPTIONS='-c check_function_bodies=off'
--     for f in migrations/*.up.sql migrations/functions/*/*.sql migrations/views/{pending,held_apps,app_status,worker_status}.sql \
--         migrations/rights.sql; do psql --single-transaction -v ON_ERROR_STOP=1 -f "$f"; done
-- Each numbered file records itself in carillon.schema_migrations. The other files do not, so run `carillon migrate up` last: it
-- applies them again and records them. Workers start only if they are recorded.

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
    kind        text NOT NULL,
    object      text NOT NULL,
    column_name text NOT NULL,
    privilege   text NOT NULL,
    PRIMARY KEY (role, kind, object, column_name, privilege)
);

COMMENT ON TABLE carillon.recorded_rights IS 'Internal: the rights that were granted to the roles; carillon check compares them.';
COMMENT ON COLUMN carillon.recorded_rights.role IS 'the role';
COMMENT ON COLUMN carillon.recorded_rights.kind IS 'schema, table, column, sequence or function';
COMMENT ON COLUMN carillon.recorded_rights.object IS 'its name, with the arguments of a function';
COMMENT ON COLUMN carillon.recorded_rights.column_name IS 'the column, for a right on one column; otherwise empty';
COMMENT ON COLUMN carillon.recorded_rights.privilege IS 'the privilege, as GRANT names it';

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
    CONSTRAINT audit_on_behalf_of_has_1_to_255_bytes CHECK (octet_length(on_behalf_of) BETWEEN 1 AND 255)
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

COMMIT;

-- 0002_apps.up.sql
BEGIN;
SET LOCAL standard_conforming_strings = on;

-- Credentials and apps: operators write them, workers read them.

CREATE TABLE carillon.certificates (
    id          integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name        text NOT NULL CONSTRAINT certificates_name_is_unique UNIQUE,
    certificate text,
    private_key text,
    passphrase  text,
    key_id      text,
    team_id     text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    -- Written by workers and commands that have read the credential.
    not_after   timestamptz,
    topics      text[],
    status      text,
    last_error  text,
    CONSTRAINT certificates_name_is_not_empty CHECK (name <> ''),
    CONSTRAINT certificates_name_is_255_bytes_at_most CHECK (octet_length(name) <= 255),
    -- About three times the size of a chain of ten certificates. Workers read the whole credential again when it changes.
    CONSTRAINT certificates_certificate_is_64_kb_at_most CHECK (octet_length(certificate) <= 65536),
    CONSTRAINT certificates_private_key_is_64_kb_at_most CHECK (octet_length(private_key) <= 65536),
    CONSTRAINT certificates_passphrase_is_4_kb_at_most CHECK (octet_length(passphrase) <= 4096),
    CONSTRAINT certificates_key_id_is_64_bytes_at_most CHECK (octet_length(key_id) <= 64),
    CONSTRAINT certificates_team_id_is_64_bytes_at_most CHECK (octet_length(team_id) <= 64),
    CONSTRAINT certificates_has_certificate_or_key CHECK (certificate IS NOT NULL OR private_key IS NOT NULL),
    CONSTRAINT certificates_key_id_and_team_id_go_together CHECK ((key_id IS NULL) = (team_id IS NULL)),
    CONSTRAINT certificates_token_key_is_in_private_key CHECK (key_id IS NULL OR private_key IS NOT NULL),
    CONSTRAINT certificates_status_is_known CHECK (status IN ('ok', 'expiring', 'expired', 'invalid', 'rejected'))
);

COMMENT ON TABLE carillon.certificates IS
    'Credentials: push certificates and signing keys. Workers use a changed row within seconds.';
COMMENT ON COLUMN carillon.certificates.id IS 'the certificate_id of apps';
COMMENT ON COLUMN carillon.certificates.name IS 'the name that commands take as credential';
COMMENT ON COLUMN carillon.certificates.certificate IS 'the certificate and its chain as PEM, optionally with the private key';
COMMENT ON COLUMN carillon.certificates.private_key IS 'the private key as PEM, or the text of a .p8 file';
COMMENT ON COLUMN carillon.certificates.passphrase IS 'the passphrase of an encrypted private key';
COMMENT ON COLUMN carillon.certificates.key_id IS 'for a signing key: Apple''s id of the key';
COMMENT ON COLUMN carillon.certificates.team_id IS 'for a signing key: Apple''s id of the team';
COMMENT ON COLUMN carillon.certificates.created_at IS 'when it was added';
COMMENT ON COLUMN carillon.certificates.updated_at IS 'when it was last changed';
COMMENT ON COLUMN carillon.certificates.not_after IS 'written by workers: when the certificate expires';
COMMENT ON COLUMN carillon.certificates.topics IS 'written by workers: the topics of the certificate';
COMMENT ON COLUMN carillon.certificates.status IS
    'written by workers: ok, expiring, expired, invalid or rejected; null if not checked yet';
COMMENT ON COLUMN carillon.certificates.last_error IS 'written by workers: what is wrong with the credential';

-- Programs write credentials through this view: see apps/credential_input.sql.
CREATE OR REPLACE VIEW carillon.credential_input AS
SELECT c.name, c.certificate, c.private_key, c.passphrase, c.key_id, c.team_id FROM carillon.certificates c WHERE false;
COMMENT ON VIEW carillon.credential_input IS
    'Internal: always empty; a credential that is inserted here is stored in certificates, and its key appears in no log.';

CREATE TABLE carillon.apps (
    id               integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name             text NOT NULL CONSTRAINT apps_name_is_unique UNIQUE,
    topic            text,
    topics           text[],
    certificate_id   integer CONSTRAINT apps_certificate_exists REFERENCES carillon.certificates,
    environment      text NOT NULL DEFAULT 'production',
    protocol         text NOT NULL DEFAULT 'http2',
    gateway          text,
    gateway_ca       text,
    feedback_gateway text,
    feedback_error   text,
    channel_gateway  text,
    remove_unknown_channels   boolean NOT NULL DEFAULT false,
    paused           boolean NOT NULL DEFAULT false,
    paused_reason    text,
    max_rate         integer,
    max_per_device   integer,
    max_attempts     integer NOT NULL DEFAULT 10,
    reap_bad_tokens  boolean NOT NULL DEFAULT false,
    collapse_unknown boolean NOT NULL DEFAULT false,
    keep_unique_ids  boolean NOT NULL DEFAULT false,
    -- Whether enqueue checks its caller. True while any role is isolated: see enforce_isolation().
    is_guarded       boolean NOT NULL DEFAULT false,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT apps_name_is_not_empty CHECK (name <> ''),
    CONSTRAINT apps_name_is_255_bytes_at_most CHECK (octet_length(name) <= 255),
    CONSTRAINT apps_paused_reason_is_4_kb_at_most CHECK (octet_length(paused_reason) <= 4096),
    CONSTRAINT apps_gateway_is_300_bytes_at_most CHECK (octet_length(gateway) <= 300),
    CONSTRAINT apps_feedback_gateway_is_300_bytes_at_most CHECK (octet_length(feedback_gateway) <= 300),
    CONSTRAINT apps_channel_gateway_is_300_bytes_at_most CHECK (octet_length(channel_gateway) <= 300),
    -- Enough for all authorities that a system trusts.
    CONSTRAINT apps_gateway_ca_is_256_kb_at_most CHECK (octet_length(gateway_ca) <= 262144),
    CONSTRAINT apps_topic_is_visible_ascii CHECK (topic ~ '^[!-~]{1,255}$'),
    CONSTRAINT apps_topics_are_100_at_most CHECK (cardinality(topics) <= 100),
    -- A null, a space or a second dimension would not survive the conversion to text and back.
    CONSTRAINT apps_topics_are_visible_ascii CHECK (array_to_string(topics, ' ') ~ '^[!-~]{1,255}( [!-~]{1,255})*$'
        AND topics = string_to_array(array_to_string(topics, ' '), ' ')),
    CONSTRAINT apps_environment_is_known CHECK (environment IN ('production', 'sandbox')),
    CONSTRAINT apps_protocol_is_known CHECK (protocol IN ('http2', 'binary')),
    CONSTRAINT apps_gateway_is_host_and_port CHECK (gateway ~ '^([a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}$'),
    CONSTRAINT apps_gateway_ca_has_a_gateway CHECK (
        gateway_ca IS NULL OR num_nonnulls(gateway, feedback_gateway, channel_gateway) > 0),
    CONSTRAINT apps_feedback_gateway_is_host_and_port CHECK (
        feedback_gateway ~ '^([a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}$'),
    CONSTRAINT apps_channel_gateway_is_host_and_port CHECK (
        channel_gateway ~ '^([a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}$'),
    CONSTRAINT apps_max_rate_is_positive CHECK (max_rate > 0),
    CONSTRAINT apps_max_per_device_is_positive CHECK (max_per_device > 0),
    CONSTRAINT apps_max_attempts_is_positive CHECK (max_attempts > 0)
);
CREATE INDEX apps_by_certificate ON carillon.apps (certificate_id);
COMMENT ON TABLE carillon.apps IS 'The apps that messages are sent for. Operators add and change them.';
COMMENT ON COLUMN carillon.apps.id IS 'the id of the app, which is app_id in all other tables';
COMMENT ON COLUMN carillon.apps.name IS 'the name of the app, which functions take as the argument app';
COMMENT ON COLUMN carillon.apps.topic IS
    'the default topic of messages, to which some push types add a suffix; null means the topic of the certificate';
COMMENT ON COLUMN carillon.apps.topics IS
    'additional topics that messages may name, each also with the suffix of a push type, like the app''s own topic';
COMMENT ON COLUMN carillon.apps.certificate_id IS 'the credential that the app sends with';
COMMENT ON COLUMN carillon.apps.environment IS 'production or sandbox';
COMMENT ON COLUMN carillon.apps.protocol IS 'http2 or binary';
COMMENT ON COLUMN carillon.apps.gateway IS 'host:port to use instead of Apple''s gateway';
COMMENT ON COLUMN carillon.apps.gateway_ca IS
    'the root certificate to trust for the gateways that are set here, as PEM; null means the system''s certificates';
COMMENT ON COLUMN carillon.apps.feedback_gateway IS
    'host:port of the legacy feedback service; null means Apple''s service if protocol is binary and gateway is null, otherwise '
    'none';
COMMENT ON COLUMN carillon.apps.feedback_error IS 'why the legacy feedback list could not be read; null if there was no error';
COMMENT ON COLUMN carillon.apps.channel_gateway IS 'host:port to use instead of Apple''s channel service';
COMMENT ON COLUMN carillon.apps.remove_unknown_channels IS
    'whether channels that exist at Apple but not in this database are removed, a day after they were first seen';
COMMENT ON COLUMN carillon.apps.paused IS 'whether the app is paused: nothing is sent until it is resumed';
COMMENT ON COLUMN carillon.apps.paused_reason IS 'why it is paused, if the worker or person that paused it gave a reason';
COMMENT ON COLUMN carillon.apps.max_rate IS 'the maximum number of pushes a second, for all workers together; null means no limit';
COMMENT ON COLUMN carillon.apps.max_per_device IS
    'the maximum number of background pushes an hour to each device token; further ones wait, and newer ones replace them; null '
    'means no limit';
COMMENT ON COLUMN carillon.apps.max_attempts IS 'the maximum number of attempts of a push (default 10)';
COMMENT ON COLUMN carillon.apps.reap_bad_tokens IS 'whether BadDeviceToken marks a token as dead, as 410 does';
COMMENT ON COLUMN carillon.apps.collapse_unknown IS
    'whether a push without a collapse id whose outcome is unknown is sent again with its apns-id as collapse id';
COMMENT ON COLUMN carillon.apps.keep_unique_ids IS
    'whether results and failures keep the apns-unique-id, which APNs sends in the sandbox and Apple''s push console uses';
COMMENT ON COLUMN carillon.apps.created_at IS 'when it was added';
COMMENT ON COLUMN carillon.apps.updated_at IS 'when it was last changed';

-- A separate table, because workers read an app again whenever its row of apps changes.
CREATE TABLE carillon.holds (
    app_id          integer PRIMARY KEY,
    kind            text NOT NULL,  -- as in held_apps
    reason          text NOT NULL,
    since           timestamptz NOT NULL DEFAULT now(),
    seen_at         timestamptz NOT NULL DEFAULT now(),
    next_attempt_at timestamptz,
    worker_id       bigint  -- the hold ends with this worker
);
COMMENT ON TABLE carillon.holds IS
    'Internal: the apps that a worker could not send for, with the reason. The view held_apps shows those that still cannot send.';

CREATE TABLE carillon.channels (
    app_id          integer CONSTRAINT channels_app_exists REFERENCES carillon.apps,
    reference       text,
    policy          smallint NOT NULL,
    channel_id      text,
    state           text NOT NULL DEFAULT 'requested',
    last_error      text,
    requested_at    timestamptz NOT NULL DEFAULT now(),
    created_at      timestamptz,
    -- Each request to Apple has a number: the answer of an earlier request is not recorded.
    attempts        integer NOT NULL DEFAULT 0,
    request_is_open boolean NOT NULL DEFAULT false,  -- a request to Apple has begun, and its outcome is not known yet
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, reference),
    CONSTRAINT channels_reference_has_1_to_255_bytes CHECK (octet_length(reference) BETWEEN 1 AND 255),
    CONSTRAINT channels_policy_is_known CHECK (policy IN (0, 1)),
    CONSTRAINT channels_state_is_known CHECK (state IN ('requested', 'ready', 'failed', 'missing', 'removing')),
    CONSTRAINT channels_channel_id_is_visible_ascii CHECK (channel_id ~ '^[!-~]{1,255}$')
);
CREATE UNIQUE INDEX channels_by_id ON carillon.channels (app_id, channel_id);
CREATE INDEX channels_by_time ON carillon.channels (next_attempt_at) WHERE state IN ('requested', 'removing');
COMMENT ON TABLE carillon.channels IS
    'The channels of apps, by reference. request_channel adds a row, and a worker creates the channel at Apple.';
COMMENT ON COLUMN carillon.channels.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.channels.reference IS 'your own name for the channel';
COMMENT ON COLUMN carillon.channels.policy IS
    'what Apple stores for devices that are offline: 0 nothing, 1 the last message; cannot be changed';
COMMENT ON COLUMN carillon.channels.channel_id IS 'Apple''s id of the channel, which Live Activities follow';
COMMENT ON COLUMN carillon.channels.state IS
    'requested; ready; failed: Apple refused to create it; missing: Apple no longer has it; removing';
COMMENT ON COLUMN carillon.channels.last_error IS 'why the last request to Apple failed; null if it did not fail';
COMMENT ON COLUMN carillon.channels.requested_at IS 'when it was requested';
COMMENT ON COLUMN carillon.channels.created_at IS 'when Apple created it';
COMMENT ON COLUMN carillon.channels.attempts IS 'how many requests to Apple have been started';
COMMENT ON COLUMN carillon.channels.request_is_open IS 'whether a request to Apple is in progress or its outcome is unknown';
COMMENT ON COLUMN carillon.channels.next_attempt_at IS 'when a worker next asks Apple, while the state is requested or removing';

-- Channels that exist at Apple but have no row in channels. Apple does not say who created a channel or when, and another
-- database or a person may use the same topic.
CREATE TABLE carillon.unknown_channels (
    app_id        integer CONSTRAINT unknown_channels_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    channel_id    text,
    is_ours       boolean NOT NULL DEFAULT false,
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, channel_id)
);
COMMENT ON TABLE carillon.unknown_channels IS 'Channels that exist at Apple but not in channels, as last seen by sync.';
COMMENT ON COLUMN carillon.unknown_channels.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.unknown_channels.channel_id IS 'Apple''s id of the channel';
COMMENT ON COLUMN carillon.unknown_channels.is_ours IS
    'whether a worker of this database created it but recorded it too late; such a channel is removed';
COMMENT ON COLUMN carillon.unknown_channels.first_seen_at IS 'when it was first seen';

-- Isolated roles and the apps that they can see. isolate_app() writes it.
CREATE TABLE carillon.app_roles (
    app_id integer CONSTRAINT app_roles_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    role   regrole,
    PRIMARY KEY (app_id, role)
);
COMMENT ON TABLE carillon.app_roles IS 'The apps that each isolated role can see. isolate_app and unisolate_app write it.';
COMMENT ON COLUMN carillon.app_roles.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.app_roles.role IS 'the isolated role';

-- Functions that check arguments return a refusal instead of raising it: PostgreSQL adds a line of context for each function
-- between RAISE and the caller, and psql and many drivers print these lines.
CREATE TYPE carillon.refusal AS (message text, hint text, argument text, code text);
COMMENT ON TYPE carillon.refusal IS
    'Internal: why an argument is refused; the function that the user has called raises it as an error.';

CREATE TABLE carillon.api_tokens (
    app_id     integer CONSTRAINT api_tokens_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    name       text,
    digest     bytea NOT NULL CONSTRAINT api_tokens_digest_is_unique UNIQUE,  -- SHA-256; the token itself is not stored
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, name),
    CONSTRAINT api_tokens_name_has_1_to_255_bytes CHECK (octet_length(name) BETWEEN 1 AND 255)
);
COMMENT ON TABLE carillon.api_tokens IS 'API tokens. With one, a program can POST /messages for one app.';
COMMENT ON COLUMN carillon.api_tokens.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.api_tokens.name IS 'what the token is for';
COMMENT ON COLUMN carillon.api_tokens.digest IS 'the SHA-256 of the token, which itself is not stored';
COMMENT ON COLUMN carillon.api_tokens.created_at IS 'when it was created';

INSERT INTO carillon.schema_migrations (version, name) VALUES (2, 'apps');

COMMIT;

-- 0003_queue.up.sql
BEGIN;
SET LOCAL standard_conforming_strings = on;

-- The queue. A claim moves rows from messages to one row of inflight; a job that has ended is in neither table.
--
-- Primary keys of per-app tables begin with app_id, as do indexes for queries about one app. The other indexes are for queries that
-- do not name an app: an id or a reference alone, jobs that are due, claims of a worker, old rows.

-- The primary key is the only index, in the order in which jobs are claimed. No foreign key and no trigger for each row slows an
-- INSERT; functions/queue/sleep.sql has one for each statement. The checks limit what workers keep in memory; everything else is
-- checked when a row is claimed.
CREATE TABLE carillon.messages (
    id           bigint GENERATED BY DEFAULT AS IDENTITY,
    app_id       integer NOT NULL,
    lane         smallint NOT NULL DEFAULT 1,
    tokens       text[] NOT NULL,
    payload      json,
    payloads     json[],
    push_type    text NOT NULL DEFAULT 'alert',
    priority     smallint,
    expires_at   timestamptz,
    collapse_id  text,
    topic        text,
    reference    text,
    on_unknown   text NOT NULL DEFAULT 'retry',
    attempt      smallint NOT NULL DEFAULT 1,
    lost_claims  smallint NOT NULL DEFAULT 0,  -- claims lost with dead workers; three or more put the job into quarantine
    unknown_attempts smallint NOT NULL DEFAULT 0,  -- for a retry: the attempts whose outcome is unknown, which are limited
    origin       bigint,  -- for a retry or a job split off: the id of the job that it comes from; otherwise null
    broadcast_id bigint,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_status  smallint,  -- for a retry: the outcome of the previous attempt; null if there was no answer
    last_reason  text,
    PRIMARY KEY (app_id, lane, id),
    CONSTRAINT messages_push_type_is_255_bytes_at_most CHECK (octet_length(push_type) <= 255),
    CONSTRAINT messages_collapse_id_is_255_bytes_at_most CHECK (octet_length(collapse_id) <= 255),
    CONSTRAINT messages_topic_is_255_bytes_at_most CHECK (octet_length(topic) <= 255),
    -- As in max_reference_bytes().
    CONSTRAINT messages_reference_is_1024_bytes_at_most CHECK (octet_length(reference) <= 1024),
    CONSTRAINT messages_on_unknown_is_255_bytes_at_most CHECK (octet_length(on_unknown) <= 255)
);
-- Tokens and payloads are read once and then deleted, so compression costs more than it saves.
ALTER TABLE carillon.messages ALTER tokens SET STORAGE EXTERNAL, ALTER payload SET STORAGE EXTERNAL,
    ALTER payloads SET STORAGE EXTERNAL;
-- Rows are short-lived. Vacuum starts after few dead rows, and runs without delay.
ALTER TABLE carillon.messages SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 20000,
    toast.autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_vacuum_threshold = 20000,
    toast.autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.messages IS
    'The queue. An INSERT of app_id, tokens and payload is a complete job; rows leave the queue when a worker claims them.';
COMMENT ON COLUMN carillon.messages.id IS 'the id of the job, assigned by the queue: INSERT … RETURNING id';
COMMENT ON COLUMN carillon.messages.app_id IS 'the id of the app; a message for an unknown app fails as UnknownApp';
COMMENT ON COLUMN carillon.messages.lane IS
    '0 urgent, 1 normal, 2 bulk; another number is a lane of its own, as urgent as the nearest of these';
COMMENT ON COLUMN carillon.messages.tokens IS 'device tokens in hex; each one is a push';
COMMENT ON COLUMN carillon.messages.payload IS
    'the payload for all device tokens, sent byte for byte, except that for push_type liveactivity a worker replaces the 0 in '
    'the prefix {"aps":{"timestamp":0, with the time of sending; null if payloads has one for each';
COMMENT ON COLUMN carillon.messages.payloads IS
    'instead of payload: one payload for each device token, by position; sent in the same way';
COMMENT ON COLUMN carillon.messages.push_type IS 'apns-push-type; a plain INSERT does not derive it from the payload';
COMMENT ON COLUMN carillon.messages.priority IS
    '10, 5 or 1: see push_types; null means 5 for push type background, otherwise none is sent and APNs uses 10';
COMMENT ON COLUMN carillon.messages.expires_at IS
    'the time after which it is not sent; null means no limit; epoch means no limit and no storage by Apple (apns-expiration 0)';
COMMENT ON COLUMN carillon.messages.collapse_id IS 'apns-collapse-id';
COMMENT ON COLUMN carillon.messages.topic IS 'apns-topic; null means the topic of the app with the suffix of the push type';
COMMENT ON COLUMN carillon.messages.reference IS 'your own id, at most 1,024 bytes, kept in results and failures';
COMMENT ON COLUMN carillon.messages.on_unknown IS
    'retry, or fail for pushes that must not be sent twice; a row with any other value fails';
COMMENT ON COLUMN carillon.messages.created_at IS 'when it was enqueued';

-- Whoever inserts a row takes its id from the sequence of messages, because a due row moves to messages and keeps its id. Ids from
-- the sequence are unique in messages, scheduled and inflight together. An INSERT may specify its own id, and two apps may use the
-- same one.
CREATE TABLE carillon.scheduled (
    LIKE carillon.messages INCLUDING CONSTRAINTS INCLUDING DEFAULTS INCLUDING STORAGE,
    run_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, id)
);
-- The id orders rows that are due at the same time, so that promote() can continue after the last one.
CREATE INDEX scheduled_by_time ON carillon.scheduled (run_at, id);
-- Used by cancels to find the remaining jobs of a message or broadcast.
CREATE INDEX scheduled_by_origin ON carillon.scheduled (app_id, origin) WHERE origin IS NOT NULL;
CREATE INDEX scheduled_by_broadcast ON carillon.scheduled (app_id, broadcast_id) WHERE broadcast_id IS NOT NULL;
ALTER TABLE carillon.scheduled SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 10000,
    toast.autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_vacuum_threshold = 10000,
    toast.autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.scheduled IS
    'Internal: jobs that are not due yet: scheduled messages and retries. Workers move them to messages when run_at has come. The '
    'view pending shows them.';

-- A separate type, so that stored rows do not block later changes of messages.
CREATE TYPE carillon.job AS (
    id           bigint,
    lane         smallint,
    tokens       text[],
    payload      json,
    payloads     json[],
    push_type    text,
    priority     smallint,
    expires_at   timestamptz,
    collapse_id  text,
    topic        text,
    reference    text,
    on_unknown   text,
    attempt      smallint,
    lost_claims  smallint,
    unknown_attempts smallint,
    origin       bigint,
    broadcast_id bigint,
    created_at   timestamptz,
    last_status  smallint,
    last_reason  text
);
COMMENT ON TYPE carillon.job IS 'Internal: a job in flight, as inflight keeps it; its fields are columns of messages.';

-- One row for each run of a worker. Its id is never reused, and is part of the fence.
CREATE TABLE carillon.workers (
    id           bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name         text NOT NULL,
    host         text,
    pid          integer,
    version      text,
    started_at   timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    beat         bigint NOT NULL DEFAULT 0,
    -- For people and `worker --once`. Takeover ignores it, because the clock of the database may be changed.
    lease_until  timestamptz NOT NULL,
    waits        bigint[],
    answers      bigint[],
    connections  integer,
    settles_by   timestamptz,
    asleep_since timestamptz
);
-- Updated every few seconds; heap-only updates keep it small.
ALTER TABLE carillon.workers SET (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.workers IS 'Workers that are running, and workers that died and have not been taken over.';
COMMENT ON COLUMN carillon.workers.id IS 'the id of this run; never reused';
COMMENT ON COLUMN carillon.workers.name IS 'the name of the worker, for people';
COMMENT ON COLUMN carillon.workers.host IS 'the host that the worker runs on';
COMMENT ON COLUMN carillon.workers.pid IS 'the process id of the worker';
COMMENT ON COLUMN carillon.workers.version IS 'the version of the program';
COMMENT ON COLUMN carillon.workers.started_at IS 'when it started';
COMMENT ON COLUMN carillon.workers.heartbeat_at IS 'the time of its last heartbeat, by the database''s clock';
COMMENT ON COLUMN carillon.workers.beat IS
    'Internal: the number of its heartbeats; the worker is dead if no new one arrives for the length of the lease';
COMMENT ON COLUMN carillon.workers.waits IS
    'Internal: the jobs that it claimed within about the last minute, counted by their waiting time in the buckets of '
    'carillon_enqueue_to_claim_seconds';
COMMENT ON COLUMN carillon.workers.answers IS
    'Internal: the answers that its program received within about the last minute, counted by their time in the buckets of '
    'carillon_send_to_answer_seconds';
COMMENT ON COLUMN carillon.workers.connections IS
    'the number of connections to gateways that its program had at its last heartbeat';
COMMENT ON COLUMN carillon.workers.settles_by IS
    'Internal: the time after which it counts as stuck unless it settles something; null if it has no claim';
COMMENT ON COLUMN carillon.workers.lease_until IS 'when its lease ends unless another heartbeat extends it';
COMMENT ON COLUMN carillon.workers.asleep_since IS
    'since when it has slept, because there is nothing to do; null if it is awake';

-- Until when transactions that bring work notify the workers, in seconds since 1970. A sequence, because every transaction sees its
-- present value, whatever its snapshot is, and because reading it locks nobody out.
CREATE SEQUENCE carillon.asleep;
COMMENT ON SEQUENCE carillon.asleep IS
    'Internal: until when transactions that bring work notify sleeping workers, in seconds since 1970.';

-- Claims, one per row. No transaction is open while their pushes are in flight.
CREATE TABLE carillon.inflight (
    id          bigint GENERATED BY DEFAULT AS IDENTITY,
    worker_id   bigint NOT NULL,
    app_id      integer NOT NULL,
    jobs        carillon.job[] NOT NULL,
    claimed_at  timestamptz NOT NULL DEFAULT now(),
    settlements smallint NOT NULL DEFAULT 0,  -- how many settlements of it were written
    quarantined boolean NOT NULL DEFAULT false,
    PRIMARY KEY (app_id, id)
);
ALTER TABLE carillon.inflight ALTER jobs SET STORAGE EXTERNAL;
CREATE INDEX inflight_by_worker ON carillon.inflight (worker_id);
ALTER TABLE carillon.inflight SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 10000,
    toast.autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.inflight IS 'Claims that are not settled, one per row. The view pending shows their jobs.';
COMMENT ON COLUMN carillon.inflight.id IS 'the id of the claim';
COMMENT ON COLUMN carillon.inflight.worker_id IS 'the worker that made the claim';
COMMENT ON COLUMN carillon.inflight.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.inflight.claimed_at IS 'when it was claimed';

CREATE TABLE carillon.unfinished (
    app_id       integer,
    message_id   bigint,
    reference    text,
    broadcast_id bigint,
    remaining    integer NOT NULL,
    sent         integer NOT NULL DEFAULT 0,
    failed       integer NOT NULL DEFAULT 0,
    expired      integer NOT NULL DEFAULT 0,
    cancelled    integer NOT NULL DEFAULT 0,
    attempts     integer NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_status  smallint,  -- as in results
    last_reason  text,
    apns_unique_ids jsonb,
    PRIMARY KEY (app_id, message_id)
);
CREATE INDEX unfinished_by_broadcast ON carillon.unfinished (app_id, broadcast_id) WHERE broadcast_id IS NOT NULL;
ALTER TABLE carillon.unfinished SET (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.unfinished IS
    'Internal: the counts of jobs some of whose pushes have ended and others have not. When none remain, the row becomes a row of '
    'results.';

-- Split messages: broadcasts, however few their tokens, and messages to more than 1,000 tokens. Each is stored as one or more jobs.
-- The id is that of the first job; the ids of all jobs are between id and last_id, in one lane.
CREATE TABLE carillon.split_messages (
    app_id       integer,
    id           bigint,
    last_id      bigint NOT NULL,
    lane         smallint NOT NULL,
    jobs         integer NOT NULL,
    tokens       bigint NOT NULL,
    reference    text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    cancelled_at timestamptz,
    PRIMARY KEY (app_id, id)
);
CREATE INDEX split_messages_by_id ON carillon.split_messages (id);
COMMENT ON TABLE carillon.split_messages IS
    'Split messages: broadcasts, and messages to more than 1,000 tokens.';
COMMENT ON COLUMN carillon.split_messages.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.split_messages.id IS 'the id of the message, which is the id of its first job';
COMMENT ON COLUMN carillon.split_messages.last_id IS 'the id of its last job';
COMMENT ON COLUMN carillon.split_messages.lane IS 'the lane of its jobs';
COMMENT ON COLUMN carillon.split_messages.jobs IS 'the number of its jobs';
COMMENT ON COLUMN carillon.split_messages.tokens IS 'the number of its pushes';
COMMENT ON COLUMN carillon.split_messages.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.split_messages.created_at IS 'when it was enqueued';
COMMENT ON COLUMN carillon.split_messages.cancelled_at IS 'when it was cancelled; null if it was not';

CREATE TABLE carillon.cancelled (
    app_id       integer,
    message_id   bigint,
    cancelled_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, message_id)
);
COMMENT ON TABLE carillon.cancelled IS
    'Internal: messages that were cancelled while pushes were in flight, so that those are not retried. For split messages, '
    'split_messages has cancelled_at instead.';

-- There is no key, so that writers never wait for each other; a message may have several rows.
CREATE TABLE carillon.unknown_outcomes (
    app_id     integer NOT NULL,
    message_id bigint NOT NULL,
    noted_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX unknown_outcomes_by_message ON carillon.unknown_outcomes (app_id, message_id);
ALTER TABLE carillon.unknown_outcomes REPLICA IDENTITY FULL;
COMMENT ON TABLE carillon.unknown_outcomes IS
    'Internal: messages with an attempt whose outcome is unknown. Its pushes may have been delivered, whatever is recorded later; '
    'message_status reports it as may_have_arrived.';

CREATE TABLE carillon.dedupe (
    app_id     integer,
    key        text,
    message_id bigint NOT NULL,
    until      timestamptz NOT NULL,
    request    bytea,  -- the SHA-256 of the body sent with the key to POST /messages; null if the key came another way
    PRIMARY KEY (app_id, key),
    -- As in check_heading().
    CONSTRAINT dedupe_key_is_1000_bytes_at_most CHECK (octet_length(key) <= 1000)
);
CREATE INDEX dedupe_by_time ON carillon.dedupe (until);
COMMENT ON TABLE carillon.dedupe IS
    'Internal: the dedupe keys in use. Until its time has passed, no other message of the app is enqueued with the same key.';

CREATE TYPE carillon.cancelled_job AS (
    message_id bigint, tokens integer, reference text, broadcast_id bigint, attempt smallint, last_status smallint,
    last_reason text, created_at timestamptz,
    updates text[]  -- its tokens, if its pushes are updates
);
COMMENT ON TYPE carillon.cancelled_job IS 'Internal: what is needed to record a cancelled job.';

CREATE TYPE carillon.remnant AS (message_id bigint, remaining bigint, in_flight bigint);
COMMENT ON TYPE carillon.remnant IS
    'Internal: what is left of a message after its waiting jobs were removed: how many pushes have not ended, and how many of them '
    'are in flight.';

CREATE TYPE carillon.push_decisions AS (
    decisions  text[],    -- send; later (it waits in scheduled); or superseded (it has ended, because a newer push exists)
    stamps     bigint[],  -- for updates that are sent: the timestamp in the payload
    superseded bigint     -- how many pushes have ended as superseded, including waiting ones outside the claim
);
COMMENT ON TYPE carillon.push_decisions IS
    'Internal: which pushes of a claim are sent now, as order_updates and pace_devices decide, in the order of their arguments.';

-- The order of updates: no device shows an older update after a newer one.
--
-- APNs does not keep the order of pushes, and a retry may be sent hours after a later update. Two tables keep the order of the
-- updates of a token. Callers only insert: one row for each update that is not sent yet. Workers only upsert: one row for each
-- token, with the update that was sent last and its timestamp. So callers never wait for each other or for a worker.
--
-- Updates published to a channel are ordered in the same way; a token stands for the channel.

-- Updates that no worker has sent yet.
CREATE TABLE carillon.updates (
    app_id     integer,
    token      text,
    message_id bigint,
    is_end     boolean NOT NULL,      -- updates are ordered by is_end, due_at, message_id
    due_at     timestamptz NOT NULL,
    expires_at timestamptz,           -- null if it does not expire
    PRIMARY KEY (app_id, token, message_id)
);
ALTER TABLE carillon.updates SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.updates IS
    'Internal: updates of Live Activities and channels that are not sent yet, one row for each token of each update. '
    'update_activity, end_activity and publish write it.';
COMMENT ON COLUMN carillon.updates.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.updates.token IS 'the token of the Live Activity, or the token that stands for the channel';
COMMENT ON COLUMN carillon.updates.message_id IS 'the id of the message';
COMMENT ON COLUMN carillon.updates.is_end IS
    'whether it ends the Live Activity; an end supersedes all updates that wait with it, even later ones';
COMMENT ON COLUMN carillon.updates.due_at IS
    'when it was enqueued, or its run_at; an update replaces older ones only once it is due';
COMMENT ON COLUMN carillon.updates.expires_at IS
    'the time after which it replaces no other update; null if it does not expire';

-- The latest update of each token that a worker has sent or is about to send.
CREATE TABLE carillon.update_stamps (
    app_id     integer,
    token      text,
    message_id bigint NOT NULL,
    is_final   boolean NOT NULL,
    due_at     timestamptz NOT NULL,
    highest    bigint NOT NULL,  -- the highest message id ordered so far; the table updates has no rows up to it
    stamp      bigint NOT NULL,  -- the timestamp in the payload: seconds since 1970
    PRIMARY KEY (app_id, token)
);
ALTER TABLE carillon.update_stamps SET (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.update_stamps IS
    'Internal: the latest update of each token that a worker has sent or is about to send, one row for each token.';
COMMENT ON COLUMN carillon.update_stamps.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.update_stamps.token IS 'the token of the Live Activity, or the token that stands for the channel';
COMMENT ON COLUMN carillon.update_stamps.message_id IS 'the id of the message';
COMMENT ON COLUMN carillon.update_stamps.is_final IS
    'whether it has ended the activity, so that nothing is sent after it; never true for a channel';
COMMENT ON COLUMN carillon.update_stamps.due_at IS 'its position in the order of updates';
COMMENT ON COLUMN carillon.update_stamps.highest IS
    'the highest message id ordered so far; an older update that returns for a retry is not sent';
COMMENT ON COLUMN carillon.update_stamps.stamp IS 'the timestamp that it was sent with, in seconds since 1970';

-- A lock with two modes, one for cancels and one for sessions that return jobs to the queue. Each mode is shared, and the two
-- exclude each other. It is a view, because VACUUM and pg_dump do not lock views for long. Cancels use the weaker mode. A role
-- that may only name the view can take no other mode, so it cannot make a cancel wait.
CREATE OR REPLACE VIEW carillon.cancelling AS SELECT;
COMMENT ON VIEW carillon.cancelling IS
    'Internal: has no columns to read; sessions lock it, so that no message is cancelled while another session returns its jobs to '
    'the queue.';
-- A trigger of apps inserts the rows, which are only locked.
CREATE TABLE carillon.app_locks (
    app_id      integer CONSTRAINT app_locks_app_exists REFERENCES carillon.apps ON DELETE CASCADE ON UPDATE CASCADE,
    lock_number smallint, PRIMARY KEY (app_id, lock_number)
);
COMMENT ON TABLE carillon.app_locks IS
    'Internal: rows that sessions lock, so that no two sessions cancel or requeue the same pushes at the same time.';
COMMENT ON COLUMN carillon.app_locks.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.app_locks.lock_number IS '0 to 63: messages whose id has this remainder modulo 64; 64: requeueing';

INSERT INTO carillon.schema_migrations (version, name) VALUES (3, 'queue');

COMMIT;

-- 0004_history.up.sql
BEGIN;
SET LOCAL standard_conforming_strings = on;

-- What became of messages. Partitioned by day (UTC): maintenance creates partitions ahead of time and drops them after the
-- retention.

CREATE TABLE carillon.results (
    message_id   bigint NOT NULL,
    app_id       integer NOT NULL,
    reference    text,
    broadcast_id bigint,
    sent         integer NOT NULL DEFAULT 0,
    failed       integer NOT NULL DEFAULT 0,
    expired      integer NOT NULL DEFAULT 0,
    cancelled    integer NOT NULL DEFAULT 0,
    attempts     integer NOT NULL DEFAULT 1,
    finished_at  timestamptz NOT NULL DEFAULT now(),
    created_at   timestamptz,
    worker_id    bigint,
    -- The outcome of the last attempt of pushes that then expired or were cancelled. Outcomes of failed pushes are in failures.
    last_status  smallint,
    last_reason  text,
    apns_unique_ids jsonb
) PARTITION BY RANGE (finished_at);
CREATE INDEX results_by_message ON carillon.results (message_id);
-- Unlike a B-tree, SP-GiST accepts references of any length. Unlike a hash index, it does not slow down when many rows have the
-- same reference.
CREATE INDEX results_by_reference ON carillon.results USING spgist (reference) WHERE reference IS NOT NULL;
CREATE INDEX results_by_broadcast ON carillon.results (broadcast_id) WHERE broadcast_id IS NOT NULL;
-- For rows of days without a partition. make_partitions() turns it into a partition.
CREATE TABLE carillon.results_default PARTITION OF carillon.results DEFAULT;
COMMENT ON TABLE carillon.results_default IS 'Internal: rows of results for whose day there was no partition.';
-- Otherwise a publication FOR ALL TABLES would make every DELETE and UPDATE fail. A key would make each INSERT slower.
ALTER TABLE carillon.results REPLICA IDENTITY FULL;
ALTER TABLE carillon.results_default REPLICA IDENTITY FULL;
COMMENT ON TABLE carillon.results IS
    'One row for each job that has ended. A split message, as in split_messages, has one for each of its jobs.';
COMMENT ON COLUMN carillon.results.message_id IS 'the id of the job, which is also the id of the message if it has one job';
COMMENT ON COLUMN carillon.results.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.results.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.results.broadcast_id IS 'the id of the message, if it is a split message; otherwise null';
COMMENT ON COLUMN carillon.results.sent IS
    'pushes that APNs answered with 200; with the protocol binary, pushes that no error followed';
COMMENT ON COLUMN carillon.results.failed IS 'pushes that failed; each has a row of failures';
COMMENT ON COLUMN carillon.results.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.results.cancelled IS 'pushes that were cancelled, or superseded by a newer push';
COMMENT ON COLUMN carillon.results.attempts IS 'the highest number of attempts of any push';
COMMENT ON COLUMN carillon.results.finished_at IS 'when its last push ended';
COMMENT ON COLUMN carillon.results.created_at IS 'when it was enqueued';
COMMENT ON COLUMN carillon.results.worker_id IS
    'the worker that settled its last push; null if it ended in another way, for example cancelled, superseded or taken over';
COMMENT ON COLUMN carillon.results.last_status IS
    'the last status of a push that expired or was cancelled; null if there was no answer or no attempt';
COMMENT ON COLUMN carillon.results.last_reason IS 'the reason of that attempt, or Superseded; null if there was no attempt';
COMMENT ON COLUMN carillon.results.apns_unique_ids IS
    'for an app with keep_unique_ids: the apns-unique-id of each device token that was sent, as {"token": "id"}';

CREATE TYPE carillon.ending AS (
    message_id      bigint,
    reference       text,
    broadcast_id    bigint,
    created_at      timestamptz,
    attempts        integer,
    sent            integer,
    failed          integer,
    expired         integer,
    cancelled       integer,
    remaining       integer,  -- null: these were all its pushes; 0: it has a row of unfinished; otherwise how many are to come
    last_status     smallint,  -- as in results
    last_reason     text,
    apns_unique_ids jsonb
);
COMMENT ON TYPE carillon.ending IS
    'Internal: how pushes of one job have ended, which end_messages adds to results or unfinished.';

CREATE TABLE carillon.failures (
    message_id      bigint NOT NULL,
    app_id          integer NOT NULL,
    token           text NOT NULL,
    status          smallint,
    reason          text NOT NULL,
    unregistered_at timestamptz,
    apns_id         uuid,
    attempt         smallint NOT NULL DEFAULT 1,
    reference       text,
    failed_at       timestamptz NOT NULL DEFAULT now(),
    requeued_at     timestamptz,
    broadcast_id    bigint,
    apns_unique_id  uuid,
    dismissed_at    timestamptz
) PARTITION BY RANGE (failed_at);
CREATE INDEX failures_by_message ON carillon.failures (message_id);
CREATE INDEX failures_by_app ON carillon.failures (app_id, failed_at);
-- Failures that are the only record of their messages: see end_unrecorded().
CREATE INDEX failures_unrecorded ON carillon.failures USING spgist (reference) WHERE reason = 'Unrecorded';
CREATE INDEX failures_by_broadcast ON carillon.failures (broadcast_id, message_id) WHERE broadcast_id IS NOT NULL;
CREATE TABLE carillon.failures_default PARTITION OF carillon.failures DEFAULT;
COMMENT ON TABLE carillon.failures_default IS 'Internal: rows of failures for whose day there was no partition.';
ALTER TABLE carillon.failures REPLICA IDENTITY FULL;
ALTER TABLE carillon.failures_default REPLICA IDENTITY FULL;
COMMENT ON TABLE carillon.failures IS 'One row for each push that failed, even if other pushes of its message still wait.';
COMMENT ON COLUMN carillon.failures.message_id IS 'the id of the job, as in results';
COMMENT ON COLUMN carillon.failures.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.failures.token IS 'the device token';
COMMENT ON COLUMN carillon.failures.status IS
    'the status that APNs answered; null if the push was refused before it was sent, or no answer came';
COMMENT ON COLUMN carillon.failures.reason IS 'the reason given by APNs, or one of Carillon''s own';
COMMENT ON COLUMN carillon.failures.unregistered_at IS 'for a 410: when the device token became unregistered';
COMMENT ON COLUMN carillon.failures.apns_id IS 'the apns-id of the push';
COMMENT ON COLUMN carillon.failures.attempt IS 'the number of its last attempt';
COMMENT ON COLUMN carillon.failures.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.failures.failed_at IS 'when it failed';
COMMENT ON COLUMN carillon.failures.requeued_at IS 'when it was requeued; null if never';
COMMENT ON COLUMN carillon.failures.broadcast_id IS 'the id of the split message, if results has no row of the job; otherwise null';
COMMENT ON COLUMN carillon.failures.apns_unique_id IS
    'for an app with keep_unique_ids: the apns-unique-id of its last answer, which only the sandbox sends';
COMMENT ON COLUMN carillon.failures.dismissed_at IS 'when a person marked it as needing no action; null if never';

-- Dead tokens need no row. If each token has its own payload, a row has the payloads of the tokens that failed together.
CREATE TABLE carillon.failed_messages (
    message_id  bigint NOT NULL,
    app_id      integer NOT NULL,
    lane        smallint NOT NULL,
    payload     json,
    tokens      text[],  -- in lower case; null if all tokens share payload
    payloads    json[],
    push_type   text NOT NULL,
    priority    smallint,
    expires_at  timestamptz,
    collapse_id text,
    topic       text,
    reference   text,
    on_unknown  text NOT NULL,
    failed_at   timestamptz NOT NULL DEFAULT now(),
    -- Also its replica identity: a subscriber cannot compare whole rows that contain json.
    PRIMARY KEY (app_id, message_id, failed_at)
) PARTITION BY RANGE (failed_at);
CREATE TABLE carillon.failed_messages_default PARTITION OF carillon.failed_messages DEFAULT;
COMMENT ON TABLE carillon.failed_messages_default IS
    'Internal: rows of failed_messages for whose day there was no partition.';
COMMENT ON TABLE carillon.failed_messages IS
    'Internal: the payload and headers of messages with failures, kept so that requeue_failures can send them again; one row for '
    'each message and day.';

-- Counts by minute. Each worker writes them once a second instead of in each settlement: while a long transaction keeps old row
-- versions alive, a row that is updated often becomes slow to find.
CREATE TABLE carillon.push_counts (
    minute     timestamptz,
    app_id     integer,
    worker_id  bigint,
    sent       bigint NOT NULL DEFAULT 0,
    failed     bigint NOT NULL DEFAULT 0,
    expired    bigint NOT NULL DEFAULT 0,
    retried    bigint NOT NULL DEFAULT 0,
    bad_tokens bigint NOT NULL DEFAULT 0,
    bad_topics bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, minute, worker_id)
);
ALTER TABLE carillon.push_counts SET (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000
);
COMMENT ON TABLE carillon.push_counts IS
    'Counts of pushes by minute, app and worker. Each worker writes them once a second, so the last second of a worker that was '
    'killed is missing here, but not in results.';
COMMENT ON COLUMN carillon.push_counts.minute IS 'the minute in which the pushes ended';
COMMENT ON COLUMN carillon.push_counts.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.push_counts.worker_id IS 'the worker that sent the pushes';
COMMENT ON COLUMN carillon.push_counts.sent IS 'pushes that count as sent, as in results';
COMMENT ON COLUMN carillon.push_counts.failed IS 'pushes that failed for good';
COMMENT ON COLUMN carillon.push_counts.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.push_counts.retried IS 'attempts that were followed by another attempt';
COMMENT ON COLUMN carillon.push_counts.bad_tokens IS 'pushes that failed with BadDeviceToken';
COMMENT ON COLUMN carillon.push_counts.bad_topics IS
    'pushes that failed because their topic was refused, for example with TopicDisallowed';

-- With many apps and workers, push_counts has a million rows a day; these sums have a few thousand.
CREATE TABLE carillon.push_count_sums (
    start   timestamptz,
    app_id  integer,
    sent    bigint NOT NULL,
    failed  bigint NOT NULL,
    expired bigint NOT NULL,
    retried bigint NOT NULL,
    PRIMARY KEY (app_id, start)
);
COMMENT ON TABLE carillon.push_count_sums IS
    'Sums of push_counts by app and 20 minutes, for charts. Maintenance computes them, so those of the last hours may be missing.';
COMMENT ON COLUMN carillon.push_count_sums.start IS 'when the 20 minutes began';
COMMENT ON COLUMN carillon.push_count_sums.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.push_count_sums.sent IS 'pushes that count as sent, as in results';
COMMENT ON COLUMN carillon.push_count_sums.failed IS 'pushes that failed for good';
COMMENT ON COLUMN carillon.push_count_sums.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.push_count_sums.retried IS 'attempts that were followed by another attempt';

INSERT INTO carillon.schema_migrations (version, name) VALUES (4, 'history');

COMMIT;

-- 0005_fleet.up.sql
BEGIN;
SET LOCAL standard_conforming_strings = on;

-- State that all workers share: the pace of each app and device, provider tokens, breakers, and the tasks of the fleet.

CREATE TABLE carillon.rates (
    app_id  integer PRIMARY KEY,
    next_at timestamptz NOT NULL
);
-- Updated several times a second; heap-only updates keep it small.
ALTER TABLE carillon.rates SET (
    fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.rates IS
    'Internal: when pushes of each app with max_rate may next be sent, which keeps all workers together within its rate.';

CREATE TYPE carillon.device_slot AS (at timestamptz, message_id bigint, meaning bigint);
COMMENT ON TYPE carillon.device_slot IS
    'Internal: the time at which one background push was or will be sent to a device token, for apps with max_per_device.';

CREATE TYPE carillon.paced_push AS (
    place bigint, job bigint, token text, decision text, slot_at timestamptz, replaces bigint
);
COMMENT ON TYPE carillon.paced_push IS
    'Internal: a background push of a claim, with what was decided about it: whether it is sent, when, and the older message whose '
    'push it replaces.';

-- One row for each token. Each push has one slot: the time at which it was or will be sent.
CREATE TABLE carillon.device_slots (
    app_id  integer,
    token   text,
    slots   carillon.device_slot[] NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, token)
);
ALTER TABLE carillon.device_slots SET (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.device_slots IS
    'Internal: when background pushes were sent to each token, and when waiting ones will be sent. Only apps with max_per_device '
    'have rows.';
COMMENT ON COLUMN carillon.device_slots.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.device_slots.token IS 'the device token';
COMMENT ON COLUMN carillon.device_slots.slots IS 'the times, each with its message and a hash of its meaning';
COMMENT ON COLUMN carillon.device_slots.last_at IS 'the latest of the times';

CREATE TABLE carillon.provider_tokens (
    certificate_id integer PRIMARY KEY REFERENCES carillon.certificates ON DELETE CASCADE,
    jwt            text NOT NULL,
    issued_at      timestamptz NOT NULL,
    rests_until    timestamptz  -- the time before which no token is minted, because APNs refused too many new ones
);
COMMENT ON TABLE carillon.provider_tokens IS
    'Internal: the provider token of each signing key, which all workers use. The first worker that finds it fifty minutes old '
    'makes the next one.';

-- Workers write tokens through it: see apps/credential_input.sql. refused_at is when the token that APNs refused was minted.
CREATE OR REPLACE VIEW carillon.provider_token_input AS
SELECT c.id AS certificate_id, c.updated_at AS since, NULL::bigint AS refused_at, NULL::text AS jwt, NULL::bigint AS issued_at
FROM carillon.certificates c WHERE false;
COMMENT ON VIEW carillon.provider_token_input IS
    'Internal: always empty; a provider token that is inserted here is stored in provider_tokens, and appears in no log.';

-- Apps that were paused because most of their pushes failed for a reason that lies in their settings.
CREATE TABLE carillon.breakers (
    app_id            integer PRIMARY KEY CONSTRAINT breakers_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    opened_at         timestamptz NOT NULL DEFAULT now(),
    bad               bigint NOT NULL,
    pushes            bigint NOT NULL,
    closed_at         timestamptz,
    -- The counts of the minute of closed_at, up to closed_at.
    closed_bad        bigint NOT NULL DEFAULT 0,
    closed_pushes     bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE carillon.breakers IS
    'Apps that were paused because most of their pushes failed as BadDeviceToken or because of their topic.';
COMMENT ON COLUMN carillon.breakers.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.breakers.opened_at IS 'when it was paused';
COMMENT ON COLUMN carillon.breakers.bad IS
    'the number of pushes that had failed as BadDeviceToken or because of their topic by then';
COMMENT ON COLUMN carillon.breakers.pushes IS 'the number of all pushes by then';
COMMENT ON COLUMN carillon.breakers.closed_at IS 'when the app was resumed; null while it is paused';
COMMENT ON COLUMN carillon.breakers.closed_bad IS
    'how many pushes had failed for this reason in the minute of closed_at; they are not counted again';
COMMENT ON COLUMN carillon.breakers.closed_pushes IS
    'how many pushes there had been in that minute; they are not counted again';

-- The worker whose UPDATE … WHERE next_run <= now() returns the row does the task.
CREATE TABLE carillon.fleet_tasks (
    name      text PRIMARY KEY,
    next_run  timestamptz NOT NULL DEFAULT now(),
    every     interval NOT NULL CHECK (every BETWEEN interval '0' AND interval '1000 years'),
    worker_id bigint, -- the worker that is doing it; once that worker is dead, another one does the task
    -- Of the worker that was the last to do maintenance.
    retention interval CHECK (retention BETWEEN interval '1 hour' AND interval '1000 years')
);
INSERT INTO carillon.fleet_tasks (name, every) VALUES
    ('maintain', '1 hour'), ('feedback', '10 minutes'), ('channel_lists', '1 day');
COMMENT ON TABLE carillon.fleet_tasks IS
    'Internal: tasks that one worker at a time does for the whole fleet, such as maintenance and feedback passes, and when each is '
    'due.';

-- Maintenance: creates partitions of history ahead of time, drops those older than the retention, sums counts of pushes, and
-- deletes other old rows.

-- The state of each step. A step takes one transaction or several; a step that fails does not stop the others.
CREATE TABLE carillon.maintenance (
    action       text,
    target       text,
    run_order    integer NOT NULL UNIQUE,
    last_success timestamptz NOT NULL DEFAULT now(),
    last_failure timestamptz,
    last_error   text,
    PRIMARY KEY (action, target)
);
INSERT INTO carillon.maintenance (action, target, run_order) VALUES
    ('delete', 'results_default', 1), ('delete', 'failures_default', 2), ('delete', 'failed_messages_default', 3),
    ('make', 'results', 4), ('make', 'failures', 5), ('make', 'failed_messages', 6),
    ('drop', 'results', 7), ('drop', 'failures', 8), ('drop', 'failed_messages', 9),
    ('delete', 'cancelled', 10), ('sum', 'push_counts', 11), ('delete', 'push_counts', 12), ('delete', 'push_count_sums', 13),
    ('delete', 'dedupe', 14), ('delete', 'feedback', 15), ('delete', 'split_messages', 16), ('delete', 'unknown_outcomes', 17),
    ('delete', 'tokens', 18), ('delete', 'updates', 19), ('delete', 'update_stamps', 20), ('delete', 'device_slots', 21),
    ('delete', 'audit', 22);
COMMENT ON TABLE carillon.maintenance IS 'The steps of maintenance and their state.';
COMMENT ON COLUMN carillon.maintenance.action IS
    'what the step does: make or drop partitions, sum counts, or delete old rows';
COMMENT ON COLUMN carillon.maintenance.target IS 'the table with which it does this';
COMMENT ON COLUMN carillon.maintenance.run_order IS 'the order in which the steps run, from 1';
COMMENT ON COLUMN carillon.maintenance.last_success IS 'when it last succeeded';
COMMENT ON COLUMN carillon.maintenance.last_failure IS 'when it last failed';
COMMENT ON COLUMN carillon.maintenance.last_error IS 'the error of the last failure';

INSERT INTO carillon.schema_migrations (version, name) VALUES (5, 'fleet');

COMMIT;

-- 0006_tokens.up.sql
BEGIN;
SET LOCAL standard_conforming_strings = on;

-- Tokens are in lower case, so that a device has only one row and feedback finds it.
CREATE TABLE carillon.tokens (
    app_id      integer,
    token       text,
    last_update timestamptz NOT NULL DEFAULT now(),
    owner       text,
    badge       integer NOT NULL DEFAULT 0,
    kind        text NOT NULL DEFAULT 'device',
    expires_at  timestamptz,
    PRIMARY KEY (app_id, token),
    CONSTRAINT tokens_token_is_lower_case_hex CHECK (
        token ~ '^(?:[0-9a-f][0-9a-f])+$' AND length(token) <= 512),
    -- Short enough for an index entry.
    CONSTRAINT tokens_owner_is_2048_bytes_at_most CHECK (octet_length(owner) <= 2048),
    -- As in token_kinds(). No broadcast would reach a token of an unknown kind.
    CONSTRAINT tokens_kind_is_known CHECK (kind IN ('device', 'live_activity', 'push_to_start', 'widget', 'complication',
        'control', 'voip', 'location', 'file_provider', 'push_to_talk', 'mdm'))
);
ALTER TABLE carillon.tokens SET (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000
);
CREATE INDEX tokens_by_owner ON carillon.tokens (owner) WHERE owner IS NOT NULL;
-- Lets a broadcast to a few tokens skip the many device tokens between them.
CREATE INDEX tokens_by_kind ON carillon.tokens (app_id, kind, token) WHERE kind <> 'device';
CREATE INDEX tokens_by_end ON carillon.tokens (expires_at) WHERE expires_at IS NOT NULL;
COMMENT ON TABLE carillon.tokens IS 'Registered device tokens, to which broadcast sends. The feedback pass deletes dead ones.';
COMMENT ON COLUMN carillon.tokens.app_id IS 'the id of the app; no foreign key checks it';
COMMENT ON COLUMN carillon.tokens.token IS 'hex digits in lower case';
COMMENT ON COLUMN carillon.tokens.last_update IS 'when it was last registered; only later feedback deletes it';
COMMENT ON COLUMN carillon.tokens.owner IS 'an id of your own, such as a user''s; set_badge and unregister_token take it';
COMMENT ON COLUMN carillon.tokens.badge IS 'the number that badge_add adds to and sends; set_badge sets it';
COMMENT ON COLUMN carillon.tokens.kind IS
    'what the token is for: device, live_activity, push_to_start, widget, complication, control, voip, location, file_provider, '
    'push_to_talk or mdm; a broadcast reaches one kind';
COMMENT ON COLUMN carillon.tokens.expires_at IS
    'when the token expires, for example because its Live Activity ends; from then on broadcasts skip it and maintenance '
    'deletes it; null means never';

-- 410 answers, entries of the legacy feedback list, and BadDeviceToken answers for apps with reap_bad_tokens.
CREATE TABLE carillon.feedback (
    id              bigint GENERATED BY DEFAULT AS IDENTITY,
    app_id          integer NOT NULL,
    token           text NOT NULL,
    unregistered_at timestamptz NOT NULL,
    reason          text,
    source          text NOT NULL DEFAULT 'http2',
    seen_at         timestamptz NOT NULL DEFAULT now(),
    handled_at      timestamptz,
    read_at         timestamptz,
    PRIMARY KEY (app_id, id),
    CONSTRAINT feedback_source_is_known CHECK (source IN ('http2', 'binary'))
);
CREATE INDEX feedback_to_handle ON carillon.feedback (app_id, id) WHERE handled_at IS NULL;
CREATE INDEX feedback_by_time_handled ON carillon.feedback (handled_at) WHERE handled_at IS NOT NULL;
ALTER TABLE carillon.feedback SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE carillon.feedback IS 'Reports of dead tokens, from APNs and from the legacy feedback list.';
COMMENT ON COLUMN carillon.feedback.id IS 'ascending in order of arrival';
COMMENT ON COLUMN carillon.feedback.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.feedback.token IS 'the device token';
COMMENT ON COLUMN carillon.feedback.unregistered_at IS 'when the token became dead';
COMMENT ON COLUMN carillon.feedback.reason IS 'Apple''s reason';
COMMENT ON COLUMN carillon.feedback.source IS
    'where the report came from: http2 for a rejected push of any protocol, binary for the legacy feedback list';
COMMENT ON COLUMN carillon.feedback.seen_at IS 'when the report arrived';
COMMENT ON COLUMN carillon.feedback.handled_at IS 'when a feedback pass handled it; null if not yet';
COMMENT ON COLUMN carillon.feedback.read_at IS 'when a client of carillon pyapns read it; null if not yet';

-- A session that runs a batch of a feedback pass locks this row. It is not an advisory lock, because every role may take those and
-- could then prevent passes.
CREATE TABLE carillon.reap_lock (is_one_row boolean PRIMARY KEY DEFAULT true CHECK (is_one_row));
INSERT INTO carillon.reap_lock DEFAULT VALUES;
COMMENT ON TABLE carillon.reap_lock IS
    'Internal: one row, which a session locks while it deletes dead tokens, so that only one feedback pass runs at a time.';

CREATE TABLE carillon.watched_tables (
    id             bigint GENERATED BY DEFAULT AS IDENTITY,
    app_id         integer NOT NULL CONSTRAINT watched_tables_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    relation       regclass NOT NULL,
    token_column   name NOT NULL,
    updated_column name NOT NULL,
    app_column     name,
    created_at     timestamptz NOT NULL DEFAULT now(),
    last_error     text,
    -- The first row of feedback that this table has missed because a deletion failed. A later pass catches up, as far back as
    -- feedback is kept.
    missed_from    bigint,
    PRIMARY KEY (app_id, id),
    CONSTRAINT watched_tables_once_an_app UNIQUE (app_id, relation)
);
COMMENT ON TABLE carillon.watched_tables IS
    'Your own tables from which feedback passes also delete dead tokens. watch_tokens and unwatch_tokens write it.';
COMMENT ON COLUMN carillon.watched_tables.id IS 'ascending in the order in which the tables were added';
COMMENT ON COLUMN carillon.watched_tables.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.watched_tables.relation IS 'the table';
COMMENT ON COLUMN carillon.watched_tables.token_column IS 'the column with the device tokens';
COMMENT ON COLUMN carillon.watched_tables.updated_column IS 'the column with the time of registration';
COMMENT ON COLUMN carillon.watched_tables.app_column IS
    'the column with the name or id of the app; null if all rows belong to this app';
COMMENT ON COLUMN carillon.watched_tables.created_at IS 'when it was added';
COMMENT ON COLUMN carillon.watched_tables.last_error IS 'why the last pass could not delete from it; null if it could';
COMMENT ON COLUMN carillon.watched_tables.missed_from IS
    'the first row of feedback that has not been applied to it; null if there is none';

-- After the last watched table that caught up, while any have missed feedback; then after the last report of the last app.
CREATE TYPE carillon.reap_position AS (watched_table bigint, app integer, report bigint);
COMMENT ON TYPE carillon.reap_position IS 'Internal: the position in a feedback pass at which its next batch begins.';

CREATE TYPE carillon.reap_batch AS (
    state   text,  -- more, over or busy
    next    carillon.reap_position,
    of_app  text,
    handled bigint,  -- rows of feedback
    deleted bigint,  -- tokens of all tables
    faults  text[]  -- why watched tables could not be reaped, each with its table
);
COMMENT ON TYPE carillon.reap_batch IS 'Internal: what one batch of a feedback pass has done, and where the next one begins.';

-- The only rights of carillon_reaper are those granted by the owners of watched tables. Triggers, policies and rules of the table
-- run with these rights and the owner's search_path, so the statement qualifies every name. SET ROLE is refused inside this
-- function. It checks its own owner, because a restore can change it.
CREATE FUNCTION carillon.as_reaper(statement text, path text, gone text[], gone_at timestamptz[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' SET enable_seqscan = off AS $$
DECLARE
    count bigint;
BEGIN
    IF current_user <> 'carillon_reaper' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('carillon.as_reaper would run with the rights of %I, not of carillon_reaper', current_user),
            HINT = 'SELECT hint FROM carillon.unsafe_reaper() shows what to run.';
    END IF;
    PERFORM set_config('search_path', path, true);
    EXECUTE statement INTO count USING gone, gone_at;
    RETURN count;
END
$$;
COMMENT ON FUNCTION carillon.as_reaper IS
    'Internal: runs a statement on a watched table as carillon_reaper, and returns its count.';
REVOKE ALL ON FUNCTION carillon.as_reaper FROM PUBLIC;

-- Only a member of a role may make it the owner of a function.
DO $$
BEGIN
    ALTER FUNCTION carillon.as_reaper OWNER TO carillon_reaper;
EXCEPTION
    WHEN insufficient_privilege THEN
        BEGIN
            EXECUTE format('GRANT carillon_reaper TO %I', current_user);
            ALTER FUNCTION carillon.as_reaper OWNER TO carillon_reaper;
        EXCEPTION
            WHEN insufficient_privilege THEN
                RAISE EXCEPTION '% is not allowed to make carillon_reaper the owner of a function', current_user
                    USING ERRCODE = 'insufficient_privilege',
                          HINT = format('Have a superuser, or a role with ADMIN OPTION on carillon_reaper (before PostgreSQL 16 '
                              'with CREATEROLE), run: GRANT carillon_reaper TO %I', current_user);
        END;
END
$$;
REVOKE CREATE ON SCHEMA carillon FROM carillon_reaper;

INSERT INTO carillon.schema_migrations (version, name) VALUES (6, 'tokens');

COMMIT;

-- 0007_arguments.up.sql
BEGIN;
SET LOCAL standard_conforming_strings = on;

-- Types for the arguments of messages and for what is built from them.

CREATE TYPE carillon.message_arguments AS (
    app               text,
    tokens            text[],
    alert             text,
    alert_json        jsonb,  -- an alert given as JSON
    badge             bigint,
    sound             text,
    content_available boolean,
    mutable_content   boolean,
    category          text,
    thread_id         text,
    extra             jsonb,
    payload           text,
    payload_type      regtype,  -- the type of the argument
    push_type         text,
    priority          bigint,
    expires_at        timestamptz,
    collapse_id       text,
    topic             text,
    run_at            timestamptz,
    lane              bigint,
    reference         text,
    dedupe_key        text,
    dedupe_for        interval,
    on_unknown        text,
    title             text,
    subtitle          text,
    body              text,
    is_strict         boolean,
    on_duplicate      text,
    aps               jsonb,
    interruption_level text,
    relevance_score   double precision,
    target_content_id text,
    filter_criteria   text,
    stale_date        timestamptz,
    payloads          text[],
    payloads_type     regtype,  -- the type of the argument
    badge_add         bigint
);
COMMENT ON TYPE carillon.message_arguments IS 'Internal: the arguments of a call of enqueue or broadcast.';

CREATE TYPE carillon.push_rules AS (
    push_type            text,
    topic_suffix         text,
    priorities           smallint[],
    default_priority     smallint,
    payload_limit        integer,
    collapse_id_limit    integer,
    is_silent            boolean,
    needs_expiration     boolean,
    needs_provider_token boolean,
    token_kind           text
);
COMMENT ON TYPE carillon.push_rules IS 'What Apple requires of the pushes of one push type, as push_types returns it.';

CREATE TYPE carillon.draft AS (
    app_id integer, payload text, push_type text, priority smallint, scheduled boolean, refusal carillon.refusal,
    payloads json[],  -- one for each token that was given
    after_badge text  -- if each token has its own badge: what follows the badge; payload is what precedes it
);
COMMENT ON TYPE carillon.draft IS
    'Internal: a message without its tokens, checked and ready to be stored, or the reason why it is refused.';

-- last_job and later fields are from split_messages, and null if the message was not split.
CREATE TYPE carillon.chosen_message AS (
    app_id integer, id bigint, app text, last_job bigint, tokens bigint, reference text, created_at timestamptz
);
COMMENT ON TYPE carillon.chosen_message IS 'Internal: a message that message_status describes.';

CREATE TYPE carillon.token_outcome AS (
    token text, state text, status smallint, reason text, next_attempt_at timestamptz, apns_unique_id uuid
);
COMMENT ON TYPE carillon.token_outcome IS 'Internal: the state of the push to one token of a message, for message_status.';

CREATE TYPE carillon.ended_counts AS (
    sent           bigint,
    failed         bigint,
    expired        bigint,
    cancelled      bigint,
    remaining      bigint,  -- what jobs with a row of unfinished have yet to count
    attempts       integer,
    last_status    smallint,
    last_reason    text,
    reference      text,
    created_at     timestamptz,
    finished_at    timestamptz,
    ids            bigint[],  -- of its jobs
    failed_ids     bigint[],  -- of those with failures
    has_unique_ids boolean
);
COMMENT ON TYPE carillon.ended_counts IS 'Internal: counts of the pushes of a message that have ended, for message_status.';

CREATE TYPE carillon.open_counts AS (
    state       text,  -- null: all have ended
    tokens      bigint,  -- of the whole message
    waiting     bigint,
    counted     bigint,  -- tokens of jobs that were found and have a row of unfinished
    attempts    integer,
    run_at      timestamptz,
    last_status smallint,
    last_reason text,
    reference   text,
    created_at  timestamptz,
    ids         bigint[],  -- of its jobs
    outcomes    carillon.token_outcome[]  -- of the first 1,000 tokens
);
COMMENT ON TYPE carillon.open_counts IS 'Internal: counts of the pushes of a message that have not ended, for message_status.';

CREATE TYPE carillon.message_state AS (
    id              bigint,
    app             text,
    reference       text,
    -- scheduled, ready, in flight or retrying; once ended, sent or partly sent, or if nothing was sent: failed, expired, cancelled,
    -- or empty (a row without tokens)
    state           text,
    attempts        integer,
    next_attempt_at timestamptz,
    last_status     smallint,
    last_reason     text,
    tokens          bigint,
    sent            bigint,
    failed          bigint,
    expired         bigint,
    cancelled       bigint,
    waiting         bigint,
    waiting_reason  text,
    created_at      timestamptz,
    finished_at     timestamptz,
    -- The first 1,000 tokens that failed, that wait, or that were sent with an apns-unique-id that was kept. All others were sent,
    -- expired or cancelled.
    outcomes        jsonb,
    may_have_arrived boolean
);
COMMENT ON TYPE carillon.message_state IS 'A message and its state, as returned by message_status.';
COMMENT ON COLUMN carillon.message_state.id IS 'the id that enqueue or broadcast returned';
COMMENT ON COLUMN carillon.message_state.app IS 'the name of the app';
COMMENT ON COLUMN carillon.message_state.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.message_state.state IS
    'scheduled, ready, in flight or retrying; once ended: sent, partly sent, failed, expired, cancelled or empty';
COMMENT ON COLUMN carillon.message_state.attempts IS 'the highest number of attempts started for any push';
COMMENT ON COLUMN carillon.message_state.next_attempt_at IS 'when its next scheduled job or retry is due';
COMMENT ON COLUMN carillon.message_state.last_status IS
    'the status of the last failed attempt; null if there was no answer; 200 if every push that has ended was sent';
COMMENT ON COLUMN carillon.message_state.last_reason IS
    'the reason of the last failed attempt, even if the push then expired or was cancelled; Superseded if a newer push '
    'replaced it';
COMMENT ON COLUMN carillon.message_state.tokens IS 'the number of its pushes, one for each token';
COMMENT ON COLUMN carillon.message_state.sent IS
    'pushes that APNs answered with 200; with the protocol binary, pushes that no error followed';
COMMENT ON COLUMN carillon.message_state.failed IS 'pushes that failed';
COMMENT ON COLUMN carillon.message_state.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.message_state.cancelled IS 'pushes that were cancelled, or superseded by a newer push';
COMMENT ON COLUMN carillon.message_state.waiting IS 'pushes that have not ended';
COMMENT ON COLUMN carillon.message_state.waiting_reason IS
    'why it is not sent at the moment, for example a paused app, no worker, or a refused credential';
COMMENT ON COLUMN carillon.message_state.created_at IS 'when it was enqueued; null if this could not be recorded';
COMMENT ON COLUMN carillon.message_state.finished_at IS 'when its last push ended; null if some pushes have not ended';
COMMENT ON COLUMN carillon.message_state.outcomes IS
    'an array of objects {token, state, status, reason, next_attempt_at} for up to 1,000 tokens that failed or wait; if '
    'apns_unique_id was kept, it is included, also for tokens that were sent';
COMMENT ON COLUMN carillon.message_state.may_have_arrived IS
    'whether pushes that do not count as sent may have been delivered, because an attempt had no answer';

CREATE TYPE carillon.activity_arguments AS (
    app             text,
    tokens          text[],
    event           text,
    state_text      text,   -- the content state as text, or as JSON
    content_state   jsonb,
    attributes_type text,
    attributes_text text,   -- in the same form
    attributes      jsonb,
    alert           text,
    alert_type      regtype,  -- the type of the argument
    title           text,
    body            text,
    sound           text,
    channel         text,
    push_token      boolean,
    everyone        boolean,
    stale_date      timestamptz,
    relevance_score double precision,
    dismissal_date  timestamptz,
    apns_timestamp  timestamptz,
    priority        bigint,
    expires_at      timestamptz,
    run_at          timestamptz,
    lane            bigint,
    reference       text,
    dedupe_key      text,
    dedupe_for      interval,
    on_unknown      text,
    topic           text,
    aps             jsonb,
    extra           jsonb
);
COMMENT ON TYPE carillon.activity_arguments IS
    'Internal: the arguments of a call of start_activity, update_activity or end_activity.';

CREATE TYPE carillon.publication AS (
    app             text,
    channel         text,
    state_text      text,     -- the content state as text, or as JSON
    event           text,
    alert           text,
    alert_type      regtype,  -- the type of the argument
    title           text,
    body            text,
    stale_date      timestamptz,
    dismissal_date  timestamptz,
    relevance_score double precision,
    sound           text,
    aps             jsonb,
    apns_timestamp  timestamptz,
    priority        bigint,
    expires_at      timestamptz,
    run_at          timestamptz,
    lane            bigint,
    reference       text,
    dedupe_key      text,
    dedupe_for      interval,
    on_unknown      text,
    on_duplicate    text,
    extra           jsonb
);
COMMENT ON TYPE carillon.publication IS 'Internal: the arguments of a call of publish.';

INSERT INTO carillon.schema_migrations (version, name) VALUES (7, 'arguments');

COMMIT;

-- 0008_isolation.up.sql
BEGIN;
SET LOCAL standard_conforming_strings = on;

-- Isolates apps from each other by giving each its own role. The policies take effect with the first isolated role.

-- Roles whose rights were granted by hand see the same rows as before.
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

INSERT INTO carillon.schema_migrations (version, name) VALUES (8, 'isolation');

COMMIT;

-- The functions, views and rights of 0.1.0
BEGIN;

DO $$
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', (SELECT pg_catalog.pg_get_userbyid(n.nspowner) FROM pg_catalog.pg_namespace n
        WHERE n.nspname = 'carillon'));
END
$$;
SET LOCAL check_function_bodies = off;
-- functions/apps/api_tokens.sql
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


-- functions/apps/apps.sql
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

CREATE OR REPLACE TRIGGER app_changed BEFORE UPDATE ON carillon.apps FOR EACH ROW EXECUTE FUNCTION carillon.app_changed();

-- See cancel.sql and requeue.sql.
CREATE OR REPLACE FUNCTION carillon.app_added() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    INSERT INTO carillon.app_locks (app_id, lock_number) SELECT NEW.id, p FROM generate_series(0, 64) AS p ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER app_added AFTER INSERT ON carillon.apps FOR EACH ROW EXECUTE FUNCTION carillon.app_added();

CREATE OR REPLACE FUNCTION carillon.app_to_change(app text) RETURNS carillon.apps
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target carillon.apps;
BEGIN
    SELECT a.* INTO target FROM carillon.apps a WHERE a.name = app_to_change.app FOR NO KEY UPDATE;
    IF target.id IS NULL THEN
        PERFORM carillon.refuse(carillon.unknown_app(app_to_change.app));
    END IF;
    RETURN target;
END
$$;

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


-- functions/apps/channels.sql
-- Channels of APNs. Users request, record and remove them; a worker creates them at Apple, one request at a time.
--
-- A request for a channel is a row. A worker takes it for one minute, calls Apple, and records the answer: see take_channels().
-- Apple stores no reference, so a worker that dies before it records Apple's answer leaves a channel that is in no row of channels:
-- see unknown_channels.

-- find_channel() finds a channel by its reference or id, in the named app or in any app. It returns a refusal instead of raising
-- it.
CREATE OR REPLACE FUNCTION carillon.find_channel(app text, channel text, OUT known carillon.channels, OUT refusal carillon.refusal)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    target integer;
    matches carillon.channels[];
    mine CONSTANT integer[] := carillon.apps_of_caller();
BEGIN
    IF app IS NOT NULL THEN
        target := (SELECT a.id FROM carillon.apps a WHERE a.name = app AND carillon.may_use(a));
        IF target IS NULL THEN
            refusal := carillon.unknown_app(app);
            RETURN;
        END IF;
    END IF;
    -- A reference takes precedence over the id of another channel.
    matches := ARRAY(SELECT c FROM carillon.channels c
        WHERE (c.app_id = target OR target IS NULL AND (mine IS NULL OR c.app_id = ANY (mine)))
            AND (c.reference = channel OR c.channel_id = channel)
        ORDER BY c.reference <> channel, c.app_id LIMIT 2);
    IF cardinality(matches) = 0 THEN
        refusal := carillon.refusal('channel', 'the reference or the id of a channel', quote_literal(channel),
            'Request one with carillon.request_channel, or record one that Apple has with carillon.record_channel.', '42704');
    ELSIF target IS NULL AND cardinality(matches) = 2 AND (matches[1]).app_id <> (matches[2]).app_id THEN
        refusal := carillon.refusal('app', 'the name of an app if several have the channel', NULL);
    ELSE
        known := matches[1];
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION carillon.check_channel(app text, protocol text, policy bigint, reference text) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE
        WHEN protocol <> 'http2' THEN
            carillon.refusal('app', 'an app with protocol http2', quote_literal(app) || ', which has ' || protocol)
        WHEN policy NOT IN (0, 1) OR policy IS NULL THEN
            carillon.refusal('policy', '0 (Apple stores nothing) or 1 (it stores the last message)', policy::text)
        WHEN octet_length(reference) NOT BETWEEN 1 AND 255 OR reference IS NULL OR reference ~ '[[:cntrl:]]' THEN
            carillon.refusal('reference', 'text of 1 to 255 bytes without control characters', quote_literal(reference)) END
$$;

-- request_channel() does nothing for a channel that exists or was already requested.
CREATE OR REPLACE FUNCTION carillon.request_channel(
    app text, policy bigint DEFAULT 0, reference text DEFAULT pg_catalog.gen_random_uuid()::pg_catalog.text
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    max_channels CONSTANT integer := 10000;
    target carillon.apps;
    known carillon.channels;
    refusal carillon.refusal;
BEGIN
    policy := coalesce(policy, 0);
    reference := coalesce(reference, gen_random_uuid()::text);
    SELECT a.* INTO target FROM carillon.apps a
    WHERE a.name = app AND carillon.may_use(a);
    IF target.id IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSE
        refusal := carillon.check_channel(app, target.protocol, policy, reference);
    END IF;
    IF refusal.message IS NULL THEN
        SELECT c.* INTO known FROM carillon.channels c
        WHERE c.app_id = target.id AND c.reference = request_channel.reference FOR UPDATE;
        IF known.state IN ('requested', 'ready') AND known.policy <> policy THEN
            refusal := carillon.refusal('policy', format('%s, which the channel %s has', known.policy, quote_literal(reference)),
                policy::text, 'The policy of a channel cannot change: request another one.');
        ELSIF known.state = 'removing' THEN
            refusal := carillon.refusal('reference', 'a channel that is not being removed', quote_literal(reference),
                'Request it again when it has been removed.', '55000');
        ELSIF known.state IS NULL AND (SELECT count(*) FROM carillon.channels c WHERE c.app_id = target.id) >= max_channels THEN
            refusal := carillon.refusal('app', format('an app with fewer than %s channels, which is Apple''s limit', max_channels),
                quote_literal(app), 'Remove channels that are not needed.', '54000');
        END IF;
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    INSERT INTO carillon.channels AS c (app_id, reference, policy) VALUES (target.id, reference, policy)
    ON CONFLICT ON CONSTRAINT channels_pkey DO UPDATE SET state = 'requested', policy = excluded.policy, channel_id = NULL,
        created_at = NULL, last_error = NULL, requested_at = now(), next_attempt_at = now()
    WHERE c.state IN ('failed', 'missing');
    IF FOUND THEN
        PERFORM carillon.record_on_behalf('request channel', target.id,
            jsonb_build_object('reference', reference, 'policy', policy), carillon.changed_members(
                jsonb_build_object('state', known.state, 'policy', known.policy, 'channel_id', known.channel_id),
                CASE WHEN known.state IS NOT NULL THEN jsonb_build_object('state', 'requested', 'policy', policy) END));
    END IF;
    RETURN reference;
END
$$;

CREATE OR REPLACE FUNCTION carillon.record_channel(app text, channel_id text, policy bigint, reference text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target integer;
    protocol text;
    refusal carillon.refusal;
BEGIN
    SELECT a.id, a.protocol INTO target, protocol FROM carillon.apps a
    WHERE a.name = app AND carillon.may_use(a);
    IF target IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSE
        refusal := carillon.check_channel(app, protocol, policy, reference);
    END IF;
    IF refusal.message IS NOT NULL THEN
        NULL;
    ELSIF (channel_id ~ '^[!-~]{1,255}$') IS NOT TRUE THEN
        refusal := carillon.refusal('channel_id', 'Apple''s id of a channel', quote_literal(channel_id));
    ELSIF EXISTS (SELECT FROM carillon.channels c
        WHERE c.app_id = target AND (c.reference = record_channel.reference OR c.channel_id = record_channel.channel_id))
    THEN
        refusal := carillon.refusal('channel_id', 'a channel and a reference that are not recorded yet',
            quote_literal(channel_id) || ' and ' || quote_literal(reference), NULL, '23505');
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    INSERT INTO carillon.channels (app_id, reference, policy, channel_id, state)
    VALUES (target, reference, policy, channel_id, 'ready');
    PERFORM carillon.record_on_behalf('record channel', target,
        jsonb_build_object('reference', reference, 'policy', policy, 'channel_id', channel_id));
    DELETE FROM carillon.unknown_channels s WHERE s.app_id = target AND s.channel_id = record_channel.channel_id;
END
$$;

-- Each poll of channel() must see what was committed before it, which requires the isolation level READ COMMITTED.
CREATE OR REPLACE FUNCTION carillon.channel(reference text, app text DEFAULT NULL, wait interval DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    answer record;
    ends CONSTANT timestamptz := clock_timestamp() + wait;
BEGIN
    LOOP
        answer := carillon.find_channel(app, reference);
        IF (answer.refusal).message IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = (answer.refusal).code, MESSAGE = (answer.refusal).message,
                COLUMN = (answer.refusal).argument, HINT = coalesce((answer.refusal).hint, 'Pass the argument app.');
        END IF;
        CASE (answer.known).state
            WHEN 'ready' THEN RETURN (answer.known).channel_id;
            WHEN 'failed', 'missing' THEN
                RAISE EXCEPTION 'the channel % is %: %', quote_literal(reference), (answer.known).state,
                    coalesce((answer.known).last_error, 'the reason is unknown')
                USING ERRCODE = 'object_not_in_prerequisite_state',
                    HINT = 'Fix that, and request it again with carillon.request_channel.';
            ELSE NULL;
        END CASE;
        IF wait IS NULL OR clock_timestamp() >= ends THEN
            RETURN NULL;
        ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'argument "wait" needs the isolation level READ COMMITTED'
            USING ERRCODE = 'feature_not_supported', COLUMN = 'wait',
                HINT = 'At other levels, a transaction never sees what a worker records.';
        -- The same transaction: now() is one in all of it, while a savepoint has a transaction id of its own.
        ELSIF (answer.known).requested_at = now() AND pg_current_xact_id_if_assigned() IS NOT NULL THEN
            RAISE EXCEPTION 'argument "wait" needs a channel whose request is committed'
            USING ERRCODE = 'object_not_in_prerequisite_state', COLUMN = 'wait',
                HINT = 'Commit after carillon.request_channel: until then, no worker sees the request.';
        END IF;
        PERFORM pg_sleep(least(0.1, greatest(0.001, extract(epoch FROM ends - clock_timestamp()))));
    END LOOP;
END
$$;

-- remove_channel() removes at once a channel that Apple never created.
CREATE OR REPLACE FUNCTION carillon.remove_channel(app text, channel text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    answer record := carillon.find_channel(coalesce(app, ''), channel);
BEGIN
    IF (answer.refusal).message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = (answer.refusal).code, MESSAGE = (answer.refusal).message,
            COLUMN = (answer.refusal).argument, HINT = (answer.refusal).hint;
    END IF;
    DELETE FROM carillon.channels c
    WHERE (c.app_id, c.reference) = ((answer.known).app_id, (answer.known).reference)
        AND (c.state = 'missing' OR c.channel_id IS NULL AND NOT c.request_is_open);
    UPDATE carillon.channels c SET state = 'removing', last_error = NULL,
        -- A request in progress ends first.
        next_attempt_at = CASE WHEN c.request_is_open THEN c.next_attempt_at ELSE now() END
    WHERE (c.app_id, c.reference) = ((answer.known).app_id, (answer.known).reference);
    PERFORM carillon.record_on_behalf('remove channel', (answer.known).app_id,
        jsonb_build_object('reference', (answer.known).reference, 'channel_id', (answer.known).channel_id,
            'policy', (answer.known).policy, 'state_before', (answer.known).state));
END
$$;

CREATE OR REPLACE FUNCTION carillon.take_channels(max_rows integer, skipped integer[] DEFAULT '{}') RETURNS TABLE (
    app_id integer, reference text, policy smallint, channel_id text, is_removal boolean, attempt integer
)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH due AS (
        SELECT c.app_id, c.reference FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id
        WHERE c.state IN ('requested', 'removing') AND c.next_attempt_at <= now() AND NOT a.paused
            AND c.app_id <> ALL (skipped)
        ORDER BY c.next_attempt_at LIMIT max_rows FOR UPDATE OF c SKIP LOCKED)
    UPDATE carillon.channels c SET attempts = c.attempts + 1, request_is_open = true, next_attempt_at = now() + interval '1 minute'
    FROM due d WHERE c.app_id = d.app_id AND c.reference = d.reference
    RETURNING c.app_id, c.reference, c.policy, c.channel_id, c.state = 'removing', c.attempts
$$;

-- channel_made() returns false if another worker has taken the request over; that worker requests another channel.
CREATE OR REPLACE FUNCTION carillon.channel_made(app integer, reference text, attempt integer, channel_id text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM carillon.channels c WHERE c.app_id = app AND c.channel_id = channel_made.channel_id
        AND c.reference = channel_made.reference)
    THEN
        RETURN true;  -- already recorded by a statement whose answer was lost
    END IF;
    UPDATE carillon.channels c SET channel_id = channel_made.channel_id, created_at = now(), last_error = NULL,
        request_is_open = false, next_attempt_at = now(), state = CASE c.state WHEN 'requested' THEN 'ready' ELSE c.state END
    WHERE c.app_id = app AND c.reference = channel_made.reference AND c.attempts = attempt AND c.channel_id IS NULL
        AND c.state IN ('requested', 'removing');
    IF FOUND THEN
        RETURN true;
    END IF;
    INSERT INTO carillon.unknown_channels AS s (app_id, channel_id, is_ours) SELECT app, channel_made.channel_id, true
    WHERE NOT EXISTS (SELECT FROM carillon.channels c WHERE c.app_id = app AND c.channel_id = channel_made.channel_id)
    ON CONFLICT (app_id, channel_id) DO UPDATE SET is_ours = true;
    RETURN false;
END
$$;

-- A null `again` means that Apple will never fulfil the request. Other requests of the app are delayed by the same interval, so
-- that an unreachable channel service does not delay the channels of other apps.
CREATE OR REPLACE FUNCTION carillon.channel_failed(
    app integer, reference text, attempt integer, error text, again interval, is_unknown boolean
) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    UPDATE carillon.channels c SET last_error = error, request_is_open = is_unknown,
        next_attempt_at = now() + coalesce(again, CASE
            -- A channel that Apple never created is deleted at once.
            WHEN c.state = 'removing' AND c.channel_id IS NULL THEN interval '0' ELSE interval '1 hour' END),
        state = CASE WHEN again IS NULL AND c.state = 'requested' THEN 'failed' ELSE c.state END
    WHERE c.app_id = app AND c.reference = channel_failed.reference AND c.attempts = attempt;
    UPDATE carillon.channels c SET next_attempt_at = now() + again
    WHERE c.app_id = app AND c.reference <> channel_failed.reference AND c.state IN ('requested', 'removing')
        AND c.next_attempt_at <= now() AND again IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION carillon.channel_gone(app integer, reference text, attempt integer) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    DELETE FROM carillon.channels c
    WHERE c.app_id = app AND c.reference = channel_gone.reference AND c.attempts = attempt AND c.state = 'removing'
$$;

-- channels_refused() marks channels as missing at once, before the next comparison. It skips rows that another session has locked,
-- which the comparison then handles, so that a settlement never waits for another session. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.channels_refused(app integer, tokens text[], reasons text[]) RETURNS void
LANGUAGE sql AS $$
    UPDATE carillon.channels c SET state = 'missing', last_error = 'Apple answered ' || lost.reason || '.'
    FROM (
        SELECT k.reference, r.reason FROM carillon.channels k JOIN (
            SELECT pg_catalog.lower(u.token) AS token, pg_catalog.min(u.reason) AS reason
            FROM unnest(tokens, reasons) AS u(token, reason)
            WHERE u.reason IN ('ChannelNotRegistered', 'BadChannelId') GROUP BY 1
        ) AS r ON r.token = pg_catalog.encode(pg_catalog.convert_to(k.channel_id, 'UTF8'), 'hex')
        WHERE k.app_id = channels_refused.app AND k.state = 'ready' FOR UPDATE OF k SKIP LOCKED
    ) AS lost
    WHERE c.app_id = channels_refused.app AND c.reference = lost.reference
$$;

-- A channel recorded after `listed_at` may be missing from the list.
CREATE OR REPLACE FUNCTION carillon.channels_listed(app integer, listed text[], listed_at timestamptz) RETURNS TABLE (
    channel_id text, reference text, state text, is_ours boolean, first_seen_at timestamptz
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    UPDATE carillon.channels c SET state = 'missing', last_error = 'Apple no longer has this channel.'
    WHERE c.app_id = app AND c.state = 'ready' AND c.channel_id <> ALL (listed)
        AND coalesce(c.created_at, c.requested_at) < listed_at;
    UPDATE carillon.channels c SET state = 'ready', last_error = NULL
    WHERE c.app_id = app AND c.state = 'missing' AND c.channel_id = ANY (listed);
    DELETE FROM carillon.unknown_channels s
    WHERE s.app_id = app AND (s.channel_id <> ALL (listed) AND s.first_seen_at < listed_at
        OR EXISTS (SELECT FROM carillon.channels c WHERE c.channel_id = s.channel_id));
    -- Another app here may share the topic at Apple, and have this channel.
    INSERT INTO carillon.unknown_channels (app_id, channel_id)
    SELECT app, l.id FROM unnest(listed) AS l(id)
    WHERE NOT EXISTS (SELECT FROM carillon.channels c WHERE c.channel_id = l.id)
    ON CONFLICT DO NOTHING;
    RETURN QUERY
    SELECT c.channel_id, c.reference, c.state, NULL::boolean, NULL::timestamptz FROM carillon.channels c
    WHERE c.app_id = app
    UNION ALL
    SELECT s.channel_id, NULL, 'unknown', s.is_ours, s.first_seen_at FROM carillon.unknown_channels s
    WHERE s.app_id = app
    ORDER BY 2, 1;
END
$$;


-- functions/apps/credential_input.sql
-- Writes what is secret. PostgreSQL may log the text and the parameters of every statement, for every user, but never the data of
-- COPY. So programs write credentials and provider tokens with COPY in binary format; in the other formats, an error would show the
-- line. They copy into a view, whose trigger writes to the table.

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

CREATE OR REPLACE TRIGGER credential_written INSTEAD OF INSERT ON carillon.credential_input FOR EACH ROW
EXECUTE FUNCTION carillon.credential_written();

-- One token at a time: the next session finds what this one wrote. The lock is that of a row: with an advisory lock, which any
-- login can take, a stranger could keep the fleet from minting tokens. The function sets its own lock_timeout, because behind a
-- pooler the worker's settings do not apply to COPY.
CREATE OR REPLACE FUNCTION carillon.provider_token_minted() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    clock_error CONSTANT integer := 60;  -- seconds
    known carillon.provider_tokens;
BEGIN
    PERFORM FROM carillon.certificates c WHERE c.id = NEW.certificate_id AND c.updated_at = NEW.since FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT p.* INTO known FROM carillon.provider_tokens p WHERE p.certificate_id = NEW.certificate_id;
    -- It may have taken too long to arrive.
    IF carillon.seconds_to_renewal(known, NEW.refused_at) > 0
        OR abs(extract(epoch FROM clock_timestamp()) - NEW.issued_at) > clock_error
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO carillon.provider_tokens AS p (certificate_id, jwt, issued_at)
    VALUES (NEW.certificate_id, NEW.jwt, to_timestamp(NEW.issued_at))
    ON CONFLICT (certificate_id) DO UPDATE
    SET jwt = excluded.jwt, issued_at = excluded.issued_at, rests_until = NULL;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER provider_token_minted INSTEAD OF INSERT ON carillon.provider_token_input FOR EACH ROW
EXECUTE FUNCTION carillon.provider_token_minted();


-- functions/apps/open_breakers.sql
-- Pauses apps most of whose pushes fail because of their settings. A worker calls open_breakers() after it has written its counts
-- of pushes. It locks rows of apps in order of id, and skips those that are locked. app_changed() closes a breaker.

-- mostly_failed() has no SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.mostly_failed(bad numeric, pushes numeric) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT bad OPERATOR(pg_catalog.*) 2 OPERATOR(pg_catalog.>) pushes $$;

-- open_breakers() opens the breaker of an app if most of its pushes failed as BadDeviceToken or because of their topic. Most likely
-- its environment or topic is wrong, and all other pushes would fail too.
--
-- The check covers two periods: the current minute alone, so that earlier successful pushes do not dilute the failures, and the
-- current minute with the previous one, so that the start of a new minute does not hide them. If another session is changing the
-- app, the next call checks it.
CREATE OR REPLACE FUNCTION carillon.open_breakers(apps integer[]) RETURNS TABLE (app_id integer, app text, reason text)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    fewest CONSTANT integer := 100;  -- fewer pushes prove nothing
    target record;
    earlier integer;
    since timestamptz;
    tokens bigint;
    topics bigint;
    bad bigint;
    pushes bigint;
    opens boolean;
BEGIN
    FOR target IN
        SELECT a.id, a.name, a.environment, a.topic, b.closed_at, b.closed_bad, b.closed_pushes
        FROM carillon.apps a LEFT JOIN carillon.breakers b ON b.app_id = a.id
        WHERE a.id = ANY (apps) AND NOT a.paused ORDER BY a.id FOR NO KEY UPDATE OF a SKIP LOCKED
    LOOP
        FOREACH earlier IN ARRAY ARRAY[0, 1] LOOP
            since := greatest(date_trunc('minute', now()) - earlier * interval '1 minute',
                date_trunc('minute', target.closed_at));
            SELECT sum(t.bad_tokens), sum(t.bad_topics), sum(t.sent + t.failed) INTO tokens, topics, pushes
            FROM carillon.push_counts t WHERE t.minute >= since AND t.app_id = target.id;
            bad := tokens + topics;
            IF since = date_trunc('minute', target.closed_at) THEN
                bad := bad - target.closed_bad;
                pushes := pushes - target.closed_pushes;
            END IF;
            opens := pushes >= fewest AND carillon.mostly_failed(bad, pushes);
            EXIT WHEN opens;
        END LOOP;
        CONTINUE WHEN opens IS NOT TRUE;
        app_id := target.id;
        app := target.name;
        reason := format('%s of %s pushes within %s failed %s. Fix that, and resume with: carillon app resume %s', bad, pushes,
            CASE earlier WHEN 0 THEN 'a minute' ELSE 'two minutes' END,
            CASE WHEN topics > tokens
                THEN format('because of their topic: the credential or the device tokens probably do not belong to %s',
                    coalesce('the topic ' || target.topic, 'that topic'))
                ELSE format('as BadDeviceToken: the app''s tokens probably do not belong to the environment %s',
                    target.environment) END,
            -- As a word of a command.
            CASE WHEN target.name ~ '^[A-Za-z0-9._-]+$' THEN target.name
                ELSE format('''%s''', replace(target.name, '''', E'''\\''''')) END);
        PERFORM set_config('carillon.source', 'worker', true);
        UPDATE carillon.apps a SET paused = true, paused_reason = open_breakers.reason WHERE a.id = target.id;
        INSERT INTO carillon.breakers AS b (app_id, bad, pushes) VALUES (target.id, bad, pushes)
        ON CONFLICT (app_id) DO UPDATE SET opened_at = now(), bad = excluded.bad,
            pushes = excluded.pushes, closed_at = NULL, closed_bad = 0, closed_pushes = 0;
        RETURN NEXT;
    END LOOP;
END
$$;


-- functions/apps/provider_token.sql
-- The provider tokens that workers share, because APNs refuses new ones that come too often. A worker calls provider_token() when
-- it needs one for a signing key.

-- A token is replaced after fifty minutes, or sooner if APNs refused it as expired, but never within twenty minutes or before
-- rests_until. A token from the future was minted before the clock was set back, and a rest that is too long began before that. The
-- row may have any times.
CREATE OR REPLACE FUNCTION carillon.seconds_to_renewal(known carillon.provider_tokens, refused_at bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    -- Seconds.
    usual_life CONSTANT integer := 3000;
    refused_life CONSTANT integer := 1200;
    clock_error CONSTANT integer := 60;
    clock CONSTANT bigint := floor(extract(epoch FROM clock_timestamp()));
    earliest CONSTANT timestamptz := '2000-01-01 00:00+00';
    latest CONSTANT timestamptz := '2200-01-01 00:00+00';
    made_at CONSTANT bigint := floor(extract(epoch FROM least(greatest(known.issued_at, earliest), latest)));
    age CONSTANT bigint := clock - made_at;
    rest bigint := ceil(extract(epoch FROM least(greatest(known.rests_until, earliest), latest))) - clock;
BEGIN
    IF rest > refused_life + clock_error THEN
        rest := 0;
    END IF;
    IF known.jwt IS NULL OR age < -clock_error
        OR rest <= 0 AND (age >= CASE WHEN made_at = refused_at THEN refused_life ELSE usual_life END)
    THEN
        RETURN 0;
    END IF;
    RETURN greatest(usual_life - age, rest, 1);
END
$$;

-- If provider_token() returns null, the caller must mint a token with the time in `clock`, copy it into provider_token_input, and
-- call again. If another worker was faster, its token is returned.
--
-- `since` is certificates.updated_at as the caller knows it, so a token of an old key is never returned for a new one. `refused_at`
-- is when the token that APNs refused was minted.
CREATE OR REPLACE FUNCTION carillon.provider_token(
    credential integer, since timestamptz, refused_at bigint,
    OUT token text, OUT made_at bigint, OUT renews_in bigint, OUT clock bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    known carillon.provider_tokens;
BEGIN
    clock := floor(extract(epoch FROM clock_timestamp()));
    SELECT p.* INTO known FROM carillon.provider_tokens p JOIN carillon.certificates c ON c.id = p.certificate_id
    WHERE c.id = credential AND c.updated_at = since;
    renews_in := carillon.seconds_to_renewal(known, refused_at);
    IF renews_in > 0 THEN
        token := known.jwt;
        made_at := floor(extract(epoch FROM greatest(known.issued_at, '2000-01-01 00:00+00')));
    END IF;
END
$$;


-- functions/apps/validity.sql
CREATE OR REPLACE FUNCTION carillon.validity(not_after timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN not_after <= now() THEN 'expired' WHEN not_after <= now() + interval '30 days' THEN 'expiring' ELSE 'ok' END
$$;


-- functions/database/audit.sql
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

-- changed_members() also records a null, for example of a limit that was null before.
CREATE OR REPLACE FUNCTION carillon.changed_members(before jsonb, after jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(k.key, after -> k.key) || jsonb_object_agg(k.key || '_before', before -> k.key), '{}')
    FROM jsonb_object_keys(before || after) AS k(key)
    WHERE coalesce(before -> k.key, 'null') <> coalesce(after -> k.key, 'null')
$$;

-- record_change() leaves out details that are null. `changed` has new and earlier values: see changed_members().
CREATE OR REPLACE FUNCTION carillon.record_change(action text, app text, details jsonb, changed jsonb DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    INSERT INTO carillon.audit (on_behalf_of, source, action, app, details)
    VALUES (nullif(nullif(left(btrim(current_setting('carillon.on_behalf_of', true)), 60), ''), session_user),
        coalesce(nullif(left(current_setting('carillon.source', true), 60), ''), 'SQL'), action, app,
        jsonb_strip_nulls(details) || coalesce(changed, '{}'))
$$;

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

-- app_record() leaves out columns that workers write and columns that are derived.
CREATE OR REPLACE FUNCTION carillon.app_record(app carillon.apps) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT to_jsonb(app) - '{id,certificate_id,gateway_ca,feedback_error,is_guarded,created_at,updated_at}'::text[]
        || jsonb_build_object('credential', (SELECT c.name FROM carillon.certificates c WHERE c.id = (app).certificate_id),
            'gateway_ca', 'SHA-256 ' || left(encode(sha256(convert_to((app).gateway_ca, 'UTF8')), 'hex'), 16) || '…')
$$;

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
CREATE OR REPLACE TRIGGER certificate_recorded AFTER INSERT OR UPDATE OR DELETE ON carillon.certificates FOR EACH ROW
EXECUTE FUNCTION carillon.certificate_recorded();


-- functions/database/compression.sql
-- How claims are stored. rights.sql and adopt() call this, and it changes the table only if it is not as it should be.

-- LZ4 halves what a claim writes to the WAL, at no cost. With pglz, a claim would take a third longer, so without LZ4 nothing is
-- compressed. It waits only once, because an upgrade holds other locks meanwhile; the next upgrade tries again.
CREATE OR REPLACE FUNCTION carillon.choose_compression() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    has_lz4 CONSTANT boolean := EXISTS (
        SELECT FROM pg_settings s WHERE s.name = 'default_toast_compression' AND 'lz4' = ANY (s.enumvals));
BEGIN
    IF EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = 'carillon.inflight'::regclass AND a.attname = 'jobs'
            AND CASE WHEN has_lz4 THEN a.attstorage = 'x' AND a.attcompression = 'l' ELSE a.attstorage = 'e' END)
    THEN
        RETURN;
    END IF;
    PERFORM carillon.lock_tables('{inflight}', '0');
    IF has_lz4 THEN
        ALTER TABLE carillon.inflight ALTER jobs SET COMPRESSION lz4, ALTER jobs SET STORAGE EXTENDED;
    ELSE
        ALTER TABLE carillon.inflight ALTER jobs SET STORAGE EXTERNAL;
    END IF;
EXCEPTION
    WHEN lock_not_available THEN
        NULL;
END
$$;


-- functions/database/installation.sql
-- Where an installation lives. A copy of a database, such as a restored backup, has the jobs of the original too, and must not send
-- them again. So workers, feedback passes and enqueueing over HTTP first check that this database is the one that the installation
-- has recorded; `carillon adopt` records the present one.
--
-- A standby has the system identifier of its primary, so it can send after its promotion. A clone of a disk has it too: it can be
-- told from the original only by a name, which the owner of the schema gives to the installation, and the sessions of its programs
-- must have in the setting carillon.installation.

CREATE OR REPLACE FUNCTION carillon.this_database(OUT system_identifier bigint, OUT database_oid bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    SELECT d.oid INTO database_oid FROM pg_database d WHERE d.datname = current_database();
    BEGIN
        SELECT s.system_identifier INTO system_identifier FROM pg_control_system() AS s;
    EXCEPTION WHEN insufficient_privilege THEN
        system_identifier := 0;  -- some servers do not reveal it; the OID of the database remains
    END;
END
$$;

CREATE OR REPLACE FUNCTION carillon.installation_fault() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    here CONSTANT record := carillon.this_database();
    home carillon.installation;
    name CONSTANT text := nullif(current_setting('carillon.installation', true), '');
BEGIN
    SELECT i.* INTO home FROM carillon.installation i;
    RETURN CASE
        WHEN (home.system_identifier, home.database_oid) <> (here.system_identifier, here.database_oid) THEN format(
            'this database is a copy: its pushes belong to the database %s of cluster %s, and this is database %s of cluster %s',
            home.database_oid, home.system_identifier, here.database_oid, here.system_identifier)
        WHEN home.name IS DISTINCT FROM name THEN format(
            'this installation is %s, and carillon.installation is %s in the options of this connection',
            coalesce('named ' || quote_literal(home.name), 'not named'), coalesce(quote_literal(name), 'not set'))
    END;
END
$$;

-- A worker asks with each heartbeat. If the log that is safe on disk has become shorter, the database went back to an older state,
-- as after restoring a backup.
CREATE OR REPLACE FUNCTION carillon.installation_state(OUT fault text, OUT cluster bigint, OUT timeline integer, OUT flushed bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    fault := carillon.installation_fault();
    cluster := (carillon.this_database()).system_identifier;
    BEGIN
        flushed := pg_current_wal_flush_lsn() - '0/0'::pg_lsn;
        timeline := ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::integer;
    EXCEPTION WHEN OTHERS THEN
        timeline := NULL;  -- some managed servers do not say
    END;
END
$$;

CREATE OR REPLACE FUNCTION carillon.check_installation() RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    fault CONSTANT text := carillon.installation_fault();
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = fault, HINT = 'To send pushes from here, run: carillon adopt';
    END IF;
END
$$;

-- The original's workers do not serve this copy, so all claims are taken over. Jobs created before `expire_before` expire: the next
-- worker ends them without sending them. So do those that dead workers hold, as in an older state of the same database. The server
-- of a copy may lack the compression of the original, or have a better one.
CREATE OR REPLACE FUNCTION carillon.adopt(installation text DEFAULT NULL, expire_before timestamptz DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    here CONSTANT record := carillon.this_database();
    home carillon.installation;
    is_copy boolean;
    expired bigint := 0;
    changed bigint;
BEGIN
    SELECT i.* INTO STRICT home FROM carillon.installation i FOR UPDATE;
    is_copy := (home.system_identifier, home.database_oid) <> (here.system_identifier, here.database_oid);
    IF is_copy OR expire_before IS NOT NULL THEN
        -- The condition is on the row itself, so that PostgreSQL checks it again after waiting for a heartbeat.
        DELETE FROM carillon.workers w WHERE is_copy OR w.lease_until < now();
        PERFORM carillon.take_over(0);
    END IF;
    -- The epoch stands for no limit. A row may have been created at infinity.
    UPDATE carillon.messages m SET expires_at = now()
    WHERE (m.created_at < expire_before OR expire_before = 'infinity')
        AND (m.expires_at > now() OR m.expires_at = 'epoch' OR m.expires_at IS NULL);
    GET DIAGNOSTICS expired = ROW_COUNT;
    UPDATE carillon.scheduled s SET expires_at = now()
    WHERE (s.created_at < expire_before OR expire_before = 'infinity')
        AND (s.expires_at > now() OR s.expires_at = 'epoch' OR s.expires_at IS NULL);
    GET DIAGNOSTICS changed = ROW_COUNT;
    expired := expired + changed;
    UPDATE carillon.installation i SET system_identifier = here.system_identifier, database_oid = here.database_oid,
        name = nullif(coalesce(adopt.installation, home.name), '');
    PERFORM carillon.record_change('adopt', NULL, jsonb_build_object('database', here.database_oid,
        'cluster', here.system_identifier::text, 'name', nullif(coalesce(installation, home.name), ''), 'expired_jobs', expired));
    PERFORM carillon.choose_compression();
    RETURN expired;
END
$$;


-- functions/database/isolation.sql
-- Isolates apps from each other by giving each its own role. The owner of the schema calls isolate_app() and unisolate_app();
-- 0008_isolation.up.sql has the policies. Functions that run as their owner bypass these and ask apps_of_caller().

-- The tables whose rows belong to apps, each with the policies of 0008_isolation.up.sql.
CREATE OR REPLACE FUNCTION carillon.guarded_tables() RETURNS name[]
LANGUAGE sql IMMUTABLE AS $$ SELECT '{apps,messages,tokens,results,failures,channels}'::pg_catalog.name[] $$;

-- Roles belong to the cluster: a role that is isolated in another database is a carillon_tenant here too, and must not use the
-- schema while nothing limits it. Every upgrade calls enforce_isolation() with the current state, which then needs no lock.
CREATE OR REPLACE FUNCTION carillon.enforce_isolation(is_on boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    -- Of new apps.
    has_default CONSTANT boolean := EXISTS (
        SELECT FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE d.adrelid = 'carillon.apps'::regclass AND a.attname = 'is_guarded'
            AND pg_get_expr(d.adbin, d.adrelid) = is_on::text);
    relation regclass;
BEGIN
    PERFORM carillon.lock_tables(ARRAY(
        SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND c.relrowsecurity <> is_on
            AND c.relname = ANY (carillon.guarded_tables())
        UNION SELECT 'apps' WHERE NOT has_default OR EXISTS (SELECT FROM carillon.apps a WHERE a.is_guarded <> is_on)
        ORDER BY 1));
    IF has_schema_privilege('carillon_tenant', 'carillon', 'USAGE') <> is_on THEN
        EXECUTE CASE WHEN is_on THEN 'GRANT USAGE ON SCHEMA carillon TO carillon_tenant'
            ELSE 'REVOKE USAGE ON SCHEMA carillon FROM carillon_tenant' END;
        DELETE FROM carillon.recorded_rights r WHERE r.kind = 'schema' AND r.role = 'carillon_tenant';
        INSERT INTO carillon.recorded_rights
        SELECT p.* FROM carillon.present_rights() p WHERE p.kind = 'schema' AND p.role = 'carillon_tenant';
    END IF;
    FOR relation IN
        SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND c.relrowsecurity <> is_on
            AND c.relname = ANY (carillon.guarded_tables()) ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE %s %s ROW LEVEL SECURITY', relation, CASE WHEN is_on THEN 'ENABLE' ELSE 'DISABLE' END);
    END LOOP;
    IF NOT has_default THEN
        EXECUTE format('ALTER TABLE carillon.apps ALTER is_guarded SET DEFAULT %L', is_on);
    END IF;
    UPDATE carillon.apps a SET is_guarded = is_on WHERE a.is_guarded <> is_on;
END
$$;

-- A carillon_tenant may use only the apps in app_roles, unless it also has the rights of the schema's owner (who may be a member in
-- order to grant the role). The caller is the login or the role it has set, even inside functions that run as their owner.
-- PostgreSQL does not say who owns the function that called: it could be one of an isolated role. So while a role is isolated, a
-- caller without rights on Carillon may use no app.
CREATE OR REPLACE FUNCTION carillon.apps_of_caller() RETURNS integer[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE
        WHEN pg_has_role(c.role, 'carillon_app', 'USAGE') OR pg_has_role(c.role, current_user, 'USAGE') THEN NULL
        WHEN pg_has_role(c.role, 'carillon_tenant', 'USAGE') OR NOT (
                pg_has_role(c.role, 'carillon_worker', 'USAGE') OR pg_has_role(c.role, 'carillon_operator', 'USAGE')
                OR pg_has_role(c.role, 'carillon_reader', 'USAGE')
                OR NOT EXISTS (SELECT FROM carillon.app_roles)
                -- Rights that were granted by hand.
                OR EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.prosecdef
                    AND has_function_privilege(c.role, p.oid, 'EXECUTE')))
            THEN ARRAY(SELECT r.app_id FROM carillon.app_roles r WHERE pg_has_role(c.role, r.role, 'USAGE')) END
    FROM (SELECT coalesce(nullif(current_setting('role'), 'none')::name, session_user) AS role) c
$$;

-- While no role is isolated, may_use() does not look up the caller: enqueue calls it each time. PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.may_use(app carillon.apps) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT NOT app.is_guarded OR coalesce(app.id OPERATOR(pg_catalog.=) ANY (carillon.apps_of_caller()), true)
$$;

-- Two calls must not both have read apps before one of them locks it. So the first statement of isolate_app() and unisolate_app()
-- lets one call in at a time. It keeps nobody from reading, and does not wait for roles that can only name the table: a statement
-- that they may not run, but can prepare, locks it in ROW EXCLUSIVE mode.
CREATE OR REPLACE FUNCTION carillon.isolate_app(app text, role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    isolated integer;
    refusal carillon.refusal;
    known pg_roles;
    wider text;
BEGIN
    LOCK TABLE carillon.app_roles IN SHARE UPDATE EXCLUSIVE MODE;
    isolated := carillon.app_id(app);
    SELECT r.* INTO known FROM pg_roles r WHERE r.rolname = role;
    SELECT g.name INTO wider FROM (
        SELECT unnest(ARRAY['carillon_app', 'carillon_reader', 'carillon_operator', 'carillon_worker']) AS name
        UNION ALL SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n WHERE n.nspname = 'carillon') AS g
    WHERE pg_has_role(known.oid, g.name, 'MEMBER') LIMIT 1;
    IF known.oid IS NULL THEN
        refusal := carillon.refusal('role', 'the name of a role', quote_literal(role),
            'Create it with: CREATE ROLE ' || quote_ident(role) || ' LOGIN', '42704');
    ELSIF known.rolsuper OR known.rolbypassrls THEN
        refusal := carillon.refusal('role', 'a role that can be isolated',
            quote_literal(role) || ', which bypasses row-level security', 'Let the app log in as a role without such rights.');
    ELSIF wider IS NOT NULL THEN
        refusal := carillon.refusal('role', 'a role that can be isolated',
            quote_literal(role) || ', which sees all apps as a member of ' || wider,
            format('REVOKE %I FROM %I, or from the role through which it is a member.', wider, role));
    END IF;
    PERFORM carillon.refuse(refusal);
    INSERT INTO carillon.app_roles (app_id, role) VALUES (isolated, known.oid) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM carillon.record_change('isolate', app, jsonb_build_object('role', role));
    END IF;
    BEGIN
        EXECUTE format('GRANT carillon_tenant TO %I', role);
    EXCEPTION
        WHEN insufficient_privilege THEN
            RAISE insufficient_privilege USING MESSAGE = SQLERRM, HINT = format(
                'Have a superuser, or a role with ADMIN OPTION on carillon_tenant (before PostgreSQL 16 with CREATEROLE), run: '
                'GRANT carillon_tenant TO %I WITH ADMIN OPTION', current_user);
    END;
    -- Last, because its locks stop enqueues until the transaction ends.
    PERFORM carillon.enforce_isolation(true);
END
$$;

-- The role of unisolate_app() may have been dropped already. Row-level security is disabled when the last isolated role is removed.
CREATE OR REPLACE FUNCTION carillon.unisolate_app(app text, role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    isolated integer;
    -- Null if there is no such role.
    known CONSTANT oid := (SELECT o.oid FROM pg_roles o WHERE o.rolname = unisolate_app.role);
BEGIN
    LOCK TABLE carillon.app_roles IN SHARE UPDATE EXCLUSIVE MODE;
    isolated := carillon.app_id(unisolate_app.app);
    -- A dropped role leaves its oid behind.
    DELETE FROM carillon.app_roles r WHERE r.app_id = isolated
        AND (r.role::oid = known OR known IS NULL AND NOT EXISTS (SELECT FROM pg_roles o WHERE o.oid = r.role::oid));
    IF NOT FOUND THEN
        PERFORM carillon.refuse(carillon.refusal('role', 'a role that is isolated to the app', quote_literal(unisolate_app.role),
            coalesce((SELECT 'These roles are isolated to it: ' || string_agg(r.role::text, ', ' ORDER BY r.role::text) || '.'
                FROM carillon.app_roles r WHERE r.app_id = isolated), 'No role is isolated to it.'), '42704'));
    END IF;
    PERFORM carillon.record_change('unisolate', unisolate_app.app, jsonb_build_object('role', unisolate_app.role));
    IF known IS NOT NULL AND NOT EXISTS (SELECT FROM carillon.app_roles r JOIN pg_roles o ON o.oid = r.role
        WHERE o.rolname = unisolate_app.role)
    THEN
        EXECUTE format('REVOKE carillon_tenant FROM %I', unisolate_app.role);
    END IF;
    IF NOT EXISTS (SELECT FROM carillon.app_roles) THEN
        PERFORM carillon.enforce_isolation(false);
    END IF;
END
$$;


-- functions/database/lock_tables.sql
-- Locks tables against all other sessions, before a statement changes the tables themselves.
--
-- While a session waits for this lock, all later statements that name the table wait behind it, those of enqueue too. So an attempt
-- ends after 100 ms, and others go on before the next one.
--
-- That is too short for PostgreSQL to end an autovacuum of the table, which it does after deadlock_timeout, usually a second. So
-- the lock that a vacuum takes is taken first: statements on rows do not wait behind that, however long it takes. A caller that
-- waits for less than a second gets only attempts of 100 ms, and leaves an autovacuum to end by itself.

-- lock_tables() names the table that it has waited for, and who uses it. The locks last until the end of the transaction.
CREATE OR REPLACE FUNCTION carillon.lock_tables(tables text[], within interval DEFAULT '10 seconds') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    limit_of_attempt CONSTANT interval := interval '100 milliseconds';
    give_up_at CONSTANT timestamptz := clock_timestamp() + within;
    attempt_ends_at timestamptz := clock_timestamp() + CASE WHEN within < interval '1 second' THEN limit_of_attempt
        ELSE greatest(within, interval '2 seconds') END;
    strength text := 'SHARE UPDATE EXCLUSIVE';
    wait double precision := 0.05;  -- in seconds
    name text;
BEGIN
    LOOP
        BEGIN
            FOREACH name IN ARRAY tables LOOP
                PERFORM set_config('lock_timeout',
                    greatest(1, ceil(extract(epoch FROM attempt_ends_at - clock_timestamp()) * 1000))::text, true);
                EXECUTE format('LOCK TABLE ONLY carillon.%I IN %s MODE', name, strength);
            END LOOP;
            EXIT WHEN strength = 'ACCESS EXCLUSIVE';
            strength := 'ACCESS EXCLUSIVE';
        EXCEPTION
            -- What the attempt has locked is unlocked here.
            WHEN lock_not_available THEN
                IF clock_timestamp() >= give_up_at THEN
                    RAISE lock_not_available USING MESSAGE = format('carillon.%s is in use, and was not locked', name),
                        DETAIL = coalesce((
                            SELECT 'It is used by ' || string_agg(u.who, ', ') || '.' FROM (
                                SELECT DISTINCT coalesce('process ' || l.pid || ' (' || concat_ws(', ',
                                    nullif(a.application_name, ''), 'user ' || a.usename, a.state) || ')',
                                    'a prepared transaction') AS who
                                FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
                                LEFT JOIN pg_stat_activity a ON a.pid = l.pid
                                WHERE l.relation = format('carillon.%I', name)::regclass AND l.granted
                                    AND l.pid IS DISTINCT FROM pg_backend_pid() AND (strength = 'ACCESS EXCLUSIVE'
                                        OR l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock'))
                                ORDER BY 1 LIMIT 3) AS u),
                            'The session that used it has just ended.'),
                        HINT = 'Try again when that transaction has ended.';
                END IF;
                PERFORM pg_sleep(wait * (0.5 + random() / 2));
                wait := least(wait * 2, 0.5);
        END;
        attempt_ends_at := clock_timestamp() + limit_of_attempt;
    END LOOP;
END
$$;


-- functions/database/maintain.sql
-- Maintenance, which workers run every hour, and pg_cron may. Each step is done in short transactions. A step waits at most 100 ms
-- at a time for a lock, skips locked rows, and runs in one session at a time.

-- delete_old() skips locked rows. `more` tells whether rows are left.
CREATE OR REPLACE FUNCTION carillon.delete_old(relation text, horizon timestamptz, OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    max_rows CONSTANT integer := 10000;
    is_old CONSTANT text := CASE relation
        WHEN 'results_default' THEN 't.finished_at < $1'
        WHEN 'failures_default' THEN 't.failed_at < $1'
        WHEN 'failed_messages_default' THEN 't.failed_at < $1'
        WHEN 'cancelled' THEN 't.cancelled_at < $1'
        WHEN 'push_counts' THEN 't.minute < greatest($1, now() - interval ''1 day'')'
        WHEN 'push_count_sums' THEN 't.start < greatest($1, now() - interval ''2 days'')'
        WHEN 'dedupe' THEN 't.until <= now()'
        WHEN 'feedback' THEN 't.handled_at < $1'
        -- Tokens whose Live Activity has ended.
        WHEN 'tokens' THEN 't.expires_at <= now()'
        WHEN 'audit' THEN 't.at < least($1, now() - interval ''1 year'')'
        -- An activity lives for at most 12 hours.
        WHEN 'updates' THEN 't.due_at < least($1, now() - interval ''1 day'')'
        WHEN 'update_stamps' THEN 't.due_at < least($1, now() - interval ''1 day'')'
        WHEN 'device_slots' THEN 't.last_at < now() - interval ''1 hour'''
        -- Kept as long as the results of the message, because ended_unsent() reads both.
        WHEN 'unknown_outcomes' THEN 't.noted_at < $1
            AND NOT EXISTS (SELECT FROM carillon.results r WHERE r.app_id = t.app_id AND r.message_id = t.message_id)
            AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.app_id = t.app_id AND u.message_id = t.message_id)
            AND NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = t.app_id AND s.id = t.message_id)
            AND NOT EXISTS (SELECT FROM carillon.messages m
                WHERE m.app_id = t.app_id AND m.lane IN (SELECT l.lane FROM carillon.filled_lanes(t.app_id) l)
                AND m.id = t.message_id)'
        -- Deleted after the results of its jobs.
        WHEN 'split_messages' THEN 't.created_at < $1
            AND NOT EXISTS (SELECT FROM carillon.results r WHERE r.app_id = t.app_id AND r.broadcast_id = t.id)
            AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.app_id = t.app_id AND u.broadcast_id = t.id)
            AND NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = t.app_id AND s.broadcast_id = t.id)
            AND NOT EXISTS (
                SELECT FROM carillon.messages m WHERE m.app_id = t.app_id AND m.lane = t.lane
                AND m.id BETWEEN t.id AND t.last_id AND m.broadcast_id = t.id)'
    END;
BEGIN
    EXECUTE format('DELETE FROM carillon.%I d WHERE d.ctid = ANY (ARRAY('
        || 'SELECT t.ctid FROM carillon.%I t WHERE %s LIMIT %s FOR UPDATE SKIP LOCKED))', relation, relation, is_old, max_rows)
    USING horizon;
    GET DIAGNOSTICS changed = ROW_COUNT;
    more := changed = max_rows;
END
$$;

-- A worker may write the counts of a minute a little late, so the last two sums of an app are computed again. Sums never shrink,
-- because old counts are deleted.
CREATE OR REPLACE FUNCTION carillon.sum_push_counts(OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    size CONSTANT interval := interval '20 minutes';
    until CONSTANT timestamptz := date_bin(size, now() - interval '1 minute', 'epoch');
BEGIN
    INSERT INTO carillon.push_count_sums AS s (start, app_id, sent, failed, expired, retried)
    SELECT date_bin(size, t.minute, 'epoch'), a.id, sum(t.sent), sum(t.failed), sum(t.expired), sum(t.retried)
    FROM carillon.apps a CROSS JOIN LATERAL (
        SELECT coalesce(max(s.start) - size, '-infinity') AS since FROM carillon.push_count_sums s WHERE s.app_id = a.id
    ) last JOIN carillon.push_counts t ON t.app_id = a.id AND t.minute >= last.since AND t.minute < until
    GROUP BY 1, 2
    ON CONFLICT (app_id, start) DO UPDATE SET sent = greatest(s.sent, excluded.sent),
        failed = greatest(s.failed, excluded.failed), expired = greatest(s.expired, excluded.expired),
        retried = greatest(s.retried, excluded.retried)
    WHERE excluded.sent > s.sent OR excluded.failed > s.failed OR excluded.expired > s.expired OR excluded.retried > s.retried;
    GET DIAGNOSTICS changed = ROW_COUNT;
    more := false;
END
$$;

-- maintain_step() returns how many partitions or rows it changed, whether there is more to do, and the error with its SQLSTATE. It
-- does nothing while another session runs the same step. Runs as its owner, because only the owner of a table can create or drop
-- its partitions. Without a retention, it takes that of the workers.
CREATE OR REPLACE FUNCTION carillon.maintain_step(
    action text, target text, retention interval DEFAULT NULL, OUT changed bigint, OUT more boolean, OUT error text,
    OUT state text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    retention := coalesce(retention, (SELECT c.retention FROM carillon.fleet_tasks c WHERE c.name = 'maintain'), interval '7 days');
    IF retention < interval '1 hour' THEN
        RAISE EXCEPTION 'argument "retention" takes an interval of 1 hour or more, got %', retention
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    changed := 0;
    more := false;
    PERFORM FROM carillon.maintenance m WHERE m.action = maintain_step.action AND m.target = maintain_step.target
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    BEGIN
        IF action = 'make' THEN
            SELECT s.* INTO changed, more FROM carillon.make_partitions(target) AS s;
        ELSIF action = 'drop' THEN
            SELECT s.* INTO changed, more FROM carillon.drop_partition(target, now() - retention) AS s;
        ELSIF action = 'sum' THEN
            SELECT s.* INTO changed, more FROM carillon.sum_push_counts() AS s;
        ELSE
            SELECT s.* INTO changed, more FROM carillon.delete_old(target, now() - retention) AS s;
        END IF;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            changed := 0;
            more := false;
            error := SQLERRM;
            state := SQLSTATE;
    END;
    IF error IS NOT NULL THEN
        UPDATE carillon.maintenance m SET last_failure = now(), last_error = maintain_step.error
        WHERE m.action = maintain_step.action AND m.target = maintain_step.target;
    ELSIF NOT more THEN
        UPDATE carillon.maintenance m SET last_success = now()
        WHERE m.action = maintain_step.action AND m.target = maintain_step.target;
    END IF;
END
$$;

-- maintain() commits after each part of a step, and warns about steps that failed.
CREATE OR REPLACE PROCEDURE carillon.maintain(retention interval DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    step pg_catalog.record;
    done pg_catalog.record;
BEGIN
    FOR step IN SELECT m.action, m.target FROM carillon.maintenance m ORDER BY m.run_order LOOP
        LOOP
            SELECT s.* INTO done FROM carillon.maintain_step(step.action, step.target, retention) AS s;
            COMMIT;
            IF done.error IS NOT NULL THEN
                RAISE WARNING 'step "% %" failed: %', step.action, step.target, done.error;
            END IF;
            EXIT WHEN NOT done.more;
        END LOOP;
    END LOOP;
END
$$;

-- default_partition_rows() is exact up to 1,000, and the planner's estimate beyond.
CREATE OR REPLACE FUNCTION carillon.default_partition_rows() RETURNS TABLE (relation text, rows bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    max_rows CONSTANT integer := 1000;
    plan json;
BEGIN
    FOREACH relation IN ARRAY ARRAY['results', 'failures', 'failed_messages'] LOOP
        EXECUTE format('SELECT count(*) FROM (SELECT FROM carillon.%I LIMIT %s) few', relation || '_default', max_rows + 1)
            INTO rows;
        IF rows > max_rows THEN
            EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM carillon.%I', relation || '_default') INTO plan;
            rows := greatest(rows, (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric::bigint);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- When a task of the fleet is due, or null while a worker has it. `seconds` is the interval of the caller; null is that of the row.
CREATE OR REPLACE FUNCTION carillon.task_due_at(task carillon.fleet_tasks, seconds double precision, clock timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF task.worker_id IS NOT NULL THEN
        -- A worker that was declared dead has no row.
        RETURN CASE WHEN NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = task.worker_id) THEN clock END;
    ELSIF task.next_run <= clock OR task.next_run - task.every > clock THEN
        -- If it was last begun in the future, the clock of the database was set back.
        RETURN clock;
    END IF;
    RETURN least(task.next_run, task.next_run - task.every + make_interval(secs => seconds));
END
$$;


-- functions/database/partitions.sql
-- The daily partitions of results, failures and failed_messages. Maintenance creates and drops them every hour; rights.sql creates
-- the first ones. Rows of a day without a partition go to the default partition.

-- partitions() returns no bounds for the default partition.
CREATE OR REPLACE FUNCTION carillon.partitions(parent text)
RETURNS TABLE (name text, lower_bound timestamptz, upper_bound timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC' AS $$
    SELECT c.relname, coalesce(substring(b.text FROM 'FROM [(]''([^'']+)''[)]')::timestamptz,
            CASE WHEN b.text <> 'DEFAULT' THEN '-infinity'::timestamptz END),
        substring(b.text FROM 'TO [(]''([^'']+)''[)]')::timestamptz
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid)) AS b(text)
    WHERE i.inhparent = format('carillon.%I', partitions.parent)::regclass
$$;

-- The table that make_partition_table() makes gets the constraints, indexes and columns that users have added to the parent.
-- Attaching it later takes a weaker lock on the parent than CREATE TABLE … PARTITION OF. Rows rarely change and the table is
-- dropped whole, so inserts need not start a vacuum.
CREATE OR REPLACE FUNCTION carillon.make_partition_table(parent text, child text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    EXECUTE format('CREATE TABLE carillon.%I (LIKE carillon.%I INCLUDING ALL EXCLUDING IDENTITY EXCLUDING COMMENTS) '
        || 'WITH (autovacuum_vacuum_insert_threshold = -1)', child, parent);
    IF (SELECT c.relreplident = 'f' FROM pg_class c WHERE c.oid = format('carillon.%I', parent)::regclass) THEN
        EXECUTE format('ALTER TABLE carillon.%I REPLICA IDENTITY FULL', child);
    END IF;
END
$$;

-- replace_default_partition() moves rows that do not meet the condition into the new default partition, unless the CHECK `proof`
-- has shown that there are none; is_proven is null if there is no CHECK. lock_tables() takes the ACCESS EXCLUSIVE locks that others
-- would wait behind. PostgreSQL refuses DETACH PARTITION CONCURRENTLY if there is a default partition.
CREATE OR REPLACE FUNCTION carillon.replace_default_partition(
    parent text, lower_bound timestamptz, upper_bound timestamptz, condition text, proof text, is_proven boolean,
    lock_wait interval
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET datestyle = 'ISO' SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
    spare CONSTANT text := parent || '_default';
    child CONSTANT text := parent || to_char(upper_bound - interval '1 day', '_YYYYMMDD');
    columns text;
BEGIN
    PERFORM carillon.make_partition_table(parent, parent || '_next');
    PERFORM carillon.lock_tables(ARRAY[parent, spare], lock_wait);
    EXECUTE format('ALTER TABLE carillon.%I DETACH PARTITION carillon.%I', parent, spare);
    EXECUTE format('ALTER TABLE carillon.%I RENAME TO %I', spare, child);
    EXECUTE format('ALTER TABLE carillon.%I RENAME TO %I', parent || '_next', spare);
    EXECUTE format('COMMENT ON TABLE carillon.%I IS %L', spare,
        obj_description(format('carillon.%I', child)::regclass, 'pg_class'));
    IF is_proven IS NOT TRUE THEN
        SELECT string_agg(quote_ident(a.attname), ', ') INTO columns FROM pg_attribute a
        WHERE a.attrelid = format('carillon.%I', parent)::regclass AND a.attnum > 0 AND NOT a.attisdropped
            AND a.attgenerated = '';
        EXECUTE format('WITH moved AS (DELETE FROM carillon.%I WHERE NOT (%s) RETURNING *) '
            || 'INSERT INTO carillon.%I (%s) SELECT %s FROM moved', child, condition, spare, columns, columns);
    END IF;
    EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%s) TO (%L)',
        parent, child, coalesce(quote_literal(lower_bound), 'MINVALUE'), upper_bound);
    EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I DEFAULT', parent, spare);
    IF is_proven IS NOT NULL THEN
        EXECUTE format('ALTER TABLE carillon.%I DROP CONSTRAINT %I', child, proof);
    END IF;
END
$$;

-- If the default partition has rows of today, no partition for today can be attached. Then no rows move: the default partition
-- becomes the partition of all days up to now, and an empty table replaces it. PostgreSQL scans the whole partition to prove that
-- its rows belong to those days. If that would take long, a CHECK that blocks no writer proves it first; each call then does one
-- step in its own transaction and returns `more`. The CHECK must be dropped before the end of the day that it names, so it names a
-- day that ends at least two hours from now.
CREATE OR REPLACE FUNCTION carillon.make_partitions(parent text, OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET datestyle = 'ISO' SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
    small CONSTANT bigint := 32 * 1024 * 1024;  -- bytes: read in about ten milliseconds
    lock_wait CONSTANT interval := interval '500 milliseconds';  -- workers soon repeat a step that fails
    time_column CONSTANT text := CASE parent WHEN 'results' THEN 'finished_at' ELSE 'failed_at' END;
    spare CONSTANT text := parent || '_default';
    days date[] := ARRAY(
        SELECT d.day::date FROM generate_series(now()::date, now()::date + 3, interval '1 day') AS d(day)
        WHERE NOT EXISTS (SELECT FROM carillon.partitions(parent) p WHERE p.lower_bound <= d.day AND p.upper_bound > d.day)
        ORDER BY d.day);
    is_used boolean := false;
    lower_bound timestamptz;
    upper_bound timestamptz;
    condition text;  -- for rows within the bounds
    proof text;  -- the name of the CHECK
    old_proof text;
    is_proven boolean;
    day date;
BEGIN
    changed := 0;
    more := false;
    IF days[1] = now()::date THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM carillon.%I)', spare) INTO is_used;
    END IF;
    IF is_used THEN
        SELECT max(p.upper_bound) FILTER (WHERE p.upper_bound <= days[1]), least(
            min(p.lower_bound) FILTER (WHERE p.lower_bound > days[1]), (now() + interval '2 hours')::date + 1)
        INTO lower_bound, upper_bound FROM carillon.partitions(parent) p;
        condition := format('%I < %L', time_column, upper_bound)
            || coalesce(format(' AND %I >= %L', time_column, lower_bound), '');
        proof := 'days_up_to_' || to_char(upper_bound, 'YYYYMMDD');
    END IF;
    SELECT c.conname, c.convalidated INTO old_proof, is_proven FROM pg_constraint c
    WHERE c.conrelid = format('carillon.%I', spare)::regclass AND c.conname ~ '^days_up_to_[0-9]{8}$';
    IF old_proof IS DISTINCT FROM proof AND old_proof IS NOT NULL THEN
        -- Left behind by a worker that died.
        PERFORM carillon.lock_tables(ARRAY[spare], lock_wait);
        EXECUTE format('ALTER TABLE carillon.%I DROP CONSTRAINT %I', spare, old_proof);
        is_proven := NULL;
    END IF;

    IF is_used AND is_proven IS NOT TRUE AND pg_relation_size(format('carillon.%I', spare)::regclass) > small THEN
        IF is_proven IS NULL THEN
            PERFORM carillon.lock_tables(ARRAY[spare], lock_wait);
            EXECUTE format('ALTER TABLE carillon.%I ADD CONSTRAINT %I CHECK (%s) NOT VALID', spare, proof, condition);
            more := true;
            RETURN;
        END IF;
        BEGIN
            EXECUTE format('ALTER TABLE carillon.%I VALIDATE CONSTRAINT %I', spare, proof);
            more := true;
            RETURN;
        EXCEPTION
            WHEN check_violation THEN
                NULL;  -- there are rows of other days, which are moved below
        END;
    END IF;

    FOREACH day IN ARRAY days LOOP
        CONTINUE WHEN day < upper_bound;
        PERFORM carillon.make_partition_table(parent, parent || to_char(day, '_YYYYMMDD'));
    END LOOP;
    IF is_used THEN
        PERFORM carillon.replace_default_partition(parent, lower_bound, upper_bound, condition, proof, is_proven, lock_wait);
        changed := 1;
    ELSIF days <> '{}' THEN
        -- To attach a partition, PostgreSQL reads the default partition and locks it, after the parent.
        EXECUTE format('LOCK TABLE ONLY carillon.%I IN SHARE UPDATE EXCLUSIVE MODE', parent);
        PERFORM carillon.lock_tables(ARRAY[spare], lock_wait);
    END IF;
    FOREACH day IN ARRAY days LOOP
        CONTINUE WHEN day < upper_bound;
        EXECUTE format('ALTER TABLE carillon.%I ATTACH PARTITION carillon.%I FOR VALUES FROM (%L) TO (%L)',
            parent, parent || to_char(day, '_YYYYMMDD'), day::timestamptz, (day + 1)::timestamptz);
        changed := changed + 1;
    END LOOP;
END
$$;

-- drop_partition() returns whether there may be more. A partition that is in use, or on which a view depends, is skipped until a
-- later call.
CREATE OR REPLACE FUNCTION carillon.drop_partition(parent text, horizon timestamptz, OUT changed bigint, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    child text;
    fault text;
    lock_wait interval := interval '500 milliseconds';
BEGIN
    FOR child IN
        SELECT p.name FROM carillon.partitions(parent) p
        WHERE p.upper_bound <= horizon AND p.name ~ ('^' || parent || '_[0-9]{8}$') ORDER BY p.upper_bound
    LOOP
        BEGIN
            PERFORM carillon.lock_tables(ARRAY[parent, child, parent || '_default'], lock_wait);
            EXECUTE format('DROP TABLE carillon.%I', child);
            changed := 1;
            more := true;
            RETURN;
        EXCEPTION
            WHEN lock_not_available THEN
                fault := coalesce(fault, format('%s is not dropped yet: %s is in use', child, parent));
                lock_wait := interval '0';  -- once for all
            WHEN OTHERS THEN
                fault := coalesce(fault, format('%s is not dropped: %s', child, SQLERRM));
        END;
    END LOOP;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING ERRCODE = 'object_in_use';
    END IF;
    changed := 0;
    more := false;
END
$$;


-- functions/database/recorded_rights.sql
-- What rights.sql has granted, so that a right that is missing later can be named: revoked by hand, or lost when a dump was
-- restored before its roles existed. rights.sql calls record_rights() at its end, and carillon check reads missing_rights().

-- One row for each right of one role, whoever has granted it. Partitions have no rights of their own.
CREATE OR REPLACE FUNCTION carillon.present_rights()
RETURNS TABLE (role text, kind text, object text, column_name text, privilege text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT r.rolname::text, o.kind, o.object, o.column_name, g.privilege_type
    FROM (
        SELECT 'schema', n.nspname::text, '', n.nspacl FROM pg_namespace n WHERE n.nspname = 'carillon'
        UNION ALL
        SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, c.oid::regclass::text, '', c.relacl
        FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND NOT c.relispartition
        UNION ALL
        SELECT 'column', c.oid::regclass::text, a.attname::text, a.attacl FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'carillon'::regnamespace AND NOT c.relispartition AND NOT a.attisdropped
        UNION ALL
        SELECT 'function', p.oid::regprocedure::text, '', p.proacl FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace
    ) AS o (kind, object, column_name, acl)
    CROSS JOIN LATERAL aclexplode(o.acl) AS g
    JOIN pg_roles r ON r.oid = g.grantee
    WHERE r.rolname IN ('carillon_app', 'carillon_operator', 'carillon_reader', 'carillon_tenant', 'carillon_worker')
$$;

CREATE OR REPLACE FUNCTION carillon.record_rights() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    DELETE FROM carillon.recorded_rights;
    INSERT INTO carillon.recorded_rights SELECT p.* FROM carillon.present_rights() p;
$$;

-- A missing object or role is a fault of the schema, not of its rights.
CREATE OR REPLACE FUNCTION carillon.missing_rights(of_role name, as_role name DEFAULT NULL) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT r.privilege || CASE WHEN r.column_name <> '' THEN format(' (%I)', r.column_name) ELSE '' END || ' on '
        || CASE r.kind WHEN 'schema' THEN 'schema ' ELSE '' END || r.object
    FROM carillon.recorded_rights r JOIN pg_roles a ON a.rolname = coalesce(as_role, of_role)
    WHERE r.role = of_role AND NOT CASE r.kind
        WHEN 'schema' THEN has_schema_privilege(a.oid, r.object, r.privilege)
        WHEN 'sequence' THEN has_sequence_privilege(a.oid, to_regclass(r.object), r.privilege)
        WHEN 'table' THEN has_table_privilege(a.oid, to_regclass(r.object), r.privilege)
        WHEN 'column' THEN has_column_privilege(a.oid, to_regclass(r.object), r.column_name, r.privilege)
        ELSE has_function_privilege(a.oid, to_regprocedure(r.object), r.privilege) END
    ORDER BY r.kind <> 'schema', r.kind = 'function', 1
$$;


-- functions/database/refusal.sql
-- Errors for arguments. A check returns a refusal, and the function that the user has called raises it.
--
-- Functions that carillon_app may call raise their refusals themselves, so that an application gets an error with one line of
-- context. All other functions call refuse() or app_id(), which add a second line. carillon_app may call app_id() too, but only the
-- program does.

-- refusal() escapes control characters, so that the message stays on one line.
CREATE OR REPLACE FUNCTION carillon.refusal(
    argument text, takes text, got text, hint text DEFAULT NULL, code text DEFAULT '22023'
) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(pg_catalog.format('argument "%s" takes %s, got %s', argument, takes, coalesce((
            SELECT pg_catalog.string_agg(CASE
                WHEN c.letter OPERATOR(pg_catalog.=) E'\n' THEN E'\\n'
                WHEN c.letter OPERATOR(pg_catalog.=) E'\r' THEN E'\\r'
                WHEN c.letter OPERATOR(pg_catalog.=) E'\t' THEN E'\\t'
                WHEN c.letter OPERATOR(pg_catalog.~) '[[:cntrl:]]' THEN E'\\u' OPERATOR(pg_catalog.||)
                    pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.ascii(c.letter)), 4, '0')
                ELSE c.letter END, '' ORDER BY c.place)
            FROM pg_catalog.string_to_table(CASE WHEN pg_catalog.length(got) OPERATOR(pg_catalog.>) 80
                THEN pg_catalog.left(got, 77) OPERATOR(pg_catalog.||) '…' ELSE got END, NULL)
                WITH ORDINALITY AS c(letter, place)),
            CASE WHEN got IS NULL THEN 'null' ELSE 'an empty string' END)),
        hint, argument, code)::carillon.refusal
$$;

CREATE OR REPLACE FUNCTION carillon.refuse(refusal carillon.refusal) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION carillon.unknown_app(app text) RETURNS carillon.refusal
LANGUAGE sql STABLE AS $$
    SELECT carillon.refusal('app', 'the name of an app', pg_catalog.quote_literal(app), coalesce(
            (SELECT 'The apps are: ' OPERATOR(pg_catalog.||) pg_catalog.string_agg(few.name, ', ' ORDER BY few.name)
                OPERATOR(pg_catalog.||) '.' FROM (
                    SELECT a.name FROM carillon.apps a WHERE o.mine IS NULL OR a.id OPERATOR(pg_catalog.=) ANY (o.mine)
                    ORDER BY a.name LIMIT 10) few),
            CASE WHEN o.mine IS NULL THEN 'There is no app yet. Add one with: carillon app add'
                ELSE 'The login, or the role that it has set, may use no app: GRANT carillon_app to it, or have the owner of the '
                    'schema call carillon.isolate_app for it.' END),
        '42704')
    FROM carillon.apps_of_caller() AS o(mine)
$$;

-- app_id() is for callers that refuse no other argument at the same time.
CREATE OR REPLACE FUNCTION carillon.app_id(app text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    id CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = app);
BEGIN
    IF id IS NULL THEN
        PERFORM carillon.refuse(carillon.unknown_app(app));
    END IF;
    RETURN id;
END
$$;


-- functions/database/session_path.sql
-- Which objects a name without a schema means.
--
-- Functions pin search_path with SET, because an app may own the session that calls them, and could choose what their names mean.
-- But users may add INSERT triggers to results, failures, failed_messages, feedback, messages and scheduled, and these triggers
-- rely on the search_path of their session. So a function that only workers call restores that path just before it inserts into
-- one of these tables, in one of three forms:
--
-- 1. It calls use_session_path(). The path of the session lasts until the function returns. A handler of EXCEPTION has the pinned
--    path.
-- 2. settle() and insert_jobs(), where each call counts, have the statement of use_session_path() in their bodies: that takes half
--    the time. insert_jobs() then sets the pinned path again, because it goes on with names that have no schema.
-- 3. A function that these call pins nothing. Its comment says that it may run after use_session_path().
--
-- On the path of the session, names are not safe: on PostgreSQL 14, an app may create functions in schema public. So there,
-- relations and functions are written with their schema, and operators get operands of exactly their declared types, for which
-- PostgreSQL prefers its own. unnest() of several arrays is always the built-in one.
CREATE OR REPLACE FUNCTION carillon.use_session_path() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_catalog.set_config('search_path', NULL, true);
END
$$;


-- functions/enqueue/check_arguments.sql
-- Checks the arguments of a message. draft() calls these functions, each only for messages that need it.
--
-- Only functions that users call pin search_path. These leave it to them.

-- As in the table of messages. PostgreSQL inlines the function.
CREATE OR REPLACE FUNCTION carillon.max_reference_bytes() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1024 $$;

-- Later calculations would fail with times outside these years. PostgreSQL inlines the function.
CREATE OR REPLACE FUNCTION carillon.is_usual(at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT at OPERATOR(pg_catalog.>=) pg_catalog.timestamptz '2000-01-01 00:00:00Z'
        AND at OPERATOR(pg_catalog.<) pg_catalog.timestamptz '2201-01-01 00:00:00Z'
$$;

CREATE OR REPLACE FUNCTION carillon.has_payload_fields(m carillon.message_arguments) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound,
        m.content_available, m.mutable_content, m.category, m.thread_id, m.extra, m.aps, m.interruption_level,
        m.relevance_score, m.target_content_id, m.filter_criteria, m.stale_date) > 0
$$;

CREATE OR REPLACE FUNCTION carillon.payload_field_names() RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'alert, title, subtitle, body, badge, badge_add, sound, content_available, mutable_content, category, '
        'thread_id, extra, aps, interruption_level, relevance_score, target_content_id, filter_criteria or stale_date'
$$;

-- Looks for the bytes of the topic in the first certificate of a PEM text. The bytes of a longer topic that contains it may be
-- found instead, so true means only that the push may be attempted.
CREATE OR REPLACE FUNCTION carillon.names_topic(certificate text, topic text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    pem CONSTANT text := regexp_replace(
        substring(certificate from '-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----'), '[[:space:]]', '', 'g');
    der bytea;
BEGIN
    IF pem !~ '^[A-Za-z0-9+/]+={0,2}$' OR length(pem) % 4 <> 0 THEN
        RETURN NULL;
    END IF;
    der := decode(pem, 'base64');
    -- The user ID of the subject, and the present and the former extension of Apple: 1.2.840.113635.100.6.3.6 and .4.
    IF position(decode('0992268993f22c640101', 'hex') IN der) + position(decode('2a864886f76364060306', 'hex') IN der)
        + position(decode('2a864886f76364060304', 'hex') IN der) > 0
    THEN
        RETURN position(convert_to(topic, 'UTF8') IN der) > 0;
    END IF;
    RETURN NULL;
END
$$;

-- check_topic() does not take the message, because PL/pgSQL would copy it with all its tokens.
CREATE OR REPLACE FUNCTION carillon.check_topic(app_name text, given text, rules carillon.push_rules) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    other carillon.push_rules;
BEGIN
    IF given !~ '^[!-~]{1,255}$' THEN
        RETURN carillon.refusal('topic', '1 to 255 visible ASCII characters', quote_literal(given));
    END IF;
    IF right(given, length(rules.topic_suffix)) <> rules.topic_suffix OR given = rules.topic_suffix THEN
        RETURN carillon.refusal('topic',
            format('a bundle ID followed by %s for push type %s', rules.topic_suffix, rules.push_type),
            quote_literal(given), 'Leave it out to use the topic of the app with this suffix.');
    END IF;
    IF rules.topic_suffix = '' THEN
        SELECT p.* INTO other FROM carillon.push_types() AS p
        WHERE p.topic_suffix <> '' AND right(given, length(p.topic_suffix)) = p.topic_suffix
            -- A bundle ID may have the same ending.
            AND NOT EXISTS (SELECT FROM carillon.apps a WHERE a.name = app_name AND given = ANY (a.topic || a.topics));
        IF FOUND THEN
            RETURN carillon.refusal('topic',
                format('a topic that does not end with %s for push type %s', other.topic_suffix, rules.push_type),
                quote_literal(given), format('Pass push_type => %L, which has such topics.', other.push_type));
        END IF;
    END IF;
    IF given <> ALL ((SELECT carillon.topics_of(a.id) FROM carillon.apps a WHERE a.name = app_name)::text[]) THEN
        RETURN carillon.refusal('topic', format('a topic of the app %L', app_name), quote_literal(given),
            'Leave it out to use the app''s own topic, or list it with ''carillon app set NAME --topics TOPIC,TOPIC''.');
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION carillon.check_heading(m carillon.message_arguments, push_type text) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    rules CONSTANT carillon.push_rules := carillon.rules_of(push_type);
    refusal carillon.refusal;
    credential record;
BEGIN
    IF m.priority <> ALL (rules.priorities) THEN
        RETURN carillon.refusal('priority', regexp_replace(array_to_string(rules.priorities, ', '), ', ([0-9]+)$', E' or \\1')
                || CASE WHEN cardinality(rules.priorities) < 3 AND push_type <> 'channel'
                    THEN ' for push type ' || push_type ELSE '' END,
            m.priority::text, CASE WHEN rules.default_priority IS NOT NULL THEN 'Leave it out: Apple refuses any other.' END);
    END IF;
    -- The epoch is Apple's way to say that a push is not to be stored.
    IF NOT carillon.is_usual(m.expires_at) AND m.expires_at <> timestamptz 'epoch' THEN
        RETURN carillon.refusal('expires_at', 'a time from the year 2000 to 2200, or 1970-01-01 00:00:00 UTC',
            quote_literal(m.expires_at),
            CASE WHEN m.expires_at = 'infinity' THEN 'Leave it out for a push that never expires.' END);
    END IF;
    IF m.collapse_id = '' OR octet_length(m.collapse_id) > rules.collapse_id_limit
        OR m.collapse_id ~ '[[:cntrl:]]|^[[:space:]]|[[:space:]]$' THEN
        RETURN carillon.refusal('collapse_id', 'text of 1 to ' || rules.collapse_id_limit || ' bytes without control characters '
                'and without spaces at either end',
            quote_literal(m.collapse_id) || ' (' || octet_length(m.collapse_id) || ' bytes)');
    END IF;
    IF m.topic IS NOT NULL THEN
        refusal := carillon.check_topic(m.app, m.topic, rules);
        IF refusal.message IS NOT NULL THEN
            RETURN refusal;
        END IF;
    END IF;
    -- A signing key sends to all topics of its team.
    IF push_type <> 'channel' AND (rules.needs_provider_token OR rules.topic_suffix <> '' OR m.topic IS NOT NULL) THEN
        SELECT c.name, c.certificate, c.topics, coalesce(m.topic, CASE
            WHEN right(t.topic, length(rules.topic_suffix)) = rules.topic_suffix THEN t.topic
            ELSE t.topic || rules.topic_suffix END) AS topic INTO credential
        FROM carillon.apps a JOIN carillon.certificates c ON c.id = a.certificate_id
        CROSS JOIN LATERAL (SELECT coalesce(a.topic, c.topics[1]) AS topic) t
        WHERE a.name = m.app AND c.key_id IS NULL AND a.protocol = 'http2';
        IF rules.needs_provider_token AND credential.name IS NOT NULL THEN
            RETURN carillon.refusal('app', 'an app with a signing key for push type ' || push_type,
                format('%L, which has the certificate %s', m.app, credential.name),
                'Import a key with ''carillon credential import''; it sends to all topics of its team.');
        -- The topics are null until a worker or a command has read the certificate.
        ELSIF cardinality(credential.topics) > 0 AND credential.topic <> ALL (credential.topics)
            OR credential.topics IS NULL AND NOT carillon.names_topic(credential.certificate, credential.topic)
        THEN
            RETURN carillon.refusal(CASE WHEN m.topic IS NULL THEN 'app' ELSE 'topic' END,
                CASE WHEN m.topic IS NULL THEN format('an app that may send to the topic %s', credential.topic)
                    ELSE 'a topic that the app''s certificate is for' END,
                format('%L, and the certificate %s is for %s', coalesce(m.topic, m.app), credential.name,
                    coalesce(array_to_string(credential.topics, ', '), 'other topics')),
                'Import a signing key with ''carillon credential import''; it sends to all topics of its team.');
        END IF;
    END IF;
    IF octet_length(m.reference) > carillon.max_reference_bytes() THEN
        RETURN carillon.refusal('reference', format('text of at most %s bytes', carillon.max_reference_bytes()),
            quote_literal(left(m.reference, 40)) || '… (' || octet_length(m.reference) || ' bytes)');
    END IF;
    IF NOT carillon.is_usual(m.run_at) THEN
        RETURN carillon.refusal('run_at', 'a time from the year 2000 to 2200', quote_literal(m.run_at));
    END IF;
    IF m.run_at > now() AND m.expires_at <= m.run_at AND m.expires_at > timestamptz 'epoch' THEN
        RETURN carillon.refusal('expires_at', 'a time after run_at', quote_literal(m.expires_at),
            'The message would expire before it is sent.');
    END IF;
    IF m.lane NOT IN (0, 1, 2) THEN
        RETURN carillon.refusal('lane', '0 (urgent), 1 (normal) or 2 (bulk)', m.lane::text);
    END IF;
    IF m.on_unknown NOT IN ('retry', 'fail') THEN
        RETURN carillon.refusal('on_unknown', '''retry'' or ''fail''', quote_literal(m.on_unknown));
    END IF;
    IF num_nonnulls(m.dedupe_key, m.dedupe_for) > 0 THEN
        IF m.dedupe_key = '' OR octet_length(m.dedupe_key) > 1000 THEN
            RETURN carillon.refusal('dedupe_key', 'text of 1 to 1000 bytes', quote_literal(m.dedupe_key));
        END IF;
        IF m.dedupe_for <= interval '0' OR m.dedupe_for > interval '100 years'
            OR m.dedupe_for IS NOT NULL AND m.dedupe_key IS NULL
        THEN
            RETURN carillon.refusal('dedupe_for', 'an interval above 0 and at most 100 years, together with dedupe_key',
                quote_literal(m.dedupe_for) || CASE WHEN m.dedupe_key IS NULL THEN ' without dedupe_key' ELSE '' END);
        END IF;
    END IF;
    IF m.on_duplicate NOT IN ('null', 'existing') THEN
        RETURN carillon.refusal('on_duplicate', '''null'' or ''existing''', quote_literal(m.on_duplicate));
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION carillon.check_members(m carillon.message_arguments) RETURNS carillon.refusal
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    levels CONSTANT text[] := ARRAY['passive', 'active', 'time-sensitive', 'critical'];
    duplicate record;
BEGIN
    IF m.badge NOT BETWEEN 0 AND 2147483647 THEN
        RETURN carillon.refusal('badge', 'a number from 0 to 2147483647', m.badge::text,
            CASE WHEN m.badge < 0 THEN 'To subtract from what each device shows, pass badge_add.' END);
    ELSIF m.badge_add NOT BETWEEN -2147483647 AND 2147483647 THEN
        RETURN carillon.refusal('badge_add', 'a number from -2147483647 to 2147483647', m.badge_add::text);
    ELSIF m.badge_add IS NOT NULL AND m.badge IS NOT NULL THEN
        RETURN carillon.refusal('badge_add', 'null if badge is given', 'a value',
            'badge is the number that every device shows; badge_add is added to the number of each device.');
    ELSIF m.interruption_level <> ALL (levels) THEN
        RETURN carillon.refusal('interruption_level', 'one of ' || array_to_string(levels, ', '),
            quote_literal(m.interruption_level));
    ELSIF m.relevance_score IN ('NaN', 'Infinity', '-Infinity') THEN
        RETURN carillon.refusal('relevance_score', 'a finite number', m.relevance_score::text);
    ELSIF m.stale_date < timestamptz 'epoch' OR m.stale_date >= timestamptz '2201-01-01 00:00:00Z' THEN
        RETURN carillon.refusal('stale_date', 'a time from 1970 to 2200', quote_literal(m.stale_date));
    ELSIF jsonb_typeof(m.extra) <> 'object' THEN
        RETURN carillon.refusal('extra', 'a JSON object', m.extra::text);
    ELSIF m.extra ? 'aps' THEN
        RETURN carillon.refusal('extra', 'a JSON object without the key aps', 'one with it',
            'The argument aps takes the members of aps; payload takes the whole payload.');
    ELSIF jsonb_typeof(m.aps) <> 'object' THEN
        RETURN carillon.refusal('aps', 'a JSON object', m.aps::text);
    ELSIF m.aps ? 'aps' THEN
        RETURN carillon.refusal('aps', 'the members of aps', 'an object with the key aps',
            'Pass the inner object; payload takes the whole payload.');
    END IF;
    IF m.aps IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT g.* INTO duplicate FROM (VALUES
        ('alert', 'alert', num_nonnulls(m.alert, m.alert_json)), ('title', 'alert', num_nonnulls(m.title)),
        ('subtitle', 'alert', num_nonnulls(m.subtitle)), ('body', 'alert', num_nonnulls(m.body)),
        ('badge', 'badge', num_nonnulls(m.badge)), ('badge_add', 'badge', num_nonnulls(m.badge_add)),
        ('sound', 'sound', num_nonnulls(m.sound)), ('content_available', 'content-available', num_nonnulls(m.content_available)),
        ('mutable_content', 'mutable-content', num_nonnulls(m.mutable_content)),
        ('category', 'category', num_nonnulls(m.category)), ('thread_id', 'thread-id', num_nonnulls(m.thread_id)),
        ('interruption_level', 'interruption-level', num_nonnulls(m.interruption_level)),
        ('relevance_score', 'relevance-score', num_nonnulls(m.relevance_score)),
        ('target_content_id', 'target-content-id', num_nonnulls(m.target_content_id)),
        ('filter_criteria', 'filter-criteria', num_nonnulls(m.filter_criteria)),
        ('stale_date', 'stale-date', num_nonnulls(m.stale_date))
    ) AS g(argument, member, given) WHERE g.given > 0 AND m.aps ? g.member LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal(duplicate.argument, format('null if aps has the member "%s"', duplicate.member), 'a value',
            'Pass each member once.');
    END IF;
    RETURN NULL;
END
$$;

-- check_fields() returns the alert as JSON, whichever arguments specify it; a sound that is a dictionary; and, as `more`, the
-- members of aps that few messages have.
CREATE OR REPLACE FUNCTION carillon.check_fields(
    m carillon.message_arguments, INOUT alert text, OUT sound text, OUT more text, OUT refusal carillon.refusal
)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    -- JSON that a driver sent as text. A plain alert never looks like this.
    IF m.alert ~ '^[[:space:]]*[{]' AND json_typeof(carillon.json_or_null(m.alert)) = 'object' THEN
        alert := btrim(m.alert, E' \t\r\n');
    END IF;
    -- A critical alert has a dictionary. A sound file never has such a name.
    sound := CASE WHEN m.sound ~ '^[[:space:]]*[{]' AND json_typeof(carillon.json_or_null(m.sound)) = 'object'
        THEN btrim(m.sound, E' \t\r\n') ELSE to_json(m.sound)::text END;
    refusal := carillon.check_members(m);
    IF refusal.message IS NULL AND position('{' IN concat(m.alert, m.sound)) > 0 THEN
        refusal := coalesce(carillon.broken_json('alert', m.alert), carillon.broken_json('sound', m.sound));
    END IF;
    IF refusal.message IS NOT NULL THEN
        RETURN;
    ELSIF left(alert, 1) NOT IN ('"', '{') THEN
        refusal := carillon.refusal('alert', 'text, or a JSON object or string', alert);
    ELSIF num_nonnulls(m.title, m.subtitle, m.body) > 0 THEN
        IF alert IS NOT NULL THEN
            refusal := carillon.refusal('alert', 'null if title, subtitle or body is given', 'a value',
                'Pass the text as body, together with title and subtitle.');
        END IF;
        alert := carillon.alert_of_lines(m.title, m.subtitle, m.body);
    END IF;
    more := nullif(concat_ws(',',
        '"interruption-level":' || to_json(m.interruption_level),
        '"relevance-score":' || to_json(m.relevance_score),
        '"target-content-id":' || to_json(m.target_content_id),
        '"filter-criteria":' || to_json(m.filter_criteria),
        '"stale-date":' || floor(extract(epoch FROM m.stale_date)),
        CASE WHEN m.aps <> '{}' THEN left(substr(carillon.compact_json(m.aps), 2), -1) END), '');
END
$$;

-- Most payloads have an alert, and are not parsed.
CREATE OR REPLACE FUNCTION carillon.has_alert(payload text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT payload ~ '"alert":[[:space:]]*["{]' $$;

-- Apple accepts such a push, but the device shows nothing and wakes no app. Other push types have content of their own.
CREATE OR REPLACE FUNCTION carillon.is_ignored(push_type text, payload text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT push_type IN ('alert', 'background') AND NOT carillon.has_alert(payload)
        AND NOT EXISTS (SELECT FROM json_object_keys(payload::json) AS k WHERE k <> 'aps')
        AND (SELECT num_nonnulls(aps ->> 'alert', aps ->> 'badge', aps ->> 'sound', aps ->> 'content-available') = 0
            FROM (VALUES (payload::json -> 'aps')) AS g(aps))
$$;

CREATE OR REPLACE FUNCTION carillon.check_silence(m carillon.message_arguments, whole json) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE AS $$
    SELECT carillon.refusal(g.argument, format('%s for push type %s', CASE WHEN g.argument IN ('payload', 'aps')
            THEN 'aps without alert, badge and sound' ELSE 'null' END, m.push_type), 'a value',
        'Leave it out, or leave push_type out: Apple may not deliver such a push.')
    FROM (VALUES ('payload', carillon.is_loud(whole)), ('alert', num_nonnulls(m.alert, m.alert_json) > 0),
        ('title', m.title IS NOT NULL), ('subtitle', m.subtitle IS NOT NULL), ('body', m.body IS NOT NULL),
        ('badge', m.badge IS NOT NULL), ('badge_add', m.badge_add IS NOT NULL), ('sound', m.sound IS NOT NULL),
        ('aps', carillon.is_loud(json_build_object('aps', m.aps)))) AS g(argument, is_loud)
    WHERE g.is_loud AND (carillon.rules_of(m.push_type)).is_silent LIMIT 1
$$;

-- One push type applies to all payloads: background if all of them are silent.
CREATE OR REPLACE FUNCTION carillon.check_payloads(
    m carillon.message_arguments, protocol text, OUT payloads json[], OUT is_silent boolean, OUT ignored text,
    OUT refusal carillon.refusal
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    given text[] := m.payloads;
    push_type CONSTANT text := coalesce(m.push_type, 'alert');  -- background has the same limit
    limit_of CONSTANT integer := carillon.payload_limit(push_type, protocol);
    wrong record;
BEGIN
    IF m.payload IS NOT NULL OR carillon.has_payload_fields(m) THEN
        refusal := carillon.refusal('payloads', 'null if payload, ' || carillon.payload_field_names() || ' is given', 'a value',
            'Each of payloads is a whole payload.');
    ELSIF array_ndims(given) > 1 THEN
        refusal := carillon.refusal('payloads', 'an array of payloads', 'an array of arrays');
    ELSIF cardinality(given) <> coalesce(cardinality(m.tokens), 0) THEN
        refusal := carillon.refusal('payloads', format('one payload for each of the %s tokens',
            coalesce(cardinality(m.tokens), 0)), cardinality(given)::text);
    END IF;
    IF refusal.message IS NOT NULL THEN
        RETURN;
    END IF;
    IF m.payloads_type = 'jsonb[]'::regtype THEN
        given := ARRAY(SELECT carillon.compact_json(g.payload::jsonb) FROM unnest(given) WITH ORDINALITY AS g(payload, place)
            ORDER BY g.place);
    END IF;
    -- Checked first, so that an oversized payload is neither parsed nor copied.
    SELECT g.place, octet_length(g.payload) AS bytes INTO wrong
    FROM unnest(given) WITH ORDINALITY AS g(payload, place)
    WHERE g.payload IS NULL OR octet_length(g.payload) > limit_of ORDER BY g.place LIMIT 1;
    IF FOUND THEN
        refusal := CASE WHEN wrong.bytes IS NULL
            THEN carillon.refusal('payloads', 'a payload for each token', 'null at position ' || wrong.place)
            ELSE carillon.refusal('payloads', 'payloads of ' || carillon.payload_size(push_type, protocol),
                format('one of %s bytes at position %s', wrong.bytes, wrong.place), NULL, '54000') END;
        RETURN;
    END IF;
    BEGIN
        payloads := given::json[];
    EXCEPTION
        WHEN data_exception OR program_limit_exceeded THEN
            NULL;  -- the query below finds the malformed one
    END;
    SELECT g.place, g.payload, g.whole IS NULL AS is_malformed INTO wrong FROM (
        SELECT u.place, u.payload,
            CASE WHEN payloads IS NULL THEN carillon.json_or_null(u.payload) ELSE u.payload::json END AS whole
        FROM unnest(given) WITH ORDINALITY AS u(payload, place)
    ) AS g
    WHERE json_typeof(g.whole) IS DISTINCT FROM 'object' ORDER BY g.place LIMIT 1;
    IF FOUND THEN
        refusal := carillon.refusal('payloads', 'JSON objects',
            format('%s at position %s', coalesce(nullif(left(wrong.payload, 40), ''), 'an empty string'), wrong.place), NULL,
            CASE WHEN wrong.is_malformed THEN '22P02' ELSE '22023' END);
        RETURN;
    END IF;
    SELECT min(p.place) AS place INTO wrong FROM unnest(payloads) WITH ORDINALITY AS p(payload, place)
    WHERE (carillon.rules_of(m.push_type)).is_silent AND carillon.is_loud(p.payload);
    IF wrong.place IS NOT NULL THEN
        refusal := carillon.refusal('payloads', 'aps without alert, badge and sound for push type ' || push_type,
            'one with them at position ' || wrong.place,
            'Leave them out, or leave push_type out: Apple may not deliver such a push.');
        RETURN;
    END IF;
    is_silent := cardinality(payloads) > 0 AND m.push_type IS NULL
        AND NOT EXISTS (SELECT FROM unnest(payloads) AS p(payload) WHERE NOT carillon.is_silent(p.payload));
    ignored := (SELECT p.payload::text FROM unnest(payloads) AS p(payload)
        WHERE carillon.is_ignored(push_type, p.payload::text) LIMIT 1);
END
$$;


-- functions/enqueue/dedupe.sql
-- Dedupe keys. submit() and submit_publication() call take_dedupe_key() in the transaction that enqueues the message: its lock on
-- the row of dedupe is what makes two callers with one key wait for each other.

-- ended_unsent() is true if every push was cancelled or expired and every attempt was answered.
CREATE OR REPLACE FUNCTION carillon.ended_unsent(app integer, message bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(r.cancelled + r.expired) > 0 AND sum(r.sent + r.failed) = 0
        AND sum(r.cancelled + r.expired) >= coalesce(
            (SELECT b.tokens FROM carillon.split_messages b
            WHERE b.app_id = ended_unsent.app AND b.id = ended_unsent.message), 0)
        AND NOT bool_or(EXISTS (
            SELECT FROM carillon.unknown_outcomes u WHERE u.app_id = r.app_id AND u.message_id = r.message_id)), false)
    FROM (
        SELECT m.* FROM carillon.results m
        WHERE m.message_id = ended_unsent.message AND m.broadcast_id IS NULL
        UNION ALL
        SELECT p.* FROM carillon.results p WHERE p.broadcast_id = ended_unsent.message
    ) AS r
    WHERE r.app_id = ended_unsent.app
$$;

-- The interval of a key starts when the message is due. Another message holds the key if its interval has not ended and it may have
-- been sent. Callers with the same key wait for each other, so exactly one of them enqueues.
CREATE OR REPLACE FUNCTION carillon.take_dedupe_key(
    app_id integer, key text, period interval, run_at timestamptz, message_id bigint
) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO carillon.dedupe AS d (app_id, key, message_id, until)
    VALUES (take_dedupe_key.app_id, take_dedupe_key.key, take_dedupe_key.message_id,
        greatest(now(), run_at) + coalesce(period, interval '1 day'))
    ON CONFLICT (app_id, key) DO UPDATE SET message_id = excluded.message_id, until = excluded.until, request = NULL
        WHERE d.until <= now() OR carillon.ended_unsent(d.app_id, d.message_id);
    IF FOUND THEN
        RETURN take_dedupe_key.message_id;
    END IF;
    RETURN (SELECT d.message_id FROM carillon.dedupe d WHERE d.app_id = take_dedupe_key.app_id AND d.key = take_dedupe_key.key);
END
$$;


-- functions/enqueue/draft.sql
-- From the arguments of a message to its payload and headers. submit(), submit_publication() and preview_message() call draft(). It
-- only reads, and returns a refusal instead of raising it. The usual message skips the closer checks of check_arguments.sql.

-- The parts of a payload. PostgreSQL inlines these functions, and PL/pgSQL prepares an expression anew in each transaction: so
-- callers leave out the parts that a message does not have.
CREATE OR REPLACE FUNCTION carillon.alert_of_lines(title text, subtitle text, body text) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_strip_nulls(json_build_object('title', title, 'subtitle', subtitle, 'body', body))
$$;

CREATE OR REPLACE FUNCTION carillon.other_members(
    content_available boolean, mutable_content boolean, category text, thread_id text
) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT nullif(concat_ws(',', CASE WHEN content_available THEN '"content-available":1' END,
        CASE WHEN mutable_content THEN '"mutable-content":1' END, '"category":' || to_json(category),
        '"thread-id":' || to_json(thread_id)), '')
$$;

CREATE OR REPLACE FUNCTION carillon.own_members(extra jsonb) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN extra <> '{}' THEN ',' || left(substr(carillon.compact_json(extra), 2), -1) END
$$;

-- Compact, with aps first and text unchanged.
CREATE OR REPLACE FUNCTION carillon.compose(alert text, badge bigint, sound text, more text, own text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT '{"aps":{' || concat_ws(',', '"alert":' || alert, '"badge":' || badge, '"sound":' || sound, more) || '}'
        || coalesce(own, '') || '}'
$$;

-- `alert` is JSON, as json or as text.
CREATE OR REPLACE FUNCTION carillon.compose_plain(alert anyelement, badge bigint, sound text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT concat('{"aps":{"alert":', alert, CASE WHEN badge IS NOT NULL THEN ',"badge":' END, badge,
        CASE WHEN sound IS NOT NULL THEN ',"sound":' END, to_json(sound), '}}')
$$;

-- The push type of a publication is a separate argument, because callers cannot name it.
CREATE OR REPLACE FUNCTION carillon.draft(m carillon.message_arguments, as_type text DEFAULT NULL) RETURNS carillon.draft
LANGUAGE plpgsql STABLE AS $$
DECLARE
    made carillon.draft;
    alert text;
    sound text := to_json(m.sound);
    checked record;
    more text;
    front text;
    whole json;
    silent boolean;
    ignored text;
    protocol text;
BEGIN
    SELECT a.id, a.protocol INTO made.app_id, protocol FROM carillon.apps a
    WHERE a.name = m.app AND carillon.may_use(a);
    IF NOT FOUND THEN
        made.refusal := carillon.unknown_app(m.app);
        RETURN made;
    END IF;
    IF m.push_type IS NOT NULL AND ((carillon.rules_of(m.push_type)).push_type IS NULL OR m.push_type = 'channel') THEN
        made.refusal := carillon.refusal('push_type', 'one of ' || (
            SELECT string_agg(p.push_type, ', ') FROM carillon.push_types() AS p WHERE p.push_type <> 'channel'),
            quote_literal(m.push_type));
        RETURN made;
    END IF;
    IF m.payloads IS NOT NULL THEN
        checked := carillon.check_payloads(m, protocol);
        made.refusal := checked.refusal;
        made.payloads := checked.payloads;
        silent := checked.is_silent;
        ignored := checked.ignored;
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
    ELSIF m.payload IS NULL THEN
        alert := CASE WHEN m.alert_json IS NULL THEN to_json(m.alert)::text ELSE carillon.compact_json(m.alert_json) END;
        -- Most messages use none of these, and skip the closer check.
        IF num_nonnulls(m.extra, m.title, m.subtitle, m.body, m.aps, m.interruption_level, m.relevance_score,
            m.target_content_id, m.filter_criteria, m.stale_date, m.badge_add) > 0 OR m.badge NOT BETWEEN 0 AND 2147483647
            OR (m.alert_json IS NULL AND position('{' IN alert) > 0) OR left(alert, 1) NOT IN ('"', '{')
            OR position('{' IN sound) > 0
        THEN
            checked := carillon.check_fields(m, alert);
            alert := checked.alert;
            sound := checked.sound;
            more := checked.more;
            made.refusal := checked.refusal;
        END IF;
        -- The largest number, because each device gets its own.
        made.payload := carillon.compose(alert, CASE WHEN m.badge_add IS NULL THEN m.badge ELSE 2147483647 END, sound,
            nullif(concat_ws(',', carillon.other_members(m.content_available, m.mutable_content, m.category, m.thread_id), more),
                ''), carillon.own_members(m.extra));
        IF made.payload = '{"aps":{}}' AND (made.refusal).message IS NULL THEN
            made.refusal := carillon.refusal('alert',
                'text, unless badge, sound, title, subtitle, body, aps, a key in extra, content_available => true or '
                'payload is given', NULL,
                CASE m.push_type WHEN 'background' THEN 'A background push takes content_available => true.' END);
        END IF;
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
        silent := m.content_available
            AND num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound) = 0;
        IF m.aps IS NOT NULL THEN
            silent := (m.content_available OR m.aps -> 'content-available' = '1') AND num_nonnulls(m.alert, m.alert_json,
                m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound, m.aps ->> 'alert', m.aps ->> 'badge',
                m.aps ->> 'sound') = 0;
        END IF;
    ELSIF carillon.has_payload_fields(m) THEN
        made.refusal := carillon.refusal('payload', 'null if ' || carillon.payload_field_names() || ' is given', 'a value',
            'Pass the whole payload or its parts, not both.');
        RETURN made;
    ELSE
        made.payload := CASE m.payload_type WHEN 'jsonb'::regtype THEN carillon.compact_json(m.payload::jsonb)
            ELSE m.payload END;
    END IF;
    made.push_type := coalesce(as_type, m.push_type, CASE WHEN silent THEN 'background' ELSE 'alert' END);
    -- Checked first, so that an oversized payload is neither parsed nor copied.
    IF octet_length(made.payload) > carillon.payload_limit(made.push_type, protocol) THEN
        made.refusal := carillon.refusal(
            -- Name the largest argument.
            CASE WHEN m.payload IS NULL THEN (
                SELECT a.name FROM (VALUES ('alert', coalesce(m.alert, m.alert_json::text)), ('title', m.title),
                    ('subtitle', m.subtitle), ('body', m.body), ('sound', m.sound), ('category', m.category),
                    ('thread_id', m.thread_id), ('extra', m.extra::text), ('aps', m.aps::text),
                    ('target_content_id', m.target_content_id), ('filter_criteria', m.filter_criteria)) AS a(name, value)
                ORDER BY octet_length(a.value) DESC NULLS LAST LIMIT 1) ELSE 'payload' END,
            CASE WHEN m.payload IS NULL THEN 'a value for a payload of ' ELSE 'a payload of ' END
                || carillon.payload_size(made.push_type, protocol),
            CASE WHEN m.payload IS NULL THEN 'one of ' ELSE '' END || octet_length(made.payload) || ' bytes', NULL, '54000');
        RETURN made;
    END IF;
    IF m.payload IS NOT NULL THEN
        whole := carillon.json_or_null(made.payload);
        IF json_typeof(whole) IS DISTINCT FROM 'object' THEN
            made.refusal := carillon.refusal('payload', 'a JSON object', made.payload, NULL,
                CASE WHEN whole IS NULL THEN '22P02' ELSE '22023' END);
            RETURN made;
        END IF;
        IF m.push_type IS NULL AND position('content-available' IN made.payload) > 0 AND carillon.is_silent(whole) THEN
            silent := true;
            made.push_type := 'background';
        END IF;
    END IF;
    IF m.push_type IS NOT NULL AND m.payloads IS NULL AND (carillon.rules_of(m.push_type)).is_silent THEN
        made.refusal := carillon.check_silence(m, whole);
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
    END IF;
    IF num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.badge, m.badge_add, m.sound) = 0
        AND m.content_available IS NOT TRUE AND as_type IS NULL
    THEN
        IF NOT carillon.has_alert(made.payload) THEN
            -- Apart, because PL/pgSQL evaluates an expression with a query much more slowly.
            IF carillon.is_ignored(made.push_type, made.payload) THEN
                ignored := made.payload;
            END IF;
        END IF;
    END IF;
    IF ignored IS NOT NULL THEN
        RAISE NOTICE USING ERRCODE = '01IGN', MESSAGE = 'a device does nothing with this push: its payload has no alert, '
                'badge, sound, content-available or key of your own',
            DETAIL = left(ignored, 200), HINT = 'Apple accepts it, and it counts as sent.';
    END IF;
    IF m.badge_add IS NOT NULL THEN
        front := '{"aps":{' || coalesce('"alert":' || alert || ',', '') || '"badge":';
        made.after_badge := substr(made.payload, length(front) + length('2147483647') + 1);
        made.payload := front;
    END IF;
    -- Most calls set none of these.
    IF num_nonnulls(m.push_type, m.priority, m.expires_at, m.collapse_id, m.topic, m.run_at, m.lane, m.dedupe_key,
        m.dedupe_for) > 0 OR m.on_unknown <> 'retry' OR m.on_duplicate <> 'null' OR silent
        OR octet_length(m.reference) > carillon.max_reference_bytes()
    THEN
        made.refusal := carillon.check_heading(m, made.push_type);
        IF (made.refusal).message IS NOT NULL THEN
            RETURN made;
        END IF;
        made.priority := coalesce(m.priority, (carillon.rules_of(made.push_type)).default_priority);
        made.scheduled := CASE WHEN m.run_at > now() THEN true END;
    END IF;
    RETURN made;
END
$$;


-- functions/enqueue/enqueue.sql
-- Makes the 13 variants of FUNCTION carillon.enqueue, FUNCTION carillon.broadcast, FUNCTION carillon.start_activity,
-- FUNCTION carillon.update_activity, FUNCTION carillon.end_activity and FUNCTION carillon.publish. They only pass their arguments
-- on as one row; submit(), submit_activity() and submit_publication(), each in the file of that name, do the work. This is one of
-- them, with most of its arguments left out:
--
--     carillon.publish(app text, channel text, content_state text = NULL, event text = 'update', …) RETURNS bigint
--         SELECT carillon.submit_publication(ROW($1, $2, $3, $4, …))
--
-- SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'enqueue' prints what a database has, and docs/sql.md lists the
-- arguments. The 13 are made from lists, because each list is in two to five of them. A new argument needs an entry in a list, and
-- a field in the type of the arguments, such as carillon.message_arguments.
--
-- Drivers send values as text, json, jsonb or untyped, and integers in several sizes; bigint accepts every integer. So each
-- function has two variants. The first accepts text and untyped values. The second accepts only JSON: its anyelement argument has
-- no default. An anycompatible argument may independently have any of these types, because PostgreSQL's two polymorphic families
-- are separate; an untyped value counts as text. PostgreSQL cannot resolve the default of a polymorphic array, so a third enqueue
-- takes payloads.
--
-- All are plain SQL without SET clauses, so that the planner inlines them: a prepared call costs nothing more, and error messages
-- do not mention them. An unprepared call is parsed and planned each time, and its 34 arguments are more than half of its cost.
-- carillon.push exists because it has few.
--
-- ORMs pass every argument, and null for each that was not set. What is called knows the defaults too.
DO $make$
DECLARE
    -- Lists of optional arguments. The default is null unless another one is given.
    message CONSTANT text := 'badge bigint, sound text, content_available boolean, mutable_content boolean, category text, '
        'thread_id text, extra jsonb, payload anycompatible, push_type text, priority bigint, expires_at timestamptz, '
        'collapse_id text, topic text, run_at timestamptz, lane bigint, reference text, dedupe_key text, dedupe_for interval, '
        'on_unknown text = ''retry'', title text, subtitle text, body text, strict boolean = false, '
        'on_duplicate text = ''null'', aps jsonb, interruption_level text, relevance_score double precision, '
        'target_content_id text, filter_criteria text, stale_date timestamptz, badge_add bigint';
    text_message CONSTANT text := replace(message, 'payload anycompatible', 'payload text');
    sending CONSTANT text := 'priority bigint, expires_at timestamptz, run_at timestamptz, lane bigint, reference text, '
        'dedupe_key text, dedupe_for interval, on_unknown text = ''retry''';
    start CONSTANT text := 'alert anycompatible, title text, body text, sound text, channel text, push_token boolean = true, '
        'everyone boolean = false, stale_date timestamptz, relevance_score double precision, apns_timestamp timestamptz, '
        || sending || ', topic text, aps jsonb, extra jsonb';
    an_update CONSTANT text := 'alert anycompatible, title text, body text, sound text, stale_date timestamptz, '
        'relevance_score double precision, apns_timestamp timestamptz, ' || sending || ', topic text, aps jsonb, extra jsonb';
    an_end CONSTANT text := 'alert anycompatible, title text, body text, sound text, stale_date timestamptz, '
        'relevance_score double precision, dismissal_date timestamptz, apns_timestamp timestamptz, ' || sending
        || ', topic text, aps jsonb, extra jsonb';
    publication CONSTANT text := 'event text = ''update'', alert anycompatible, stale_date timestamptz, '
        'dismissal_date timestamptz, relevance_score double precision, sound text, aps jsonb, apns_timestamp timestamptz, '
        || sending || ', on_duplicate text = ''null'', title text, body text, extra jsonb';
    -- Fields of the type that are not just the argument of the same name.
    any_payload CONSTANT jsonb := '{"is_strict": "{strict}", "payload": "{payload}::pg_catalog.text",
        "payload_type": "CASE WHEN {payload} IS NOT NULL THEN pg_catalog.pg_typeof({payload}) END"}';
    any_payloads CONSTANT jsonb := '{"is_strict": "{strict}", "payloads": "{payloads}::pg_catalog.text[]",
        "payloads_type": "pg_catalog.pg_typeof({payloads})"}';
    json_alert CONSTANT jsonb := any_payload || '{"alert": "NULL", "alert_json": "pg_catalog.to_jsonb({alert})"}';
    text_state CONSTANT jsonb := '{"alert": "{alert}::pg_catalog.text", "alert_type": "pg_catalog.pg_typeof({alert})",
        "content_state": "NULL", "state_text": "{content_state}", "attributes": "NULL"}';
    json_state CONSTANT jsonb := text_state || '{"state_text": "pg_catalog.to_jsonb({content_state})::pg_catalog.text"}';
    text_start CONSTANT jsonb := text_state || '{"event": "''start''", "attributes_text": "{attributes}"}';
    json_start CONSTANT jsonb := json_state
        || '{"event": "''start''", "attributes_text": "pg_catalog.to_jsonb({attributes})::pg_catalog.text"}';
    one record;  -- a function: its name, arguments and fields, and what it calls
    arguments text[];
    names text[];
    body text;
BEGIN
    FOR one IN
        SELECT f.*, c.type, c.call, c.comment FROM (VALUES
            ('enqueue', 'app text, tokens text[]', 'alert text, ' || message, any_payload),
            ('enqueue', 'app text, tokens text[], alert anyelement', message, json_alert),
            ('enqueue', 'app text, tokens text[], payloads anycompatiblearray', 'alert text, ' || text_message,
                any_payloads),
            ('broadcast', 'app text', 'alert text, ' || message || ', kind text', any_payload),
            ('broadcast', 'app text, alert anyelement', message || ', kind text', json_alert),
            ('start_activity', 'app text, tokens text[], attributes_type text, attributes text, content_state text', start,
                text_start),
            ('start_activity', 'app text, tokens text[], attributes_type text, attributes anyelement, content_state anyelement',
                start, json_start),
            ('update_activity', 'app text, tokens text[], content_state text', an_update, text_state || '{"event": "''update''"}'),
            ('update_activity', 'app text, tokens text[], content_state anyelement', an_update,
                json_state || '{"event": "''update''"}'),
            ('end_activity', 'app text, tokens text[]', 'content_state text, ' || an_end, text_state || '{"event": "''end''"}'),
            ('end_activity', 'app text, tokens text[], content_state anyelement', an_end, json_state || '{"event": "''end''"}'),
            ('publish', 'app text, channel text', 'content_state text, ' || publication, text_state),
            ('publish', 'app text, channel text, content_state anyelement', publication, json_state)
        ) AS f(name, required, optional, fields) JOIN (VALUES
            -- The null saves PostgreSQL from reading a default.
            ('enqueue', 'message_arguments', 'submit({row}, false, NULL)',
                'Enqueues a message to device tokens. Pass an array even for a single token: ARRAY[token]. Returns the id of the '
                'message, or null if there are no tokens or the dedupe_key is taken.'),
            ('broadcast', 'message_arguments', 'submit({row}, true, {kind})',
                'Enqueues a message to every registered token of one kind of an app, by default the kind for the push type. '
                'Returns the id of the message, or null if there are no such tokens or the dedupe_key is taken.'),
            ('start_activity', 'activity_arguments', 'submit_activity({row})',
                'Starts a Live Activity on the devices of push-to-start tokens or, with everyone, on all devices of the app. '
                'Pass an array even for a single token. Returns the id of the message, or null if there are no tokens or the '
                'dedupe_key is taken.'),
            ('update_activity', 'activity_arguments', 'submit_activity({row})',
                'Updates Live Activities. An older update of a token is never sent after a newer one. Pass an array even for a '
                'single token. Returns the id of the message, or null if there are no tokens or the dedupe_key is taken.'),
            ('end_activity', 'activity_arguments', 'submit_activity({row})',
                'Ends Live Activities and sets their last content. Pass an array even for a single token. Returns the id of the '
                'message, or null if there are no tokens or the dedupe_key is taken.'),
            ('publish', 'publication', 'submit_publication({row})',
                'Publishes an update to the Live Activities that follow a channel, or ends them. Returns the id of the message, '
                'or null if the dedupe_key is taken.')
        ) AS c(name, type, call, comment) ON c.name = f.name
    LOOP
        arguments := string_to_array(one.required, ', ') || ARRAY(
            SELECT o.argument || CASE WHEN o.argument ~ ' = ' THEN '' ELSE ' = NULL' END
            FROM string_to_table(one.optional, ', ') WITH ORDINALITY AS o(argument, place) ORDER BY o.place);
        names := ARRAY(SELECT split_part(a, ' ', 1) FROM unnest(arguments) AS a);
        -- Each field of the row is what one.fields has for it, or else the argument of its name, or else null. The body names the
        -- arguments by number, which PostgreSQL parses faster.
        SELECT replace(one.call, '{row}', 'ROW(' || string_agg(coalesce(one.fields ->> t.attname,
            CASE WHEN t.attname = ANY (names) THEN '{' || t.attname || '}' END, 'NULL'), ', ' ORDER BY t.attnum) || ')')
        INTO body FROM pg_attribute t WHERE t.attrelid = ('carillon.' || one.type)::regclass;
        FOR place IN 1..cardinality(names) LOOP
            body := replace(body, '{' || names[place] || '}', '$' || place);
        END LOOP;
        EXECUTE format('CREATE OR REPLACE FUNCTION carillon.%s(%s) RETURNS bigint LANGUAGE sql AS %L',
            one.name, array_to_string(arguments, ', '), 'SELECT carillon.' || body);
        EXECUTE format('COMMENT ON FUNCTION carillon.%s(%s) IS %L',
            one.name, regexp_replace(array_to_string(arguments, ', '), ' = [^,]*', '', 'g'), one.comment);
    END LOOP;
END
$make$;


-- functions/enqueue/json.sql
-- JSON in arguments, which callers pass as json, as jsonb or as text. The functions that check arguments call these.

CREATE OR REPLACE FUNCTION carillon.json_or_null(value text) RETURNS json
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN value::json;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION carillon.jsonb_or_null(value text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN value::jsonb;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END
$$;

-- A driver may send JSON as text. Malformed JSON must not become a plain alert: the device would show braces and quotes.
CREATE OR REPLACE FUNCTION carillon.broken_json(argument text, value text) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE AS $$
    SELECT carillon.refusal(argument, 'text, or a JSON object', value, 'It begins like a JSON object but is not one. '
        || CASE argument WHEN 'alert' THEN 'To show such text unchanged, pass it as body.' ELSE 'Correct it.' END, '22P02')
    WHERE value ~ '^[[:space:]]*[{][[:space:]]*["'']' AND json_typeof(carillon.json_or_null(value)) IS DISTINCT FROM 'object'
$$;

-- json_strip_nulls() writes JSON without spaces, several times as fast as the replacement. That one's pattern matches whole strings
-- and keeps them. Text that is too large to be sent is returned unchanged: it will be refused, and the replacement would take
-- seconds.
CREATE OR REPLACE FUNCTION carillon.compact_json(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_catalog.octet_length(value::pg_catalog.text) OPERATOR(pg_catalog.>) 16384
        THEN value::pg_catalog.text
        WHEN pg_catalog.strpos(value::pg_catalog.text, 'null') OPERATOR(pg_catalog.=) 0
        THEN pg_catalog.json_strip_nulls(value::pg_catalog.text::pg_catalog.json)::pg_catalog.text
        ELSE pg_catalog.regexp_replace(value::pg_catalog.text, E'("(?:[^"\\\\]|\\\\.)*")|([:,]) ', E'\\1\\2', 'g') END
$$;

CREATE OR REPLACE FUNCTION carillon.is_loud(payload json) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT num_nonnulls(payload -> 'aps' ->> 'alert', payload -> 'aps' ->> 'badge', payload -> 'aps' ->> 'sound') > 0
$$;

CREATE OR REPLACE FUNCTION carillon.is_silent(payload json) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT position('content-available' IN payload::text) > 0
        AND coalesce((payload -> 'aps' -> 'content-available')::text = '1', false) AND NOT carillon.is_loud(payload)
$$;


-- functions/enqueue/message_of_json.sql
-- Messages as JSON objects, for callers that cannot use SQL: POST /messages of the dashboard, and its page for test pushes. The
-- object has the arguments of enqueue, by the fields of the type message_arguments.

-- fits_argument() is needed because jsonb_populate_record() converts any value to text.
CREATE OR REPLACE FUNCTION carillon.fits_argument(name text, type regtype, value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN jsonb_typeof(value) = 'null' OR type = 'jsonb'::regtype THEN true
        WHEN name IN ('alert', 'payload') THEN jsonb_typeof(value) IN ('string', 'object')
        WHEN name = 'tokens' AND jsonb_typeof(value) = 'array' THEN
            NOT EXISTS (SELECT FROM jsonb_array_elements(value) AS e WHERE jsonb_typeof(e) NOT IN ('string', 'null'))
        WHEN type = 'text[]'::regtype THEN jsonb_typeof(value) = 'array'
        WHEN type IN ('bigint'::regtype, 'double precision'::regtype) THEN jsonb_typeof(value) = 'number'
        WHEN type = 'boolean'::regtype THEN jsonb_typeof(value) = 'boolean'
        ELSE jsonb_typeof(value) = 'string'
    END
$$;

-- unfit_member() is needed because PostgreSQL's own error does not name the member.
CREATE OR REPLACE FUNCTION carillon.unfit_member(message jsonb) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    member record;
BEGIN
    FOR member IN
        SELECT b.key, b.value, a.attname, a.atttypid::regtype AS type,
            carillon.fits_argument(b.key, a.atttypid::regtype, b.value) AS is_fit
        FROM jsonb_each(message) AS b JOIN pg_attribute a ON a.attrelid = 'carillon.message_arguments'::regclass
            AND a.attname = CASE b.key WHEN 'strict' THEN 'is_strict' ELSE b.key END
        ORDER BY 5, b.key
    LOOP
        BEGIN
            PERFORM jsonb_populate_record(NULL::carillon.message_arguments,
                jsonb_build_object(member.attname, member.value));
            CONTINUE WHEN member.is_fit;
        EXCEPTION
            WHEN data_exception THEN
                NULL;  -- the refusal below says what it takes
        END;
        RETURN carillon.refusal(member.key, CASE
                WHEN member.key IN ('alert', 'payload') THEN 'a string or an object'
                WHEN member.key = 'payloads' THEN 'an array of objects'
                WHEN member.type = 'text[]'::regtype THEN 'an array of strings'
                WHEN member.type = 'bigint'::regtype THEN 'a whole number'
                WHEN member.type = 'double precision'::regtype THEN 'a number'
                WHEN member.type = 'boolean'::regtype THEN 'true or false'
                WHEN member.type = 'timestamptz'::regtype THEN 'a time, such as "2026-11-22T11:45:00Z"'
                WHEN member.type = 'interval'::regtype THEN 'an interval, such as "1 hour"'
                ELSE 'a string' END,
            member.value::text, 'The page docs/enqueue.md says what each argument takes.');
    END LOOP;
    RETURN NULL;
END
$$;

-- The object has no member app, because the caller's right is limited to one app.
CREATE OR REPLACE FUNCTION carillon.message_of_json(app text, message jsonb) RETURNS carillon.message_arguments
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    m carillon.message_arguments;
    refusal carillon.refusal;
    names CONSTANT text[] := ARRAY(
        SELECT CASE a.attname WHEN 'is_strict' THEN 'strict' ELSE a.attname END FROM pg_attribute a
        WHERE a.attrelid = 'carillon.message_arguments'::regclass AND a.attnum > 0
            AND a.attname NOT IN ('app', 'alert_json', 'payload_type', 'payloads_type', 'is_strict')
        UNION ALL SELECT 'strict');
    unknown text;
BEGIN
    IF jsonb_typeof(message) IS DISTINCT FROM 'object' THEN
        refusal := carillon.refusal('message', 'a JSON object', left(coalesce(message::text, 'null'), 40));
    ELSE
        SELECT k.name INTO unknown FROM jsonb_object_keys(message) AS k(name)
        WHERE k.name <> ALL (names) ORDER BY k.name LIMIT 1;
        IF FOUND THEN
            refusal := carillon.refusal('message', 'the arguments of enqueue without app',
                'a member ' || to_json(left(unknown, 80)), 'The members are: ' || array_to_string(names, ', ') || '.');
        END IF;
    END IF;
    PERFORM carillon.refuse(refusal);
    IF EXISTS (
        SELECT FROM jsonb_each(message) AS b JOIN pg_attribute a ON a.attrelid = 'carillon.message_arguments'::regclass
            AND a.attname = CASE b.key WHEN 'strict' THEN 'is_strict' ELSE b.key END
        WHERE NOT carillon.fits_argument(b.key, a.atttypid::regtype, b.value)
    ) THEN
        PERFORM carillon.refuse(carillon.unfit_member(message));
    END IF;
    BEGIN
        m := jsonb_populate_record(NULL::carillon.message_arguments, message);
        m.is_strict := coalesce((message ->> 'strict')::boolean, false);
    EXCEPTION
        WHEN data_exception THEN
            refusal := carillon.unfit_member(message);
            PERFORM carillon.refuse(refusal);
            RAISE;
    END;
    m.app := app;
    IF jsonb_typeof(message -> 'alert') = 'object' THEN
        m.alert := NULL;
        m.alert_json := message -> 'alert';
    END IF;
    IF jsonb_typeof(message -> 'payload') = 'object' THEN
        m.payload_type := 'jsonb'::regtype;
    END IF;
    IF jsonb_typeof(message -> 'payloads' -> 0) = 'object' THEN
        m.payloads_type := 'jsonb[]'::regtype;
    END IF;
    RETURN m;
END
$$;

CREATE OR REPLACE FUNCTION carillon.preview_message(app text, message jsonb) RETURNS TABLE (
    payload text, bytes integer, max_bytes integer, push_type text, priority smallint, topic text, tokens text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    m CONSTANT carillon.message_arguments := carillon.message_of_json(app, message);
    made CONSTANT carillon.draft := carillon.draft(m);
    cleaned record;
    refusal carillon.refusal := made.refusal;
BEGIN
    cleaned := carillon.clean_tokens(m.tokens);
    IF refusal.message IS NULL THEN
        refusal := cleaned.refusal;
    END IF;
    IF refusal.message IS NULL AND cleaned.clean IS NULL THEN
        refusal := carillon.refusal('tokens', 'a device token', 'none');
    END IF;
    IF refusal.message IS NULL THEN
        refusal := carillon.check_kinds(made.app_id, cleaned.clean, made.push_type, coalesce(made.payload, made.payloads[1]::text));
    END IF;
    PERFORM carillon.refuse(refusal);
    tokens := cleaned.clean;
    push_type := made.push_type;
    priority := coalesce(made.priority, 10::smallint);
    topic := coalesce(m.topic, (SELECT a.topic FROM carillon.apps a WHERE a.id = made.app_id));
    -- The badge of each device is not known yet.
    payload := CASE WHEN made.payloads IS NOT NULL THEN made.payloads[1]::text
        WHEN made.after_badge IS NOT NULL THEN made.payload || greatest(m.badge_add, 0) || made.after_badge
        ELSE made.payload END;
    bytes := octet_length(payload);
    max_bytes := carillon.payload_limit(push_type, (SELECT a.protocol FROM carillon.apps a WHERE a.id = made.app_id));
    RETURN NEXT;
END
$$;

-- A message that is sent again with the same key within a day is not enqueued: the id of the first is returned. A different body is
-- refused.
CREATE OR REPLACE FUNCTION carillon.submit_once(
    m carillon.message_arguments, key text, message jsonb, OUT id bigint, OUT is_new boolean
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    refusal carillon.refusal;
    -- Objects are the same body whatever the order of their members and their layout.
    content CONSTANT bytea := CASE WHEN key IS NOT NULL THEN sha256(convert_to(message::text, 'UTF8')) END;
    target integer;
    earlier bytea;
BEGIN
    IF key IS NOT NULL AND m.dedupe_key IS NOT NULL THEN
        refusal := carillon.refusal('dedupe_key', 'null if the request has an Idempotency-Key', 'a value', 'Give one of them.');
        PERFORM carillon.refuse(refusal);
    END IF;
    m.dedupe_key := coalesce(key, m.dedupe_key);
    m.is_strict := true;
    m.on_duplicate := 'null';
    id := carillon.submit(m, false);
    is_new := id IS NOT NULL;
    SELECT a.id INTO target FROM carillon.apps a WHERE a.name = m.app;
    IF NOT is_new THEN
        SELECT d.message_id, d.request INTO id, earlier FROM carillon.dedupe d
        WHERE d.app_id = target AND d.key = m.dedupe_key;
        IF earlier <> content THEN
            RAISE EXCEPTION USING ERRCODE = '42710', MESSAGE = format('message %s has this key and a different body', id),
                HINT = 'Send each message with its own key.';
        END IF;
    ELSIF content IS NOT NULL THEN
        UPDATE carillon.dedupe d SET request = content WHERE d.app_id = target AND d.key = m.dedupe_key;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION carillon.send_test(
    app text, message jsonb, on_behalf_of text DEFAULT NULL, key text DEFAULT NULL, OUT id bigint, OUT is_new boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    max_tokens CONSTANT integer := 10;
    m carillon.message_arguments := carillon.message_of_json(app, message);
    refusal carillon.refusal;
BEGIN
    IF cardinality(m.tokens) > max_tokens THEN
        refusal := carillon.refusal('tokens', format('at most %s device tokens', max_tokens), cardinality(m.tokens)::text);
        PERFORM carillon.refuse(refusal);
    END IF;
    m.lane := coalesce(m.lane, 0);
    SELECT s.id, s.is_new INTO id, is_new FROM carillon.submit_once(m, key, message) AS s;
    IF is_new THEN
        PERFORM carillon.act_for(on_behalf_of);
        PERFORM carillon.record_change('send test', app,
            jsonb_build_object('message_id', id, 'tokens', cardinality(m.tokens), 'push_type', m.push_type));
    END IF;
END
$$;


-- functions/enqueue/push.sql
-- FUNCTION carillon.push and carillon.push_each: enqueue for the messages that most applications send. PostgreSQL parses a call
-- with few arguments faster than one of enqueue with its 34, and one INSERT checks and stores a plain message: a single token,
-- and a payload whose only checks are its size and that it has an alert. All others are left to enqueue: other messages, those
-- that it refuses, and all messages while a role is isolated. The message is the same whichever function stores it.

-- A template, because the variants of push differ in little. Those that accept text and untyped values try the INSERT. The others
-- are for drivers that send json or jsonb.
DO $make$
DECLARE
    body CONSTANT text := $body$
DECLARE
    token CONSTANT text := tokens[1];
    whole text;
    id bigint;
BEGIN
    IF cardinality(tokens) = 1 AND carillon.is_token(token) AND {condition} THEN
        {statements}
        INSERT INTO carillon.messages (app_id, tokens, payload)
        SELECT a.id, ARRAY[lower(token COLLATE "C")], whole::json FROM carillon.apps a
        WHERE a.name = app AND NOT a.is_guarded AND octet_length(whole) <= carillon.payload_limit('alert', a.protocol)
        RETURNING messages.id INTO id;
        IF FOUND THEN
            RETURN id;
        END IF;
    END IF;
    RETURN carillon.enqueue({arguments});
END
$body$;
    -- enqueue refuses malformed JSON.
    of_payload CONSTANT text := $$BEGIN
            whole := CASE WHEN payload::json #>> '{aps,alert}' IS NOT NULL THEN payload END;
        EXCEPTION
            WHEN data_exception OR program_limit_exceeded THEN
                NULL;
        END;$$;
    -- An alert or a sound with a brace may be JSON.
    is_text CONSTANT text := $$(badge BETWEEN 0 AND 2147483647) IS NOT FALSE
        AND alert IS NOT NULL AND concat(alert, sound) NOT LIKE '%{%'$$;
    of_text CONSTANT text := 'whole := carillon.compose_plain(to_json(alert), badge, sound);';
    one record;
BEGIN
    FOR one IN
        SELECT * FROM (VALUES
            ('app text, tokens text[], payload text', 'app, tokens, payload => payload',
                $$octet_length(payload) <= carillon.payload_limit('alert')$$, of_payload),
            ('app text, tokens text[], alert text, badge bigint, sound text', 'app, tokens, alert, badge, sound', is_text, of_text),
            ('app text, tokens text[], payload anyelement', 'app, tokens, payload => payload', NULL, NULL),
            ('app text, tokens text[], alert anyelement, badge bigint, sound text', 'app, tokens, alert, badge, sound', NULL, NULL)
        ) AS v(parameters, arguments, condition, statements)
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION carillon.push(%s) RETURNS bigint %s AS %L', one.parameters,
            CASE WHEN one.condition IS NULL THEN 'LANGUAGE sql'
                ELSE 'LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp' END,
            coalesce(replace(replace(replace(body, '{condition}', one.condition), '{statements}', one.statements), '{arguments}',
                one.arguments), 'SELECT carillon.enqueue(' || one.arguments || ')'));
        EXECUTE format('COMMENT ON FUNCTION carillon.push(%s) IS %L', one.parameters,
            'Enqueues a message to device tokens: push(app, tokens, payload), or push(app, tokens, alert, badge, sound). Does what '
            'enqueue does with the same arguments, in less time. Pass an array even for a single token: ARRAY[token]. Returns the '
            'id of the message, or null if there are no tokens.');
    END LOOP;
END
$make$;

-- All messages are stored by one statement, if all are plain. Otherwise it is undone, and push() takes each message.
CREATE OR REPLACE FUNCTION carillon.push_each(app text, tokens text[], payloads anycompatiblearray) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    given json[];
    ids bigint[];
    m carillon.message_arguments;
    refusal carillon.refusal;
    one record;
BEGIN
    BEGIN
        -- An assignment converts an array of any type, and does nothing to json[].
        IF pg_typeof(payloads) = 'jsonb[]'::regtype THEN
            given := ARRAY(SELECT carillon.compact_json(to_jsonb(g.payload))::json FROM unnest(payloads) AS g(payload));
        ELSE
            given := payloads;
        END IF;
        WITH stored AS (
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT a.id, ARRAY[lower(t.token COLLATE "C")], t.payload
            FROM carillon.apps a CROSS JOIN (SELECT unnest(tokens) AS token, unnest(given) AS payload) t
            WHERE a.name = app AND carillon.may_use(a) AND carillon.is_token(t.token)
                AND octet_length(t.payload::text) <= carillon.payload_limit('alert', a.protocol)
                AND t.payload #>> '{aps,alert}' IS NOT NULL
            RETURNING messages.id
        )
        SELECT array_agg(s.id) INTO ids FROM stored s;
        IF cardinality(ids) = cardinality(tokens) AND cardinality(ids) = cardinality(given) AND array_ndims(tokens) = 1
            AND array_ndims(given) = 1
        THEN
            RETURN ids;
        END IF;
        RAISE data_exception;
    EXCEPTION
        WHEN data_exception OR program_limit_exceeded THEN
            ids := '{}';
    END;
    m.app := app;
    m.tokens := tokens;
    m.payloads := coalesce(payloads::text[], '{}');
    m.payloads_type := pg_typeof(payloads);
    refusal := coalesce((carillon.draft(m)).refusal, (carillon.clean_tokens(tokens)).refusal);
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    FOR one IN SELECT unnest(tokens) AS token, unnest(payloads) AS payload LOOP
        ids := ids || carillon.push(app, ARRAY[one.token], one.payload);
    END LOOP;
    RETURN ids;
END
$$;


-- functions/enqueue/push_types.sql
-- What Apple requires of each push type. The functions that check arguments and the worker's split() call rules_of().

-- push_types() is the table that all checks use. `make docs` writes its rows, from PushTypeRules.swift. The last row is for pushes
-- to channels: they are separate requests, with the push type liveactivity.
CREATE OR REPLACE FUNCTION carillon.push_types() RETURNS SETOF carillon.push_rules
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 12 AS $$
    VALUES
        ('alert', '', '{10,5,1}'::smallint[], NULL::smallint, 4096, 64, false, false, false, 'device'),
        ('background', '', '{5}', 5, 4096, 64, true, false, false, 'device'),
        ('complication', '.complication', '{10,5,1}', NULL, 4096, 64, false, false, false, 'complication'),
        ('controls', '.push-type.controls', '{10,5,1}', NULL, 4096, 64, false, false, false, 'control'),
        ('fileprovider', '.pushkit.fileprovider', '{10,5,1}', NULL, 4096, 64, false, false, false, 'file_provider'),
        ('liveactivity', '.push-type.liveactivity', '{10,5}', NULL, 4096, 64, false, false, false, 'live_activity'),
        ('location', '.location-query', '{10,5,1}', NULL, 4096, 64, false, false, true, 'location'),
        ('mdm', '', '{10,5,1}', NULL, 4096, 64, false, false, false, 'mdm'),
        ('pushtotalk', '.voip-ptt', '{10,5,1}', NULL, 4096, 64, false, false, false, 'push_to_talk'),
        ('voip', '.voip', '{10,5,1}', NULL, 5120, 64, false, false, false, 'voip'),
        ('widgets', '.push-type.widgets', '{10,5,1}', NULL, 4096, 64, false, false, false, 'widget'),
        ('channel', '', '{10,5}', NULL, 5120, 0, false, true, false, NULL)
$$;

-- An expression instead of a query: enqueue evaluates it each time, and a query would cost more than all other checks together.
-- Null if there is no such push type.
DO $$
BEGIN
    EXECUTE (SELECT format(
        'CREATE OR REPLACE FUNCTION carillon.rules_of(push_type text) RETURNS carillon.push_rules LANGUAGE sql IMMUTABLE '
            'PARALLEL SAFE AS %L',
        'SELECT CASE push_type ' || string_agg(format('WHEN %L THEN %L::carillon.push_rules', p.push_type, p), ' ') || ' END')
    FROM carillon.push_types() AS p);
END
$$;

-- topics_of() alone decides which topics the messages of an app may name, because a signing key sends to all topics of its team.
-- enqueue asks it, and so does each claim, for rows of a plain INSERT and for apps that have changed since. It returns null if the
-- certificate decides: the app has no topic, and the certificate names none or was not read yet.
CREATE OR REPLACE FUNCTION carillon.topics_of(app integer) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN a.topic IS NOT NULL OR c.key_id IS NOT NULL OR cardinality(c.topics) > 0 THEN ARRAY(
        SELECT t.topic || s.suffix
        FROM (SELECT DISTINCT p.topic_suffix AS suffix FROM carillon.push_types() AS p) s,
            unnest(CASE WHEN a.topic IS NULL THEN c.topics ELSE ARRAY[a.topic] END || a.topics) AS t(topic)
        ORDER BY s.suffix <> '', t.topic <> a.topic) END
    FROM carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id WHERE a.id = topics_of.app
$$;

-- The binary protocol has its own limit.
CREATE OR REPLACE FUNCTION carillon.payload_limit(push_type text, protocol text DEFAULT 'http2') RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE protocol WHEN 'binary' THEN 2048 ELSE (carillon.rules_of(push_type)).payload_limit END
$$;

CREATE OR REPLACE FUNCTION carillon.payload_size(push_type text, protocol text DEFAULT 'http2') RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'at most ' || carillon.payload_limit(push_type, protocol) || ' bytes' || CASE
        WHEN protocol = 'binary' THEN ' for the protocol binary'
        WHEN push_type = 'channel' THEN '' ELSE ' for push type ' || push_type END
$$;

-- APNs would refuse a token of any other kind, because each token is bound to its topic. Null for a push to a channel.
CREATE OR REPLACE FUNCTION carillon.kind_of_push(push_type text, payload text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN push_type OPERATOR(pg_catalog.=) 'liveactivity'
            AND payload::pg_catalog.json OPERATOR(pg_catalog.#>>) '{aps,event}' OPERATOR(pg_catalog.=) 'start'
        THEN 'push_to_start' ELSE (carillon.rules_of(push_type)).token_kind END
$$;

-- check_kinds() finds tokens that APNs would refuse. A token that is not registered may be of any kind. Each token is one lookup by
-- primary key, whichever values the plan was made for.
CREATE OR REPLACE FUNCTION carillon.check_kinds(app integer, tokens text[], push_type text, payload text) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    wanted CONSTANT text := carillon.kind_of_push(push_type, payload);
    other record;
BEGIN
    IF wanted = 'device' THEN
        RETURN NULL;
    END IF;
    SELECT u.token, k.kind INTO other FROM unnest(tokens) WITH ORDINALITY AS u(token, place) CROSS JOIN LATERAL (
        SELECT t.kind FROM carillon.tokens t WHERE t.app_id = app AND t.token = u.token OFFSET 0) AS k
    WHERE k.kind <> wanted ORDER BY u.place LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN carillon.refusal('tokens', 'tokens of kind ' || wanted,
        quote_literal(CASE WHEN length(other.token) > 24 THEN left(other.token, 12) || '…' || right(other.token, 8)
            ELSE other.token END) || ', which is registered as ' || other.kind,
        CASE push_type WHEN 'liveactivity' THEN
            'A start takes push-to-start tokens; an update or an end takes the token that the activity has since it started. '
            ELSE 'Apple refuses a token that is for something else. ' END
        || format('If the registration is wrong, call carillon.register_token(…, kind => %L).', wanted));
END
$$;


-- functions/enqueue/submit.sql
-- carillon.enqueue and carillon.broadcast, from their arguments to stored jobs. enqueue.sql has the functions that users call.
-- submit() runs as its owner, because apps may not write all columns.

-- Lists with more than tokens_per_job() tokens are split, so that workers share them.
CREATE OR REPLACE FUNCTION carillon.tokens_per_job() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT 1000';

CREATE OR REPLACE FUNCTION carillon.enqueue_job(
    id bigint, tokens text[], payloads json[], m carillon.message_arguments, made carillon.draft, lane integer,
    broadcast_id bigint
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    one CONSTANT json := CASE WHEN payloads IS NULL THEN made.payload WHEN cardinality(payloads) = 1 THEN payloads[1]::text END;
    each CONSTANT json[] := CASE WHEN one IS NULL THEN payloads END;
BEGIN
    IF made.scheduled THEN
        INSERT INTO carillon.scheduled (id, app_id, lane, tokens, payload, payloads, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown, broadcast_id, run_at)
        VALUES (id, made.app_id, lane, tokens, one, each, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, coalesce(m.on_unknown, 'retry'), broadcast_id, m.run_at);
    ELSE
        INSERT INTO carillon.messages (id, app_id, lane, tokens, payload, payloads, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown, broadcast_id)
        VALUES (id, made.app_id, lane, tokens, one, each, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, coalesce(m.on_unknown, 'retry'), broadcast_id);
    END IF;
END
$$;

-- enqueue_jobs() stores a message of several jobs. `tokens` and `payloads` are those of the first job; the cursor `slices` returns
-- those of the others. The tokens of a broadcast with a badge have no payloads yet: each gets its own here.
CREATE OR REPLACE FUNCTION carillon.enqueue_jobs(
    first bigint, tokens text[], payloads json[], slices refcursor, m carillon.message_arguments, made carillon.draft, lane integer
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    job bigint;
    jobs integer := 0;
    pushes bigint := 0;
BEGIN
    WHILE tokens IS NOT NULL LOOP
        job := CASE jobs WHEN 0 THEN first ELSE nextval('carillon.messages_id_seq') END;
        IF made.after_badge IS NOT NULL AND payloads IS NULL THEN
            payloads := carillon.with_badges(made.app_id, tokens, m.badge_add, made.payload, made.after_badge);
        END IF;
        PERFORM carillon.enqueue_job(job, tokens, payloads, m, made, lane, first);
        jobs := jobs + 1;
        pushes := pushes + cardinality(tokens);
        FETCH slices INTO tokens, payloads;
    END LOOP;
    CLOSE slices;
    INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens, reference)
    VALUES (first, job, made.app_id, lane, jobs, pushes, m.reference);
END
$$;

-- open_audience() reads one snapshot, in slices of `size` tokens along an index, so that each costs the same however many tokens
-- there are: the primary key for devices, tokens_by_kind for other kinds. A plan that knows the kind also knows whether the partial
-- index contains it. For (expires_at > now()) IS NOT FALSE, the planner would estimate that no row matches.
CREATE OR REPLACE FUNCTION carillon.open_audience(app integer, wanted text, size integer) RETURNS refcursor
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    slices refcursor;
BEGIN
    OPEN slices FOR WITH RECURSIVE slice AS (
        SELECT NULL::text[] AS tokens, '' AS last
        UNION ALL
        SELECT next.tokens, next.last FROM slice CROSS JOIN LATERAL (
            SELECT array_agg(t.token) AS tokens, max(t.token) AS last FROM (
                SELECT k.token FROM carillon.tokens k WHERE k.app_id = app AND k.token > slice.last AND k.kind = wanted
                    AND (k.expires_at IS NULL OR k.expires_at > now())
                ORDER BY k.token LIMIT size) t) next
        WHERE next.tokens IS NOT NULL)
    SELECT c.tokens, NULL::json[] FROM slice c WHERE c.tokens IS NOT NULL;
    RETURN slices;
END
$$;

-- audience_of() returns the tokens of a message, checked, and their payloads if each has its own. For a broadcast it returns the
-- first slice of the app's tokens, and the cursor of the others. `tokens` is null if there are none.
CREATE OR REPLACE FUNCTION carillon.audience_of(
    m carillon.message_arguments, made carillon.draft, everyone boolean, kind text,
    OUT tokens text[], OUT payloads json[], OUT slices refcursor, OUT refusal carillon.refusal
)
LANGUAGE plpgsql AS $$
DECLARE
    token CONSTANT text := carillon.token(m.tokens[array_lower(m.tokens, 1)]);
    wanted_kind text;
    cleaned record;
BEGIN
    refusal := made.refusal;
    IF refusal.message IS NULL AND everyone THEN
        refusal := carillon.check_kind(kind);
    END IF;
    IF refusal.message IS NOT NULL THEN
        RETURN;
    END IF;
    IF everyone THEN
        wanted_kind := coalesce(kind, carillon.kind_of_push(made.push_type, made.payload));
        slices := carillon.open_audience(made.app_id, wanted_kind, carillon.tokens_per_job());
        FETCH slices INTO tokens, payloads;
    ELSIF cardinality(m.tokens) = 1 AND token IS NOT NULL THEN
        tokens := ARRAY[token];
        payloads := made.payloads;
    ELSE
        cleaned := carillon.clean_tokens(m.tokens);
        tokens := cleaned.clean;
        refusal := cleaned.refusal;
        IF made.payloads IS NOT NULL THEN
            payloads := ARRAY(
                SELECT g.payload FROM unnest(made.payloads) WITH ORDINALITY AS g(payload, place)
                WHERE g.place = ANY (cleaned.places) ORDER BY g.place);
        END IF;
    END IF;
    IF refusal.message IS NOT NULL THEN
        RETURN;
    ELSIF tokens IS NULL AND m.is_strict THEN
        refusal := CASE WHEN everyone THEN carillon.refusal('app', 'an app with registered tokens if strict is true',
                quote_literal(m.app) || ', which has none'
                    || CASE WHEN wanted_kind <> 'device' THEN ' of kind ' || wanted_kind ELSE '' END)
            ELSE carillon.refusal('tokens', 'one or more device tokens if strict is true',
                CASE WHEN m.tokens IS NULL THEN 'null' ELSE 'none' END) END;
    -- Most calls name no push type.
    ELSIF m.push_type <> ALL ('{alert,background}') AND tokens IS NOT NULL AND NOT everyone THEN
        refusal := carillon.check_kinds(made.app_id, tokens, made.push_type, coalesce(made.payload, made.payloads[1]::text));
    END IF;
END
$$;

-- A payload with an alert is neither silent nor ignored.
CREATE OR REPLACE FUNCTION carillon.plain_payload(m carillon.message_arguments) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    payload text;
BEGIN
    IF octet_length(m.payload) <= carillon.payload_limit('alert') AND NOT carillon.has_payload_fields(m) THEN
        payload := CASE m.payload_type WHEN 'jsonb'::regtype THEN carillon.compact_json(m.payload::jsonb) ELSE m.payload END;
        RETURN CASE WHEN payload::json #>> '{aps,alert}' IS NOT NULL THEN payload END;
    END IF;
    RETURN NULL;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END
$$;

-- submit() stores one job, or as many as the tokens need, and returns the id of the first. It returns null if there are no tokens
-- or another message has the dedupe_key.
--
-- enqueue and broadcast share this function, and refusals are raised only here: the error then has one line of context, without a
-- list of 34 types.
CREATE OR REPLACE FUNCTION carillon.submit(m carillon.message_arguments, everyone boolean, kind text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    size integer;
    made carillon.draft;
    audience record;
    refusal carillon.refusal;
    token text;
    clean text[];
    slices refcursor;
    alert text;
    other_members text;
    own_members text;
    payload text;
    payloads json[];
    job_tokens text[];
    job_payloads json[];
    first bigint;
    holder bigint;
    lane integer;
BEGIN
    -- A plain message has a single token, an alert, and no argument that needs a closer check. Most messages are plain. Their cost
    -- is mainly that PL/pgSQL prepares each expression anew in each transaction, and looks up each function in it: so there are few
    -- here.
    token := m.tokens[1];
    IF NOT everyone AND cardinality(m.tokens) = 1 AND carillon.is_token(token)
        AND num_nonnulls(m.push_type, m.priority, m.expires_at, m.collapse_id, m.topic, m.run_at, m.lane, m.dedupe_key,
            m.dedupe_for, m.aps, m.interruption_level, m.relevance_score, m.target_content_id, m.filter_criteria, m.stale_date,
            m.payloads, m.badge_add) = 0
        AND (m.badge BETWEEN 0 AND 2147483647) IS NOT FALSE AND concat(m.alert, m.sound) NOT LIKE '%{%'
        AND m.on_unknown = 'retry' AND m.on_duplicate = 'null'
    THEN
        IF num_nonnulls(m.alert_json, m.payload, m.content_available, m.mutable_content, m.category, m.thread_id, m.extra) = 0 THEN
            IF m.alert IS NULL THEN
                payload := CASE WHEN coalesce(m.title, m.subtitle, m.body) IS NOT NULL
                    THEN carillon.compose_plain(carillon.alert_of_lines(m.title, m.subtitle, m.body), m.badge, m.sound) END;
            ELSE
                payload := CASE WHEN coalesce(m.title, m.subtitle, m.body) IS NULL
                    THEN carillon.compose_plain(to_json(m.alert), m.badge, m.sound) END;
            END IF;
        ELSIF m.payload IS NOT NULL THEN
            payload := carillon.plain_payload(m);
        ELSIF num_nonnulls(m.alert, m.alert_json, coalesce(m.title, m.subtitle, m.body)) = 1
            AND (jsonb_typeof(m.alert_json) = 'object') IS NOT FALSE
            AND (jsonb_typeof(m.extra) = 'object' AND NOT m.extra ? 'aps') IS NOT FALSE
        THEN
            alert := CASE WHEN m.alert_json IS NOT NULL THEN carillon.compact_json(m.alert_json)
                WHEN m.alert IS NOT NULL THEN to_json(m.alert)::text
                ELSE carillon.alert_of_lines(m.title, m.subtitle, m.body)::text END;
            IF num_nonnulls(m.content_available, m.mutable_content, m.category, m.thread_id, m.extra) > 0 THEN
                other_members := carillon.other_members(m.content_available, m.mutable_content, m.category, m.thread_id);
                own_members := carillon.own_members(m.extra);
            END IF;
            payload := carillon.compose(alert, m.badge, to_json(m.sound)::text, other_members, own_members);
        END IF;
        IF m.reference IS NOT NULL THEN
            payload := CASE WHEN octet_length(m.reference) <= carillon.max_reference_bytes() THEN payload END;
        END IF;
        INSERT INTO carillon.messages (app_id, tokens, payload, reference)
        SELECT a.id, ARRAY[lower(token COLLATE "C")], payload::json, m.reference FROM carillon.apps a
        WHERE a.name = m.app AND NOT a.is_guarded AND octet_length(payload) <= carillon.payload_limit('alert', a.protocol)
        RETURNING messages.id INTO first;
        IF FOUND THEN
            RETURN first;
        END IF;
    END IF;
    size := carillon.tokens_per_job();
    made := carillon.draft(m);
    audience := carillon.audience_of(m, made, everyone, kind);
    refusal := audience.refusal;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    ELSIF audience.tokens IS NULL THEN
        RETURN NULL;
    ELSIF everyone THEN
        job_tokens := audience.tokens;
        slices := audience.slices;
    ELSE
        clean := audience.tokens;
        payloads := audience.payloads;
    END IF;
    -- A single push of the app must not wait behind a list of thousands.
    lane := coalesce(m.lane, CASE WHEN everyone OR cardinality(clean) > size THEN 2 ELSE 1 END);
    -- Most calls end here.
    IF cardinality(clean) <= size AND m.dedupe_key IS NULL AND made.scheduled IS NULL AND payloads IS NULL
        AND made.after_badge IS NULL
    THEN
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id,
            topic, reference, on_unknown)
        VALUES (made.app_id, lane, clean, made.payload::json, made.push_type, made.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, coalesce(m.on_unknown, 'retry'))
        RETURNING messages.id INTO first;
        RETURN first;
    END IF;
    first := nextval('carillon.messages_id_seq');
    IF m.dedupe_key IS NOT NULL THEN
        holder := carillon.take_dedupe_key(made.app_id, m.dedupe_key, m.dedupe_for, m.run_at, first);
        IF holder IS DISTINCT FROM first THEN
            RETURN CASE m.on_duplicate WHEN 'existing' THEN holder END;
        END IF;
    END IF;
    IF made.after_badge IS NOT NULL AND NOT everyone THEN
        payloads := carillon.with_badges(made.app_id, clean, m.badge_add, made.payload, made.after_badge);
    END IF;
    IF cardinality(clean) <= size THEN
        PERFORM carillon.enqueue_job(first, clean, payloads, m, made, lane, NULL);
        RETURN first;
    END IF;
    IF NOT everyone THEN
        OPEN slices FOR SELECT array_agg(t.token ORDER BY t.place),
            CASE WHEN payloads IS NOT NULL THEN array_agg(t.payload ORDER BY t.place) END
        FROM unnest(clean, payloads) WITH ORDINALITY t (token, payload, place)
        GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size;
        FETCH slices INTO job_tokens, job_payloads;
    END IF;
    -- Otherwise enqueue_job() would copy them for each job: millions of tokens, thousands of times.
    m.tokens := NULL;
    m.payloads := NULL;
    made.payloads := NULL;
    audience := NULL;
    PERFORM carillon.enqueue_jobs(first, job_tokens, job_payloads, slices, m, made, lane);
    RETURN first;
END
$$;


-- functions/enqueue/submit_activity.sql
-- Starts, updates and ends Live Activities. enqueue.sql has the functions that users call. submit_activity() checks what only these
-- pushes have, calls submit(), and notes updates in the same transaction, so that none is sent before its order is known.

-- Apple takes an object as the alert of an activity, not plain text.
CREATE OR REPLACE FUNCTION carillon.activity_alert(a carillon.activity_arguments, OUT alert jsonb, OUT refusal carillon.refusal)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF a.alert_type IN ('json'::regtype, 'jsonb'::regtype) THEN
        alert := a.alert::jsonb;
    ELSIF a.alert ~ '^[[:space:]]*[{]' THEN
        -- JSON that a driver sent as text.
        alert := carillon.jsonb_or_null(a.alert);
        refusal := carillon.broken_json('alert', a.alert);
    END IF;
    IF alert IS NULL AND a.alert IS NOT NULL THEN
        alert := jsonb_build_object('body', a.alert);
    ELSIF jsonb_typeof(alert) = 'string' THEN
        alert := jsonb_build_object('body', alert);
    ELSIF jsonb_typeof(alert) <> 'object' THEN
        refusal := carillon.refusal('alert', 'text, or a JSON object', alert::text);
    END IF;
    IF alert IS NOT NULL AND num_nonnulls(a.title, a.body) > 0 THEN
        refusal := carillon.refusal('alert', 'null if title or body is given', 'a value',
            'Pass the text as body, together with the title.');
    ELSIF num_nonnulls(a.title, a.body) > 0 THEN
        alert := jsonb_strip_nulls(jsonb_build_object('title', a.title, 'body', a.body));
    END IF;
    IF a.sound IS NOT NULL AND alert IS NULL THEN
        refusal := carillon.refusal('sound', 'null unless there is an alert', quote_literal(a.sound),
            'The sound of a Live Activity belongs to its alert: pass title, body or alert too.');
    ELSIF a.sound IS NOT NULL AND alert ? 'sound' THEN
        refusal := carillon.refusal('sound', 'null if alert has the member "sound"', quote_literal(a.sound));
    ELSIF a.sound IS NOT NULL THEN
        alert := alert || jsonb_build_object('sound', a.sound);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION carillon.check_activity(a carillon.activity_arguments, alert jsonb) RETURNS carillon.refusal
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    members CONSTANT text[] := ARRAY['timestamp', 'event', 'content-state', 'attributes-type', 'attributes', 'alert',
        'input-push-token', 'input-push-channel', 'stale-date', 'dismissal-date', 'relevance-score'];
    m carillon.message_arguments;
    refusal carillon.refusal;
    wrong record;
BEGIN
    m.relevance_score := a.relevance_score;
    m.aps := a.aps;
    m.extra := a.extra;
    refusal := carillon.check_members(m);
    IF jsonb_typeof(a.content_state) IS DISTINCT FROM 'object' AND (a.state_text IS NOT NULL OR a.event <> 'end')
    THEN
        RETURN carillon.refusal('content_state', 'a JSON object with the fields of the Live Activity''s ContentState',
            a.state_text, NULL, CASE WHEN a.content_state IS NULL AND a.state_text IS NOT NULL THEN '22P02' ELSE '22023' END);
    ELSIF a.event = 'start' AND (a.attributes_type ~ '^[^[:cntrl:][:space:]]{1,255}$') IS NOT TRUE THEN
        RETURN carillon.refusal('attributes_type', 'the name of a type of ActivityAttributes',
            quote_literal(a.attributes_type));
    ELSIF a.event = 'start' AND jsonb_typeof(a.attributes) IS DISTINCT FROM 'object' THEN
        RETURN carillon.refusal('attributes', 'a JSON object with the fields of the attributes', a.attributes_text, NULL,
            CASE WHEN a.attributes IS NULL AND a.attributes_text IS NOT NULL THEN '22P02' ELSE '22023' END);
    ELSIF a.event = 'start' AND (alert IS NULL OR alert = '{}') THEN
        RETURN carillon.refusal('alert', 'text or a JSON object, unless title or body is given', NULL,
            'Apple starts a Live Activity only with an alert.');
    ELSIF a.channel IS NOT NULL AND (a.channel !~ '^[A-Za-z0-9+/]+={0,2}$' OR length(a.channel) > 256) THEN
        RETURN carillon.refusal('channel', 'the reference of a channel that is ready, or an id of Apple''s',
            quote_literal(a.channel), 'Request one with carillon.request_channel, and wait for it with carillon.channel.');
    ELSIF a.everyone AND a.tokens IS NOT NULL THEN
        RETURN carillon.refusal('tokens', 'null if everyone is true', 'a value',
            'Pass the tokens, or everyone => true for every push_to_start token of the app.');
    ELSIF a.aps ?| members THEN
        RETURN carillon.refusal('aps', 'members that have no argument of their own', a.aps::text,
            'These have their own arguments: ' || array_to_string(members, ', ') || '.');
    ELSIF refusal.message IS NOT NULL THEN
        RETURN refusal;
    END IF;
    SELECT t.* INTO wrong FROM (VALUES
        ('stale_date', a.stale_date), ('dismissal_date', a.dismissal_date), ('apns_timestamp', a.apns_timestamp)
    ) AS t(argument, value)
    WHERE t.value < timestamptz '1970-01-01 00:00:01Z' OR t.value >= timestamptz '2201-01-01 00:00:00Z' LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal(wrong.argument, 'a time after 1970-01-01 00:00:00 UTC, up to the year 2200',
            quote_literal(wrong.value));
    END IF;
    RETURN NULL;
END
$$;

-- A worker replaces the timestamp 0 with the time of sending, so nine bytes are reserved in the payload.
CREATE OR REPLACE FUNCTION carillon.submit_activity(a carillon.activity_arguments) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    m carillon.message_arguments;
    made record := carillon.activity_alert(a);
    refusal carillon.refusal := made.refusal;
    push_type CONSTANT text := 'liveactivity';
    size integer;
    target integer;
    message bigint;
    due_at timestamptz;
    last bigint;
BEGIN
    -- A channel may be named by its reference.
    a.channel := coalesce((
        SELECT c.channel_id FROM carillon.channels c JOIN carillon.apps k ON k.id = c.app_id
        WHERE k.name = a.app AND c.reference = a.channel AND c.state = 'ready'
            AND carillon.may_use(k)), a.channel);
    a.content_state := carillon.jsonb_or_null(a.state_text);
    a.attributes := carillon.jsonb_or_null(a.attributes_text);
    IF refusal.message IS NULL THEN
        refusal := carillon.check_activity(a, made.alert);
    END IF;
    IF refusal.message IS NULL THEN
        m.payload := '{"aps":{' || concat_ws(',',
            '"timestamp":' || coalesce(floor(extract(epoch FROM a.apns_timestamp)), 0),
            '"event":"' || a.event || '"',
            '"content-state":' || carillon.compact_json(a.content_state),
            '"attributes-type":' || to_json(a.attributes_type),
            '"attributes":' || carillon.compact_json(a.attributes),
            CASE WHEN a.channel IS NOT NULL THEN '"input-push-channel":' || to_json(a.channel)
                WHEN coalesce(a.push_token, a.event = 'start') THEN '"input-push-token":1' END,
            '"stale-date":' || floor(extract(epoch FROM a.stale_date)),
            '"dismissal-date":' || floor(extract(epoch FROM a.dismissal_date)),
            '"relevance-score":' || to_json(a.relevance_score),
            '"alert":' || carillon.compact_json(made.alert),
            CASE WHEN a.aps <> '{}' THEN left(substr(carillon.compact_json(a.aps), 2), -1) END)
            || CASE WHEN a.extra <> '{}' THEN '},' || substr(carillon.compact_json(a.extra), 2) ELSE '}}' END;
        size := octet_length(m.payload) + CASE WHEN a.apns_timestamp IS NULL THEN 9 ELSE 0 END;
        IF size > (carillon.rules_of(push_type)).payload_limit THEN
            refusal := carillon.refusal((
                    SELECT p.name FROM (VALUES ('content_state', a.content_state::text),
                        ('attributes', a.attributes::text), ('alert', a.alert), ('title', a.title), ('body', a.body),
                        ('sound', a.sound), ('aps', a.aps::text), ('extra', a.extra::text)) AS p(name, value)
                    ORDER BY octet_length(p.value) DESC NULLS LAST LIMIT 1),
                'a value for a payload of ' || carillon.payload_size(push_type), 'one of ' || size || ' bytes', NULL, '54000');
        END IF;
    END IF;
    IF refusal.hint IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    ELSIF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument;
    END IF;
    m.app := a.app;
    m.tokens := a.tokens;
    m.payload_type := 'text'::regtype;
    m.push_type := push_type;
    -- Apple counts pushes of priority 10 against a budget.
    m.priority := coalesce(a.priority, CASE WHEN made.alert IS NULL THEN 5 ELSE 10 END);
    m.expires_at := a.expires_at;
    m.topic := a.topic;
    m.run_at := a.run_at;
    m.lane := a.lane;
    m.reference := a.reference;
    m.dedupe_key := a.dedupe_key;
    m.dedupe_for := a.dedupe_for;
    m.on_unknown := a.on_unknown;
    m.on_duplicate := 'null';
    m.is_strict := false;
    message := carillon.submit(m, coalesce(a.everyone, false));
    IF a.event <> 'start' AND message IS NOT NULL THEN
        SELECT k.id INTO target FROM carillon.apps k WHERE k.name = a.app;
        IF target IS NULL THEN
            RAISE EXCEPTION 'the app % was renamed or removed during the call', quote_literal(a.app)
            USING ERRCODE = 'serialization_failure', HINT = 'Call the function again.';
        END IF;
        due_at := greatest(clock_timestamp(), a.run_at);
        IF cardinality(a.tokens) <= carillon.tokens_per_job() THEN
            PERFORM carillon.note_update(target, message, a.tokens, a.event = 'end', due_at, a.expires_at);
            RETURN message;
        END IF;
        SELECT b.last_id INTO last FROM carillon.split_messages b WHERE b.app_id = target AND b.id = message;
        PERFORM carillon.note_update(target, j.id, j.tokens, a.event = 'end', due_at, a.expires_at) FROM (
            -- submit() has checked the lane.
            SELECT q.id, q.tokens, q.broadcast_id FROM carillon.messages q
            WHERE q.app_id = target AND q.lane IN (0, 1, 2) AND q.id BETWEEN message AND coalesce(last, message)
            UNION ALL
            SELECT q.id, q.tokens, q.broadcast_id FROM carillon.scheduled q
            WHERE q.app_id = target AND q.id BETWEEN message AND coalesce(last, message)
        ) AS j WHERE last IS NULL OR j.broadcast_id = message;
    END IF;
    RETURN message;
END
$$;


-- functions/enqueue/submit_publication.sql
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
    ELSIF p.event NOT IN ('update', 'end') THEN
        refusal := carillon.refusal('event', '''update'' or ''end''', quote_literal(p.event),
            CASE p.event WHEN 'start' THEN 'A channel cannot start Live Activities: use carillon.start_activity.' END);
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
    END IF;
    RETURN refusal;
END
$$;

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


-- functions/messages/broadcast_progress.sql
-- carillon.broadcast_progress(), which users call: the counts of a message while it is sent and afterwards. It only reads.

-- Results are deleted after the retention, and the id is then unknown. If several apps use the id, the caller must name one.
CREATE OR REPLACE FUNCTION carillon.broadcast_progress(
    id bigint, app text DEFAULT NULL,
    OUT app_id integer, OUT tokens bigint, OUT sent bigint, OUT failed bigint, OUT expired bigint, OUT cancelled bigint,
    OUT waiting bigint, OUT finished boolean, OUT created_at timestamptz, OUT finished_at timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    refusal carillon.refusal;
    chosen CONSTANT integer[] := carillon.chosen_apps(broadcast_progress.app);
    apps integer[];
BEGIN
    IF cardinality(chosen) = 1 AND EXISTS (
        SELECT FROM carillon.split_messages b WHERE b.app_id = chosen[1] AND b.id = broadcast_progress.id)
    THEN
        apps := chosen;
    ELSE
        SELECT array_agg(DISTINCT a.app_id) INTO apps FROM (
            SELECT b.app_id FROM carillon.split_messages b WHERE b.id = broadcast_progress.id
            UNION ALL
            SELECT r.app_id FROM carillon.results r WHERE r.message_id = broadcast_progress.id
            UNION ALL
            SELECT u.app_id FROM carillon.waiting_apps() w, carillon.unfinished u
            WHERE u.app_id = w.app_id AND u.message_id = broadcast_progress.id
        ) a WHERE chosen IS NULL OR a.app_id = ANY (chosen);
    END IF;
    IF apps IS NULL THEN
        SELECT array_agg(DISTINCT j.app_id) INTO apps FROM carillon.find_job(broadcast_progress.id) j
        WHERE chosen IS NULL OR j.app_id = ANY (chosen);
    END IF;
    IF app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(app);
    ELSIF apps IS NULL THEN
        refusal := carillon.refusal('id', 'an id that enqueue or broadcast returned', id::text,
            'Workers delete results after --retention.', 'P0002');
    ELSIF cardinality(apps) > 1 THEN
        refusal := carillon.refusal('app', 'the name of one of the apps that have a message of this id', 'null', coalesce((
            SELECT 'The apps are: ' || string_agg(a.name, ', ' ORDER BY a.name) || '.' FROM carillon.apps a
            WHERE a.id = ANY (apps)), 'These apps have been removed: carillon.results has their counts by app_id.'));
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    app_id := apps[1];
    SELECT b.tokens, b.created_at INTO tokens, created_at
    FROM carillon.split_messages b WHERE b.app_id = apps[1] AND b.id = broadcast_progress.id;
    IF FOUND THEN
        SELECT coalesce(sum(r.sent), 0), coalesce(sum(r.failed), 0), coalesce(sum(r.expired), 0),
            coalesce(sum(r.cancelled), 0), max(r.finished_at)
        INTO sent, failed, expired, cancelled, finished_at FROM carillon.results r
        WHERE r.app_id = apps[1] AND r.broadcast_id = broadcast_progress.id;
        SELECT broadcast_progress.sent + coalesce(sum(u.sent), 0), broadcast_progress.failed + coalesce(sum(u.failed), 0),
            broadcast_progress.expired + coalesce(sum(u.expired), 0),
            broadcast_progress.cancelled + coalesce(sum(u.cancelled), 0)
        INTO sent, failed, expired, cancelled FROM carillon.unfinished u
        WHERE u.app_id = apps[1] AND u.broadcast_id = broadcast_progress.id;
        waiting := tokens - sent - failed - expired - cancelled;
    ELSE
        -- A message of one job: ended, partly ended, or waiting.
        SELECT r.sent, r.failed, r.expired, r.cancelled, 0, r.created_at, r.finished_at
        INTO sent, failed, expired, cancelled, waiting, created_at, finished_at
        FROM carillon.results r WHERE r.app_id = apps[1] AND r.message_id = broadcast_progress.id;
        IF NOT FOUND THEN
            SELECT u.sent, u.failed, u.expired, u.cancelled, u.remaining, u.created_at
            INTO sent, failed, expired, cancelled, waiting, created_at
            FROM carillon.unfinished u WHERE u.app_id = apps[1] AND u.message_id = broadcast_progress.id;
        END IF;
        IF NOT FOUND THEN
            SELECT 0, 0, 0, 0, p.token_count, p.created_at
            INTO sent, failed, expired, cancelled, waiting, created_at
            FROM carillon.find_job(broadcast_progress.id) p WHERE p.app_id = apps[1];
        END IF;
        tokens := sent + failed + expired + cancelled + waiting;
    END IF;
    finished := waiting <= 0;
    IF NOT finished THEN
        finished_at := NULL;
    END IF;
END
$$;


-- functions/messages/cancel.sql
-- Cancels jobs that no worker has claimed.
--
-- The functions for callers run as their owner, because an app may cancel messages but not delete rows of the queue. An id selects
-- the whole message that it belongs to, in the named app or in every app that the caller may use.
--
-- Every session takes its locks in the same order, which prevents deadlocks: apps by id, and within an app first rows of app_locks,
-- then cancelling, rows of split_messages, rows of messages and scheduled, and finally, in one sorted pass, rows of unfinished.
-- Workers skip rows of app_locks that are taken, and wait only for unfinished. A transaction that calls several of these functions
-- can break the order; cancel_messages cancels many messages in one call.
--
-- Workers see a cancel only after it commits. A job that returns to the queue before then must not be sent, so either the cancel
-- must see the job or the worker must see the cancel. A cancel therefore locks its messages, waits for sessions that are returning
-- jobs to the queue, and only then reads. A session that returns jobs makes later cancels wait until it commits, and delays jobs
-- that are being cancelled: see find_cancelled().
--
-- None of these locks can be held without rights on our tables. Every login that may connect can take advisory locks: with their
-- keys, it could keep retries from being sent. A message in flight has no row of its own, so an app has a fixed number of rows in
-- app_locks, which only functions of the owner lock, and each of its messages belongs to one of them. Locking a row writes no new
-- version of it, and takes no room in the lock table of the server, so a cancel may name any number of messages.

CREATE OR REPLACE FUNCTION carillon.lock_for_cancel(app integer, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM FROM carillon.app_locks l
    WHERE l.app_id = app AND l.lock_number = ANY (ARRAY(SELECT carillon.lock_number(i.id) FROM unnest(ids) AS i(id)))
    ORDER BY l.lock_number FOR UPDATE;
    -- Waits for sessions that are returning jobs and do not know of this cancel. Sessions that start later do.
    LOCK TABLE carillon.cancelling IN ROW EXCLUSIVE MODE;
END
$$;

-- 64 locks for each app: retries of other messages are delayed only if they share the lock of one that is being cancelled.
CREATE OR REPLACE FUNCTION carillon.lock_number(message bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
    SELECT (message & 63)::smallint
$$;

-- delay_cancels() is for a transaction that returns jobs of these messages to the queue. It never waits.
CREATE OR REPLACE FUNCTION carillon.delay_cancels(app integer, messages bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN ARRAY(
        WITH locked AS MATERIALIZED (
            SELECT l.lock_number FROM carillon.app_locks l
            WHERE l.app_id = app AND l.lock_number = ANY (ARRAY(SELECT carillon.lock_number(m.id) FROM unnest(messages) AS m(id)))
            FOR SHARE SKIP LOCKED
        )
        SELECT m.id FROM unnest(messages) AS m(id) WHERE carillon.lock_number(m.id) NOT IN (SELECT h.lock_number FROM locked h)
    );
END
$$;

-- Updates are the pushes to a Live Activity or a channel. The function has no SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.as_cancelled(job carillon.job) RETURNS carillon.cancelled_job
LANGUAGE sql IMMUTABLE AS $$
    SELECT (coalesce(job.origin, job.id), pg_catalog.cardinality(job.tokens), job.reference, job.broadcast_id, job.attempt,
        job.last_status, job.last_reason, job.created_at,
        CASE WHEN job.push_type OPERATOR(pg_catalog.=) ANY ('{liveactivity,channel}') THEN job.tokens END)::carillon.cancelled_job
$$;

-- record_cancelled() keeps the search_path of its caller, and may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.record_cancelled(app_id integer, jobs carillon.cancelled_job[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    message_ids CONSTANT bigint[] := ARRAY(SELECT DISTINCT g.message_id FROM pg_catalog.unnest(jobs) g);
BEGIN
    -- An update that is never sent must not supersede an older one.
    DELETE FROM carillon.updates u WHERE u.ctid = ANY (ARRAY(
        SELECT n.ctid
        FROM pg_catalog.unnest(jobs) AS g CROSS JOIN LATERAL pg_catalog.unnest(g.updates) AS t(token)
        JOIN carillon.updates n ON n.app_id = record_cancelled.app_id AND n.token = pg_catalog.lower(t.token)
            AND n.message_id = g.message_id
        ORDER BY n.token, n.message_id FOR UPDATE OF n SKIP LOCKED));
    -- In order of id, as settlements lock them.
    PERFORM FROM carillon.unfinished u WHERE u.app_id = record_cancelled.app_id AND u.message_id = ANY (message_ids)
    ORDER BY u.message_id FOR UPDATE;

    PERFORM carillon.end_messages(record_cancelled.app_id, ARRAY(
        SELECT carillon.ending(message_id => g.message_id, reference => pg_catalog.max(g.reference),
            broadcast_id => pg_catalog.max(g.broadcast_id), created_at => pg_catalog.min(g.created_at),
            attempts => CASE WHEN u.message_id IS NULL THEN pg_catalog.max(g.attempt) - 1 ELSE 0 END,
            cancelled => pg_catalog.sum(g.tokens)::integer, remaining => CASE WHEN u.message_id IS NOT NULL THEN 0 END,
            last_status => (pg_catalog.array_agg(g.last_status ORDER BY g.attempt DESC)
                FILTER (WHERE g.last_reason IS NOT NULL))[1],
            last_reason => (pg_catalog.array_agg(g.last_reason ORDER BY g.attempt DESC)
                FILTER (WHERE g.last_reason IS NOT NULL))[1])
        FROM pg_catalog.unnest(jobs) g
        LEFT JOIN carillon.unfinished u ON u.app_id = record_cancelled.app_id AND u.message_id = g.message_id
        GROUP BY g.message_id, u.message_id));
END
$$;

-- remnants() reads inflight once for all the messages.
CREATE OR REPLACE FUNCTION carillon.remnants(app integer, message_ids bigint[], taken carillon.cancelled_job[])
RETURNS carillon.remnant[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN ARRAY(
        SELECT (coalesce(k.message_id, f.message_id), k.remaining, coalesce(f.tokens, 0))::carillon.remnant
        FROM (
            SELECT u.message_id, u.remaining - coalesce(t.tokens, 0) AS remaining FROM carillon.unfinished u
            LEFT JOIN (SELECT w.message_id, sum(w.tokens) AS tokens FROM unnest(taken) w GROUP BY w.message_id) t
                ON t.message_id = u.message_id
            WHERE u.app_id = remnants.app AND u.message_id = ANY (message_ids)
        ) k
        FULL JOIN (
            SELECT coalesce(j.origin, j.id) AS message_id, sum(cardinality(j.tokens)) AS tokens
            FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
            WHERE i.app_id = remnants.app AND coalesce(j.origin, j.id) = ANY (message_ids) GROUP BY 1
        ) f ON f.message_id = k.message_id
    );
END
$$;

-- Pushes in flight are not retried: a message in `alone` gets a row of cancelled, and a split message has cancelled_at in
-- split_messages. The caller records the jobs that were removed, because that locks rows of unfinished.
CREATE OR REPLACE FUNCTION carillon.remove_waiting_jobs(app integer, message_ids bigint[], alone bigint[])
RETURNS carillon.cancelled_job[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    lanes smallint[];
    taken carillon.cancelled_job[] := '{}';
    -- Messages that may have more jobs.
    unfinished_ids bigint[] := message_ids;
    removed_now carillon.cancelled_job[];
    rest carillon.remnant[];
    -- Messages with pushes in flight.
    in_flight_ids bigint[] := '{}';
    incomplete_ids bigint[];
    retries carillon.cancelled_job[];
BEGIN
    -- The second round finds jobs that moved from scheduled to messages during the first.
    FOR round IN 1..2 LOOP
        lanes := ARRAY(SELECT l.lane FROM carillon.filled_lanes(remove_waiting_jobs.app) l);
        WITH ready AS (
            DELETE FROM carillon.messages m
            WHERE m.app_id = remove_waiting_jobs.app AND m.lane = ANY (lanes) AND m.id = ANY (unfinished_ids)
            RETURNING carillon.as_cancelled(carillon.ready_job(m)) AS job
        ), later AS (
            DELETE FROM carillon.scheduled s
            WHERE s.app_id = remove_waiting_jobs.app AND (s.id = ANY (unfinished_ids) OR s.origin = ANY (unfinished_ids))
            RETURNING carillon.as_cancelled(carillon.scheduled_job(s)) AS job
        )
        SELECT array_agg(g.job) INTO removed_now FROM (TABLE ready UNION ALL TABLE later) g;
        taken := taken || removed_now;
        -- A message has ended if all its jobs were waiting.
        unfinished_ids := ARRAY(
            SELECT s.id FROM unnest(unfinished_ids) AS s(id)
            WHERE s.id NOT IN (SELECT t.message_id FROM unnest(removed_now) t) OR EXISTS (
                SELECT FROM carillon.unfinished u WHERE u.app_id = remove_waiting_jobs.app AND u.message_id = s.id));
        EXIT WHEN cardinality(unfinished_ids) = 0;
        rest := carillon.remnants(app, unfinished_ids, taken);
        in_flight_ids := in_flight_ids || ARRAY(SELECT r.message_id FROM unnest(rest) r WHERE r.in_flight > 0);
        retries := '{}';
        -- Retries that are due are rows of messages with ids of their own. No index finds them, because every INSERT would pay for
        -- it. The rows of the app are read only if jobs are missing.
        incomplete_ids := ARRAY(SELECT r.message_id FROM unnest(rest) r WHERE r.remaining > r.in_flight);
        IF cardinality(incomplete_ids) > 0 THEN
            WITH ready AS (
                DELETE FROM carillon.messages m WHERE m.app_id = remove_waiting_jobs.app AND m.origin = ANY (incomplete_ids)
                RETURNING carillon.as_cancelled(carillon.ready_job(m)) AS job
            )
            SELECT array_agg(g.job) INTO retries FROM ready g;
        END IF;
        taken := taken || retries;
    END LOOP;
    IF cardinality(unfinished_ids) > 0 THEN
        INSERT INTO carillon.cancelled AS c (app_id, message_id)
        SELECT remove_waiting_jobs.app, r.message_id FROM unnest(rest) r
        LEFT JOIN (SELECT t.message_id, sum(t.tokens) AS tokens FROM unnest(retries) t GROUP BY t.message_id) g
            ON g.message_id = r.message_id
        WHERE r.message_id = ANY (alone) AND r.remaining > coalesce(g.tokens, 0)
        UNION
        -- Some pushes may have returned meanwhile, and wait for a retry.
        SELECT remove_waiting_jobs.app, f.id FROM unnest(in_flight_ids) AS f(id)
        WHERE f.id = ANY (unfinished_ids) AND f.id = ANY (alone)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN taken;
END
$$;

-- The rows of split_messages are locked, so jobs that return meanwhile go to scheduled.
CREATE OR REPLACE FUNCTION carillon.waiting_job_ids(app integer, split bigint[]) RETURNS bigint[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT p.id), '{}') FROM (
        SELECT m.id FROM carillon.split_messages b CROSS JOIN LATERAL (
            SELECT coalesce(m.origin, m.id) AS id FROM carillon.messages m
            WHERE m.app_id = b.app_id AND m.lane = b.lane AND m.id BETWEEN b.id AND b.last_id AND m.broadcast_id = b.id) m
        WHERE b.app_id = waiting_job_ids.app AND b.id = ANY (split)
        UNION ALL
        SELECT coalesce(s.origin, s.id) FROM carillon.scheduled s
        WHERE s.app_id = waiting_job_ids.app AND s.broadcast_id = ANY (split)
        UNION ALL
        SELECT u.message_id FROM carillon.unfinished u
        WHERE u.app_id = waiting_job_ids.app AND u.broadcast_id = ANY (split)
    ) AS p
$$;

-- The ids of cancel_messages() may be in any order. Pushes in flight are not retried: before returning a job to the queue, workers
-- check cancelled and split_messages.cancelled_at.
CREATE OR REPLACE FUNCTION carillon.cancel_messages(message_ids bigint[], app text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, carillon, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(cancel_messages.app);
    refusal carillon.refusal;
    target record;
    taken carillon.cancelled_job[];
    jobs integer := 0;
BEGIN
    IF cancel_messages.app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(cancel_messages.app);
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    FOR target IN
        SELECT f.app_id, coalesce(array_agg(DISTINCT f.message_id) FILTER (WHERE b.id IS NULL), '{}') AS whole,
            coalesce(array_agg(DISTINCT b.id) FILTER (WHERE b.id IS NOT NULL), '{}') AS split
        FROM carillon.messages_of(message_ids) f
        LEFT JOIN carillon.split_messages b ON b.app_id = f.app_id AND b.id = f.broadcast_id
        WHERE chosen IS NULL OR f.app_id = ANY (chosen) GROUP BY f.app_id ORDER BY f.app_id
    LOOP
        PERFORM carillon.lock_for_cancel(target.app_id, target.whole || target.split);
        PERFORM FROM carillon.split_messages b WHERE b.app_id = target.app_id AND b.id = ANY (target.split)
        ORDER BY b.id FOR UPDATE;
        UPDATE carillon.split_messages b SET cancelled_at = now()
        WHERE b.app_id = target.app_id AND b.id = ANY (target.split) AND b.cancelled_at IS NULL;
        taken := carillon.remove_waiting_jobs(target.app_id,
            target.whole || carillon.waiting_job_ids(target.app_id, target.split), target.whole);
        PERFORM carillon.record_cancelled(target.app_id, taken);
        jobs := jobs + cardinality(taken);
        PERFORM carillon.record_on_behalf('cancel', target.app_id, jsonb_build_object(
            'message_id', CASE cardinality(message_ids) WHEN 1 THEN message_ids[1] END,
            'messages', cardinality(target.whole || target.split), 'jobs', cardinality(taken)));
    END LOOP;
    RETURN jobs;
END
$$;

-- cancel() is plain SQL, so that the planner inlines it and error messages do not mention it.
CREATE OR REPLACE FUNCTION carillon.cancel(message_id bigint, app text DEFAULT NULL) RETURNS integer
LANGUAGE sql AS $$
    SELECT carillon.cancel_messages(ARRAY[message_id], app)
$$;

CREATE OR REPLACE FUNCTION carillon.cancel_broadcast(id bigint, app text DEFAULT NULL) RETURNS integer
LANGUAGE sql AS $$
    SELECT carillon.cancel_messages(ARRAY[id], app)
$$;

CREATE OR REPLACE FUNCTION carillon.cancel_message(id bigint, app text, on_behalf_of text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.act_for(on_behalf_of);
    RETURN carillon.cancel(cancel_message.id, app => cancel_message.app);
END
$$;


-- functions/messages/dashboard.sql
-- Functions for dashboards. A page may show every app, so each function stops after a fixed number of rows.

-- estimated_depth() is VOLATILE, because EXPLAIN is refused in other functions.
CREATE OR REPLACE FUNCTION carillon.estimated_depth(app_id integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM carillon.messages WHERE app_id = %s', estimated_depth.app_id) INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric::bigint;
END
$$;

-- queue_depth() counts from the newest row, because claims leave dead rows at the oldest end. STABLE, so that app_status reads only
-- the requested apps. The settings force the order of the index, whatever the planner expects of the limit.
CREATE OR REPLACE FUNCTION carillon.queue_depth(app_id integer, exact_up_to bigint DEFAULT 1000) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    depth bigint;
BEGIN
    SELECT count(*) INTO depth FROM (
        SELECT FROM carillon.messages m WHERE m.app_id = queue_depth.app_id
        ORDER BY m.lane DESC, m.id DESC LIMIT coalesce(queue_depth.exact_up_to, 1000) + 1) few;
    RETURN CASE WHEN depth > coalesce(queue_depth.exact_up_to, 1000)
        THEN greatest(depth, carillon.estimated_depth(queue_depth.app_id)) ELSE depth END;
END
$$;

-- One more than exact_up_to: counting stopped there, and the estimate was no higher.
CREATE OR REPLACE FUNCTION carillon.depth_precision(depth bigint, exact_up_to bigint DEFAULT 1000) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN depth <= coalesce(exact_up_to, 1000) THEN 'exact' WHEN depth = coalesce(exact_up_to, 1000) + 1 THEN 'at least'
        ELSE 'about' END
$$;

-- scheduled_depth() reads along the primary key, so an app with few jobs is found quickly even next to one with millions.
CREATE OR REPLACE FUNCTION carillon.scheduled_depth(app_id integer, max_count bigint DEFAULT NULL) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT count(*) FROM (
        SELECT FROM carillon.scheduled s WHERE s.app_id = scheduled_depth.app_id ORDER BY s.app_id, s.id LIMIT max_count) few
$$;

-- next_due() reads along the index by time.
CREATE OR REPLACE FUNCTION carillon.next_due(
    app text DEFAULT NULL, only_retries boolean DEFAULT false, after timestamptz DEFAULT '-infinity',
    max_rows integer DEFAULT 100, max_rows_read integer DEFAULT 5000
) RETURNS TABLE (
    app text, id bigint, message_id bigint, run_at timestamptz, tokens integer, attempt smallint, last_status smallint,
    last_reason text, reference text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT a.name, s.id, coalesce(s.broadcast_id, s.origin, s.id), s.run_at, cardinality(s.tokens), s.attempt, s.last_status,
        s.last_reason, s.reference
    FROM (SELECT * FROM carillon.scheduled s WHERE s.run_at > coalesce(next_due.after, '-infinity')
        ORDER BY s.run_at, s.id LIMIT coalesce(max_rows_read, 5000)) s
    LEFT JOIN carillon.apps a ON a.id = s.app_id
    WHERE (next_due.app IS NULL OR a.name = next_due.app) AND (only_retries IS NOT TRUE OR s.attempt > 1)
    ORDER BY s.run_at, s.id LIMIT coalesce(max_rows, 100)
$$;

-- With more than 10 apps, the limit of token_counts() for each kind is 10,000 for all apps together. VOLATILE, because EXPLAIN is
-- refused in other functions.
CREATE OR REPLACE FUNCTION carillon.token_counts(max_apps integer DEFAULT 100)
RETURNS TABLE (app text, kind text, tokens bigint, tokens_precision text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    one record;
    plan json;
    shown CONSTANT integer := coalesce(max_apps, 100);
    bound CONSTANT bigint := (SELECT least(1000, 10000 / greatest(least(count(*), shown), 1)) FROM carillon.apps);
BEGIN
    FOR one IN
        SELECT a.id, a.name, k.kind FROM (SELECT * FROM carillon.apps ORDER BY name LIMIT shown) a
        CROSS JOIN unnest(carillon.token_kinds()) WITH ORDINALITY AS k(kind, place) ORDER BY a.name, k.place
    LOOP
        IF one.kind = 'device' THEN
            -- Counts device tokens among the first rows of any kind: millions of other rows may precede the first device token.
            SELECT CASE WHEN count(*) > bound THEN count(*) ELSE count(*) FILTER (WHERE few.kind = 'device') END INTO tokens
            FROM (
                SELECT t.kind FROM carillon.tokens t WHERE t.app_id = one.id
                ORDER BY t.app_id, t.token LIMIT bound + 1) few;
        ELSE
            SELECT count(*) INTO tokens FROM (
                SELECT FROM carillon.tokens t WHERE t.app_id = one.id AND t.kind = one.kind AND t.kind <> 'device'
                LIMIT bound + 1) few;
        END IF;
        tokens_precision := CASE WHEN tokens > bound THEN 'about' ELSE 'exact' END;
        IF tokens > bound THEN
            EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM carillon.tokens WHERE app_id = %s AND kind = %L', one.id, one.kind)
                INTO plan;
            tokens := greatest(bound, (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric::bigint);
        END IF;
        CONTINUE WHEN tokens = 0;
        app := one.name;
        kind := one.kind;
        RETURN NEXT;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION carillon.feedback_schedule(OUT next_run timestamptz, OUT every interval)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT t.next_run, t.every FROM carillon.fleet_tasks t WHERE t.name = 'feedback'
$$;

-- newest_activities() looks at the 5,000 tokens that expire last, which are usually the newest.
CREATE OR REPLACE FUNCTION carillon.newest_activities(max_rows integer DEFAULT 200) RETURNS TABLE (
    app text, token text, state text, registered_at timestamptz, ends_at timestamptz, updated_at timestamptz,
    message_id bigint, waiting integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT a.name, t.token,
        CASE WHEN s.is_final THEN 'ended' WHEN w.updates > 0 THEN 'update waits' WHEN s.token IS NULL THEN 'registered'
            ELSE 'updated' END,
        t.last_update, t.expires_at, to_timestamp(s.stamp), s.message_id, w.updates
    FROM (
        SELECT n.* FROM (
            SELECT * FROM carillon.tokens t WHERE t.expires_at > now() ORDER BY t.expires_at DESC LIMIT 5000) n
        WHERE n.kind = 'live_activity' ORDER BY n.expires_at DESC LIMIT least(coalesce(max_rows, 200), 1000)) t
    JOIN carillon.apps a ON a.id = t.app_id
    LEFT JOIN carillon.update_stamps s ON s.app_id = t.app_id AND s.token = t.token
    CROSS JOIN LATERAL (
        SELECT count(*)::integer AS updates FROM (
            SELECT FROM carillon.updates u WHERE u.app_id = t.app_id AND u.token = t.token LIMIT 100) few) w
    ORDER BY t.expires_at DESC, a.name, t.token
$$;

-- Payloads contain personal data, so no role may call message_contents(). GRANT EXECUTE lets the login of a dashboard show them.
CREATE OR REPLACE FUNCTION carillon.message_contents(id bigint, app text) RETURNS TABLE (
    state text, push_type text, topic text, token text, payload text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH target AS (SELECT a.id FROM carillon.apps a WHERE a.name = message_contents.app), kept AS (
        (SELECT 'ready' AS state, m.tokens, m.payload, m.payloads, m.push_type, m.topic
        FROM target t CROSS JOIN LATERAL carillon.filled_lanes(t.id) l
        JOIN carillon.messages m ON m.app_id = l.app_id AND m.lane = l.lane AND m.id = message_contents.id LIMIT 1)
        UNION ALL
        (SELECT 'scheduled', s.tokens, s.payload, s.payloads, s.push_type, s.topic
        FROM target t JOIN carillon.scheduled s ON s.app_id = t.id
            AND (s.id = message_contents.id OR s.origin = message_contents.id) LIMIT 1)
        UNION ALL
        (SELECT 'in flight', j.tokens, j.payload, j.payloads, j.push_type, j.topic
        FROM target t JOIN carillon.inflight i ON i.app_id = t.id CROSS JOIN LATERAL unnest(i.jobs) j
        WHERE message_contents.id IN (j.id, j.origin, j.broadcast_id) LIMIT 1)
        UNION ALL
        (SELECT 'ready', m.tokens, m.payload, m.payloads, m.push_type, m.topic
        FROM target t JOIN carillon.split_messages b ON b.app_id = t.id AND b.id = message_contents.id
        JOIN carillon.messages m ON m.app_id = b.app_id AND m.lane = b.lane AND m.id BETWEEN b.id AND b.last_id LIMIT 1)
        UNION ALL
        (SELECT 'failed', f.tokens, f.payload, f.payloads, f.push_type, f.topic
        FROM target t CROSS JOIN LATERAL carillon.failed_jobs(t.id, message_contents.id, 1000) p
        JOIN carillon.failed_messages f ON f.app_id = t.id AND f.message_id = p.message_id
        ORDER BY f.failed_at DESC LIMIT 1)
    )
    SELECT k.state, k.push_type, k.topic, CASE WHEN k.payloads IS NOT NULL THEN k.tokens[p.place] END,
        coalesce(k.payloads[p.place], k.payload)::text
    FROM (SELECT * FROM kept LIMIT 1) k,
        generate_series(1, CASE WHEN k.payloads IS NULL THEN 1 ELSE least(cardinality(k.payloads), 3) END) AS p(place)
$$;


-- functions/messages/find_messages.sql
-- Finds messages and jobs by id through indexes, without reading the whole queue: for cancel, message_status, requeue and
-- dashboards. These functions only read.

-- filled_lanes() is a loose index scan of the primary key. It goes backwards, because jobs are claimed from the head of a lane: a
-- scan would pass all the dead entries there. Its ROWS is low, so that the planner looks the results up one by one in large tables
-- instead of scanning a whole index.
CREATE OR REPLACE FUNCTION carillon.filled_lanes(of_app integer DEFAULT NULL) RETURNS TABLE (app_id integer, lane smallint)
LANGUAGE sql STABLE ROWS 50 SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE filled AS (
        (SELECT m.app_id, m.lane FROM carillon.messages m
        WHERE m.app_id <= coalesce(of_app, 2147483647) ORDER BY m.app_id DESC, m.lane DESC, m.id DESC LIMIT 1)
        UNION ALL
        SELECT next.app_id, next.lane FROM filled CROSS JOIN LATERAL (
            SELECT m.app_id, m.lane FROM carillon.messages m WHERE (m.app_id, m.lane) < (filled.app_id, filled.lane)
            ORDER BY m.app_id DESC, m.lane DESC, m.id DESC LIMIT 1) next
        WHERE filled.app_id = of_app OR of_app IS NULL)
    SELECT f.app_id, f.lane FROM filled f WHERE f.app_id = of_app OR of_app IS NULL
$$;

-- waiting_apps() is a loose index scan too.
CREATE OR REPLACE FUNCTION carillon.waiting_apps() RETURNS TABLE (app_id integer)
LANGUAGE sql STABLE ROWS 50 SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE later AS (
        (SELECT s.app_id FROM carillon.scheduled s ORDER BY s.app_id LIMIT 1)
        UNION ALL
        SELECT next.app_id FROM later CROSS JOIN LATERAL (
            SELECT s.app_id FROM carillon.scheduled s WHERE s.app_id > later.app_id ORDER BY s.app_id LIMIT 1) next
    ), begun AS (
        (SELECT u.app_id FROM carillon.unfinished u ORDER BY u.app_id LIMIT 1)
        UNION ALL
        SELECT next.app_id FROM begun CROSS JOIN LATERAL (
            SELECT u.app_id FROM carillon.unfinished u WHERE u.app_id > begun.app_id ORDER BY u.app_id LIMIT 1) next
    )
    SELECT l.app_id FROM later l UNION SELECT b.app_id FROM begun b
$$;

CREATE OR REPLACE FUNCTION carillon.chosen_apps(app text) RETURNS integer[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN app IS NULL THEN o.mine ELSE ARRAY(
        SELECT a.id FROM carillon.apps a WHERE a.name = app AND (o.mine IS NULL OR a.id = ANY (o.mine))) END
    FROM carillon.apps_of_caller() AS o(mine)
$$;

CREATE OR REPLACE FUNCTION carillon.find_job(id bigint) RETURNS TABLE (
    app_id integer, lane smallint, token_count integer, broadcast_id bigint, created_at timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT m.app_id, m.lane, cardinality(m.tokens), m.broadcast_id, m.created_at
    FROM carillon.filled_lanes() l CROSS JOIN LATERAL (
        SELECT * FROM carillon.messages m WHERE m.app_id = l.app_id AND m.lane = l.lane AND m.id = find_job.id) m
    UNION ALL
    SELECT s.app_id, s.lane, cardinality(s.tokens), s.broadcast_id, s.created_at
    FROM carillon.waiting_apps() w, carillon.scheduled s WHERE s.app_id = w.app_id AND s.id = find_job.id
    UNION ALL
    SELECT i.app_id, j.lane, cardinality(j.tokens), j.broadcast_id, j.created_at
    FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j WHERE j.id = find_job.id
$$;

-- A retry or a job split off has the id of its message in origin; a job of a split message also has its broadcast. The function
-- has no SET clause, so that the planner inlines it and knows the number of ids.
CREATE OR REPLACE FUNCTION carillon.messages_of(ids bigint[])
RETURNS TABLE (app_id integer, message_id bigint, broadcast_id bigint)
LANGUAGE sql STABLE AS $$
    SELECT m.app_id, coalesce(m.origin, m.id), m.broadcast_id FROM carillon.filled_lanes() l, carillon.messages m
    WHERE m.app_id = l.app_id AND m.lane = l.lane
        AND m.id = ANY (ids)
    UNION ALL
    SELECT s.app_id, coalesce(s.origin, s.id), s.broadcast_id FROM carillon.waiting_apps() w, carillon.scheduled s
    WHERE s.app_id = w.app_id AND s.id = ANY (ids)
    UNION ALL
    SELECT i.app_id, coalesce(j.origin, j.id), j.broadcast_id
    FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
    WHERE j.id = ANY (ids) OR j.origin = ANY (ids)
    UNION ALL
    SELECT u.app_id, u.message_id, u.broadcast_id FROM carillon.waiting_apps() w, carillon.unfinished u
    WHERE u.app_id = w.app_id AND u.message_id = ANY (ids)
    UNION ALL
    SELECT b.app_id, b.id, b.id FROM carillon.split_messages b WHERE b.id = ANY (ids)
    UNION ALL
    SELECT r.app_id, r.message_id, r.broadcast_id FROM carillon.results r
    WHERE r.message_id = ANY (ids)
    UNION ALL
    SELECT f.app_id, f.message_id, f.broadcast_id FROM carillon.failures f
    WHERE f.broadcast_id IS NOT NULL AND f.message_id = ANY (ids)
$$;

-- has_only_failures() finds what end_unrecorded() wrote. Callers evaluate it once for each message, not for each of possibly a
-- million failures; MATERIALIZED prevents the planner from changing that.
CREATE OR REPLACE FUNCTION carillon.has_only_failures(app integer, message bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT EXISTS (SELECT FROM carillon.failures f WHERE f.message_id = message AND f.app_id = app)
        AND NOT EXISTS (SELECT FROM carillon.results r WHERE r.message_id = message AND r.app_id = app)
        AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.message_id = message AND u.app_id = app)
$$;

-- find_messages() reads the queue only for a reference. It is in plpgsql, because that caches plans: PostgreSQL plans an SQL
-- function each time it runs.
CREATE OR REPLACE FUNCTION carillon.find_messages(id bigint, reference text) RETURNS TABLE (app_id integer, message_id bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    IF find_messages.id IS NOT NULL THEN
        RETURN QUERY
        SELECT m.app_id, coalesce(m.broadcast_id, m.message_id) FROM carillon.messages_of(ARRAY[find_messages.id]) m
        UNION
        (WITH failed AS MATERIALIZED (
            SELECT DISTINCT f.app_id, f.message_id, f.broadcast_id FROM carillon.failures f
            WHERE f.message_id = find_messages.id
        )
        SELECT f.app_id, coalesce(f.broadcast_id, f.message_id) FROM failed f
        WHERE carillon.has_only_failures(f.app_id, f.message_id));
    ELSE
        RETURN QUERY
        SELECT k.app_id, k.id FROM (
            SELECT r.app_id, coalesce(r.broadcast_id, r.message_id) AS id, r.reference FROM carillon.results r
            UNION ALL
            SELECT u.app_id, coalesce(u.broadcast_id, u.message_id), u.reference FROM carillon.unfinished u
            UNION ALL
            SELECT b.app_id, b.id, b.reference FROM carillon.split_messages b
            UNION ALL
            SELECT m.app_id, coalesce(m.broadcast_id, m.origin, m.id), m.reference FROM carillon.messages m
            UNION ALL
            SELECT s.app_id, coalesce(s.broadcast_id, s.origin, s.id), s.reference FROM carillon.scheduled s
            UNION ALL
            SELECT i.app_id, coalesce(j.broadcast_id, j.origin, j.id), j.reference
            FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
        ) AS k
        WHERE k.reference = find_messages.reference
        UNION
        (WITH failed AS MATERIALIZED (
            SELECT DISTINCT f.app_id, f.message_id, f.broadcast_id FROM carillon.failures f
            WHERE f.reference = find_messages.reference AND f.reason = 'Unrecorded'
        )
        SELECT f.app_id, coalesce(f.broadcast_id, f.message_id) FROM failed f
        WHERE carillon.has_only_failures(f.app_id, f.message_id));
    END IF;
END
$$;

-- failed_jobs() returns the id of the message and, if it was split, the ids of its jobs with failures: at most `max_rows` of each,
-- because a message may have ten thousand jobs.
CREATE OR REPLACE FUNCTION carillon.failed_jobs(app_id integer, id bigint, max_rows bigint) RETURNS TABLE (message_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT failed_jobs.id
    UNION
    (SELECT r.message_id FROM carillon.results r
    WHERE r.broadcast_id = failed_jobs.id AND r.app_id = failed_jobs.app_id AND r.failed > 0 LIMIT max_rows)
    UNION
    (SELECT u.message_id FROM carillon.unfinished u
    WHERE u.broadcast_id = failed_jobs.id AND u.app_id = failed_jobs.app_id AND u.failed > 0 LIMIT max_rows)
    UNION
    -- Failures that are the only record of a job: see end_unrecorded().
    SELECT few.message_id FROM (
        SELECT f.message_id FROM carillon.failures f
        WHERE f.broadcast_id = failed_jobs.id AND f.app_id = failed_jobs.app_id LIMIT max_rows) few
$$;

-- message_jobs() covers all jobs of a split message, given the id of any job or retry.
CREATE OR REPLACE FUNCTION carillon.message_jobs(id bigint) RETURNS TABLE (app_id integer, message_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH whole AS (
        SELECT m.app_id, coalesce(m.broadcast_id, m.message_id) AS id
        FROM carillon.messages_of(ARRAY[message_jobs.id]) m
        UNION
        SELECT r.app_id, r.broadcast_id FROM carillon.results r WHERE r.broadcast_id = message_jobs.id
        UNION
        SELECT u.app_id, u.broadcast_id FROM carillon.waiting_apps() a
        JOIN carillon.unfinished u ON u.app_id = a.app_id AND u.broadcast_id = message_jobs.id
        UNION
        SELECT f.app_id, f.message_id FROM carillon.failures f WHERE f.message_id = message_jobs.id
        UNION
        SELECT f.app_id, f.broadcast_id FROM carillon.failures f WHERE f.broadcast_id = message_jobs.id
    ), job AS (
        SELECT w.app_id, w.id FROM whole w
        UNION
        SELECT r.app_id, r.message_id FROM whole w
        JOIN carillon.results r ON r.broadcast_id = w.id AND r.app_id = w.app_id
        UNION
        SELECT u.app_id, u.message_id FROM whole w
        JOIN carillon.unfinished u ON u.broadcast_id = w.id AND u.app_id = w.app_id
        UNION
        SELECT f.app_id, f.message_id FROM whole w
        JOIN carillon.failures f ON f.broadcast_id = w.id AND f.app_id = w.app_id
    )
    SELECT j.app_id, j.id FROM job j CROSS JOIN carillon.apps_of_caller() AS o(mine)
    WHERE o.mine IS NULL OR j.app_id = ANY (o.mine)
$$;


-- functions/messages/message_status.sql
-- The state of a message: one row, however many jobs it has. message_status(), which users call, adds up what has ended and what is
-- open: ended_counts(), open_counts(), then message_state(). They only read.

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.max_outcomes() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1000 $$;

-- open_jobs() finds jobs by their ids or, for a split message, between its first and last id. In messages, retries have ids of
-- their own that no index finds: with `everywhere`, all rows of the app are read, or the newest `max_rows_read` rows of each lane.
CREATE OR REPLACE FUNCTION carillon.open_jobs(
    app integer, message bigint, last_job bigint, everywhere boolean, max_rows_read integer
) RETURNS TABLE (
    state text, message_id bigint, tokens text[], attempt smallint, run_at timestamptz, last_status smallint,
    last_reason text, reference text, created_at timestamptz
)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT 'ready', coalesce(m.origin, m.id), m.tokens, m.attempt, NULL::timestamptz, m.last_status, m.last_reason,
        m.reference, m.created_at
    FROM carillon.filled_lanes(open_jobs.app) l CROSS JOIN LATERAL (
        SELECT s.* FROM carillon.messages s WHERE s.app_id = open_jobs.app AND s.lane = l.lane
            AND s.id BETWEEN open_jobs.message AND coalesce(open_jobs.last_job, open_jobs.message)
            AND (open_jobs.last_job IS NULL OR s.broadcast_id = open_jobs.message)
        OFFSET 0) m  -- OFFSET: each lane is an index scan of its own, never a join with all rows of the app
    UNION ALL
    SELECT 'ready', coalesce(m.origin, m.id), m.tokens, m.attempt, NULL, m.last_status, m.last_reason, m.reference,
        m.created_at
    FROM (
        SELECT a.* FROM carillon.messages a WHERE everywhere AND max_rows_read IS NULL AND a.app_id = open_jobs.app
        UNION ALL
        SELECT n.* FROM carillon.filled_lanes(open_jobs.app) l CROSS JOIN LATERAL (
            SELECT s.* FROM carillon.messages s WHERE s.app_id = open_jobs.app AND s.lane = l.lane
            ORDER BY s.id DESC LIMIT open_jobs.max_rows_read) n
        WHERE everywhere AND max_rows_read IS NOT NULL
    ) m
    WHERE m.id NOT BETWEEN open_jobs.message AND coalesce(open_jobs.last_job, open_jobs.message)
        AND (m.origin = open_jobs.message OR open_jobs.last_job IS NOT NULL AND m.broadcast_id = open_jobs.message)
    UNION ALL
    SELECT 'scheduled', coalesce(s.origin, s.id), s.tokens, s.attempt, s.run_at, s.last_status, s.last_reason,
        s.reference, s.created_at
    FROM carillon.scheduled s WHERE s.app_id = open_jobs.app
        AND (s.id = open_jobs.message OR s.origin = open_jobs.message OR s.broadcast_id = open_jobs.message)
    UNION ALL
    SELECT 'in flight', coalesce(j.origin, j.id), j.tokens, j.attempt, NULL, j.last_status, j.last_reason, j.reference,
        j.created_at
    FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j WHERE i.app_id = open_jobs.app
        AND (coalesce(j.origin, j.id) = open_jobs.message OR j.broadcast_id = open_jobs.message)
$$;

-- ended_counts() adds up the jobs of a message in results and unfinished, and failures that are the only record of a job: see
-- end_unrecorded().
CREATE OR REPLACE FUNCTION carillon.ended_counts(message carillon.chosen_message) RETURNS carillon.ended_counts
LANGUAGE plpgsql STABLE AS $$
DECLARE
    ended carillon.ended_counts;
BEGIN
    SELECT coalesce(sum(t.sent), 0), coalesce(sum(t.failed), 0), coalesce(sum(t.expired), 0), coalesce(sum(t.cancelled), 0),
        coalesce(sum(t.remaining), 0), max(t.attempts),
        (array_agg(t.last_status ORDER BY t.attempts DESC) FILTER (WHERE t.last_reason IS NOT NULL))[1],
        (array_agg(t.last_reason ORDER BY t.attempts DESC) FILTER (WHERE t.last_reason IS NOT NULL))[1],
        min(t.reference), min(t.created_at), max(t.finished_at),
        array_agg(t.message_id), array_agg(t.message_id) FILTER (WHERE t.failed > 0), coalesce(bool_or(t.has_unique_ids), false)
    INTO ended
    FROM (
        SELECT r.message_id, r.sent, r.failed, r.expired, r.cancelled, 0 AS remaining, r.attempts, r.reference,
            r.created_at, r.finished_at, r.last_status, r.last_reason, r.apns_unique_ids IS NOT NULL AS has_unique_ids
        FROM carillon.results r WHERE r.app_id = message.app_id AND (r.message_id = message.id OR r.broadcast_id = message.id)
        UNION ALL
        SELECT u.message_id, u.sent, u.failed, u.expired, u.cancelled, u.remaining, u.attempts, u.reference,
            u.created_at, NULL, u.last_status, u.last_reason, u.apns_unique_ids IS NOT NULL
        FROM carillon.unfinished u WHERE u.app_id = message.app_id AND (u.message_id = message.id OR u.broadcast_id = message.id)
        UNION ALL
        -- A loose index scan finds the jobs that have failures, with one index lookup for each.
        (WITH RECURSIVE job (id) AS (
            (SELECT f.message_id FROM carillon.failures f
            WHERE f.broadcast_id = message.id AND f.app_id = message.app_id ORDER BY f.message_id LIMIT 1)
            UNION ALL
            SELECT next.message_id FROM job CROSS JOIN LATERAL (
                SELECT f.message_id FROM carillon.failures f
                WHERE f.broadcast_id = message.id AND f.app_id = message.app_id AND f.message_id > job.id
                ORDER BY f.message_id LIMIT 1) next
        ), alone AS MATERIALIZED (
            SELECT j.id FROM (SELECT job.id FROM job UNION SELECT message.id) j (id)
            WHERE NOT EXISTS (SELECT FROM carillon.results r WHERE r.message_id = j.id AND r.app_id = message.app_id)
                AND NOT EXISTS (SELECT FROM carillon.unfinished u WHERE u.app_id = message.app_id AND u.message_id = j.id)
        )
        SELECT a.id, 0, count(*), 0, 0, 0, max(f.attempt), min(f.reference), NULL, max(f.failed_at), NULL, NULL, NULL
        FROM alone a JOIN carillon.failures f ON f.message_id = a.id AND f.app_id = message.app_id GROUP BY a.id)
    ) AS t;
    RETURN ended;
END
$$;

-- Retries that are due have ids of their own. The queue of the app is searched for them only if fewer jobs were found without it
-- than remain.
CREATE OR REPLACE FUNCTION carillon.open_counts(message carillon.chosen_message, ended carillon.ended_counts, max_rows_read integer)
RETURNS carillon.open_counts
LANGUAGE plpgsql STABLE AS $$
DECLARE
    few_jobs CONSTANT integer := 100;
    is_split CONSTANT boolean := message.last_job IS NOT NULL;
    read_queue boolean := false;
    open carillon.open_counts;
BEGIN
    LOOP
        WITH job AS MATERIALIZED (
            SELECT o.*, count(*) OVER () AS jobs, EXISTS (SELECT FROM carillon.unfinished u
                WHERE u.message_id = o.message_id AND u.app_id = message.app_id) AS is_counted
            FROM carillon.open_jobs(message.app_id, message.id, message.last_job, read_queue, max_rows_read) o
        )
        -- Thousands of jobs of a split message may be waiting. Their tokens, 66 kB each, are not read just to count them.
        SELECT CASE WHEN 'in flight' = ANY (q.states) THEN 'in flight'
                WHEN w.waiting > 0 AND (q.attempt > 1 OR max_rows_read IS NOT NULL AND ended.remaining > q.counted) THEN 'retrying'
                WHEN 'ready' = ANY (q.states) THEN 'ready'
                WHEN w.waiting > 0 THEN 'scheduled' END,
            coalesce(message.tokens, ended.sent + ended.failed + ended.expired + ended.cancelled + ended.remaining + q.uncounted),
            w.waiting, q.counted, q.attempts, q.run_at, q.last_status, q.last_reason, q.reference, q.created_at, q.ids,
            ARRAY(
                SELECT ROW(carillon.token_text(u.token),
                    CASE WHEN j.state <> 'in flight' AND j.attempt > 1 THEN 'retrying' ELSE j.state END,
                    j.last_status, j.last_reason, j.run_at, NULL)::carillon.token_outcome
                FROM job j CROSS JOIN LATERAL unnest(j.tokens) AS u(token) LIMIT carillon.max_outcomes())
        INTO open
        FROM (
            SELECT count(*) > few_jobs AND is_split AS are_many,
                coalesce(sum(cardinality(j.tokens)) FILTER (WHERE j.is_counted), 0) AS counted,
                coalesce(sum(cardinality(j.tokens)) FILTER (WHERE NOT j.is_counted AND (j.jobs <= few_jobs OR NOT is_split)), 0)
                    AS uncounted,
                max(CASE j.state WHEN 'in flight' THEN j.attempt ELSE j.attempt - 1 END) AS attempts,
                max(j.attempt) AS attempt, min(j.run_at) AS run_at, min(j.reference) AS reference,
                min(j.created_at) AS created_at, array_agg(DISTINCT j.state) AS states, array_agg(j.message_id) AS ids,
                (array_agg(j.last_status ORDER BY j.attempt DESC) FILTER (WHERE j.last_reason IS NOT NULL))[1] AS last_status,
                (array_agg(j.last_reason ORDER BY j.attempt DESC) FILTER (WHERE j.last_reason IS NOT NULL))[1] AS last_reason
            FROM job j
        ) q CROSS JOIN LATERAL (
            SELECT CASE WHEN q.are_many
                THEN greatest(message.tokens - ended.sent - ended.failed - ended.expired - ended.cancelled, 0)
                ELSE ended.remaining + q.uncounted END AS waiting) w;
        IF read_queue OR open.counted >= ended.remaining THEN
            RETURN open;
        END IF;
        read_queue := true;
    END LOOP;
END
$$;

-- The last outcome is that of a push that waits for another attempt; else of a failure; else of a push that expired or was
-- cancelled after an attempt.
CREATE OR REPLACE FUNCTION carillon.last_outcome(
    message carillon.chosen_message, ended carillon.ended_counts, open carillon.open_counts, OUT status smallint, OUT reason text
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    status := open.last_status;
    reason := open.last_reason;
    IF reason IS NULL THEN
        SELECT f.status, f.reason INTO status, reason FROM carillon.failures f
        WHERE f.app_id = message.app_id AND f.message_id = ANY (ended.failed_ids) ORDER BY f.failed_at DESC LIMIT 1;
    END IF;
    IF reason IS NULL THEN
        reason := ended.last_reason;
        status := CASE WHEN reason IS NOT NULL THEN ended.last_status
            WHEN ended.sent > 0 AND ended.failed + ended.expired + ended.cancelled = 0 THEN 200 END;
    END IF;
END
$$;

-- may_have_arrived() looks at `max_rows_read` failures, or at all if it is null.
CREATE OR REPLACE FUNCTION carillon.may_have_arrived(
    message carillon.chosen_message, ended carillon.ended_counts, open carillon.open_counts, max_rows_read integer
) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ended.sent < open.tokens AND (
        EXISTS (SELECT FROM carillon.unknown_outcomes u
            WHERE u.app_id = message.app_id AND u.message_id = ANY (ended.ids || open.ids))
        OR EXISTS (SELECT FROM (
            SELECT f.status, f.reason FROM carillon.failures f
            WHERE f.app_id = message.app_id AND f.message_id = ANY (ended.failed_ids) LIMIT max_rows_read) seen
            WHERE carillon.can_requeue(seen.status, seen.reason, true, true)
                AND NOT carillon.can_requeue(seen.status, seen.reason, false, false)));
END
$$;

-- token_outcomes() covers tokens that failed or wait, and sent tokens whose apns-unique-id was kept; at most max_outcomes().
CREATE OR REPLACE FUNCTION carillon.token_outcomes(
    message carillon.chosen_message, ended carillon.ended_counts, open carillon.open_counts
) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(
        jsonb_agg(CASE WHEN t.apns_unique_id IS NULL THEN to_jsonb(t) - 'apns_unique_id' ELSE to_jsonb(t) END), '[]')
    FROM (
        SELECT carillon.token_text(f.token) AS token, 'failed' AS state, f.status, f.reason,
            NULL::timestamptz AS next_attempt_at, f.apns_unique_id
        FROM carillon.failures f WHERE f.app_id = message.app_id AND f.message_id = ANY (ended.failed_ids)
        UNION ALL
        SELECT o.* FROM unnest(open.outcomes) o
        UNION ALL
        SELECT carillon.token_text(s.token), 'sent', 200, NULL, NULL, s.id::uuid
        FROM (
            SELECT r.apns_unique_ids FROM carillon.results r
            WHERE r.app_id = message.app_id AND (r.message_id = message.id OR r.broadcast_id = message.id)
            UNION ALL
            SELECT u.apns_unique_ids FROM carillon.unfinished u
            WHERE u.app_id = message.app_id AND (u.message_id = message.id OR u.broadcast_id = message.id)
        ) AS k(ids), jsonb_each_text(k.ids) AS s(token, id) WHERE ended.has_unique_ids
        LIMIT carillon.max_outcomes()) t);
END
$$;

CREATE OR REPLACE FUNCTION carillon.message_state(
    message carillon.chosen_message, ended carillon.ended_counts, open carillon.open_counts, max_rows_read integer
) RETURNS carillon.message_state
LANGUAGE plpgsql STABLE AS $$
DECLARE
    unsent CONSTANT bigint := ended.failed + ended.expired + ended.cancelled;
    made carillon.message_state;
BEGIN
    made.id := message.id;
    made.app := message.app;
    made.reference := coalesce(message.reference, ended.reference, open.reference);
    made.state := coalesce(open.state, CASE
        WHEN ended.sent > 0 AND unsent > 0 THEN 'partly sent'
        WHEN ended.sent > 0 THEN 'sent'
        WHEN ended.failed > 0 THEN 'failed'
        WHEN ended.expired > 0 THEN 'expired'
        WHEN ended.cancelled > 0 THEN 'cancelled' ELSE 'empty' END);
    made.attempts := greatest(ended.attempts, open.attempts);
    made.next_attempt_at := open.run_at;
    SELECT l.status, l.reason INTO made.last_status, made.last_reason FROM carillon.last_outcome(message, ended, open) l;
    made.tokens := open.tokens;
    made.sent := ended.sent;
    made.failed := ended.failed;
    made.expired := ended.expired;
    made.cancelled := ended.cancelled;
    made.waiting := open.waiting;
    made.created_at := coalesce(message.created_at, ended.created_at, open.created_at);
    made.may_have_arrived := carillon.may_have_arrived(message, ended, open, max_rows_read);
    made.outcomes := carillon.token_outcomes(message, ended, open);
    IF open.waiting = 0 THEN
        made.finished_at := ended.finished_at;
    ELSE
        made.waiting_reason := (
            SELECT CASE WHEN a.paused THEN 'the app is paused' || coalesce(': ' || a.paused_reason, '')
                WHEN h.reason IS NOT NULL THEN h.reason
                WHEN NOT EXISTS (SELECT FROM carillon.worker_status s WHERE s.state <> 'silent') THEN 'no worker is running' END
            FROM carillon.apps a LEFT JOIN carillon.held_apps h ON h.app_id = a.id WHERE a.id = message.app_id);
    END IF;
    RETURN made;
END
$$;

-- message_status() finds an id through indexes; a reference requires reading the queue. It returns no row if there is no such
-- message, or if its partition was dropped after the retention. A reference that several messages share returns a row for each; so
-- does an id that several apps have, limited to the named app or to the apps that the caller may use.
--
-- A retry that is due is found by reading the queue of its app, or the newest `max_rows_read` rows of each lane. If it is not among
-- them, only its last answer is unknown.
CREATE OR REPLACE FUNCTION carillon.message_status(
    id bigint DEFAULT NULL, reference text DEFAULT NULL, app text DEFAULT NULL, max_rows_read integer DEFAULT NULL
) RETURNS SETOF carillon.message_state
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    chosen CONSTANT integer[] := carillon.chosen_apps(message_status.app);
    message carillon.chosen_message;
    ended carillon.ended_counts;
    refusal carillon.refusal;
BEGIN
    IF (message_status.id IS NULL) = (message_status.reference IS NULL) THEN
        refusal := carillon.refusal('id', 'an id that enqueue returned, or null if reference is given',
            CASE WHEN message_status.id IS NULL THEN 'neither' ELSE 'both' END,
            'For example: message_status(4711), or message_status(reference => ''order 7'').');
    ELSIF message_status.app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(message_status.app);
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    FOR message IN
        SELECT f.app_id, f.message_id, a.name, b.last_id, b.tokens, b.reference, b.created_at
        FROM carillon.find_messages(message_status.id, message_status.reference) f
        LEFT JOIN carillon.apps a ON a.id = f.app_id
        LEFT JOIN LATERAL (
            -- OFFSET 0 forces lookups by primary key, however many messages the planner expects.
            SELECT * FROM carillon.split_messages s WHERE s.app_id = f.app_id AND s.id = f.message_id OFFSET 0) b ON true
        WHERE chosen IS NULL OR f.app_id = ANY (chosen) ORDER BY f.message_id, f.app_id
    LOOP
        ended := carillon.ended_counts(message);
        RETURN NEXT carillon.message_state(message, ended, carillon.open_counts(message, ended, max_rows_read), max_rows_read);
    END LOOP;
END
$$;


-- functions/messages/requeue.sql
-- Requeues failed pushes: as new messages, with the content that keep_failed_content() has kept. Users call requeue_failures().

-- A push that was refused for the content of its row would be refused again.
CREATE OR REPLACE FUNCTION carillon.can_requeue(status smallint, reason text, include_unknown boolean, include_delivered boolean)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT status IS DISTINCT FROM 410 AND (status IS NOT NULL OR reason NOT IN ('MalformedToken', 'MalformedPayload',
            'PayloadTooLarge', 'MalformedCollapseId', 'MalformedOnUnknown', 'UnknownPriority', 'UnknownPushType', 'Unreadable',
            'PayloadEmpty', 'MismatchedPayloads'))
        AND (include_delivered OR status IS DISTINCT FROM 200)
        AND (include_unknown OR status IS NOT NULL OR reason NOT IN ('OutcomeUnknown', 'Unrecorded'))
$$;

-- kept_payloads() uses no join: without statistics on the number of tokens, it would compare every token with every other.
CREATE OR REPLACE FUNCTION carillon.kept_payloads(app integer, message bigint, failed text[]) RETURNS json[]
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(k.latest ORDER BY k.place) FROM (
        SELECT b.place, first_value(b.payload) OVER (PARTITION BY b.key ORDER BY b.failed_at DESC NULLS LAST) AS latest
        FROM (
            SELECT lower(c.token COLLATE "C") AS key, c.place, NULL::json AS payload, NULL::timestamptz AS failed_at
            FROM unnest(failed) WITH ORDINALITY AS c(token, place)
            UNION ALL
            SELECT u.token COLLATE "C", NULL, u.payload, m.failed_at
            FROM carillon.failed_messages m, unnest(m.tokens, m.payloads) AS u(token, payload)
            WHERE m.app_id = app AND m.message_id = message
        ) AS b
    ) AS k WHERE k.place IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION carillon.was_cancelled(app integer, message bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM carillon.cancelled c
            WHERE c.app_id = was_cancelled.app AND c.message_id = was_cancelled.message)
        OR EXISTS (
            SELECT FROM (
                SELECT r.broadcast_id, r.cancelled FROM carillon.results r
                WHERE r.app_id = was_cancelled.app AND r.message_id = was_cancelled.message
                UNION ALL
                SELECT u.broadcast_id, u.cancelled FROM carillon.unfinished u
                WHERE u.app_id = was_cancelled.app AND u.message_id = was_cancelled.message
            ) AS m
            LEFT JOIN carillon.split_messages b ON b.app_id = was_cancelled.app AND b.id = m.broadcast_id
            WHERE m.cancelled > 0 OR b.cancelled_at IS NOT NULL)
$$;

-- failed_apps() is a loose index scan.
CREATE OR REPLACE FUNCTION carillon.failed_apps() RETURNS TABLE (app_id integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE failed AS (
        (SELECT f.app_id FROM carillon.failures f ORDER BY f.app_id LIMIT 1)
        UNION ALL
        SELECT next.app_id FROM failed CROSS JOIN LATERAL (
            SELECT f.app_id FROM carillon.failures f WHERE f.app_id > failed.app_id ORDER BY f.app_id LIMIT 1) next
    )
    SELECT f.app_id FROM failed f
$$;

-- requeueable() filters by reason and messages, either of which may be null. If each token has its own payload, it includes only
-- tokens whose payload was kept. Tokens and payloads are matched by sorting, because a join would compare every token with every
-- other.
CREATE OR REPLACE FUNCTION carillon.requeueable(
    app integer, reason text, messages bigint[], lower timestamptz, upper timestamptz, include_unknown boolean,
    include_delivered boolean
) RETURNS TABLE (message_id bigint, token text, partition oid, row_address tid)
LANGUAGE sql STABLE AS $$
    WITH failed AS MATERIALIZED (
        SELECT f.message_id, f.token, f.tableoid, f.ctid, EXISTS (
            SELECT FROM carillon.failed_messages m WHERE m.app_id = requeueable.app AND m.message_id = f.message_id
                AND m.tokens IS NULL AND (m.expires_at IS NULL OR m.expires_at > now() OR m.expires_at = 'epoch')) AS has_content
        FROM carillon.failures f
        WHERE f.app_id = requeueable.app AND f.requeued_at IS NULL AND f.failed_at >= requeueable.lower
            AND f.failed_at <= requeueable.upper
            AND carillon.can_requeue(f.status, f.reason, include_unknown, include_delivered)
            AND (requeueable.reason IS NULL OR f.reason = requeueable.reason)
            AND (messages IS NULL OR f.message_id = ANY (messages))
            AND (messages IS NOT NULL OR f.dismissed_at IS NULL AND NOT carillon.was_cancelled(f.app_id, f.message_id))
    ), item AS (
        SELECT f.message_id, pg_catalog.lower(f.token COLLATE "C") AS key, f.token, f.tableoid, f.ctid FROM failed f
        WHERE NOT f.has_content
        UNION ALL
        SELECT m.message_id, u.token COLLATE "C", NULL, NULL, NULL
        FROM carillon.failed_messages m CROSS JOIN LATERAL unnest(m.tokens) AS u(token)
        WHERE m.app_id = requeueable.app
            AND m.message_id = ANY (ARRAY(SELECT DISTINCT f.message_id FROM failed f WHERE NOT f.has_content))
            AND m.tokens IS NOT NULL AND (m.expires_at IS NULL OR m.expires_at > now() OR m.expires_at = 'epoch')
    ), matched AS (
        SELECT i.*, bool_or(i.tableoid IS NULL) OVER (PARTITION BY i.message_id, i.key) AS is_kept FROM item i
    )
    SELECT f.message_id, f.token, f.tableoid, f.ctid FROM failed f WHERE f.has_content
    UNION ALL
    SELECT m.message_id, m.token, m.tableoid, m.ctid FROM matched m WHERE m.is_kept AND m.tableoid IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION carillon.requeue_some(
    app integer, reason text, messages bigint[], lower timestamptz, upper timestamptz, include_unknown boolean,
    include_delivered boolean
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    requeued bigint;
BEGIN
    -- One call at a time: the next one finds what is left.
    PERFORM FROM carillon.app_locks l WHERE l.app_id = requeue_some.app AND l.lock_number = 64 FOR UPDATE;
    WITH again AS (
        UPDATE carillon.failures f SET requeued_at = now()
        FROM carillon.requeueable(requeue_some.app, requeue_some.reason, requeue_some.messages, requeue_some.lower,
            requeue_some.upper, requeue_some.include_unknown, requeue_some.include_delivered) AS r
        -- Located by ctid, because failures of one message have the same values in most columns.
        WHERE f.tableoid = r.partition AND f.ctid = r.row_address AND f.requeued_at IS NULL
        RETURNING f.message_id, f.token
    ), message AS (
        SELECT a.message_id, array_agg(DISTINCT a.token) AS tokens, count(*) AS pushes FROM again a GROUP BY a.message_id
    ), stored AS (
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, payloads, push_type, priority, expires_at,
            collapse_id, topic, reference, on_unknown)
        SELECT requeue_some.app, m.lane, a.tokens, m.payload, CASE WHEN m.tokens IS NOT NULL
            THEN carillon.kept_payloads(requeue_some.app, a.message_id, a.tokens) END, m.push_type, m.priority, m.expires_at,
            m.collapse_id, m.topic, m.reference, m.on_unknown
        FROM message a CROSS JOIN LATERAL (
            SELECT * FROM carillon.failed_messages m WHERE m.app_id = requeue_some.app AND m.message_id = a.message_id
            ORDER BY m.failed_at DESC LIMIT 1) m
        ORDER BY a.message_id
    )
    SELECT sum(a.pushes) INTO requeued FROM message a;
    RETURN coalesce(requeued, 0);
END
$$;

-- requeue_failures() leaves out dead tokens and expired messages, and requeues nothing twice. include_delivered also requeues
-- pushes that Apple accepted but that could not be recorded; include_unknown also requeues pushes that Apple may have accepted,
-- because no answer was recorded. Failures that were dismissed, and those of cancelled messages, are requeued only by message id.
CREATE OR REPLACE FUNCTION carillon.requeue_failures(
    app text DEFAULT NULL, reason text DEFAULT NULL, since interval DEFAULT NULL, message_id bigint DEFAULT NULL,
    include_unknown boolean DEFAULT false, include_delivered boolean DEFAULT false, everything boolean DEFAULT false
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    -- `make docs` writes the reasons of APNs and of Carillon. Reasons of other gateways are found in failures.
    reasons CONSTANT text[] := ARRAY[
        'BadCertificate', 'BadCertificateEnvironment', 'BadChannelId', 'BadCollapseId', 'BadDeviceToken',
        'BadEnvironmentKeyIdInToken', 'BadEnvironmentKeyInToken', 'BadExpirationDate', 'BadMessageId', 'BadPath', 'BadPriority',
        'BadRequestParams', 'BadRequestPayload', 'BadTopic', 'BroadcastFeatureNotEnabled', 'CannotCreateChannelConfig',
        'ChannelNotRegistered', 'DeviceTokenNotForTopic', 'DuplicateHeaders', 'ExpiredProviderToken', 'ExpiredToken',
        'FeatureNotEnabled', 'Forbidden', 'IdleTimeout', 'InternalServerError', 'InvalidProviderToken', 'InvalidPushType',
        'MalformedCollapseId', 'MalformedHeader', 'MalformedOnUnknown', 'MalformedPayload', 'MalformedToken', 'MalformedTopic',
        'MethodNotAllowed', 'MismatchedPayloads', 'MissingChannelId', 'MissingChannelQueueSize', 'MissingDeviceToken',
        'MissingProviderToken', 'MissingPushType', 'MissingTopic', 'OutcomeUnknown', 'PayloadEmpty', 'PayloadTooLarge',
        'Poison', 'ServiceUnavailable', 'Shutdown', 'TooManyProviderTokenUpdates', 'TooManyRequests', 'TopicDisallowed',
        'TopicMismatch', 'TopicNotAllowed', 'UnknownApp', 'UnknownPriority', 'UnknownPushType', 'Unqueued', 'Unreadable',
        'Unrecorded', 'Unregistered', 'UnrelatedKeyIdInToken'
    ];
    chosen CONSTANT integer[] := carillon.chosen_apps(requeue_failures.app);
    refusal carillon.refusal;
    horizon timestamptz;
    target record;
    again bigint;
    pushes bigint := 0;
BEGIN
    IF requeue_failures.app IS NOT NULL AND cardinality(chosen) = 0 THEN
        refusal := carillon.unknown_app(requeue_failures.app);
    ELSIF since <= interval '0' OR since > interval '100 years' THEN
        refusal := carillon.refusal('since', 'an interval above 0 and at most 100 years',
            quote_literal(since), 'Leave it out for everything.');
    ELSIF requeue_failures.reason = 'OutcomeUnknown' AND include_unknown IS NOT TRUE THEN
        -- A reason selects failures; it is not consent to send them twice.
        refusal := carillon.refusal('include_unknown', 'true if reason is OutcomeUnknown', include_unknown::text,
            'These pushes may have been delivered. A device that has received one receives it again.');
    ELSIF requeue_failures.reason <> ALL (reasons)
        AND NOT EXISTS (SELECT FROM carillon.failures f
            WHERE f.reason = requeue_failures.reason AND (chosen IS NULL OR f.app_id = ANY (chosen)))
    THEN
        refusal := carillon.refusal('reason', 'a reason for which pushes fail', quote_literal(requeue_failures.reason),
            'Reasons are those of APNs, such as BadDeviceToken, or of Carillon, such as OutcomeUnknown. '
            'SELECT DISTINCT reason FROM carillon.failures shows those of present failures.');
    ELSIF num_nonnulls(requeue_failures.app, requeue_failures.reason, since, requeue_failures.message_id) = 0
        AND everything IS NOT TRUE
    THEN
        refusal := (
            SELECT carillon.refusal('everything', 'true if app, reason, since and message_id are left out or null',
                format('%s: %s %s of %s %s would be sent again', coalesce(everything::text, 'null'),
                    count(*), CASE count(*) WHEN 1 THEN 'push' ELSE 'pushes' END,
                    count(DISTINCT a.app_id), CASE count(DISTINCT a.app_id) WHEN 1 THEN 'app' ELSE 'apps' END),
                'Name an app, a reason, an interval or a message, or write everything => true.')
            FROM carillon.failed_apps() AS a
            CROSS JOIN LATERAL carillon.requeueable(a.app_id, NULL, NULL, '-infinity', 'infinity', include_unknown,
                include_delivered) AS r
            WHERE chosen IS NULL OR a.app_id = ANY (chosen));
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    horizon := coalesce(now() - since, '-infinity');
    FOR target IN
        SELECT p.app_id, array_agg(p.message_id) AS messages FROM carillon.message_jobs(requeue_failures.message_id) p
        WHERE requeue_failures.message_id IS NOT NULL GROUP BY p.app_id
        UNION ALL
        SELECT a.app_id, NULL FROM carillon.failed_apps() a WHERE requeue_failures.message_id IS NULL
        ORDER BY app_id
    LOOP
        CONTINUE WHEN target.app_id <> ALL (chosen);
        again := carillon.requeue_some(target.app_id, requeue_failures.reason, target.messages, horizon, 'infinity',
            include_unknown, include_delivered);
        pushes := pushes + again;
        IF again > 0 THEN
            PERFORM carillon.record_change('requeue', (SELECT a.name FROM carillon.apps a WHERE a.id = target.app_id),
                jsonb_build_object('reason', requeue_failures.reason, 'pushes', again, 'since', since,
                    'message_id', requeue_failures.message_id, 'include_unknown', nullif(include_unknown, false),
                    'include_delivered', nullif(include_delivered, false)));
        END IF;
    END LOOP;
    RETURN pushes;
END
$$;


-- functions/messages/requeue_batch.sql
-- Counts, requeues and dismisses failures in batches, for dashboards: a batch takes as many failures as a short transaction can.

-- Failures are in order of time. Those that one settlement wrote have the same time and stay together.
CREATE OR REPLACE FUNCTION carillon.failure_batch_end(app_id integer, after timestamptz, until timestamptz, max_rows_read integer)
RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT f.failed_at FROM carillon.failures f
    WHERE f.app_id = failure_batch_end.app_id AND f.failed_at > after AND f.failed_at <= until
    ORDER BY f.failed_at OFFSET greatest(max_rows_read, 1) - 1 LIMIT 1
$$;

CREATE OR REPLACE FUNCTION carillon.check_failure_batch(app text, after timestamptz, until timestamptz) RETURNS carillon.apps
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target carillon.apps;
    refusal carillon.refusal;
BEGIN
    SELECT a.* INTO target FROM carillon.apps a WHERE a.name = app;
    IF target.id IS NULL THEN
        refusal := carillon.unknown_app(app);
    ELSIF after IS NULL OR until IS NULL THEN
        refusal := carillon.refusal(CASE WHEN after IS NULL THEN 'after' ELSE 'until' END, 'a time', 'null');
    END IF;
    PERFORM carillon.refuse(refusal);
    RETURN target;
END
$$;

CREATE OR REPLACE FUNCTION carillon.count_failures(
    app text, action text, after timestamptz, until timestamptz, reason text DEFAULT NULL,
    include_unknown boolean DEFAULT false, max_rows_read integer DEFAULT 5000, OUT pushes bigint, OUT pushes_precision text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.check_failure_batch(app, after, until);
    last CONSTANT timestamptz := carillon.failure_batch_end(target.id, after, until, coalesce(max_rows_read, 5000));
BEGIN
    IF action = 'requeue' THEN
        SELECT count(*) INTO pushes FROM carillon.requeueable(target.id, reason, NULL,
            after + interval '1 microsecond', coalesce(last, until), include_unknown, false);
    ELSE
        SELECT count(*) INTO pushes FROM carillon.failures f
        WHERE f.app_id = target.id AND f.failed_at > after AND f.failed_at <= coalesce(last, until)
            AND f.requeued_at IS NULL AND f.dismissed_at IS NULL
            AND (count_failures.reason IS NULL OR f.reason = count_failures.reason);
    END IF;
    pushes_precision := CASE WHEN last IS NULL THEN 'exact' ELSE 'at least' END;
END
$$;

CREATE OR REPLACE FUNCTION carillon.requeue_batch(
    app text, after timestamptz, until timestamptz, reason text DEFAULT NULL, include_unknown boolean DEFAULT false,
    on_behalf_of text DEFAULT NULL, max_rows_read integer DEFAULT 2000, OUT pushes bigint, OUT next timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.check_failure_batch(app, after, until);
BEGIN
    next := carillon.failure_batch_end(target.id, after, until, coalesce(max_rows_read, 2000));
    pushes := carillon.requeue_some(target.id, reason, NULL, after + interval '1 microsecond', coalesce(next, until),
        include_unknown, false);
    IF pushes > 0 THEN
        PERFORM carillon.act_for(on_behalf_of);
        PERFORM carillon.record_change('requeue', target.name, jsonb_build_object('reason', reason,
            'pushes', pushes, 'failed_after', after, 'failed_until', coalesce(next, until),
            'include_unknown', nullif(include_unknown, false)));
    END IF;
END
$$;

-- Dismissed failures are kept; they are only no longer shown as needing action.
CREATE OR REPLACE FUNCTION carillon.dismiss_batch(
    app text, after timestamptz, until timestamptz, reason text DEFAULT NULL, on_behalf_of text DEFAULT NULL,
    max_rows_read integer DEFAULT 5000, OUT pushes bigint, OUT next timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target CONSTANT carillon.apps := carillon.check_failure_batch(app, after, until);
BEGIN
    next := carillon.failure_batch_end(target.id, after, until, coalesce(max_rows_read, 5000));
    UPDATE carillon.failures f SET dismissed_at = now()
    WHERE f.app_id = target.id AND f.failed_at > after AND f.failed_at <= coalesce(next, until)
        AND f.requeued_at IS NULL AND f.dismissed_at IS NULL
        AND (dismiss_batch.reason IS NULL OR f.reason = dismiss_batch.reason);
    GET DIAGNOSTICS pushes = ROW_COUNT;
    IF pushes > 0 THEN
        PERFORM carillon.act_for(on_behalf_of);
        PERFORM carillon.record_change('dismiss', target.name, jsonb_build_object('reason', reason,
            'pushes', pushes, 'failed_after', after, 'failed_until', coalesce(next, until)));
    END IF;
END
$$;


-- functions/messages/search.sql
-- Searches for dashboards: what is known of a reference or a device token. They read only the newest rows of each app.

-- search_limit() reduces `max_rows_read`, so that a search of all apps stays fast enough for interactive use.
CREATE OR REPLACE FUNCTION carillon.search_limit(max_rows_read integer) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT least(max_rows_read, greatest(20, 4000 / greatest(count(*), 1))) FROM carillon.apps
$$;

-- A search that finds nothing proves nothing about these apps.
CREATE OR REPLACE FUNCTION carillon.unsearched_apps(max_rows_read integer, with_history boolean) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
    WITH bounds AS MATERIALIZED (SELECT carillon.search_limit(max_rows_read) AS max_rows)
    SELECT a.name FROM carillon.apps a
    WHERE EXISTS (
        SELECT FROM carillon.filled_lanes(a.id) l CROSS JOIN LATERAL (
            SELECT FROM carillon.messages m WHERE m.app_id = l.app_id AND m.lane = l.lane
            ORDER BY m.id DESC OFFSET (SELECT max_rows / 3 FROM bounds) LIMIT 1) q)
        OR EXISTS (
            SELECT FROM carillon.scheduled s WHERE s.app_id = a.id ORDER BY s.id DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
        OR EXISTS (
            SELECT FROM carillon.unfinished u WHERE u.app_id = a.id
            ORDER BY u.message_id DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
        OR with_history AND EXISTS (
            SELECT FROM carillon.failures f WHERE f.app_id = a.id
            ORDER BY f.failed_at DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
        OR with_history AND EXISTS (
            SELECT FROM carillon.feedback d WHERE d.app_id = a.id ORDER BY d.id DESC OFFSET (SELECT max_rows FROM bounds) LIMIT 1)
    ORDER BY a.name
$$;

-- search_reference() finds a reference in the history through an index. The queue may have millions of rows, so only the newest
-- rows of each app (in messages, of each lane) are read. The settings force the order of the indexes: otherwise the planner might
-- sort all rows of an app.
CREATE OR REPLACE FUNCTION carillon.search_reference(reference text, max_rows_read integer DEFAULT 4000)
RETURNS TABLE (app text, id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
    WITH bounds AS MATERIALIZED (SELECT carillon.search_limit(coalesce(max_rows_read, 4000)) AS max_rows)
    SELECT a.name, found.id FROM (
        (SELECT r.app_id, coalesce(r.broadcast_id, r.message_id) FROM carillon.results r
        WHERE r.reference = search_reference.reference LIMIT 1000)
        UNION
        (SELECT f.app_id, coalesce(f.broadcast_id, f.message_id) FROM carillon.failures f
        WHERE f.reference = search_reference.reference AND f.reason = 'Unrecorded' LIMIT 1000)
        UNION
        SELECT b.app_id, b.id FROM (
            SELECT * FROM carillon.split_messages b ORDER BY b.id DESC LIMIT coalesce(max_rows_read, 4000)) b
        WHERE b.reference = search_reference.reference
        UNION
        SELECT q.app_id, q.id FROM carillon.filled_lanes() l CROSS JOIN LATERAL (
            SELECT m.app_id, coalesce(m.broadcast_id, m.origin, m.id) AS id, m.reference FROM carillon.messages m
            WHERE m.app_id = l.app_id AND m.lane = l.lane ORDER BY m.id DESC LIMIT (SELECT max_rows / 3 FROM bounds)) q
        WHERE q.reference = search_reference.reference
        UNION
        SELECT q.app_id, q.id FROM carillon.waiting_apps() w CROSS JOIN LATERAL (
            (SELECT s.app_id, coalesce(s.broadcast_id, s.origin, s.id) AS id, s.reference FROM carillon.scheduled s
            WHERE s.app_id = w.app_id ORDER BY s.id DESC LIMIT (SELECT max_rows FROM bounds))
            UNION ALL
            (SELECT u.app_id, coalesce(u.broadcast_id, u.message_id), u.reference FROM carillon.unfinished u
            WHERE u.app_id = w.app_id ORDER BY u.message_id DESC LIMIT (SELECT max_rows FROM bounds))
        ) q WHERE q.reference = search_reference.reference
        UNION
        SELECT i.app_id, coalesce(j.broadcast_id, j.origin, j.id) FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
        WHERE j.reference = search_reference.reference
    ) AS found (app_id, id) LEFT JOIN carillon.apps a ON a.id = found.app_id
    ORDER BY found.id DESC, a.name LIMIT 50
$$;

-- search_token() finds the registration through an index. In failures, feedback and the queue, the newest rows of each app are
-- read, as in search_reference.
CREATE OR REPLACE FUNCTION carillon.search_token(token text, app text DEFAULT NULL, max_rows_read integer DEFAULT 2000)
RETURNS TABLE (
    app text, event text, at timestamptz, message_id bigint, status smallint, reason text, attempt smallint, apns_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
    WITH bounds AS MATERIALIZED (SELECT carillon.search_limit(coalesce(max_rows_read, 2000)) AS max_rows)
    SELECT a.name, found.event, found.at, found.message_id, found.status, found.reason, found.attempt, found.apns_id
    FROM carillon.apps a
    CROSS JOIN LATERAL (SELECT ARRAY[search_token.token, lower(search_token.token), upper(search_token.token)] AS texts) t
    CROSS JOIN LATERAL (
        SELECT 'registered' AS event, r.last_update AS at, NULL::bigint AS message_id, NULL::smallint AS status,
            NULL::text AS reason, NULL::smallint AS attempt, NULL::uuid AS apns_id
        FROM carillon.tokens r WHERE r.app_id = a.id AND r.token = lower(search_token.token)
        UNION ALL
        SELECT 'failed', f.failed_at, f.message_id, f.status, f.reason, f.attempt, f.apns_id
        FROM (
            SELECT * FROM carillon.failures f WHERE f.app_id = a.id
            ORDER BY f.failed_at DESC LIMIT (SELECT max_rows FROM bounds)) f
        WHERE f.token = ANY (t.texts)
        UNION ALL
        SELECT unnest(ARRAY['dead since', 'reported dead', CASE WHEN d.handled_at IS NOT NULL THEN 'reaped' END]),
            unnest(ARRAY[d.unregistered_at, d.seen_at, d.handled_at]), NULL, NULL, d.reason, NULL, NULL
        FROM (SELECT * FROM carillon.feedback d WHERE d.app_id = a.id ORDER BY d.id DESC LIMIT (SELECT max_rows FROM bounds)) d
        WHERE d.token = ANY (t.texts)
        UNION ALL
        SELECT 'ready', m.created_at, coalesce(m.broadcast_id, m.origin, m.id), m.last_status, m.last_reason, m.attempt, NULL
        FROM carillon.filled_lanes(a.id) l CROSS JOIN LATERAL (
            SELECT * FROM carillon.messages m WHERE m.app_id = l.app_id AND m.lane = l.lane
            ORDER BY m.id DESC LIMIT (SELECT max_rows / 3 FROM bounds)) m
        WHERE m.tokens && t.texts
        UNION ALL
        SELECT 'scheduled', s.run_at, coalesce(s.broadcast_id, s.origin, s.id), s.last_status, s.last_reason, s.attempt, NULL
        FROM (SELECT * FROM carillon.scheduled s WHERE s.app_id = a.id ORDER BY s.id DESC LIMIT (SELECT max_rows FROM bounds)) s
        WHERE s.tokens && t.texts
        UNION ALL
        SELECT 'in flight', i.claimed_at, coalesce(j.broadcast_id, j.origin, j.id), j.last_status, j.last_reason, j.attempt,
            NULL
        FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j
        WHERE i.app_id = a.id AND j.tokens && t.texts
    ) found
    WHERE (search_token.app IS NULL OR a.name = search_token.app) AND found.event IS NOT NULL
    ORDER BY found.at DESC NULLS LAST, found.message_id DESC LIMIT 100
$$;


-- functions/queue/end_messages.sql
-- Records ended pushes in results and unfinished, and the content of failed ones in failed_messages. Cancels, takeovers,
-- withdrawals and settlements call end_messages(); record_ended() in settle.sql itself records messages that end whole in their
-- first attempt. It locks rows of unfinished in order of id.

-- ending() has no SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION carillon.ending(message_id bigint, reference text, broadcast_id bigint, created_at timestamptz,
    attempts integer, sent integer DEFAULT 0, failed integer DEFAULT 0, expired integer DEFAULT 0, cancelled integer DEFAULT 0,
    remaining integer DEFAULT NULL, last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL,
    apns_unique_ids jsonb DEFAULT NULL) RETURNS carillon.ending
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(message_id, reference, broadcast_id, created_at, attempts, sent, failed, expired, cancelled, remaining,
        last_status, last_reason, apns_unique_ids)::carillon.ending
$$;

-- A message all of whose pushes are in `endings` gets a row of results at once. Other messages are counted in unfinished, and get
-- their row of results when no pushes remain. If an app has used a message id twice, both messages share a row of unfinished. It
-- may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.end_messages(app integer, endings carillon.ending[], worker bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.unnest(endings) AS e WHERE e.remaining IS NULL) THEN
        INSERT INTO carillon.results
            (message_id, app_id, reference, broadcast_id, sent, failed, expired, cancelled, attempts, created_at, worker_id,
            last_status, last_reason, apns_unique_ids)
        SELECT e.message_id, end_messages.app, e.reference, e.broadcast_id, e.sent, e.failed, e.expired, e.cancelled, e.attempts,
            e.created_at, end_messages.worker, e.last_status, e.last_reason, e.apns_unique_ids
        FROM pg_catalog.unnest(endings) AS e WHERE e.remaining IS NULL;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.unnest(endings) AS e WHERE e.remaining IS NOT NULL) THEN
        RETURN;
    END IF;
    -- In order of id, so that two workers with jobs of the same messages cannot deadlock.
    INSERT INTO carillon.unfinished AS u
        (message_id, app_id, reference, broadcast_id, remaining, sent, failed, expired, cancelled, attempts, last_status,
        last_reason, apns_unique_ids, created_at)
    SELECT e.message_id, end_messages.app, pg_catalog.min(e.reference), pg_catalog.min(e.broadcast_id),
        pg_catalog.sum(CASE WHEN e.remaining > 0 THEN e.remaining ELSE -(e.sent + e.failed + e.expired + e.cancelled) END),
        pg_catalog.sum(e.sent), pg_catalog.sum(e.failed), pg_catalog.sum(e.expired), pg_catalog.sum(e.cancelled),
        pg_catalog.max(e.attempts),
        (pg_catalog.array_agg(e.last_status ORDER BY e.attempts DESC) FILTER (WHERE e.last_reason IS NOT NULL))[1],
        (pg_catalog.array_agg(e.last_reason ORDER BY e.attempts DESC) FILTER (WHERE e.last_reason IS NOT NULL))[1],
        (pg_catalog.array_agg(e.apns_unique_ids) FILTER (WHERE e.apns_unique_ids IS NOT NULL))[1],
        coalesce(pg_catalog.min(e.created_at), pg_catalog.now())
    FROM pg_catalog.unnest(endings) AS e WHERE e.remaining IS NOT NULL GROUP BY e.message_id ORDER BY e.message_id
    ON CONFLICT (app_id, message_id) DO UPDATE SET
        remaining = u.remaining + excluded.remaining, sent = u.sent + excluded.sent, failed = u.failed + excluded.failed,
        expired = u.expired + excluded.expired, cancelled = u.cancelled + excluded.cancelled,
        attempts = greatest(u.attempts, excluded.attempts),
        last_status = CASE WHEN excluded.last_reason IS NULL THEN u.last_status ELSE excluded.last_status END,
        last_reason = coalesce(excluded.last_reason, u.last_reason),
        apns_unique_ids = CASE WHEN u.apns_unique_ids IS NULL THEN excluded.apns_unique_ids
            ELSE pg_catalog.jsonb_concat(u.apns_unique_ids, coalesce(excluded.apns_unique_ids, '{}')) END;
    WITH finished AS (
        DELETE FROM carillon.unfinished u
        WHERE u.app_id = end_messages.app AND u.remaining <= 0
            AND u.message_id = ANY (ARRAY(SELECT e.message_id FROM pg_catalog.unnest(endings) AS e))
        RETURNING u.*
    )
    INSERT INTO carillon.results
        (message_id, app_id, reference, broadcast_id, sent, failed, expired, cancelled, attempts, created_at, worker_id,
        last_status, last_reason, apns_unique_ids)
    SELECT f.message_id, f.app_id, f.reference, f.broadcast_id, f.sent, f.failed, f.expired, f.cancelled, f.attempts,
        f.created_at, end_messages.worker, f.last_status, f.last_reason, f.apns_unique_ids
    FROM finished f;
END
$$;

-- keep_failed_content() adds one row for each message and day; jobs with a payload for each token add a row each time. It may
-- run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.keep_failed_content(app integer, jobs carillon.job[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    today CONSTANT pg_catalog.timestamptz :=
        pg_catalog.date_trunc('day', pg_catalog.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
BEGIN
    INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, priority, expires_at,
        collapse_id, topic, reference, on_unknown)
    SELECT DISTINCT ON (coalesce(j.origin, j.id)) coalesce(j.origin, j.id), keep_failed_content.app, j.lane, j.payload,
        j.push_type, j.priority, j.expires_at, j.collapse_id, j.topic, j.reference, j.on_unknown
    FROM pg_catalog.unnest(jobs) AS j
    WHERE j.payloads IS NULL AND NOT EXISTS (
        SELECT FROM carillon.failed_messages k
        WHERE k.app_id = keep_failed_content.app AND k.message_id = coalesce(j.origin, j.id) AND k.failed_at >= today)
    ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT FROM pg_catalog.unnest(jobs) AS j WHERE j.payloads IS NOT NULL) THEN
        INSERT INTO carillon.failed_messages AS k (message_id, app_id, lane, tokens, payloads, push_type, priority,
            expires_at, collapse_id, topic, reference, on_unknown)
        SELECT coalesce(j.origin, j.id), keep_failed_content.app, pg_catalog.min(j.lane),
            pg_catalog.array_agg(pg_catalog.lower(t.token COLLATE pg_catalog."C")), pg_catalog.array_agg(t.payload),
            pg_catalog.min(j.push_type), pg_catalog.min(j.priority), pg_catalog.min(j.expires_at),
            pg_catalog.min(j.collapse_id), pg_catalog.min(j.topic), pg_catalog.min(j.reference),
            pg_catalog.min(j.on_unknown)
        FROM pg_catalog.unnest(jobs) AS j, unnest(j.tokens, j.payloads) AS t(token, payload)
        WHERE j.payloads IS NOT NULL AND t.token IS NOT NULL AND t.payload IS NOT NULL
        GROUP BY coalesce(j.origin, j.id)
        -- Another worker, or an earlier call in this transaction, wrote it at the same time.
        ON CONFLICT (app_id, message_id, failed_at) DO UPDATE SET
            tokens = pg_catalog.array_cat(k.tokens, excluded.tokens),
            payloads = pg_catalog.array_cat(k.payloads, excluded.payloads);
    END IF;
END
$$;


-- functions/queue/fail_jobs.sql
-- Fails jobs, and ends those whose outcome PostgreSQL refuses to record, for example because of a constraint or trigger that a user
-- added. Such a job never blocks others. The worker calls settle_unrecorded() when settle() fails; functions that move jobs call
-- fail_jobs() for jobs that they have already deleted from their tables.

-- These errors are transient: connections (08), serialization failures and deadlocks (40), resources (53), locks and time limits
-- (55P03, 57014, 25P03, 25P04), a server that is stopping, starting or failing over (57P, 25006), I/O (58). Every other error would
-- recur. PostgresError.isTransient adds what concerns only a connection.
CREATE OR REPLACE FUNCTION carillon.is_transient(state text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT state OPERATOR(pg_catalog.~) '^(08...|40...|53...|55P03|57014|57P..|25006|25P03|25P04|58...)$'
$$;

-- A refusal is an error that concerns the row. Errors of rights and of the schema (42, 3F000) say nothing about it: the statement
-- fails as a whole, and is repeated once they are fixed. But a value that is cast to a type such as ltree or regrole may raise
-- 42601 or 42704. If a trigger raises the others, they are refusals too: its function is in the context, in PL/pgSQL and without
-- arguments, or in another procedural language, which ours never are. The other words of a context depend on lc_messages.
CREATE OR REPLACE FUNCTION carillon.is_refusal(state text, context text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT NOT carillon.is_transient(state)
        AND (state OPERATOR(pg_catalog.!~) '^(3F000|42(?!601|704)...)$'
            OR context OPERATOR(pg_catalog.~) '(?n)^[^"]*PL/(pgSQL.*[(][)]|(?!pgSQL))')
$$;

-- end_unrecorded() writes the results of the job if possible. Each push without another record becomes a failure with the given
-- reason and APNs' status; if PostgreSQL refuses the reference, the failure has none.
CREATE OR REPLACE FUNCTION carillon.end_unrecorded(
    app integer, job carillon.job, why text, sent integer, failed integer, expired integer,
    token text[], status smallint[], apns_id uuid[], worker bigint DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    message CONSTANT bigint := coalesce(job.origin, job.id);
    is_written boolean := false;
    name text;
    lost carillon.unfinished;
    context text;
BEGIN
    PERFORM carillon.use_session_path();
    BEGIN
        PERFORM carillon.end_messages(app, ARRAY[carillon.ending(message_id => message, reference => job.reference,
            broadcast_id => job.broadcast_id, created_at => job.created_at, attempts => job.attempt, sent => sent,
            failed => failed, expired => expired, remaining => CASE WHEN job.origin IS NOT NULL THEN 0 END)], worker);
        is_written := true;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
            -- Otherwise the message would never end.
            UPDATE carillon.unfinished u SET remaining = u.remaining - end_unrecorded.sent - end_unrecorded.failed
                - end_unrecorded.expired, sent = u.sent + end_unrecorded.sent, failed = u.failed + end_unrecorded.failed,
                expired = u.expired + end_unrecorded.expired
            WHERE u.app_id = app AND u.message_id = job.origin;
            DELETE FROM carillon.unfinished u
            WHERE u.app_id = app AND u.message_id = job.origin AND u.remaining <= 0 RETURNING u.* INTO lost;
            IF FOUND THEN
                RAISE WARNING 'the counts of message % cannot be recorded: % sent, % failed, % expired, % cancelled',
                    message, lost.sent, lost.failed, lost.expired, lost.cancelled
                    USING HINT = 'The pushes of its last job, and those that failed before, are in carillon.failures.';
            END IF;
    END;
    -- Keeps the content for requeue_failures(), if possible.
    BEGIN
        IF NOT is_written OR failed > 0 THEN
            PERFORM carillon.keep_failed_content(app, ARRAY[job]);
        END IF;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
    END;
    FOREACH name IN ARRAY ARRAY[job.reference, NULL] LOOP
        BEGIN
            INSERT INTO carillon.failures
                (message_id, app_id, token, status, reason, apns_id, attempt, reference, broadcast_id)
            SELECT message, app, t.token, t.status, why, t.apns_id, job.attempt, name,
                CASE WHEN NOT is_written THEN job.broadcast_id END
            FROM unnest(end_unrecorded.token, end_unrecorded.status, end_unrecorded.apns_id)
                AS t(token, status, apns_id)
            WHERE NOT is_written OR t.status IS DISTINCT FROM 200;
            RETURN true;
        EXCEPTION
            WHEN OTHERS OR assert_failure THEN
                GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
                IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                    RAISE;
                END IF;
        END;
    END LOOP;
    IF NOT is_written THEN
        RAISE WARNING 'the outcome of message % cannot be recorded: % sent, % failed, % expired',
            message, sent, failed, expired;
    END IF;
    RETURN is_written;
END
$$;

-- The other jobs stay in flight. 'unwritten' means that the job is settled but nothing could be recorded.
CREATE OR REPLACE FUNCTION carillon.settle_unrecorded(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint,
    job bigint, sent integer, failed integer, expired integer,
    token text[], status smallint[], apns_id uuid[]
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    claimed_jobs carillon.job[];
    refused carillon.job;
BEGIN
    SELECT f.jobs INTO claimed_jobs FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed AND f.settlements = settlement_number
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN carillon.why_unsettled(app, claim, worker, claimed, settlement_number);
    END IF;
    SELECT j.* INTO refused FROM unnest(claimed_jobs) AS j WHERE j.id = job;
    IF cardinality(claimed_jobs) > 1 THEN
        UPDATE carillon.inflight f
        SET settlements = f.settlements + 1, jobs = ARRAY(SELECT j FROM unnest(claimed_jobs) AS j WHERE j.id <> job)
        WHERE f.app_id = app AND f.id = claim;
    ELSE
        DELETE FROM carillon.inflight f WHERE f.app_id = app AND f.id = claim;
    END IF;
    RETURN CASE WHEN carillon.end_unrecorded(app, refused, 'Unrecorded', sent, failed, expired, token, status, apns_id,
            settle_unrecorded.worker)
        THEN 'written' ELSE 'unwritten' END;
END
$$;

-- If PostgreSQL refuses to record a job, end_unrecorded() records what it can.
CREATE OR REPLACE FUNCTION carillon.fail_jobs(app integer, jobs carillon.job[], why text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(jobs) / 2;
    -- For any other reason, the job fails before the attempt that it was waiting for.
    unbegun CONSTANT smallint := CASE WHEN why IN ('OutcomeUnknown', 'Poison') THEN 0 ELSE 1 END;
    tokens text[];
    context text;
BEGIN
    PERFORM carillon.use_session_path();
    INSERT INTO carillon.failures (message_id, app_id, reference, token, reason, attempt)
    SELECT coalesce(j.origin, j.id), fail_jobs.app, j.reference, t.token, why, j.attempt
    FROM pg_catalog.unnest(jobs) AS j, LATERAL (
        SELECT DISTINCT pg_catalog.lower(coalesce(u.token, '') COLLATE pg_catalog."C")
        FROM pg_catalog.unnest(j.tokens) AS u(token)) AS t(token);
    PERFORM carillon.keep_failed_content(app, jobs);
    PERFORM carillon.end_messages(app, ARRAY(
        SELECT carillon.ending(message_id => coalesce(j.origin, j.id), reference => j.reference,
            broadcast_id => j.broadcast_id, created_at => j.created_at, attempts => j.attempt - unbegun,
            failed => carillon.count_tokens(j.tokens), remaining => CASE WHEN j.origin IS NOT NULL THEN 0 END)
        FROM pg_catalog.unnest(jobs) AS j));
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
        IF NOT carillon.is_refusal(SQLSTATE, context) THEN
            RAISE;
        END IF;
        IF half > 0 THEN
            PERFORM carillon.fail_jobs(app, jobs[:half], why);
            PERFORM carillon.fail_jobs(app, jobs[half + 1:], why);
        ELSE
            tokens := ARRAY(
                SELECT DISTINCT lower(coalesce(t.token, '') COLLATE "C") FROM unnest(jobs[1].tokens) AS t(token));
            PERFORM carillon.end_unrecorded(app, jobs[1], why, 0, cardinality(tokens), 0, tokens,
                array_fill(NULL::smallint, ARRAY[cardinality(tokens)]), array_fill(NULL::uuid, ARRAY[cardinality(tokens)]));
        END IF;
END
$$;

-- The tokens of a discarded job cannot be read, so one failure represents all of them. Its content is not kept, because it can
-- never be sent.
CREATE OR REPLACE FUNCTION carillon.discard_unreadable(app integer, in_lane smallint, message bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    why CONSTANT text := 'Unreadable';
    whole carillon.job;
    context text;
BEGIN
    DELETE FROM carillon.messages m WHERE m.app_id = discard_unreadable.app AND m.lane = in_lane AND m.id = message
    RETURNING (carillon.job(id => m.id, lane => m.lane, tokens => '{""}', payload => '{}',
        reference => m.reference, attempt => m.attempt, lost_claims => m.lost_claims,
        origin => m.origin, broadcast_id => m.broadcast_id, created_at => m.created_at)).* INTO whole;
    IF whole.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM carillon.use_session_path();
    BEGIN
        INSERT INTO carillon.failures (message_id, app_id, reference, token, reason, attempt)
        VALUES (coalesce(whole.origin, whole.id), discard_unreadable.app, whole.reference, '', why, whole.attempt);
        PERFORM carillon.end_messages(discard_unreadable.app, ARRAY[carillon.ending(message_id => coalesce(whole.origin, whole.id),
            reference => whole.reference, broadcast_id => whole.broadcast_id, created_at => whole.created_at,
            attempts => whole.attempt - 1, failed => 1, remaining => CASE WHEN whole.origin IS NOT NULL THEN 0 END)]);
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
            PERFORM carillon.end_unrecorded(discard_unreadable.app, whole, why, 0, 1, 0, '{""}', '{NULL}', '{NULL}');
    END;
    RETURN true;
END
$$;


-- functions/queue/find_cancelled.sql
-- Finds the jobs that were cancelled while they were in flight or scheduled. A function that returns jobs to the queue first calls
-- find_cancelled(): settle(), release(), take_over(), split() and promote(). withdraw() need not: its claim stays in flight.
--
-- The order of its locks is that of cancel.sql. It never waits for a cancel, and waits for rows of unfinished only if `waits` is
-- true.

-- lock_unfinished() locks in order of id, and never waits.
CREATE OR REPLACE FUNCTION carillon.lock_unfinished(app integer, messages bigint[]) RETURNS bigint[]
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH known AS MATERIALIZED (
        SELECT u.message_id FROM unnest(messages) AS m(id)
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = m.id
    ), locked AS MATERIALIZED (
        SELECT u.message_id FROM unnest(messages) AS m(id)
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = m.id
        ORDER BY u.message_id FOR UPDATE OF u SKIP LOCKED
    )
    SELECT coalesce(array_agg(k.message_id), '{}') FROM known k
    WHERE k.message_id NOT IN (SELECT l.message_id FROM locked l)
$$;

-- find_cancelled() returns as `cancelled` the messages that were cancelled, and as `unsure` those whose cancel is still running.
-- Callers pass each message with its broadcast. A cancel that finds a row of split_messages locked here waits until the jobs have
-- returned; for messages of one job, delay_cancels() does the same. A caller with `requeues` false puts all jobs into scheduled:
-- promote() then looks for cancels that were still running.
--
-- If any message was cancelled, this locks the rows of unfinished that will change: those of cancelled messages and those in
-- `touched`. With `waits` false it does not wait, and returns cancelled messages whose rows are locked as `busy`. Runs as its
-- owner: a row lock requires the UPDATE privilege, which workers lack.
CREATE OR REPLACE FUNCTION carillon.find_cancelled(
    app integer, messages bigint[], broadcasts bigint[], touched bigint[], requeues boolean DEFAULT true,
    waits boolean DEFAULT true, OUT cancelled bigint[], OUT unsure bigint[], OUT busy bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    split_ids bigint[];  -- split messages
    unlocked_ids bigint[];  -- those whose rows no cancel has locked
    cancelled_ids bigint[];  -- those that were cancelled
    being_cancelled bigint[] := '{}';  -- those whose rows a cancel has locked
    single_job_ids bigint[] := messages;  -- messages of one job
BEGIN
    cancelled := '{}';
    unsure := '{}';
    busy := '{}';
    IF array_remove(broadcasts, NULL) <> '{}' THEN
        split_ids := ARRAY(SELECT DISTINCT b.id FROM unnest(broadcasts) AS b(id) WHERE b.id IS NOT NULL);
        WITH locked AS MATERIALIZED (
            SELECT b.id, b.cancelled_at FROM unnest(split_ids) AS w(id)
            JOIN carillon.split_messages b ON b.app_id = app AND b.id = w.id FOR SHARE OF b SKIP LOCKED
        )
        SELECT coalesce(array_agg(l.id), '{}'), coalesce(array_agg(l.id) FILTER (WHERE l.cancelled_at IS NOT NULL), '{}')
        INTO unlocked_ids, cancelled_ids FROM locked l;
        IF cardinality(unlocked_ids) < cardinality(split_ids) THEN
            being_cancelled := ARRAY(
                SELECT b.id FROM unnest(split_ids) AS w(id) JOIN carillon.split_messages b ON b.app_id = app AND b.id = w.id
                WHERE b.id <> ALL (unlocked_ids));
        END IF;
        SELECT array_agg(m.id) FILTER (WHERE (m.broadcast = ANY (unlocked_ids || being_cancelled)) IS NOT TRUE),
            coalesce(array_agg(m.id) FILTER (WHERE m.broadcast = ANY (being_cancelled)), '{}'),
            coalesce(array_agg(m.id) FILTER (WHERE m.broadcast = ANY (cancelled_ids)), '{}')
        INTO single_job_ids, unsure, cancelled FROM unnest(messages, broadcasts) AS m(id, broadcast);
    END IF;
    IF requeues AND cardinality(single_job_ids) > 0 THEN
        BEGIN
            -- Succeeds if no cancel is running, and is then enough.
            LOCK TABLE carillon.cancelling IN SHARE MODE NOWAIT;
        EXCEPTION
            WHEN lock_not_available THEN
                unsure := unsure || carillon.delay_cancels(app, single_job_ids);
        END;
    END IF;
    -- Read last, so that it includes every cancel that has committed.
    IF EXISTS (SELECT FROM carillon.cancelled c WHERE c.app_id = app) THEN
        cancelled := cancelled || ARRAY(
            SELECT DISTINCT c.message_id FROM unnest(messages) AS m(id)
            JOIN carillon.cancelled c ON c.app_id = app AND c.message_id = m.id);
    END IF;
    IF cardinality(cancelled) > 0 AND NOT waits THEN
        BEGIN
            LOCK TABLE carillon.unfinished, carillon.results IN ROW EXCLUSIVE MODE NOWAIT;
            busy := carillon.lock_unfinished(app, cancelled);
        EXCEPTION
            WHEN lock_not_available THEN
                busy := cancelled;
        END;
    ELSIF cardinality(cancelled) > 0 THEN
        PERFORM FROM (SELECT DISTINCT t.id FROM unnest(cancelled || touched) AS t(id)) AS k
        JOIN carillon.unfinished u ON u.app_id = app AND u.message_id = k.id ORDER BY u.message_id FOR UPDATE OF u;
    END IF;
END
$$;


-- functions/queue/job.sql
-- The type carillon.job: a row of a queue, or of a claim. Functions that move jobs make and change them with these, by the names of
-- fields.

-- A field that is added to the type later is null in jobs stored by older versions. This function and the next two have no SET
-- clause, so that PostgreSQL inlines them.
CREATE OR REPLACE FUNCTION carillon.job(id bigint, lane smallint, tokens text[], payload json, payloads json[] DEFAULT NULL,
    push_type text DEFAULT 'alert', priority smallint DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    collapse_id text DEFAULT NULL, topic text DEFAULT NULL, reference text DEFAULT NULL, on_unknown text DEFAULT 'retry',
    attempt smallint DEFAULT 1, lost_claims smallint DEFAULT 0, origin bigint DEFAULT NULL, broadcast_id bigint DEFAULT NULL,
    created_at timestamptz DEFAULT NULL, last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL,
    unknown_attempts smallint DEFAULT 0) RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ROW(id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic, reference, on_unknown,
        attempt, lost_claims, unknown_attempts, origin, broadcast_id, created_at, last_status, last_reason)::carillon.job
$$;

CREATE OR REPLACE FUNCTION carillon.ready_job(ready carillon.messages) RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.job(id => ready.id, lane => ready.lane, tokens => ready.tokens, payload => ready.payload,
        payloads => ready.payloads, push_type => ready.push_type, priority => ready.priority, expires_at => ready.expires_at,
        collapse_id => ready.collapse_id, topic => ready.topic, reference => ready.reference, on_unknown => ready.on_unknown,
        attempt => ready.attempt, lost_claims => ready.lost_claims, origin => ready.origin, broadcast_id => ready.broadcast_id,
        created_at => ready.created_at, last_status => ready.last_status, last_reason => ready.last_reason,
        unknown_attempts => ready.unknown_attempts)
$$;

CREATE OR REPLACE FUNCTION carillon.scheduled_job(waiting carillon.scheduled) RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.job(id => waiting.id, lane => waiting.lane, tokens => waiting.tokens, payload => waiting.payload,
        payloads => waiting.payloads, push_type => waiting.push_type, priority => waiting.priority,
        expires_at => waiting.expires_at, collapse_id => waiting.collapse_id, topic => waiting.topic,
        reference => waiting.reference, on_unknown => waiting.on_unknown, attempt => waiting.attempt,
        lost_claims => waiting.lost_claims, origin => waiting.origin, broadcast_id => waiting.broadcast_id,
        created_at => waiting.created_at, last_status => waiting.last_status, last_reason => waiting.last_reason,
        unknown_attempts => waiting.unknown_attempts)
$$;

-- In changed_job(), a new reason replaces the status as well. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.changed_job(job carillon.job, id bigint DEFAULT NULL, tokens text[] DEFAULT NULL,
    payloads json[] DEFAULT NULL, attempt smallint DEFAULT NULL, lost_claims smallint DEFAULT NULL, origin bigint DEFAULT NULL,
    last_status smallint DEFAULT NULL, last_reason text DEFAULT NULL, unknown_attempts smallint DEFAULT NULL)
RETURNS carillon.job
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.job(id => coalesce(id, job.id), lane => job.lane, tokens => coalesce(tokens, job.tokens),
        payload => job.payload, payloads => coalesce(payloads, job.payloads), push_type => job.push_type,
        priority => job.priority, expires_at => job.expires_at, collapse_id => job.collapse_id, topic => job.topic,
        reference => job.reference, on_unknown => job.on_unknown, attempt => coalesce(attempt, job.attempt),
        lost_claims => coalesce(lost_claims, job.lost_claims), origin => coalesce(origin, job.origin),
        broadcast_id => job.broadcast_id, created_at => job.created_at,
        last_status => CASE WHEN last_reason IS NULL THEN job.last_status ELSE last_status END,
        last_reason => coalesce(last_reason, job.last_reason),
        unknown_attempts => coalesce(unknown_attempts, job.unknown_attempts, 0::smallint))
$$;

CREATE OR REPLACE FUNCTION carillon.narrowed_job(job carillon.job, chosen text[]) RETURNS carillon.job
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    job.payloads := carillon.payloads_of(job, chosen);
    job.tokens := chosen;
    RETURN job;
END
$$;

-- If the job contains a token twice, in upper and lower case, the first one counts, as it does when a claim is read.
CREATE OR REPLACE FUNCTION carillon.payloads_of(job carillon.job, chosen text[]) RETURNS json[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    RETURN CASE WHEN job.payloads IS NOT NULL THEN ARRAY(
        SELECT p.payload FROM unnest(chosen) WITH ORDINALITY AS c(token, place) LEFT JOIN (
            SELECT DISTINCT ON (1) lower(coalesce(u.token, '') COLLATE "C") AS token, u.payload
            FROM unnest(job.tokens, job.payloads) WITH ORDINALITY AS u(token, payload, place) ORDER BY 1, u.place
        ) AS p ON p.token = lower(coalesce(c.token, '') COLLATE "C")
        ORDER BY c.place) END;
END
$$;

-- count_tokens() takes upper and lower case for the same token; null counts as the empty token.
CREATE OR REPLACE FUNCTION carillon.count_tokens(tokens text[]) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT pg_catalog.count(DISTINCT pg_catalog.lower(coalesce(t.token, '') COLLATE pg_catalog."C"))::integer
    FROM pg_catalog.unnest(tokens) AS t(token)
$$;


-- functions/queue/order_updates.sql
-- The order of the updates of a Live Activity or a channel: no device shows an older one after a newer one.
--
-- note_update() runs in the transaction that enqueues an update. A worker calls order_updates() for the updates of each claim
-- before it sends them. Both know a push by its token and its message: the id of its job, or the job's origin if it has one.
--
-- order_updates() locks the row of inflight, then rows of update_stamps in the order of tokens. It skips rows of the table updates
-- that a cancel has locked.

CREATE OR REPLACE FUNCTION carillon.note_update(
    app integer, message bigint, tokens text[], is_end boolean, due timestamptz, expires timestamptz
) RETURNS void
-- Uses one index plan for all values: a plan made while a table is small would be wrong when it is large.
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO carillon.updates (app_id, token, message_id, is_end, due_at, expires_at)
    -- A new update must follow what was sent, even if the clock was set back since. An update that still waits keeps its later
    -- time, and is the newer one until then.
    SELECT app, t.token, message, is_end, greatest(due, (
        SELECT s.due_at FROM carillon.update_stamps s WHERE s.app_id = app AND s.token = t.token)),
        -- 'epoch' means at once or never, so the update does not expire here.
        nullif(expires, 'epoch')
    FROM (SELECT DISTINCT lower(u.token) AS token FROM unnest(tokens) AS u(token)) AS t;
END
$$;

-- order_updates() decides which pushes are sent, and with which timestamps. A push is superseded if a newer update of its token is
-- due or was sent. It keeps its timestamp in all attempts. The answer is null if another worker has taken over the claim.
--
-- The timestamps of a token always increase, whatever the clock does. They are whole seconds, so frequent updates would push them
-- ahead of the clock: at `lead` seconds ahead, the newest update waits. If they are more than a minute ahead, the clock was set
-- back, and no update waits.
--
-- Three kinds of pushes have no row in the table updates: those that were ordered before, starts, and plain INSERTs. If the push is
-- the one that was ordered last, it keeps that place. Otherwise, a message id of at most update_stamps.highest means that it is
-- older than that one, and a higher id that it is newer. An end counts as newer than all updates that wait with it: an update that
-- was enqueued after the end would show an activity that is over.
CREATE OR REPLACE FUNCTION carillon.order_updates(
    app integer, claim bigint, worker bigint, claimed timestamptz, job bigint[], token text[]
) RETURNS carillon.push_decisions
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    clock CONSTANT timestamptz := clock_timestamp();
    seconds CONSTANT bigint := floor(extract(epoch FROM clock));
    lead CONSTANT integer := 5;
    claimed_jobs carillon.job[];
    answer carillon.push_decisions;
    jobs bigint[];  -- the pushes that leave the claim
    tokens text[];
    waits integer[];
BEGIN
    SELECT f.jobs INTO claimed_jobs FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- The stamps are locked first, so that two workers never order updates of one token at the same time.
    PERFORM FROM carillon.update_stamps s
    WHERE s.app_id = app AND s.token = ANY (ARRAY(SELECT DISTINCT lower(t.token) FROM unnest(order_updates.token) AS t(token)))
    ORDER BY s.token FOR UPDATE;
    WITH wanted AS MATERIALIZED (  -- the pushes that are still in the claim
        SELECT w.place, h.message, h.token, h.is_activity
        FROM unnest(order_updates.job, order_updates.token) WITH ORDINALITY AS w(job, token, place)
        JOIN (
            SELECT DISTINCT j.id, coalesce(j.origin, j.id) AS message, lower(t.token) AS token,
                j.push_type = 'liveactivity' AS is_activity
            FROM unnest(claimed_jobs) AS j CROSS JOIN LATERAL unnest(j.tokens) AS t(token)
        ) AS h ON h.id = w.job AND h.token = lower(w.token)
    ), ranked AS MATERIALIZED (  -- with what orders them: is_end, due_at, message
        SELECT w.place, w.message, w.token, w.is_activity, u.due_at IS NOT NULL OR s.token IS NOT NULL AS is_ordered,
            coalesce(u.is_end, w.message = s.message_id AND s.is_final, false) AS is_end,
            CASE WHEN u.due_at IS NOT NULL THEN u.due_at
                WHEN w.message = s.message_id THEN s.due_at
                WHEN w.message > s.highest THEN greatest(clock, s.due_at) ELSE '-infinity' END AS due_at
        FROM wanted w
        LEFT JOIN carillon.updates u ON u.app_id = app AND u.token = w.token AND u.message_id = w.message
        LEFT JOIN carillon.update_stamps s ON s.app_id = app AND s.token = w.token
    ), newest AS MATERIALIZED (  -- the last of each token, unless a newer one is due
        SELECT n.* FROM (
            SELECT DISTINCT ON (p.token) p.message, p.token, p.is_activity, p.is_end, p.due_at FROM ranked p WHERE p.is_ordered
            ORDER BY p.token, p.is_end DESC, p.due_at DESC, p.message DESC
        ) AS n
        WHERE NOT EXISTS (
            SELECT FROM carillon.updates u WHERE u.app_id = app AND u.token = n.token
                AND (u.is_end, u.due_at, u.message_id) > (n.is_end, n.due_at, n.message) AND u.due_at <= clock
                AND (u.expires_at > clock) IS NOT FALSE)
    ), early AS MATERIALIZED (  -- those that wait
        SELECT n.token, n.message, ceil((s.stamp + 1 - lead - extract(epoch FROM clock)) * 1000)::integer AS wait
        FROM newest n JOIN carillon.update_stamps s ON s.app_id = app AND s.token = n.token
        WHERE s.message_id <> n.message AND s.stamp BETWEEN seconds + lead AND seconds + 60
            AND (s.is_final, s.due_at, s.message_id) < (n.is_end AND n.is_activity, n.due_at, n.message)
    ), stamped AS (  -- those that are sent
        INSERT INTO carillon.update_stamps AS s (app_id, token, message_id, is_final, due_at, highest, stamp)
        SELECT app, n.token, n.message, n.is_end AND n.is_activity, n.due_at, (
            -- The highest id among the rows deleted here. An update with a higher id may have been due earlier.
            SELECT greatest(n.message, max(o.message_id)) FROM carillon.updates o
            WHERE o.app_id = app AND o.token = n.token
                AND (o.is_end, o.due_at, o.message_id) <= (n.is_end, n.due_at, n.message)), seconds
        FROM newest n WHERE n.token NOT IN (SELECT e.token FROM early e) ORDER BY n.token
        ON CONFLICT (app_id, token) DO UPDATE SET message_id = excluded.message_id, is_final = excluded.is_final,
            due_at = greatest(s.due_at, excluded.due_at), highest = greatest(s.highest, excluded.highest),
            stamp = CASE WHEN s.message_id = excluded.message_id THEN s.stamp
                ELSE greatest(excluded.stamp, s.stamp + 1) END
        WHERE s.message_id = excluded.message_id
            OR (s.is_final, s.due_at, s.message_id) < (excluded.is_final, excluded.due_at, excluded.message_id)
        RETURNING s.token, s.message_id, s.stamp
    ), forgotten AS (
        -- A row that a cancel has locked is skipped, and deleted with a later update.
        DELETE FROM carillon.updates u WHERE u.ctid = ANY (ARRAY(
            SELECT o.ctid FROM stamped s JOIN newest n ON n.token = s.token
            JOIN carillon.updates o ON o.app_id = app AND o.token = s.token
                AND (o.is_end, o.due_at, o.message_id) <= (n.is_end, n.due_at, n.message) FOR UPDATE OF o SKIP LOCKED))
    ), decided AS (
        SELECT w.place, w.job, w.token, o.stamp, e.wait,
            CASE WHEN o.stamp IS NOT NULL THEN 'send' WHEN e.wait IS NOT NULL THEN 'later' ELSE 'superseded' END AS decision
        FROM unnest(order_updates.job, order_updates.token) WITH ORDINALITY AS w(job, token, place)
        LEFT JOIN ranked p ON p.place = w.place
        LEFT JOIN early e ON e.token = p.token AND e.message = p.message
        LEFT JOIN stamped s ON s.token = p.token AND s.message_id = p.message
        CROSS JOIN LATERAL (SELECT CASE WHEN NOT p.is_ordered THEN seconds ELSE s.stamp END) AS o(stamp)
    )
    SELECT array_agg(d.decision ORDER BY d.place), array_agg(d.stamp ORDER BY d.place),
        count(*) FILTER (WHERE d.decision = 'superseded'), array_agg(d.job) FILTER (WHERE d.decision <> 'send'),
        array_agg(d.token) FILTER (WHERE d.decision <> 'send'), array_agg(d.wait) FILTER (WHERE d.decision <> 'send')
    INTO answer.decisions, answer.stamps, answer.superseded, jobs, tokens, waits FROM decided d;
    IF jobs IS NOT NULL THEN
        PERFORM carillon.withdraw(app, claim, claimed_jobs, jobs, tokens, waits);
    END IF;
    RETURN answer;
END
$$;


-- functions/queue/pace_devices.sql
-- Paces the background pushes of apps with max_per_device. Each push has one slot: the time at which it was or will be sent. So no
-- hour has more than the limit, except for pushes that are sent twice because their outcome is unknown.
--
-- A worker calls pace_devices() for the background pushes of each claim before it sends them. It locks the row of inflight, then
-- rows of device_slots in the order of tokens, and skips rows of scheduled that are locked. lock_waiting_jobs() and
-- pace_push() run once for each push, and pin no search_path, because that would slow them.

-- lock_waiting_jobs() locks the rows of scheduled in which pushes of a message to one of these tokens wait, except for jobs in
-- `claimed_ids`. Rows that others have locked are skipped: their pushes are paced when they arrive.
CREATE OR REPLACE FUNCTION carillon.lock_waiting_jobs(app integer, message bigint, tokens text[], claimed_ids bigint[])
RETURNS SETOF tid
LANGUAGE plpgsql ROWS 1 AS $$
BEGIN
    -- Two scans of an index: an OR of their conditions would read all jobs of the app.
    RETURN QUERY SELECT s.ctid FROM carillon.scheduled s
    WHERE s.ctid = ANY (ARRAY(
            SELECT k.ctid FROM carillon.scheduled k WHERE k.app_id = app AND k.id = message
            UNION ALL
            SELECT k.ctid FROM carillon.scheduled k WHERE k.app_id = app AND k.origin = message))
        AND s.id <> ALL (claimed_ids) AND (lock_waiting_jobs.tokens[1] = ANY (s.tokens)
            OR EXISTS (SELECT FROM unnest(s.tokens) AS u(token)
                WHERE pg_catalog.lower(u.token) IN (SELECT unnest(lock_waiting_jobs.tokens))))
    FOR UPDATE SKIP LOCKED;
END
$$;

-- pace_push() decides one push and notes its slot. The push is sent if its token had fewer than `max_per_device` within the hour.
-- If not, it waits. If an older push with the same meaning waits, it replaces that push and takes its slot. If a newer one waits,
-- the push is superseded. A push that returns for another attempt keeps its one slot, which moves to the present time.
CREATE OR REPLACE FUNCTION carillon.pace_push(
    app integer, token text, message bigint, meaning bigint, max_per_device integer, clock timestamptz, claimed_ids bigint[],
    OUT decision text, OUT slot_at timestamptz, OUT replaces bigint
)
LANGUAGE plpgsql STRICT AS $$
DECLARE
    others carillon.device_slot[];
    had_slot boolean;
    taken pg_catalog.timestamptz[];
    waiting carillon.device_slot;
    latest pg_catalog.timestamptz;
    present pg_catalog.timestamptz := clock;
BEGIN
    -- A row may contain any time, and arithmetic with infinity fails.
    SELECT ARRAY(SELECT s FROM unnest(d.slots) AS s WHERE s.at > clock - interval '1 hour' AND s.at < '2200-01-01 00:00+00'
            AND s.message_id <> message),
        message IN (SELECT s.message_id FROM unnest(d.slots) AS s), d.last_at
    INTO others, had_slot, latest FROM carillon.device_slots d WHERE d.app_id = app AND d.token = pace_push.token FOR UPDATE;
    -- Another worker may have sent a push since this call began: then its slot is no longer in the future.
    IF latest > clock THEN
        present := greatest(clock, pg_catalog.clock_timestamp());
    END IF;
    -- A push that has had a slot goes ahead of pushes whose slots are in the future.
    taken := ARRAY(SELECT o.at FROM unnest(others) AS o WHERE o.at <= present OR NOT had_slot ORDER BY o.at);
    IF pg_catalog.cardinality(taken) < max_per_device THEN
        decision := 'send';
        slot_at := clock;
    ELSE
        decision := 'later';
        slot_at := clock + interval '1 minute'
            * pg_catalog.ceil(
                extract(epoch FROM taken[pg_catalog.cardinality(taken) - max_per_device + 1] + interval '1 hour' - clock) / 60);
        SELECT o.* INTO waiting FROM unnest(others) AS o WHERE o.meaning = pace_push.meaning AND o.at > present
        ORDER BY o.message_id DESC LIMIT 1;
        IF waiting.message_id > message THEN
            PERFORM carillon.lock_waiting_jobs(app, waiting.message_id, ARRAY[token], claimed_ids);
            decision := CASE WHEN FOUND THEN 'superseded' ELSE 'later' END;
        END IF;
        IF decision = 'later' AND waiting.message_id IS NOT NULL THEN
            slot_at := waiting.at;
            replaces := CASE WHEN waiting.message_id < message THEN waiting.message_id END;
            others := ARRAY(SELECT o FROM unnest(others) AS o WHERE o.message_id <> waiting.message_id);
        END IF;
    END IF;
    UPDATE carillon.device_slots d SET last_at = greatest(d.last_at, slot_at), slots = CASE WHEN decision = 'superseded' THEN others
        ELSE others || ROW(slot_at, message, meaning)::carillon.device_slot END
    WHERE d.app_id = app AND d.token = pace_push.token;
END
$$;

-- apply_pace() takes pushes out of the claim that are not sent now, and pushes that they replace out of scheduled.
CREATE OR REPLACE FUNCTION carillon.apply_pace(
    app integer, claim bigint, claimed_jobs carillon.job[], paced carillon.paced_push[], clock timestamptz
) RETURNS carillon.push_decisions
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    replaced CONSTANT tid[] := ARRAY(
        SELECT carillon.lock_waiting_jobs(app, r.message, r.tokens, ARRAY(SELECT h.id FROM unnest(claimed_jobs) AS h)) FROM (
            SELECT p.replaces AS message, array_agg(p.token) AS tokens FROM unnest(paced) AS p
            WHERE p.replaces IS NOT NULL GROUP BY p.replaces) AS r);
    waiting carillon.scheduled[];
    leaving record;
    answer carillon.push_decisions;
BEGIN
    WITH taken AS (DELETE FROM carillon.scheduled s WHERE s.ctid = ANY (replaced) RETURNING s)
    SELECT array_agg(t.s) INTO waiting FROM taken t;
    SELECT array_agg(l.job) AS jobs, array_agg(l.token) AS tokens, array_agg(l.wait) AS waits,
        count(*) FILTER (WHERE l.wait IS NULL) AS superseded INTO leaving
    FROM (
        -- Whole minutes, rounded up: no push comes before its slot, and most pushes of a job wait together.
        SELECT p.job, p.token, CASE p.decision
            WHEN 'later' THEN least(86400000, ceil(extract(epoch FROM p.slot_at - clock) / 60) * 60000)::integer END AS wait
        FROM unnest(paced) AS p WHERE p.decision <> 'send'
        UNION ALL
        SELECT w.id, u.token, CASE WHEN (coalesce(w.origin, w.id), lower(u.token)) NOT IN (
                SELECT p.replaces, p.token FROM unnest(paced) AS p WHERE p.replaces IS NOT NULL)
            THEN greatest(0, ceil(extract(epoch FROM w.run_at - clock) * 1000))::integer END
        FROM unnest(waiting) AS w, unnest(w.tokens) AS u(token)
    ) AS l;
    IF leaving.jobs IS NOT NULL THEN
        PERFORM carillon.withdraw(app, claim, claimed_jobs || ARRAY(SELECT carillon.scheduled_job(w) FROM unnest(waiting) AS w),
            leaving.jobs, leaving.tokens, leaving.waits);
    END IF;
    answer.decisions := ARRAY(SELECT p.decision FROM unnest(paced) AS p ORDER BY p.place);
    answer.superseded := leaving.superseded;
    RETURN answer;
END
$$;

-- Pushes have the same meaning if they have the same topic and collapse id or, without a collapse id, the same payload. The
-- function returns null if another worker has taken over the claim.
CREATE OR REPLACE FUNCTION carillon.pace_devices(
    app integer, claim bigint, worker bigint, claimed timestamptz, job bigint[], token text[], max_per_device integer
) RETURNS carillon.push_decisions
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    clock CONSTANT timestamptz := clock_timestamp();
    claimed_jobs carillon.job[];
    claimed_ids bigint[];
    paced carillon.paced_push[];
BEGIN
    SELECT f.jobs, ARRAY(SELECT h.id FROM unnest(f.jobs) AS h) INTO claimed_jobs, claimed_ids FROM carillon.inflight f
    WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO carillon.device_slots (app_id, token, slots, last_at)
    SELECT app, t.token, '{}', clock FROM (SELECT DISTINCT lower(u.token) AS token FROM unnest(pace_devices.token) AS u(token)) AS t
    ORDER BY t.token ON CONFLICT DO NOTHING;
    WITH asked AS MATERIALIZED (
        SELECT w.place, w.job, lower(w.token) AS token, coalesce(j.origin, j.id) AS message, hashtextextended(
            concat_ws(E'\n', j.topic, coalesce('id ' || nullif(j.collapse_id, ''), 'payload '
                || coalesce(j.payload, (carillon.payloads_of(j, ARRAY[w.token]))[1])::text)), 0) AS meaning
        FROM unnest(pace_devices.job, pace_devices.token) WITH ORDINALITY AS w(job, token, place)
        LEFT JOIN (SELECT DISTINCT h.id, lower(u.token) AS token FROM unnest(claimed_jobs) AS h, unnest(h.tokens) AS u(token)) AS t
            ON t.id = w.job AND t.token = lower(w.token)
        LEFT JOIN unnest(claimed_jobs) AS j ON j.id = t.id
        ORDER BY lower(w.token), coalesce(j.origin, j.id), w.place
    ), decided AS (
        -- pace_push() is not called for a push that has left the claim since, because it has no message. Such a push counts as
        -- superseded: nothing is left to be sent.
        SELECT a.place, a.job, a.token, a.message, p.*, array_agg(p.replaces) OVER (PARTITION BY a.token) AS replaced
        FROM asked a
        CROSS JOIN LATERAL carillon.pace_push(app, a.token, a.message, a.meaning, max_per_device, clock, claimed_ids) AS p
    )
    SELECT array_agg(ROW(d.place, d.job, d.token, CASE WHEN d.decision = 'later' AND d.message = ANY (d.replaced) THEN 'superseded'
        ELSE coalesce(d.decision, 'superseded') END, d.slot_at, d.replaces)::carillon.paced_push)
    INTO paced FROM decided d;
    RETURN carillon.apply_pace(app, claim, claimed_jobs, paced, clock);
END
$$;


-- functions/queue/promote.sql
-- Moves jobs that are due from scheduled to messages. Workers call promote() when they look for jobs. It locks rows of scheduled
-- and skips those that are locked; for everything else it waits at most 10 ms.

-- delay_jobs() updates the rows in place, so that a session waiting to delete them still finds them. Jobs stay due if PostgreSQL
-- refuses the update or the table is locked.
CREATE OR REPLACE FUNCTION carillon.delay_jobs(due tid[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.use_session_path();
    UPDATE carillon.scheduled s SET run_at = pg_catalog.now() + interval '1 second' WHERE s.ctid = ANY (due);
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        IF carillon.is_transient(SQLSTATE) AND SQLSTATE <> '55P03' THEN
            RAISE;
        END IF;
END
$$;

CREATE OR REPLACE FUNCTION carillon.promote_rows(due tid[], cancelled tid[])
RETURNS TABLE (app_id integer, lane smallint, lowest bigint, jobs bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    ready record;
BEGIN
    FOR ready IN
        WITH taken AS (
            DELETE FROM carillon.scheduled s WHERE s.ctid = ANY (due)
            RETURNING s.app_id, s.lane, s.id, carillon.scheduled_job(s) AS job,
                CASE WHEN s.ctid = ANY (cancelled) THEN coalesce(s.origin, s.id) END AS cancelled
        )
        SELECT t.app_id, t.lane, min(t.id) AS lowest, array_agg(t.job ORDER BY t.id) AS jobs,
            array_agg(t.cancelled) FILTER (WHERE t.cancelled IS NOT NULL) AS cancelled
        FROM taken t GROUP BY t.app_id, t.lane
    LOOP
        app_id := ready.app_id;
        lane := ready.lane;
        lowest := ready.lowest;
        jobs := cardinality(ready.jobs);
        IF ready.cancelled IS NULL THEN
            PERFORM carillon.return_jobs(ready.app_id, ready.jobs);
        ELSE
            PERFORM carillon.return_uncancelled(ready.app_id, ready.jobs, ready.cancelled, '{}');
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- promote() starts after a position in the order of time and id, because dead index entries before it remain as long as any
-- transaction is open. It returns rows of two kinds: a `lane` for each lane with new jobs, with their number and lowest id, and
-- at the end one `position`, where the next call may start.
--
-- One scan finds the due jobs of all apps; an index for each app would need a scan for each. It never waits long for a lock. A job
-- stays in scheduled if it is being cancelled, or if it was cancelled and its row of unfinished is locked. If an open transaction
-- holds the id of a job or its row of unfinished, jobs move one by one; after several such locks the rest stay.
CREATE OR REPLACE FUNCTION carillon.promote(
    max_jobs integer, after timestamptz DEFAULT '-infinity', after_id bigint DEFAULT -9223372036854775808
)
RETURNS TABLE (kind text, app_id integer, lane smallint, lowest bigint, jobs bigint, next_at timestamptz, next_id bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '10ms' AS $$
DECLARE
    max_locks CONSTANT integer := 8;
    max_bytes CONSTANT integer := 67108864;
    locks integer := 0;
    one tid;
    due tid[];
    is_cut boolean;
    cancelled tid[];
    unsure tid[];
    kept tid[];
BEGIN
    -- If the clock was set back, start over.
    IF after > now() THEN
        after := '-infinity';
        after_id := -9223372036854775808;
    END IF;
    -- Takes at least one row, and no more than an array can hold. Sizes are compressed sizes, so a large row is moved alone.
    SELECT array_agg(d.ctid ORDER BY d.run_at, d.id) FILTER (WHERE d.place = 1 OR d.total <= max_bytes),
        bool_or(d.place > 1 AND d.total > max_bytes)
    INTO due, is_cut FROM (
        SELECT l.*, row_number() OVER w AS place,
            sum(CASE WHEN l.size > 1048576 THEN max_bytes + 1::bigint ELSE l.size END) OVER w AS total FROM (
            SELECT s.ctid, s.run_at, s.id, pg_column_size(s.tokens) + coalesce(pg_column_size(s.payloads), 0) AS size
            FROM carillon.scheduled s
            WHERE s.run_at <= now() AND (s.run_at, s.id) > (after, after_id)
            ORDER BY s.run_at, s.id LIMIT max_jobs FOR UPDATE SKIP LOCKED
        ) AS l WINDOW w AS (ORDER BY l.run_at, l.id)
    ) AS d;
    -- Due rows that remain come after the last one taken.
    kind := 'position';
    next_at := now();
    next_id := 9223372036854775807;
    IF due IS NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    IF cardinality(due) >= max_jobs OR is_cut THEN
        SELECT s.run_at, s.id INTO next_at, next_id FROM carillon.scheduled s WHERE s.ctid = due[cardinality(due)];
    END IF;
    SELECT array_agg(d.tid) FILTER (WHERE d.message = ANY (o.cancelled)),
        array_agg(d.tid) FILTER (WHERE d.message = ANY (o.unsure)),
        array_agg(d.tid) FILTER (WHERE d.message = ANY (o.unsure || o.busy))
    INTO cancelled, unsure, kept
    FROM (
        SELECT s.app_id, array_agg(s.ctid) AS due, array_agg(coalesce(s.origin, s.id)) AS messages,
            array_agg(s.broadcast_id) AS broadcasts
        FROM carillon.scheduled s WHERE s.ctid = ANY (due) GROUP BY s.app_id ORDER BY s.app_id
    ) AS a, carillon.find_cancelled(a.app_id, a.messages, a.broadcasts, '{}', waits => false) AS o,
        unnest(a.due, a.messages) AS d(tid, message)
    WHERE o.cancelled || o.unsure <> '{}';
    IF unsure IS NOT NULL THEN
        PERFORM carillon.delay_jobs(unsure);
    END IF;
    IF kept IS NOT NULL THEN
        due := ARRAY(SELECT d FROM unnest(due) AS d WHERE d NOT IN (SELECT unnest(kept)));
    END IF;
    BEGIN
        RETURN QUERY SELECT 'lane', m.*, NULL::timestamptz, NULL::bigint FROM carillon.promote_rows(due, cancelled) m;
    EXCEPTION
        WHEN lock_not_available THEN
            FOREACH one IN ARRAY due LOOP
                EXIT WHEN locks >= max_locks;
                BEGIN
                    RETURN QUERY SELECT 'lane', m.*, NULL::timestamptz, NULL::bigint
                        FROM carillon.promote_rows(ARRAY[one], cancelled) m;
                EXCEPTION
                    WHEN lock_not_available THEN
                        locks := locks + 1;
                END;
            END LOOP;
    END;
    RETURN NEXT;
END
$$;


-- functions/queue/release.sql
-- Releases claims from which nothing was sent: their jobs return to the queue. A worker calls release() for a claim that it may no
-- longer send, because it is stopping or the app was paused, and for stray claims. It locks app by app, as find_cancelled() and
-- return_uncancelled() do.

-- An id alone does not name a claim, because a crash of PostgreSQL may undo a claim and give its id to another: the caller chooses
-- the ids by the times of the claims, in the same statement.
CREATE OR REPLACE FUNCTION carillon.release(worker bigint, claims bigint[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    target record;
    checked record;
    claim record;
    released bigint := 0;
BEGIN
    FOR target IN
        SELECT f.app_id, array_agg(f.id) AS claims FROM carillon.inflight f
        WHERE f.id = ANY (release.claims) AND f.worker_id = release.worker GROUP BY f.app_id ORDER BY f.app_id
    LOOP
        SELECT o.* INTO checked FROM (
            SELECT array_agg(coalesce(j.origin, j.id)) AS messages, array_agg(j.broadcast_id) AS broadcasts
            FROM carillon.inflight f, unnest(f.jobs) AS j
            WHERE f.app_id = target.app_id AND f.id = ANY (target.claims) AND f.worker_id = release.worker
        ) AS a, carillon.find_cancelled(target.app_id, a.messages, a.broadcasts, '{}') AS o;
        FOR claim IN
            DELETE FROM carillon.inflight f
            WHERE f.app_id = target.app_id AND f.id = ANY (target.claims) AND f.worker_id = release.worker
            RETURNING f.jobs
        LOOP
            released := released + carillon.return_uncancelled(target.app_id, claim.jobs, checked.cancelled, checked.unsure);
        END LOOP;
    END LOOP;
    RETURN released;
END
$$;


-- functions/queue/return_jobs.sql
-- Returns jobs to the queue: retries that are due, unsent claims, and claims of dead workers. The caller has deleted the jobs from
-- their tables, and knows from find_cancelled() which were cancelled meanwhile: once for each app, so that rows of unfinished are
-- locked in one pass, in order of id.

-- If rows were inserted with ids ahead of the sequence, the sequence skips ids, twice as many each time, so that any number of such
-- rows takes only a few rounds. It cannot continue after the highest id, which may be the highest possible.
CREATE OR REPLACE FUNCTION carillon.unused_job_ids(app integer, jobs carillon.job[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    lanes CONSTANT smallint[] := ARRAY(SELECT DISTINCT j.lane FROM unnest(jobs) AS j);
    leap bigint := greatest(cardinality(jobs), 16);
    ids bigint[];
BEGIN
    LOOP
        ids := ARRAY(SELECT nextval('carillon.messages_id_seq') FROM generate_series(1, cardinality(jobs)));
        IF NOT EXISTS (SELECT FROM carillon.messages m WHERE m.app_id = app AND m.lane = ANY (lanes) AND m.id = ANY (ids))
            AND NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = app AND s.id = ANY (ids))
        THEN
            RETURN ids;
        END IF;
        PERFORM count(nextval('carillon.messages_id_seq')) FROM generate_series(1, leap);
        leap := leap * 2;
    END LOOP;
END
$$;

-- renumber_jobs() keeps results and apns-ids those of the message.
CREATE OR REPLACE FUNCTION carillon.renumber_jobs(app integer, jobs carillon.job[]) RETURNS carillon.job[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    INSERT INTO carillon.unfinished AS u (message_id, app_id, reference, broadcast_id, remaining, attempts, created_at)
    SELECT j.id, renumber_jobs.app, j.reference, j.broadcast_id, carillon.count_tokens(j.tokens), j.attempt - 1,
        coalesce(j.created_at, now())
    FROM unnest(jobs) AS j WHERE j.origin IS NULL ORDER BY j.id
    ON CONFLICT (app_id, message_id) DO UPDATE SET remaining = u.remaining + excluded.remaining;
    RETURN ARRAY(
        SELECT carillon.changed_job(j.job, id => n.id, origin => coalesce((j.job).origin, (j.job).id))
        FROM (SELECT u AS job, row_number() OVER () AS place FROM unnest(jobs) AS u) AS j
        JOIN unnest(carillon.unused_job_ids(app, jobs)) WITH ORDINALITY AS n(id, place) ON n.place = j.place);
END
$$;

-- The jobs passed to insert_jobs() have distinct ids. A job that PostgreSQL refuses fails, so that it does not block the others. An
-- id that is not returned was in use. With `is_new` no id was in use, so a trigger has suppressed the rows that are missing.
--
-- The fields of a job are spelled out here, in split_job() and in the claim: reading a field of a composite value costs less than
-- calling a function that makes a row of it. JobFieldTests notices a field that is missing.
CREATE OR REPLACE FUNCTION carillon.insert_jobs(app integer, jobs carillon.job[], waits integer[], is_new boolean) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(jobs) / 2;
    inserted bigint[] := '{}';
    refused carillon.job[];
    context text;
BEGIN
    BEGIN
        -- use_session_path(), the second form.
        PERFORM set_config('search_path', NULL, true);
        IF waits IS NULL THEN
            WITH put AS (
                INSERT INTO carillon.messages (app_id, lane, id, tokens, payload, payloads, push_type, priority, expires_at,
                    collapse_id, topic, reference, on_unknown, attempt, lost_claims, origin, broadcast_id, created_at,
                    last_status, last_reason, unknown_attempts)
                SELECT insert_jobs.app, j.lane, j.id, j.tokens, j.payload, j.payloads, j.push_type, j.priority, j.expires_at,
                    j.collapse_id, j.topic, j.reference, j.on_unknown, j.attempt, j.lost_claims, j.origin, j.broadcast_id,
                    j.created_at, j.last_status, j.last_reason, coalesce(j.unknown_attempts, 0::smallint)
                FROM pg_catalog.unnest(jobs) AS j
                ON CONFLICT DO NOTHING RETURNING id
            )
            SELECT coalesce(pg_catalog.array_agg(p.id), '{}') INTO inserted FROM put p;
        ELSE
            WITH put AS (
                INSERT INTO carillon.scheduled (app_id, id, lane, tokens, payload, payloads, push_type, priority, expires_at,
                    collapse_id, topic, reference, on_unknown, attempt, lost_claims, origin, broadcast_id, created_at,
                    last_status, last_reason, unknown_attempts, run_at)
                SELECT insert_jobs.app, j.id, j.lane, j.tokens, j.payload, j.payloads, j.push_type, j.priority, j.expires_at,
                    j.collapse_id, j.topic, j.reference, j.on_unknown, j.attempt, j.lost_claims, j.origin, j.broadcast_id,
                    j.created_at, j.last_status, j.last_reason, coalesce(j.unknown_attempts, 0::smallint),
                    pg_catalog.now() + pg_catalog.float8(waits[j.ordinality]) * interval '1 millisecond'
                FROM pg_catalog.unnest(jobs) WITH ORDINALITY AS j
                ON CONFLICT DO NOTHING RETURNING id
            )
            SELECT coalesce(pg_catalog.array_agg(p.id), '{}') INTO inserted FROM put p;
        END IF;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, carillon, pg_temp', true);
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
            IF half = 0 THEN
                PERFORM carillon.fail_jobs(app, jobs, 'Unqueued');
                RETURN ARRAY[jobs[1].id];
            END IF;
            -- One of the jobs is at fault; halving the list finds it.
            RETURN carillon.insert_jobs(app, jobs[:half], waits[:half], is_new)
                || carillon.insert_jobs(app, jobs[half + 1:], waits[half + 1:], is_new);
    END;
    IF is_new AND cardinality(inserted) < cardinality(jobs) THEN
        refused := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.id <> ALL (inserted) AND CASE WHEN waits IS NULL
            THEN NOT EXISTS (SELECT FROM carillon.messages m WHERE m.app_id = app AND m.lane = j.lane AND m.id = j.id)
            ELSE NOT EXISTS (SELECT FROM carillon.scheduled s WHERE s.app_id = app AND s.id = j.id) END);
        IF cardinality(refused) > 0 THEN
            PERFORM carillon.fail_jobs(app, refused, 'Unqueued');
            inserted := inserted || ARRAY(SELECT r.id FROM unnest(refused) AS r);
        END IF;
    END IF;
    RETURN inserted;
END
$$;

-- The jobs passed to return_jobs() have distinct ids. A job whose id is in use gets a new one. It pins no search_path, because that
-- would slow each call: its names have schemas, as after use_session_path().
CREATE OR REPLACE FUNCTION carillon.return_jobs(app integer, jobs carillon.job[], waits integer[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    is_new boolean := false;
    inserted bigint[];
BEGIN
    LOOP
        inserted := carillon.insert_jobs(app, jobs, waits, is_new);
        EXIT WHEN pg_catalog.cardinality(inserted) >= pg_catalog.cardinality(jobs);
        IF waits IS NOT NULL THEN
            SELECT pg_catalog.array_agg(waits[j.ordinality] ORDER BY j.ordinality) INTO waits
            FROM pg_catalog.unnest(jobs) WITH ORDINALITY AS j WHERE j.id <> ALL (inserted);
        END IF;
        jobs := carillon.renumber_jobs(app, ARRAY(SELECT j FROM pg_catalog.unnest(jobs) AS j WHERE j.id <> ALL (inserted)));
        is_new := true;
    END LOOP;
END
$$;

-- Results count superseded pushes as cancelled too. If PostgreSQL refuses to record the jobs of end_as_cancelled(), they fail.
CREATE OR REPLACE FUNCTION carillon.end_as_cancelled(app integer, jobs carillon.job[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    cancelled CONSTANT carillon.cancelled_job[] := ARRAY(SELECT carillon.as_cancelled(j) FROM unnest(jobs) AS j);
    context text;
BEGIN
    PERFORM carillon.use_session_path();
    PERFORM carillon.record_cancelled(app, cancelled);
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
        IF NOT carillon.is_refusal(SQLSTATE, context) THEN
            RAISE;
        END IF;
        PERFORM carillon.fail_jobs(app, jobs, 'Unrecorded');
END
$$;

-- The jobs passed to return_uncancelled() have distinct ids.
CREATE OR REPLACE FUNCTION carillon.return_uncancelled(app integer, jobs carillon.job[], cancelled bigint[], unsure bigint[])
RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    restored CONSTANT bigint := cardinality(jobs);
    ended carillon.job[];
    aside carillon.job[];
BEGIN
    IF cardinality(cancelled) > 0 THEN
        ended := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) IN (SELECT unnest(cancelled)));
    END IF;
    IF cardinality(ended) > 0 THEN
        PERFORM carillon.end_as_cancelled(app, ended);
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) NOT IN (SELECT unnest(cancelled)));
    END IF;
    IF cardinality(unsure) > 0 THEN
        -- promote() checks them again in a second.
        aside := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) IN (SELECT unnest(unsure)));
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE coalesce(j.origin, j.id) NOT IN (SELECT unnest(unsure)));
        PERFORM carillon.return_jobs(app, aside, array_fill(1000, ARRAY[cardinality(aside)])) WHERE cardinality(aside) > 0;
    END IF;
    PERFORM carillon.return_jobs(app, jobs);
    RETURN restored;
END
$$;


-- functions/queue/settle.sql
-- Records the outcomes of a claim. A worker calls settle() when pushes of a claim have ended. It locks the row of inflight, then
-- rows of unfinished in order of id. A settlement names the worker and its claim. This is the fence: after a takeover it writes
-- nothing.

-- why_unsettled() returns 'lost' if another worker has taken the claim over. It returns 'before' if an earlier call settled the
-- claim but its answer was lost. That must be so if the worker still has its row of workers, or if the claim still has its row of
-- inflight: nothing can then have been taken over.
CREATE OR REPLACE FUNCTION carillon.why_unsettled(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint
) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE WHEN EXISTS (SELECT FROM carillon.workers w WHERE w.id = why_unsettled.worker)
        OR EXISTS (
            SELECT FROM carillon.inflight f
            WHERE f.app_id = why_unsettled.app AND f.id = claim AND f.worker_id = why_unsettled.worker
                AND f.claimed_at = claimed AND f.settlements > settlement_number)
        THEN 'before' ELSE 'lost' END
$$;

-- The last outcome of a message is the one that the worker reports, or else the one that the jobs of the claim have.
CREATE OR REPLACE FUNCTION carillon.outcomes_before_expiry(
    claimed_jobs carillon.job[], messages bigint[], expired integer[], given_status smallint[], given_reason text[],
    OUT status smallint[], OUT reason text[]
)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT array_agg(CASE WHEN m.reason IS NULL THEN k.last_status ELSE m.status END ORDER BY m.place),
        array_agg(coalesce(m.reason, k.last_reason) ORDER BY m.place)
    FROM unnest(messages, expired, given_status, given_reason) WITH ORDINALITY AS m(id, expired, status, reason, place)
    LEFT JOIN (
        SELECT DISTINCT ON (coalesce(j.origin, j.id)) coalesce(j.origin, j.id) AS id, j.last_status, j.last_reason
        FROM unnest(claimed_jobs) AS j WHERE j.last_reason IS NOT NULL ORDER BY coalesce(j.origin, j.id), j.attempt DESC
    ) AS k ON k.id = m.id AND m.expired > 0
$$;

CREATE OR REPLACE FUNCTION carillon.unique_ids_of(messages bigint[], identified bigint[], tokens text[], ids uuid[]) RETURNS jsonb[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(i.ids ORDER BY m.place), '{}') FROM unnest(messages) WITH ORDINALITY AS m(id, place)
    LEFT JOIN (
        SELECT u.message, jsonb_object_agg(u.token, u.id) AS ids FROM unnest(identified, tokens, unique_ids_of.ids)
            AS u(message, token, id)
        GROUP BY u.message
    ) AS i ON i.message = m.id
$$;

-- endings() has no SET clause, so that PostgreSQL inlines it: no composite value is made unless the caller wants one. The defaults
-- are those of empty columns.
CREATE OR REPLACE FUNCTION carillon.endings(
    messages bigint[], remaining integer[], reference text[], broadcast bigint[], created timestamptz[], sent integer[],
    failed integer[], expired integer[], attempts smallint[], status smallint[], reason text[], unique_ids jsonb[]
) RETURNS SETOF carillon.ending
LANGUAGE sql IMMUTABLE AS $$
    SELECT e.message_id, e.reference, e.broadcast_id, e.created_at, coalesce(e.attempts, 1)::integer, coalesce(e.sent, 1),
        coalesce(e.failed, 0), coalesce(e.expired, 0), 0, e.remaining, e.status, e.reason, e.unique_ids
    FROM unnest(messages, remaining, reference, broadcast, created, sent, failed, expired, attempts, status, reason, unique_ids)
        AS e(message_id, remaining, reference, broadcast_id, created_at, sent, failed, expired, attempts, status, reason,
            unique_ids)
$$;

-- take_from_claim() takes the settled jobs out of the claim's row, and increments its settlement number in the same statement; the
-- row is deleted with its last job. So a second settlement changes nothing, and neither does a settlement of a claim that was taken
-- over: for both it returns null. The time of the claim is part of the fence, because a crash of the database can undo a claim and
-- give its id to another.
--
-- It pins no search_path, because that would slow each settlement: its names have schemas, as after use_session_path().
CREATE OR REPLACE FUNCTION carillon.take_from_claim(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint, needs_jobs boolean,
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[]
) RETURNS carillon.job[]
LANGUAGE plpgsql AS $$
DECLARE
    claimed_jobs carillon.job[];
BEGIN
    IF pg_catalog.cardinality(staying) > 0 THEN
        SELECT f.jobs INTO claimed_jobs FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
            AND f.settlements = settlement_number FOR UPDATE;
        UPDATE carillon.inflight f SET settlements = f.settlements + 1, jobs = ARRAY(
            SELECT CASE WHEN k.whole THEN j ELSE carillon.changed_job(j, tokens => t.list,
                payloads => carillon.payloads_of(j, t.list), origin => coalesce(j.origin, j.id)) END
            FROM unnest(staying, staying_whole) WITH ORDINALITY AS k(id, whole, place)
            JOIN pg_catalog.unnest(claimed_jobs) AS j ON j.id = k.id
            LEFT JOIN (
                SELECT u.place, pg_catalog.array_agg(u.token) AS list
                FROM unnest(staying_place, staying_token) AS u(place, token) GROUP BY u.place) AS t ON t.place = k.place
            ORDER BY k.place)
        WHERE claimed_jobs IS NOT NULL AND f.app_id = app AND f.id = claim;
    ELSE
        DELETE FROM carillon.inflight f
        WHERE f.app_id = app AND f.id = claim AND f.worker_id = worker AND f.claimed_at = claimed
            AND f.settlements = settlement_number
        RETURNING CASE WHEN needs_jobs THEN f.jobs ELSE '{}' END INTO claimed_jobs;
    END IF;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- Returned as a variable, an array is not copied.
    RETURN claimed_jobs;
END
$$;

-- If any message was cancelled, find_cancelled() also locks the rows of unfinished of messages in `ended`: all in one pass, because
-- record_ended() would lock them later.
CREATE OR REPLACE FUNCTION carillon.find_cancelled_going_back(
    app integer, claimed_jobs carillon.job[], ended bigint[], going_back bigint[], going_back_after integer[],
    OUT cancelled bigint[], OUT unsure bigint[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    SELECT o.cancelled, o.unsure INTO cancelled, unsure FROM (
        SELECT array_agg(coalesce(j.origin, j.id)) AS messages, array_agg(j.broadcast_id) AS broadcasts
        FROM unnest(claimed_jobs) AS j WHERE j.id = ANY (going_back)
    ) AS a, carillon.find_cancelled(app, a.messages, a.broadcasts, ended,
        requeues => cardinality(going_back_after) < cardinality(going_back)
            OR array_position(going_back_after, NULL) IS NOT NULL
    ) AS o;
END
$$;

-- What end_messages() does for whole messages, record_ended() does without a composite value for each. It may run after
-- use_session_path().
CREATE OR REPLACE FUNCTION carillon.record_ended(
    app integer, worker bigint, ended bigint[], ended_remaining integer[], ended_reference text[], ended_broadcast bigint[],
    ended_created timestamptz[], ended_sent integer[], ended_failed integer[], ended_expired integer[],
    ended_attempts smallint[], ended_status smallint[], ended_reason text[], ended_unique_ids jsonb[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO carillon.results
        (message_id, app_id, reference, broadcast_id, sent, failed, expired, attempts, created_at, worker_id,
        last_status, last_reason, apns_unique_ids)
    SELECT e.message_id, app, e.reference, e.broadcast_id, e.sent, e.failed, e.expired, e.attempts, e.created_at, worker,
        e.last_status, e.last_reason, e.apns_unique_ids
    FROM carillon.endings(messages => ended, remaining => ended_remaining, reference => ended_reference,
        broadcast => ended_broadcast, created => ended_created, sent => ended_sent, failed => ended_failed,
        expired => ended_expired, attempts => ended_attempts, status => ended_status, reason => ended_reason,
        unique_ids => ended_unique_ids) AS e
    WHERE e.remaining IS NULL;
    -- The others are counted in unfinished.
    IF pg_catalog.cardinality(pg_catalog.array_remove(ended_remaining, NULL)) > 0 THEN
        PERFORM carillon.end_messages(app, ARRAY(
            SELECT e FROM carillon.endings(messages => ended, remaining => ended_remaining, reference => ended_reference,
                broadcast => ended_broadcast, created => ended_created, sent => ended_sent, failed => ended_failed,
                expired => ended_expired, attempts => ended_attempts, status => ended_status, reason => ended_reason,
                unique_ids => ended_unique_ids) AS e
            WHERE e.remaining IS NOT NULL), worker);
    END IF;
END
$$;

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.dead_status() RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 410::smallint $$;

-- Pushes to dead tokens are not requeued, so their content need not be kept. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.keep_requeueable(
    app integer, claimed_jobs carillon.job[], failed bigint[], failed_token text[], failed_status smallint[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM carillon.keep_failed_content(app, ARRAY(
        SELECT CASE WHEN j.payloads IS NULL THEN j ELSE carillon.narrowed_job(j, pushes.tokens) END
        FROM (
            SELECT f.id, pg_catalog.array_agg(f.token) AS tokens
            FROM unnest(failed, failed_token, failed_status) AS f(id, token, status)
            WHERE f.status IS DISTINCT FROM carillon.dead_status() GROUP BY f.id
        ) AS pushes JOIN pg_catalog.unnest(claimed_jobs) AS j ON coalesce(j.origin, j.id) = pushes.id));
END
$$;

-- Also records dead tokens, and channels that Apple does not know. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.record_failed(
    app integer, claimed timestamptz, claimed_jobs carillon.job[], has_requeueable boolean,
    failed bigint[], failed_reference text[], failed_token text[], failed_status smallint[], failed_reason text[],
    failed_unregistered_at timestamptz[], failed_apns_id uuid[], failed_unique_id uuid[], failed_attempt smallint[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO carillon.failures
        (message_id, app_id, reference, token, status, reason, unregistered_at, apns_id, attempt, apns_unique_id)
    SELECT f.id, app, f.reference, f.token, f.status, f.reason, f.unregistered_at, f.apns_id, f.attempt, f.unique_id
    FROM unnest(failed, failed_reference, failed_token, failed_status, failed_reason, failed_unregistered_at,
            failed_apns_id, failed_attempt, failed_unique_id)
        AS f(id, reference, token, status, reason, unregistered_at, apns_id, attempt, unique_id);
    IF has_requeueable THEN
        PERFORM carillon.keep_requeueable(app, claimed_jobs, failed, failed_token, failed_status);
    END IF;
    IF pg_catalog.cardinality(pg_catalog.array_remove(failed_unregistered_at, NULL)) > 0
        OR 'BadDeviceToken' = ANY (failed_reason)
    THEN
        -- BadDeviceToken has no time of its own: the token was dead when it was claimed.
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, source)
        SELECT app, f.token, coalesce(f.unregistered_at, claimed), f.reason, 'http2'
        FROM unnest(failed_token, failed_reason, failed_unregistered_at) AS f(token, reason, unregistered_at)
        WHERE f.unregistered_at IS NOT NULL OR f.reason = 'BadDeviceToken'
            AND (SELECT a.reap_bad_tokens FROM carillon.apps a WHERE a.id = app);
    END IF;
    IF 'ChannelNotRegistered' = ANY (failed_reason) OR 'BadChannelId' = ANY (failed_reason) THEN
        PERFORM carillon.channels_refused(app, failed_token, failed_reason);
    END IF;
END
$$;

-- find_cancelled_going_back() has found which jobs are not returned. It may run after use_session_path().
CREATE OR REPLACE FUNCTION carillon.return_going_back(
    app integer, claimed_jobs carillon.job[], cancelled bigint[], unsure bigint[], unknown bigint[],
    going_back bigint[], going_back_whole boolean[], going_back_attempt smallint[], going_back_after integer[],
    going_back_status smallint[], going_back_reason text[], going_back_place integer[], going_back_token text[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    at_once carillon.job[];
    later carillon.job[];
    waits integer[];
    cancelled_jobs carillon.cancelled_job[];
BEGIN
    WITH lists AS (
        SELECT t.place, pg_catalog.array_agg(t.token) AS tokens
        FROM unnest(going_back_place, going_back_token) AS t(place, token) GROUP BY t.place
    ), changed AS (
        SELECT a.after, coalesce(j.origin, j.id) = ANY (cancelled) AS is_cancelled, carillon.changed_job(j,
            id => CASE WHEN NOT a.whole THEN pg_catalog.nextval('carillon.messages_id_seq') END, tokens => l.tokens,
            payloads => CASE WHEN l.tokens IS NOT NULL AND j.payloads IS NOT NULL THEN carillon.payloads_of(j, l.tokens) END,
            attempt => a.attempt, lost_claims => 0::smallint,
            origin => CASE WHEN NOT a.whole THEN coalesce(j.origin, j.id) END,
            last_status => a.status, last_reason => a.reason,
            unknown_attempts => CASE WHEN a.attempt > j.attempt AND coalesce(j.origin, j.id) = ANY (unknown)
                THEN least(coalesce(j.unknown_attempts, 0) + 1, 99)::smallint END) AS job
        FROM unnest(going_back, going_back_whole, going_back_attempt, going_back_after, going_back_status,
                going_back_reason) WITH ORDINALITY
            AS a(id, whole, attempt, after, status, reason, place)
        JOIN pg_catalog.unnest(claimed_jobs) AS j ON j.id = a.id
        LEFT JOIN lists l ON l.place = a.place
    )
    SELECT pg_catalog.array_agg(c.job) FILTER (WHERE c.after IS NULL AND NOT c.is_cancelled),
        pg_catalog.array_agg(c.job) FILTER (WHERE c.after IS NOT NULL AND NOT c.is_cancelled),
        pg_catalog.array_agg(c.after) FILTER (WHERE c.after IS NOT NULL AND NOT c.is_cancelled),
        pg_catalog.array_agg(carillon.as_cancelled(c.job)) FILTER (WHERE c.is_cancelled)
    INTO at_once, later, waits, cancelled_jobs FROM changed c;
    PERFORM carillon.record_cancelled(app, cancelled_jobs) WHERE cancelled_jobs IS NOT NULL;
    PERFORM carillon.return_uncancelled(app, at_once, '{}', unsure) WHERE at_once IS NOT NULL;
    PERFORM carillon.return_jobs(app, later, waits) WHERE later IS NOT NULL;
END
$$;

-- A settlement that take_from_claim() refuses returns why_unsettled() instead of 'written'.
--
-- Arrays whose names begin alike are the columns of one table: they have the same length, and a column of default values may be
-- empty. They are arrays and not composite values, so that a later version can add a column, with a default, while workers of this
-- version still call. The tables are:
-- - `ended`: messages of which pushes have ended. If a message was one job and all of it has ended, ended_remaining is null.
--   Otherwise it is the number of pushes that unfinished does not count yet. Default values: 1 for sent and attempts, 0 for failed
--   and expired. For pushes that have expired, status and reason are those of the last attempt.
-- - `failed`: pushes that failed, with their messages. Those with a time of death are dead tokens.
-- - `going_back`: jobs that go back to the queue, after some milliseconds, or at once if going_back_after is null. Status and
--   reason say why; null means unchanged. One that goes back whole keeps its id; otherwise the tokens to retry become a job with a
--   new id: going_back_token has them, and going_back_place the position of the job of each in going_back, from 1.
-- - `staying`: jobs that stay in flight. One of which only some tokens stay keeps its id; staying_token has these tokens, as above,
--   and its message is then counted in unfinished.
-- - `unknown`: messages with an attempt whose outcome is unknown and that may be sent again.
-- - `identified`: the apns-unique-ids of tokens that were sent, if the app keeps them.
CREATE OR REPLACE FUNCTION carillon.settle(
    app integer, claim bigint, worker bigint, claimed timestamptz, settlement_number smallint,
    ended bigint[], ended_remaining integer[], ended_reference text[], ended_broadcast bigint[], ended_created timestamptz[],
    ended_sent integer[], ended_failed integer[], ended_expired integer[], ended_attempts smallint[], ended_status smallint[],
    ended_reason text[],
    failed bigint[], failed_reference text[], failed_token text[], failed_status smallint[], failed_reason text[],
    failed_unregistered_at timestamptz[], failed_apns_id uuid[], failed_unique_id uuid[], failed_attempt smallint[],
    going_back bigint[], going_back_whole boolean[], going_back_attempt smallint[], going_back_after integer[],
    going_back_status smallint[], going_back_reason text[], going_back_place integer[], going_back_token text[],
    staying bigint[], staying_whole boolean[], staying_place integer[], staying_token text[],
    unknown bigint[], identified bigint[], identified_token text[], identified_unique_id uuid[]
) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    has_ended CONSTANT boolean := cardinality(ended) > 0;
    has_failed CONSTANT boolean := cardinality(failed) > 0;
    has_going_back CONSTANT boolean := cardinality(going_back) > 0;
    -- Whether keep_requeueable() would keep anything. If the statuses are all null, the column is empty.
    has_requeueable CONSTANT boolean := has_failed
        AND (failed_status = '{}' OR (carillon.dead_status() = ALL (failed_status)) IS NOT TRUE);
    -- If pushes have expired, their jobs have the outcome of the previous attempt.
    has_expired CONSTANT boolean := 0 < ANY (ended_expired);
    claimed_jobs carillon.job[];
    cancelled bigint[];
    unsure bigint[];
    ended_unique_ids jsonb[] := '{}';
BEGIN
    claimed_jobs := carillon.take_from_claim(app, claim, worker, claimed, settlement_number,
        has_requeueable OR has_expired OR has_going_back, staying, staying_whole, staying_place, staying_token);
    IF claimed_jobs IS NULL THEN
        RETURN carillon.why_unsettled(app, claim, worker, claimed, settlement_number);
    END IF;
    IF cardinality(unknown) > 0 THEN
        INSERT INTO carillon.unknown_outcomes (app_id, message_id)
        SELECT DISTINCT app, u.id FROM unnest(unknown) AS u(id);
    END IF;
    IF has_going_back THEN
        SELECT f.cancelled, f.unsure INTO cancelled, unsure
        FROM carillon.find_cancelled_going_back(app, claimed_jobs, ended, going_back, going_back_after) AS f;
    END IF;
    IF has_expired THEN
        SELECT l.status, l.reason INTO ended_status, ended_reason
        FROM carillon.outcomes_before_expiry(claimed_jobs, ended, ended_expired, ended_status, ended_reason) AS l;
    END IF;
    IF cardinality(identified) > 0 THEN
        ended_unique_ids := carillon.unique_ids_of(ended, identified, identified_token, identified_unique_id);
    END IF;
    -- The second form of use_session_path(): see session_path.sql.
    PERFORM pg_catalog.set_config('search_path', NULL, true);
    IF has_ended THEN
        PERFORM carillon.record_ended(app => app, worker => worker, ended => ended, ended_remaining => ended_remaining,
            ended_reference => ended_reference, ended_broadcast => ended_broadcast, ended_created => ended_created,
            ended_sent => ended_sent, ended_failed => ended_failed, ended_expired => ended_expired,
            ended_attempts => ended_attempts, ended_status => ended_status, ended_reason => ended_reason,
            ended_unique_ids => ended_unique_ids);
    END IF;
    IF has_failed THEN
        PERFORM carillon.record_failed(app => app, claimed => claimed, claimed_jobs => claimed_jobs,
            has_requeueable => has_requeueable, failed => failed, failed_reference => failed_reference,
            failed_token => failed_token, failed_status => failed_status, failed_reason => failed_reason,
            failed_unregistered_at => failed_unregistered_at, failed_apns_id => failed_apns_id,
            failed_unique_id => failed_unique_id, failed_attempt => failed_attempt);
    END IF;
    IF has_going_back THEN
        PERFORM carillon.return_going_back(app => app, claimed_jobs => claimed_jobs, cancelled => cancelled, unsure => unsure,
            unknown => unknown, going_back => going_back, going_back_whole => going_back_whole,
            going_back_attempt => going_back_attempt, going_back_after => going_back_after, going_back_status => going_back_status,
            going_back_reason => going_back_reason, going_back_place => going_back_place, going_back_token => going_back_token);
    END IF;
    RETURN 'written';
END
$$;


-- functions/queue/sleep.sql
-- Sleep: a worker that has nothing to do asks nothing until a transaction that brings work notifies it.
--
-- NOTIFY takes a lock on the whole cluster until the commit is on disk, so transactions notify only while workers sleep: until
-- the time in the sequence asleep. A sleeping worker sets it, and sets it again with each of its slow looks, so that it ends soon
-- after the last sleeper has died. While any worker is awake it is in the past: a worker that wakes clears it.
--
-- A transaction that read it before it was set does not notify. It holds the lock that its INSERT took until it ends. A worker
-- that falls asleep therefore reads which transactions hold such locks, waits until they have ended, and looks once more before
-- it relies on notifications.

-- Notifies the workers, at the commit. The trigger's condition reads the flag and not the time, because PostgreSQL prepares it anew
-- for each statement.
CREATE OR REPLACE FUNCTION carillon.wake_sleepers() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF pg_catalog.float8(pg_catalog.pg_sequence_last_value('carillon.asleep')) OPERATOR(pg_catalog.>)
        pg_catalog.date_part('epoch', pg_catalog.now())
    THEN
        NOTIFY carillon_work;
    END IF;
    RETURN NULL;
END
$$;

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.waking_tables() RETURNS TABLE (relation regclass, events text)
LANGUAGE sql STABLE AS $$
    VALUES ('carillon.messages'::pg_catalog.regclass, 'INSERT'),
        ('carillon.scheduled'::pg_catalog.regclass, 'INSERT'),
        ('carillon.apps'::pg_catalog.regclass, 'INSERT OR UPDATE OR DELETE'),
        ('carillon.certificates'::pg_catalog.regclass, 'INSERT OR UPDATE OR DELETE'),
        ('carillon.channels'::pg_catalog.regclass, 'INSERT OR UPDATE')
$$;

-- CREATE TRIGGER locks its table against writers, so triggers that are there are left alone. Their operators are qualified because
-- this file may be applied on any search_path.
DO $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('CREATE TRIGGER wake_sleepers AFTER %s ON %s FOR EACH STATEMENT WHEN '
            '(pg_catalog.pg_sequence_last_value(''carillon.asleep'') OPERATOR(pg_catalog.>) 1) '
            'EXECUTE FUNCTION carillon.wake_sleepers()', w.events, w.relation)
        FROM carillon.waking_tables() w
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = w.relation AND t.tgname = 'wake_sleepers')
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;

-- A transaction that has changed a table holds its lock until it ends, even if it is prepared.
CREATE OR REPLACE FUNCTION carillon.sleep_holders() RETURNS text[]
LANGUAGE sql SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT l.virtualtransaction), '{}')
    FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
    WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
        AND l.relation IN (SELECT w.relation FROM carillon.waking_tables() w)
$$;

-- What a worker would miss if it slept, and in how many microseconds the next thing is due. It reads the clock, not now(), because
-- fall_asleep() calls it twice in one transaction.
--
-- `fingerprint` is what the worker knows of apps and credentials; `skipped` are apps that it cannot send for now; `tasks` are names
-- of fleet_tasks that it does, with their intervals in seconds or null for that of the row, and 'channels' if it makes channels.
CREATE OR REPLACE FUNCTION carillon.waiting_work(
    worker bigint, fingerprint bigint[], skipped integer[], tasks text[], intervals double precision[],
    OUT work text, OUT due_in bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    clock CONSTANT timestamptz := clock_timestamp();
    due_at timestamptz;
    app bigint := -2147483649;
BEGIN
    SELECT least(
        (SELECT s.run_at FROM carillon.scheduled s ORDER BY s.run_at, s.id LIMIT 1),
        -- Null for a task that this worker has begun and not ended, which it repeats by itself.
        (SELECT min(carillon.task_due_at(c, t.seconds, clock))
            FROM unnest(tasks, intervals) AS t(name, seconds) JOIN carillon.fleet_tasks c ON c.name = t.name),
        (SELECT min(c.next_attempt_at) FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id AND NOT a.paused
            WHERE c.state IN ('requested', 'removing') AND 'channels' = ANY (tasks)))
    INTO due_at;
    IF due_at <= clock THEN
        due_in := 0;
        work := 'due';
        RETURN;
    END IF;
    due_in := extract(epoch FROM least(due_at, clock + interval '1 day') - clock) * 1000000;
    IF EXISTS (SELECT FROM carillon.inflight f WHERE f.worker_id = worker) OR EXISTS (SELECT FROM carillon.gone_workers()) THEN
        work := 'claims';
        RETURN;
    END IF;
    IF fingerprint IS DISTINCT FROM carillon.apps_fingerprint() THEN
        work := 'apps';
        RETURN;
    END IF;
    LOOP
        SELECT m.app_id INTO app FROM carillon.messages m WHERE m.app_id > app ORDER BY m.app_id, m.lane, m.id LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF app <> ALL (skipped) AND (SELECT a.paused FROM carillon.apps a WHERE a.id = app) IS NOT TRUE THEN
            work := 'messages';
            RETURN;
        END IF;
    END LOOP;
END
$$;

-- Marks the worker as asleep and renews its lease, unless there is work, which is then returned. While it sleeps, it calls again
-- now and then: these are its slow looks and its heartbeats.
--
-- - `lease` is in seconds.
-- - `holders`: open transactions that may bring work but will not notify. Until they have ended, the worker calls again soon and
--   passes them as `waits_for`, which is null if the worker has read none since another worker was awake.
-- - `others_awake`: while it is true, no transaction notifies, so the worker calls again within a second.
-- - `may_sleep`: false if a notifying trigger is disabled, or if max_prepared_transactions is above 0, because PostgreSQL cannot
--   prepare a transaction that has notified.
-- - `alive`: false if the worker was declared dead, and null if nothing was written.
CREATE OR REPLACE FUNCTION carillon.fall_asleep(
    worker bigint, lease double precision, waits_for text[], fingerprint bigint[], skipped integer[], tasks text[],
    intervals double precision[],
    OUT may_sleep boolean, OUT alive boolean, OUT work text, OUT due_in bigint, OUT holders text[], OUT others_awake boolean,
    OUT fault text, OUT cluster bigint, OUT timeline integer, OUT flushed bigint,
    OUT others bigint[], OUT beats bigint[], OUT leases bigint[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    -- Three slow looks of the slowest worker.
    notified CONSTANT interval := '90 s';
    slept CONSTANT timestamptz := (SELECT w.asleep_since FROM carillon.workers w WHERE w.id = worker);
    is_set boolean;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT p.fault, p.cluster, p.timeline, p.flushed INTO fault, cluster, timeline, flushed FROM carillon.installation_state() AS p;
    may_sleep := current_setting('max_prepared_transactions')::integer = 0 AND NOT EXISTS (
        SELECT FROM carillon.waking_tables() t WHERE NOT EXISTS (
            SELECT FROM pg_trigger g WHERE g.tgrelid = t.relation AND g.tgname = 'wake_sleepers' AND g.tgenabled IN ('O', 'A')));
    others_awake := false;
    holders := '{}';
    IF NOT may_sleep THEN
        RETURN;
    ELSIF slept IS NULL THEN
        -- Before transactions are made to notify.
        SELECT w.work, w.due_in INTO work, due_in
        FROM carillon.waiting_work(worker, fingerprint, skipped, tasks, intervals) AS w;
        IF work IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    UPDATE carillon.workers w SET beat = w.beat + 1, heartbeat_at = now(), lease_until = now() + make_interval(secs => lease),
        settles_by = NULL, asleep_since = coalesce(w.asleep_since, now()),
        -- They are about the last minute.
        waits = CASE WHEN w.asleep_since < now() - interval '1 minute' THEN NULL ELSE w.waits END,
        answers = CASE WHEN w.asleep_since < now() - interval '1 minute' THEN NULL ELSE w.answers END
    WHERE w.id = worker;
    alive := FOUND;
    IF NOT alive THEN
        RETURN;
    END IF;
    others_awake := EXISTS (SELECT FROM carillon.workers w WHERE w.id <> worker AND w.asleep_since IS NULL);
    IF NOT others_awake THEN
        is_set := pg_sequence_last_value('carillon.asleep') > extract(epoch FROM clock_timestamp());
        PERFORM setval('carillon.asleep', ceil(extract(epoch FROM clock_timestamp() + notified))::bigint);
        -- One that has woken meanwhile clears it after it has marked itself as awake.
        others_awake := EXISTS (SELECT FROM carillon.workers w WHERE w.id <> worker AND w.asleep_since IS NULL);
        IF others_awake THEN
            PERFORM setval('carillon.asleep', 1);
        ELSIF waits_for IS NULL OR is_set IS NOT TRUE THEN
            holders := carillon.sleep_holders();
        ELSIF waits_for <> '{}' THEN
            holders := ARRAY(SELECT unnest(waits_for) INTERSECT SELECT unnest(carillon.sleep_holders()));
        END IF;
    END IF;
    -- The last look.
    SELECT w.work, w.due_in INTO work, due_in FROM carillon.waiting_work(worker, fingerprint, skipped, tasks, intervals) AS w;
    SELECT coalesce(array_agg(w.id), '{}'), coalesce(array_agg(w.beat), '{}'),
        coalesce(array_agg((extract(epoch FROM w.lease) * 1000000)::bigint), '{}')
    INTO others, beats, leases FROM carillon.worker_status w WHERE w.id <> worker;
END
$$;


-- functions/queue/split.sql
-- Splits jobs that have more tokens than one job may have. A worker calls split() for a row that does not fit into a claim, and
-- return_lost_jobs() calls split_job() for jobs that enter quarantine.

-- Workers and split() keep no larger payload, because every gateway refuses it. PostgreSQL inlines the function.
CREATE OR REPLACE FUNCTION carillon.max_payload_bytes() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 8192 $$;

CREATE OR REPLACE FUNCTION carillon.oversized_payload() RETURNS json
LANGUAGE sql STABLE AS $$ SELECT pg_catalog.to_json(pg_catalog.repeat('x', carillon.max_payload_bytes())) $$;

-- The planner inlines this function, so every name is schema-qualified.
CREATE OR REPLACE FUNCTION carillon.shortened_token(token text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN pg_catalog.octet_length(token) OPERATOR(pg_catalog.<=) 512 THEN token
        -- At most 512 bytes again: a character has up to four. Servers in FIPS mode have no md5().
        ELSE pg_catalog.left(token, CASE WHEN pg_catalog.octet_length(token) OPERATOR(pg_catalog.=) pg_catalog.length(token)
                THEN 444 ELSE 111 END)
            OPERATOR(pg_catalog.||) '…' OPERATOR(pg_catalog.||)
            pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(token, 'UTF8')), 'hex') END
$$;

CREATE OR REPLACE FUNCTION carillon.split_job(app integer, whole carillon.job, size integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    list text[];
    bodies json[];  -- a payload for each token, where the job has that
    -- If the number of payloads differs from that of tokens, no job gets any: each is then refused, as the whole would be.
    is_matched CONSTANT boolean := cardinality(whole.payloads) = cardinality(whole.tokens);
    unmatched CONSTANT json[] := CASE WHEN whole.payloads IS NOT NULL THEN '{}'::json[] END;
    pieces integer;
    wanted integer;
    context text;
BEGIN
    SELECT array_agg(t.token ORDER BY t.place), CASE WHEN is_matched THEN array_agg(t.payload ORDER BY t.place) END
    INTO list, bodies FROM (
        -- Upper and lower case are the same token, and null counts as the empty token, as when a claim is read.
        SELECT min(u.token) AS token, min(u.place) AS place, (array_agg(u.payload ORDER BY u.place))[1] AS payload
        FROM (
            SELECT carillon.shortened_token(w.token) AS token, w.place, CASE
                WHEN octet_length(w.payload::text) > carillon.max_payload_bytes() THEN carillon.oversized_payload()
                ELSE w.payload END AS payload
            FROM unnest(whole.tokens, CASE WHEN is_matched THEN whole.payloads END)
                WITH ORDINALITY AS w(token, payload, place)
        ) AS u
        GROUP BY lower(coalesce(u.token, '') COLLATE "C")
    ) AS t;
    IF whole.origin IS NULL THEN
        INSERT INTO carillon.unfinished AS u (message_id, app_id, reference, broadcast_id, remaining, attempts, created_at)
        VALUES (whole.id, split_job.app, whole.reference, whole.broadcast_id, cardinality(list), whole.attempt - 1,
            coalesce(whole.created_at, now()))
        ON CONFLICT (app_id, message_id) DO UPDATE SET remaining = u.remaining + excluded.remaining;
    ELSIF cardinality(list) <> cardinality(whole.tokens) THEN
        UPDATE carillon.unfinished u SET remaining = u.remaining - cardinality(whole.tokens) + cardinality(list)
        WHERE u.app_id = split_job.app AND u.message_id = whole.origin;
    END IF;
    wanted := (cardinality(list) + size - 1) / size;
    BEGIN
        PERFORM carillon.use_session_path();
        INSERT INTO carillon.messages (app_id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic,
            reference, on_unknown, attempt, lost_claims, origin, broadcast_id, created_at, last_status, last_reason,
            unknown_attempts)
        SELECT split_job.app, whole.lane, pg_catalog.array_agg(t.token ORDER BY t.place), whole.payload,
            CASE WHEN bodies IS NULL THEN unmatched ELSE pg_catalog.array_agg(t.payload ORDER BY t.place) END,
            whole.push_type, whole.priority, whole.expires_at, whole.collapse_id, whole.topic, whole.reference,
            whole.on_unknown, whole.attempt, whole.lost_claims, coalesce(whole.origin, whole.id), whole.broadcast_id,
            whole.created_at, whole.last_status, whole.last_reason, coalesce(whole.unknown_attempts, 0::smallint)
        FROM unnest(list, bodies) WITH ORDINALITY AS t(token, payload, place)
        GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size;
        GET DIAGNOSTICS pieces = ROW_COUNT;
        IF pieces < wanted THEN
            RAISE EXCEPTION 'a trigger suppressed rows of carillon.messages';
        END IF;
    EXCEPTION
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
            IF NOT carillon.is_refusal(SQLSTATE, context) THEN
                RAISE;
            END IF;
            -- Some jobs may be stored one by one; the others fail.
            pieces := carillon.return_uncancelled(app, ARRAY(
                SELECT carillon.changed_job(whole, id => nextval('carillon.messages_id_seq'),
                    tokens => array_agg(t.token ORDER BY t.place),
                    payloads => CASE WHEN bodies IS NULL THEN unmatched ELSE array_agg(t.payload ORDER BY t.place) END,
                    origin => coalesce(whole.origin, whole.id))
                FROM unnest(list, bodies) WITH ORDINALITY AS t(token, payload, place)
                GROUP BY (t.place - 1) / size ORDER BY (t.place - 1) / size), '{}', '{}');
    END;
    RETURN pieces;
END
$$;

CREATE OR REPLACE FUNCTION carillon.split(app integer, in_lane smallint, message bigint, size integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    checked record;
    whole carillon.job;
BEGIN
    -- Before the row is locked, because a cancel locks it or waits for it.
    SELECT o.* INTO checked FROM carillon.messages m,
        carillon.find_cancelled(m.app_id, ARRAY[coalesce(m.origin, m.id)], ARRAY[m.broadcast_id], '{}') AS o
    WHERE m.app_id = split.app AND m.lane = in_lane AND m.id = message;
    IF cardinality(checked.unsure) > 0 THEN
        RETURN 0;
    END IF;
    DELETE FROM carillon.messages m WHERE m.app_id = split.app AND m.lane = in_lane AND m.id = message
    RETURNING (carillon.ready_job(m)).* INTO whole;
    IF whole.id IS NULL THEN
        RETURN 0;
    ELSIF cardinality(checked.cancelled) > 0 THEN
        PERFORM carillon.end_as_cancelled(app, ARRAY[whole]);
        RETURN 0;
    ELSIF octet_length(whole.payload::text) > coalesce(
        (carillon.rules_of(whole.push_type)).payload_limit, (carillon.rules_of('alert')).payload_limit)
    THEN
        -- Each job would have a copy and then fail.
        whole.payload := carillon.oversized_payload();
        PERFORM carillon.fail_jobs(app, ARRAY[whole], 'PayloadTooLarge');
        RETURN 0;
    END IF;
    IF cardinality(whole.tokens) = 0 THEN
        -- The job is large because of its payloads, and has no tokens. A claim ends a message without tokens.
        whole.payloads := NULL;
        PERFORM carillon.return_jobs(app, ARRAY[whole]);
        RETURN 1;
    END IF;
    RETURN carillon.split_job(app, whole, size);
END
$$;


-- functions/queue/take_over.sql
-- Takeover of dead workers, and quarantine. A worker calls take_over() when another one's lease has ended. It waits for no row
-- lock: locked rows are left to the next call. The claim statement of the worker reads the limits of quarantine.

-- PostgreSQL inlines this function, which has no SET clause.
CREATE OR REPLACE FUNCTION carillon.quarantine_from() RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 3::smallint $$;

-- quarantine_size() is 500 after three lost claims, and half as much after each further one: 250, 125, 62, 31, 15, 7, 3, and 1 from
-- the eleventh on. The counts 12 and 13 mean that one or two workers have died while it was their only quarantined push.
CREATE OR REPLACE FUNCTION carillon.quarantine_size(lost_claims integer) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT greatest(1, 1000 >> (least(lost_claims, 12) - 2)) $$;

-- `together` is the number of quarantined pushes in flight, including this job's. lost_claims_after_death() raises the count far
-- enough that the next size is at most half of `together`.
CREATE OR REPLACE FUNCTION carillon.lost_claims_after_death(lost_claims smallint, together bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
    SELECT least(32767, CASE
        WHEN lost_claims < carillon.quarantine_from() - 1 THEN lost_claims + 1
        WHEN lost_claims >= carillon.quarantine_from() AND together = 1 THEN greatest(lost_claims + 1, 12)
        ELSE greatest(lost_claims + 1, (
            SELECT pg_catalog.min(c) FROM pg_catalog.generate_series(carillon.quarantine_from(), 11) c
            WHERE carillon.quarantine_size(c) <= greatest(1, together / 2)))
    END)::smallint
$$;

-- In return_lost_jobs(), jobs with on_unknown 'fail' fail instead of returning, because their outcome is unknown.
--
-- A job that was in flight when three workers died is quarantined: each of its tokens becomes a job, and only a few are in flight
-- together. Each time a worker dies with some of them, at most half as many are in flight together the next time. A settlement
-- clears the jobs that it records. A push fails as Poison after two workers have died while it was the only quarantined push that
-- the worker had. They may have had any number of other pushes, and may have died for another reason.
CREATE OR REPLACE FUNCTION carillon.return_lost_jobs(app integer, jobs carillon.job[], cancelled bigint[], unsure bigint[])
RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    quarantine CONSTANT smallint := carillon.quarantine_from();
    poison CONSTANT smallint := 13;
    -- Pushes that enter quarantine now, and pushes that were in it before.
    fresh bigint;
    quarantined bigint;
    recovered CONSTANT bigint := cardinality(jobs);
    chosen carillon.job[] := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.on_unknown = 'fail');
BEGIN
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.fail_jobs(app, chosen, 'OutcomeUnknown');
    END IF;
    SELECT sum(cardinality(j.tokens)) FILTER (WHERE j.lost_claims = quarantine - 1),
        sum(cardinality(j.tokens)) FILTER (WHERE j.lost_claims >= quarantine)
    INTO fresh, quarantined FROM unnest(jobs) AS j;
    jobs := ARRAY(
        SELECT carillon.changed_job(j, lost_claims => carillon.lost_claims_after_death(j.lost_claims,
            CASE WHEN j.lost_claims < quarantine THEN fresh ELSE quarantined END))
        FROM unnest(jobs) AS j WHERE j.on_unknown <> 'fail');
    chosen := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.lost_claims >= poison AND cardinality(j.tokens) = 1);
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.fail_jobs(app, chosen, 'Poison');
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.lost_claims < poison OR cardinality(j.tokens) <> 1);
    END IF;
    chosen := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.lost_claims >= quarantine AND cardinality(j.tokens) > 1
        AND coalesce(j.origin, j.id) NOT IN (SELECT unnest(cancelled || unsure)));
    IF cardinality(chosen) > 0 THEN
        PERFORM carillon.split_job(app, j, 1) FROM unnest(chosen) AS j;
        jobs := ARRAY(SELECT j FROM unnest(jobs) AS j WHERE j.lost_claims < quarantine OR cardinality(j.tokens) <= 1
            OR coalesce(j.origin, j.id) IN (SELECT unnest(cancelled || unsure)));
    END IF;
    -- An app may have several jobs with the same id: they are stored one after the other.
    PERFORM carillon.return_uncancelled(app, t.jobs, cancelled, unsure) FROM (
        SELECT array_agg(n.job) AS jobs
        FROM (SELECT j AS job, row_number() OVER (PARTITION BY j.id) AS place FROM unnest(jobs) AS j) AS n
        GROUP BY n.place ORDER BY n.place) AS t;
    RETURN recovered;
END
$$;

-- gone_workers() is a loose index scan from worker to worker.
CREATE OR REPLACE FUNCTION carillon.gone_workers() RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    WITH RECURSIVE holder AS (
        (SELECT f.worker_id AS id FROM carillon.inflight f ORDER BY f.worker_id LIMIT 1)
        UNION ALL
        SELECT n.id FROM holder h, LATERAL (
            SELECT f.worker_id AS id FROM carillon.inflight f WHERE f.worker_id > h.id ORDER BY f.worker_id LIMIT 1) AS n
    )
    SELECT h.id FROM holder h WHERE NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = h.id)
$$;

-- A worker is dead if its heartbeat count still equals `beat` after the caller's monotonic clock has measured a lease. Its jobs
-- return to the queue, and so do those of every worker without a row of workers; without `beat`, only the latter. Its holds are
-- deleted.
--
-- take_over() never waits for a row lock. A worker whose row is locked may be renewing its lease, so it is left alone. A claim that
-- contains a message whose row of unfinished is locked is left to the next call.
CREATE OR REPLACE FUNCTION carillon.take_over(
    dead bigint, beat bigint DEFAULT NULL, OUT workers integer, OUT claims integer, OUT jobs bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    gone bigint[];
    target integer;
    lost bigint[];
    messages bigint[];
    broadcasts bigint[];
    busy bigint[];
    checked record;
    batch record;
BEGIN
    workers := 0;
    claims := 0;
    jobs := 0;
    IF beat IS NOT NULL THEN
        -- Waiting for a lock on the table would block heartbeats.
        LOCK TABLE carillon.workers IN ROW EXCLUSIVE MODE NOWAIT;
        -- The beat is checked again under the row lock, in case a heartbeat came first.
        DELETE FROM carillon.workers w WHERE w.id = ANY (ARRAY(
            SELECT d.id FROM carillon.workers d WHERE d.id = take_over.dead AND d.beat = take_over.beat
            FOR UPDATE SKIP LOCKED));
        GET DIAGNOSTICS workers = ROW_COUNT;
        IF workers > 0 THEN
            DELETE FROM carillon.holds h WHERE h.app_id = ANY (ARRAY(
                SELECT o.app_id FROM carillon.holds o WHERE o.worker_id = take_over.dead FOR UPDATE SKIP LOCKED));
        END IF;
    END IF;
    gone := ARRAY(SELECT o.id FROM carillon.gone_workers() AS o(id));
    FOR target IN SELECT DISTINCT f.app_id FROM carillon.inflight f WHERE f.worker_id = ANY (gone) ORDER BY f.app_id LOOP
        lost := ARRAY(
            SELECT f.id FROM carillon.inflight f WHERE f.app_id = target AND f.worker_id = ANY (gone)
            ORDER BY f.id FOR UPDATE SKIP LOCKED);
        CONTINUE WHEN cardinality(lost) = 0;
        messages := ARRAY(
            SELECT DISTINCT coalesce(j.origin, j.id) FROM carillon.inflight f, unnest(f.jobs) AS j
            WHERE f.app_id = target AND f.worker_id = ANY (gone) AND f.id = ANY (lost));
        busy := carillon.lock_unfinished(target, messages);
        IF cardinality(busy) > 0 THEN
            lost := ARRAY(
                SELECT f.id FROM carillon.inflight f
                WHERE f.app_id = target AND f.worker_id = ANY (gone) AND f.id = ANY (lost) AND NOT EXISTS (
                    SELECT FROM unnest(f.jobs) AS j WHERE coalesce(j.origin, j.id) IN (SELECT unnest(busy))));
        END IF;
        SELECT array_agg(coalesce(j.origin, j.id)), array_agg(j.broadcast_id) INTO messages, broadcasts
        FROM carillon.inflight f, unnest(f.jobs) AS j
        WHERE f.app_id = target AND f.worker_id = ANY (gone) AND f.id = ANY (lost);
        SELECT o.* INTO checked FROM carillon.find_cancelled(target, messages, broadcasts, '{}') AS o;
        INSERT INTO carillon.unknown_outcomes (app_id, message_id) SELECT DISTINCT target, m.id FROM unnest(messages) AS m(id);
        claims := claims + cardinality(lost);
        -- All jobs of a worker together, up to the size of an array.
        FOR batch IN
            WITH taken AS (
                DELETE FROM carillon.inflight f
                WHERE f.app_id = target AND f.worker_id = ANY (gone) AND f.id = ANY (lost)
                RETURNING f.id, f.worker_id, f.jobs
            ), sized AS (
                SELECT t.worker_id, t.jobs,
                    sum(pg_column_size(t.jobs)) OVER (PARTITION BY t.worker_id ORDER BY t.id) / 16777216 AS heap
                FROM taken t
            )
            SELECT array_agg(j) AS jobs FROM sized s, unnest(s.jobs) AS j GROUP BY s.worker_id, s.heap
        LOOP
            jobs := jobs + carillon.return_lost_jobs(target, batch.jobs, checked.cancelled, checked.unsure);
        END LOOP;
    END LOOP;
END
$$;


-- functions/queue/take_rate_turn.sql
-- The turns of apps with a max_rate. A worker calls take_rate_turn() before it sends pushes of such an app. The lock on the row of
-- rates makes workers take turns one after the other.

-- take_rate_turn() returns null if all turns of the next second are taken. Turns are spaced for nine tenths of max_rate, so that
-- late pushes do not exceed the rate in the second in which they are sent. An unused turn is lost.
CREATE OR REPLACE FUNCTION carillon.take_rate_turn(app integer, pushes integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    takes interval;
    begins timestamptz;
    moment timestamptz;
BEGIN
    SELECT make_interval(secs => pushes / (0.9 * a.max_rate)) INTO takes FROM carillon.apps a
    WHERE a.id = app AND a.max_rate IS NOT NULL;
    IF takes IS NULL THEN
        RETURN 0;
    END IF;
    -- A crash may lose the most recent turns. New ones may then begin while pushes of the lost ones are still being sent.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT r.next_at INTO begins FROM carillon.rates r WHERE r.app_id = app FOR UPDATE;
    IF begins IS NULL THEN
        INSERT INTO carillon.rates AS r (app_id, next_at) VALUES (app, clock_timestamp())
        ON CONFLICT (app_id) DO UPDATE SET next_at = r.next_at RETURNING r.next_at INTO begins;
    END IF;
    moment := clock_timestamp();
    -- It is further ahead only if the clock was set back.
    IF begins < moment OR begins > moment + interval '1 minute' THEN
        begins := moment;
    ELSIF begins > moment + interval '1 second' THEN
        RETURN NULL;
    END IF;
    UPDATE carillon.rates SET next_at = begins + takes WHERE app_id = app;
    RETURN greatest(0, extract(epoch FROM begins - clock_timestamp()) * 1000000)::bigint;
END
$$;


-- functions/queue/withdraw.sql
-- Withdraws pushes from a claim. order_updates() and pace_devices() call withdraw() for pushes that are not sent now. They have
-- locked the claim's row of inflight and read its jobs; rows of unfinished are locked after it, in order of id.

-- What withdraw() leaves of a job keeps its id; its message is then counted in unfinished.
CREATE OR REPLACE FUNCTION carillon.withdraw(
    app integer, claim bigint, claimed_jobs carillon.job[], job bigint[], token text[], wait integer[] DEFAULT '{}'
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    rest carillon.job[];
    ended carillon.job[];
    later carillon.job[];
    waits integer[];
    begun carillon.ending[];
BEGIN
    WITH divided AS MATERIALIZED (
        SELECT d.*, count(*) OVER (PARTITION BY d.id) AS pieces FROM (
            SELECT t.id, t.stays, t.wait, array_agg(t.token ORDER BY t.place) AS tokens
            FROM (
                -- Upper and lower case are the same token, as when a claim is read. A join would compare every token with every
                -- other.
                SELECT b.id, (array_agg(b.token ORDER BY b.place))[1] AS token, min(b.place) AS place,
                    NOT bool_or(b.leaves) AS stays, max(b.wait) AS wait
                FROM (
                    SELECT j.id, lower(u.token) AS key, u.token, u.place, false AS leaves, NULL::integer AS wait
                    FROM unnest(claimed_jobs) AS j CROSS JOIN LATERAL unnest(j.tokens) WITH ORDINALITY AS u(token, place)
                    UNION ALL
                    SELECT l.job, lower(l.token), NULL, NULL, true, l.wait
                    FROM unnest(withdraw.job, withdraw.token, withdraw.wait) AS l(job, token, wait)
                ) AS b GROUP BY b.id, b.key HAVING min(b.place) IS NOT NULL
            ) AS t
            GROUP BY t.id, t.stays, t.wait
        ) AS d
    ), made AS (
        SELECT d.stays, d.wait, carillon.changed_job(j,
            id => CASE WHEN d.wait IS NOT NULL AND d.pieces <> 1 THEN nextval('carillon.messages_id_seq') END,
            tokens => d.tokens, payloads => carillon.payloads_of(j, d.tokens),
            origin => CASE WHEN d.pieces <> 1 THEN coalesce(j.origin, j.id) END,
            last_reason => CASE WHEN NOT d.stays AND d.wait IS NULL THEN 'Superseded' END) AS made
        FROM divided d JOIN unnest(claimed_jobs) AS j ON j.id = d.id
    )
    SELECT coalesce(array_agg(m.made ORDER BY (m.made).id) FILTER (WHERE m.stays), '{}'),
        coalesce(array_agg(m.made) FILTER (WHERE NOT m.stays AND m.wait IS NULL), '{}'),
        coalesce(array_agg(m.made) FILTER (WHERE m.wait IS NOT NULL), '{}'),
        array_agg(m.wait) FILTER (WHERE m.wait IS NOT NULL)
    INTO rest, ended, later, waits FROM made m;
    rest := rest || ARRAY(SELECT j FROM unnest(claimed_jobs) AS j WHERE coalesce(cardinality(j.tokens), 0) = 0);

    -- Messages that are now divided into several jobs.
    begun := ARRAY(
        SELECT carillon.ending(message_id => j.id, reference => j.reference, broadcast_id => j.broadcast_id,
            created_at => j.created_at, attempts => j.attempt - 1, remaining => carillon.count_tokens(j.tokens))
        FROM unnest(claimed_jobs) AS j WHERE j.origin IS NULL AND (
            SELECT count(*) FROM unnest(rest || ended || later) AS p WHERE p.id = j.id OR p.origin = j.id) > 1);
    IF cardinality(rest) > 0 THEN
        UPDATE carillon.inflight f SET jobs = rest WHERE f.app_id = app AND f.id = claim;
    ELSE
        DELETE FROM carillon.inflight f WHERE f.app_id = app AND f.id = claim;
    END IF;
    PERFORM carillon.use_session_path();
    PERFORM carillon.end_messages(app, begun);
    IF pg_catalog.cardinality(ended) > 0 THEN
        PERFORM carillon.end_as_cancelled(app, ended);
    END IF;
    -- promote() finds those that are cancelled meanwhile.
    IF pg_catalog.cardinality(later) > 0 THEN
        PERFORM carillon.return_jobs(app, later, waits);
    END IF;
END
$$;


-- functions/tokens/reap.sql
-- The feedback pass: deletes dead tokens that have not been registered again since.
--
-- Each batch is a short transaction. Workers, 'carillon feedback' and reap_all() run it, one batch at a time. Running it twice on
-- the same feedback has no further effect.

-- With the wrong environment, every token gets BadDeviceToken. The answer is ignored if most pushes of the app failed with it in
-- any minute around that time, or if the counts no longer exist. Workers may write their counts a few minutes late.
CREATE OR REPLACE FUNCTION carillon.bad_token_is_dead(app integer, at timestamptz) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT EXISTS (SELECT FROM carillon.apps a WHERE a.id = bad_token_is_dead.app AND a.reap_bad_tokens)
        AND NOT EXISTS (
            SELECT FROM carillon.breakers b WHERE b.app_id = bad_token_is_dead.app AND b.closed_at IS NULL)
        AND coalesce((
            SELECT bool_or(m.bad_tokens > 0) AND bool_and(NOT carillon.mostly_failed(m.bad_tokens, m.pushes)) FROM (
                SELECT sum(t.bad_tokens) AS bad_tokens, sum(t.sent + t.failed) AS pushes FROM carillon.push_counts t
                WHERE t.app_id = bad_token_is_dead.app AND t.minute BETWEEN date_trunc('minute', at) - interval '1 minute'
                    AND date_trunc('minute', at) + interval '4 minutes'
                GROUP BY t.minute) m), false)
$$;

-- The functions awaits_counts() and died_at() have no SET clause, so that the planner inlines them.
CREATE OR REPLACE FUNCTION carillon.awaits_counts(report carillon.feedback) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (report.reason OPERATOR(pg_catalog.=) 'BadDeviceToken' AND report.seen_at OPERATOR(pg_catalog.>)
        (pg_catalog.now() OPERATOR(pg_catalog.-) interval '5 minutes')) IS TRUE
$$;

-- A token cannot have died after its death was reported, so a later time counts as the time of the report. A report from the future
-- was written before the clock was set back, and is ignored.
CREATE OR REPLACE FUNCTION carillon.died_at(report carillon.feedback) RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN report.seen_at OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp() AND (
            report.reason IS DISTINCT FROM 'BadDeviceToken'
            OR NOT carillon.awaits_counts(report) AND carillon.bad_token_is_dead(report.app_id, report.seen_at))
        THEN least(report.unregistered_at, report.seen_at) END
$$;

-- dead_tokens() returns a token once for each report of its death.
CREATE OR REPLACE FUNCTION carillon.dead_tokens(app integer, missed_from bigint DEFAULT NULL)
RETURNS TABLE (token text, at timestamptz)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT report.token, report.died_at FROM (
        SELECT unhandled.token, carillon.died_at(unhandled) FROM carillon.feedback unhandled
        WHERE unhandled.app_id = dead_tokens.app AND unhandled.handled_at IS NULL
        UNION ALL
        SELECT handled.token, carillon.died_at(handled) FROM carillon.feedback handled
        WHERE handled.app_id = dead_tokens.app AND handled.handled_at IS NOT NULL AND handled.id >= dead_tokens.missed_from
    ) report WHERE report.died_at IS NOT NULL
$$;

-- reap_tokens() skips rows that are locked, because they may be being registered again. It returns their reports as `waiting`.
CREATE OR REPLACE FUNCTION carillon.reap_tokens(
    app integer, reports bigint[], gone text[], gone_at timestamptz[], OUT deleted bigint, OUT waiting bigint[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    candidates bigint;
BEGIN
    waiting := '{}';
    WITH gone AS (
        SELECT lower(u.token) AS token, max(u.at) AS at FROM unnest(gone, gone_at) AS u(token, at) GROUP BY 1
    ), seen AS MATERIALIZED (
        SELECT t.ctid AS tid, g.at FROM gone g JOIN carillon.tokens t
            ON t.app_id = reap_tokens.app AND t.token = g.token AND t.last_update < g.at
    ), dead AS MATERIALIZED (
        -- The time is checked again, because the row may have changed.
        SELECT t.ctid AS tid FROM seen s JOIN carillon.tokens t ON t.ctid = s.tid AND t.last_update < s.at
        FOR UPDATE OF t SKIP LOCKED
    ), deletion AS (
        DELETE FROM carillon.tokens t WHERE t.ctid = ANY (ARRAY(SELECT d.tid FROM dead d)) RETURNING t.app_id
    )
    SELECT (SELECT count(*) FROM deletion), (SELECT count(*) FROM seen) INTO deleted, candidates;
    IF candidates > deleted THEN
        waiting := ARRAY(
            SELECT u.id FROM unnest(reports, gone, gone_at) AS u(id, token, at)
            JOIN carillon.tokens t ON t.app_id = reap_tokens.app AND t.token = lower(u.token) AND t.last_update < u.at);
    END IF;
END
$$;

-- A table in which the deletion fails does not stop the others: a later pass catches up on it, from `first_report`.
CREATE OR REPLACE FUNCTION carillon.reap_tables(
    app integer, first_report bigint, gone text[], gone_at timestamptz[], OUT deleted bigint, OUT faults text[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    watched carillon.watched_tables;
    made record;
BEGIN
    deleted := 0;
    faults := '{}';
    FOR watched IN SELECT w.* FROM carillon.watched_tables w WHERE w.app_id = reap_tables.app ORDER BY w.id LOOP
        BEGIN
            IF watched.missed_from IS NULL THEN
                SELECT r.* INTO made FROM carillon.reap_watched(watched, gone, gone_at) r;
                deleted := deleted + made.deleted;
                IF made.fault IS NOT NULL THEN
                    faults := faults || (watched.relation || ': ' || made.fault);
                    UPDATE carillon.watched_tables w SET last_error = made.fault WHERE w.id = watched.id;
                END IF;
            ELSIF watched.missed_from > first_report THEN
                UPDATE carillon.watched_tables w SET missed_from = first_report WHERE w.id = watched.id;
            END IF;
        EXCEPTION
            WHEN OTHERS THEN
                faults := faults || (watched.relation || ': ' || SQLERRM);
                UPDATE carillon.watched_tables w SET last_error = SQLERRM, missed_from = first_report
                WHERE w.id = watched.id;
        END;
    END LOOP;
END
$$;

-- catch_up_next_table() catches up on the next watched table after `after`. It returns null if no table has missed feedback.
CREATE OR REPLACE FUNCTION carillon.catch_up_next_table(only_app integer, after bigint, max_rows integer)
RETURNS carillon.reap_batch
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    watched carillon.watched_tables;
    made record;
    batch carillon.reap_batch;
BEGIN
    SELECT w.* INTO watched FROM carillon.watched_tables w
    WHERE w.id > after AND w.missed_from IS NOT NULL AND (only_app IS NULL OR w.app_id = only_app)
    ORDER BY w.id LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT c.* INTO made FROM carillon.catch_up_table(watched, max_rows) c;
    UPDATE carillon.watched_tables w SET missed_from = made.missed_from, last_error = made.fault
    WHERE w.id = watched.id AND (w.missed_from, w.last_error) IS DISTINCT FROM (made.missed_from, made.fault);
    batch.state := 'more';
    -- A table without progress waits for the next pass.
    batch.next := ROW(CASE WHEN made.missed_from IS NULL OR made.missed_from = watched.missed_from THEN watched.id ELSE after END,
        NULL, NULL);
    batch.of_app := (SELECT a.name FROM carillon.apps a WHERE a.id = watched.app_id);
    batch.handled := 0;
    batch.deleted := made.deleted;
    batch.faults := CASE WHEN made.fault IS NULL THEN '{}' ELSE ARRAY[watched.relation || ': ' || made.fault] END;
    RETURN batch;
END
$$;

-- reap_new_feedback() handles feedback app by app. What awaits counts stays for a later pass.
CREATE OR REPLACE FUNCTION carillon.reap_new_feedback(only_app integer, after carillon.reap_position, max_rows integer)
RETURNS carillon.reap_batch
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    at_app CONSTANT integer := coalesce(after.app, -2147483648);
    at_report CONSTANT bigint := coalesce(after.report, 0);
    target integer;
    last_id bigint;
    ids bigint[];
    dead_ids bigint[];
    gone text[];
    gone_at timestamptz[];
    waiting bigint[] := '{}';
    made record;
    batch carillon.reap_batch := ROW('more', NULL, NULL, 0, 0, '{}');
BEGIN
    SELECT min(report.app_id), array_agg(report.id), max(report.id),
        array_agg(report.id) FILTER (WHERE report.died_at IS NOT NULL),
        array_agg(report.token) FILTER (WHERE report.died_at IS NOT NULL),
        array_agg(report.died_at) FILTER (WHERE report.died_at IS NOT NULL)
    INTO target, ids, last_id, dead_ids, gone, gone_at
    FROM (
        SELECT f.app_id, f.id, f.token, carillon.died_at(f) FROM carillon.feedback f
        WHERE f.app_id = coalesce(only_app, (
                SELECT n.app_id FROM carillon.feedback n
                WHERE n.handled_at IS NULL AND (n.app_id, n.id) > (at_app, at_report) AND NOT carillon.awaits_counts(n)
                ORDER BY n.app_id, n.id LIMIT 1))
            AND f.handled_at IS NULL AND (f.app_id, f.id) > (at_app, at_report) AND NOT carillon.awaits_counts(f)
        ORDER BY f.id LIMIT max_rows) report;
    IF ids IS NULL THEN
        batch.state := 'over';
        RETURN batch;
    END IF;
    batch.next := ROW(NULL, target, last_id);
    batch.of_app := (SELECT a.name FROM carillon.apps a WHERE a.id = target);
    IF gone IS NOT NULL THEN
        SELECT r.* INTO made FROM carillon.reap_tokens(target, dead_ids, gone, gone_at) r;
        batch.deleted := made.deleted;
        waiting := made.waiting;
        SELECT r.* INTO made FROM carillon.reap_tables(target, dead_ids[1], gone, gone_at) r;
        batch.deleted := batch.deleted + made.deleted;
        batch.faults := made.faults;
    END IF;
    UPDATE carillon.feedback f SET handled_at = now()
    WHERE f.app_id = target AND f.id = ANY (ids) AND f.id <> ALL (waiting);
    GET DIAGNOSTICS batch.handled = ROW_COUNT;
    RETURN batch;
END
$$;

-- reap_batch() takes null as `after` first, then `next` from the previous batch. It is busy while another session runs a batch,
-- perhaps in a long transaction.
CREATE OR REPLACE FUNCTION carillon.reap_batch(
    app text DEFAULT NULL, after carillon.reap_position DEFAULT NULL, max_rows integer DEFAULT 1000
) RETURNS carillon.reap_batch
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp SET lock_timeout = '500ms' SET enable_seqscan = off AS $$
DECLARE
    only_app CONSTANT integer := CASE WHEN app IS NOT NULL THEN carillon.app_id(app) END;
    batch carillon.reap_batch;
BEGIN
    PERFORM FROM carillon.reap_lock l FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN ROW('busy', after, NULL, 0, 0, '{}')::carillon.reap_batch;
    END IF;
    IF after IS NULL THEN
        UPDATE carillon.watched_tables w SET last_error = NULL
        WHERE w.last_error IS NOT NULL AND w.missed_from IS NULL AND (only_app IS NULL OR w.app_id = only_app);
    END IF;
    -- Tables that fail once new feedback is being handled wait for the next pass.
    IF after IS NULL OR after.watched_table IS NOT NULL THEN
        batch := carillon.catch_up_next_table(only_app, coalesce(after.watched_table, 0), max_rows);
    END IF;
    IF batch.state IS NULL THEN
        batch := carillon.reap_new_feedback(only_app, after, max_rows);
    END IF;
    RETURN batch;
END
$$;

CREATE OR REPLACE FUNCTION carillon.reap(app text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    batch carillon.reap_batch;
    total bigint := 0;
BEGIN
    PERFORM FROM carillon.reap_lock l FOR UPDATE;
    LOOP
        batch := carillon.reap_batch(reap.app, batch.next);
        total := total + batch.deleted;
        EXIT WHEN batch.state = 'over';
    END LOOP;
    RETURN total;
END
$$;

CREATE OR REPLACE PROCEDURE carillon.reap_all(app text DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    batch carillon.reap_batch;
BEGIN
    LOOP
        batch := carillon.reap_batch(app, batch.next);
        COMMIT;
        EXIT WHEN batch.state = 'over';
        IF batch.state = 'busy' THEN
            PERFORM pg_catalog.pg_sleep(0.1);
        END IF;
    END LOOP;
END
$$;

-- keep_feedback() is for the lists of the legacy feedback service, which is the source that is called binary.
CREATE OR REPLACE FUNCTION carillon.keep_feedback(apps integer[], tokens text[], milliseconds bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.use_session_path();
    INSERT INTO carillon.feedback (app_id, token, unregistered_at, source)
    SELECT a.id, r.token, pg_catalog.to_timestamp(pg_catalog.float8(r.milliseconds) / float '1000'), 'binary'
    FROM unnest(tokens, milliseconds) AS r(token, milliseconds) CROSS JOIN pg_catalog.unnest(apps) AS a(id);
END
$$;

-- reapable() changes and locks nothing.
CREATE OR REPLACE FUNCTION carillon.reapable(app text DEFAULT NULL)
RETURNS TABLE (of_app text, relation text, tokens bigint, fault text)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    only_app CONSTANT integer := CASE WHEN reapable.app IS NOT NULL THEN carillon.app_id(reapable.app) END;
    target record;
    watched carillon.watched_tables;
BEGIN
    FOR target IN
        SELECT a.id, a.name FROM carillon.apps a WHERE only_app IS NULL OR a.id = only_app ORDER BY a.name
    LOOP
        of_app := target.name;
        relation := 'carillon.tokens';
        fault := NULL;
        SELECT count(*) INTO tokens FROM carillon.tokens t JOIN (
            SELECT lower(d.token) AS token, max(d.at) AS at FROM carillon.dead_tokens(target.id) d GROUP BY 1
        ) g ON t.app_id = target.id AND t.token = g.token AND t.last_update < g.at;
        RETURN NEXT;
        FOR watched IN SELECT w.* FROM carillon.watched_tables w WHERE w.app_id = target.id ORDER BY w.id LOOP
            relation := watched.relation;
            tokens := NULL;
            fault := NULL;
            BEGIN
                SELECT carillon.run_watched_statement(watched, 'SELECT', array_agg(d.token), array_agg(d.at)) INTO tokens
                FROM carillon.dead_tokens(watched.app_id, watched.missed_from) d;
            EXCEPTION
                WHEN OTHERS THEN
                    fault := SQLERRM;
            END;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END
$$;


-- functions/tokens/reap_watched.sql
-- The feedback pass in watched tables. reap_tables() and catch_up_next_table() call these functions for one table at a time. The
-- table's triggers run as carillon_reaper, never with the rights of the worker.

-- owner_search_path() returns the setting of the role in this database, or else of the role, or else of the database. The table's
-- schema comes last.
CREATE OR REPLACE FUNCTION carillon.owner_search_path(relation regclass) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT replace(coalesce((
            SELECT substr(v.setting, length('search_path=') + 1)
            FROM pg_db_role_setting s CROSS JOIN LATERAL unnest(s.setconfig) AS v(setting)
            WHERE s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
                AND s.setrole IN (0, c.relowner) AND v.setting LIKE E'search\\_path=%'
            ORDER BY s.setrole = 0, s.setdatabase = 0 LIMIT 1
        ), '"$user", public'), '"$user"', quote_ident(pg_get_userbyid(c.relowner)))
        || ', ' || quote_ident(c.relnamespace::regnamespace::text)
    FROM pg_class c WHERE c.oid = owner_search_path.relation
$$;

-- With rights in this schema, carillon_reaper could change its own function.
CREATE OR REPLACE FUNCTION carillon.unsafe_reaper() RETURNS carillon.refusal
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT ROW(d.danger, format('Have a superuser%s run: %s', ', or ' || d.who || ',', d.command), NULL, '55000')::carillon.refusal
    FROM (
        SELECT 1 AS place, format('carillon.as_reaper belongs to %s, not to carillon_reaper', p.proowner::regrole) AS danger,
            CASE WHEN to_regrole('carillon_reaper') IS NULL THEN 'CREATE ROLE carillon_reaper; ' ELSE '' END
                || 'GRANT CREATE ON SCHEMA carillon TO carillon_reaper; ALTER FUNCTION carillon.as_reaper OWNER TO '
                || 'carillon_reaper; REVOKE CREATE ON SCHEMA carillon FROM carillon_reaper' AS command,
            'the owner of the schema and of the function as a member of carillon_reaper' AS who
        FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper'
            AND p.proowner IS DISTINCT FROM to_regrole('carillon_reaper')
        UNION ALL
        SELECT 2, 'carillon.as_reaper is not SECURITY DEFINER', 'ALTER FUNCTION carillon.as_reaper SECURITY DEFINER',
            'a member of carillon_reaper'
        FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper' AND NOT p.prosecdef
        UNION ALL
        SELECT 3, 'carillon_reaper ' || a.has, 'ALTER ROLE carillon_reaper ' || a.command, NULL
        FROM pg_roles r CROSS JOIN LATERAL (VALUES (r.rolsuper, 'is a superuser', 'NOSUPERUSER'),
            (r.rolcreaterole, 'has CREATEROLE', 'NOCREATEROLE'), (r.rolbypassrls, 'has BYPASSRLS', 'NOBYPASSRLS')
        ) AS a(is_there, has, command)
        WHERE r.oid = to_regrole('carillon_reaper') AND a.is_there
        UNION ALL
        SELECT 4, g.who || ' has rights in the schema carillon', 'REVOKE ALL ON SCHEMA carillon FROM ' || g.who,
            'the owner of the schema'
        FROM (
            SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE 'carillon_reaper' END AS who
            FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a
            WHERE n.nspname = 'carillon' AND a.grantee IN (0, to_regrole('carillon_reaper'))
        ) g
        UNION ALL
        SELECT 5, format('carillon_reaper has the rights of %s', m.roleid::regrole),
            format('REVOKE %s FROM carillon_reaper', m.roleid::regrole),
            format('a role with ADMIN OPTION on %s (before PostgreSQL 16 with CREATEROLE)', m.roleid::regrole)
        FROM pg_auth_members m WHERE m.member = to_regrole('carillon_reaper') AND EXISTS (
            SELECT FROM pg_roles r WHERE pg_has_role(m.roleid, r.oid, 'MEMBER') AND (r.rolname LIKE E'pg\\_%'
                OR has_schema_privilege(r.oid, 'carillon', 'USAGE, CREATE')))
    ) d ORDER BY d.place LIMIT 1
$$;

CREATE OR REPLACE FUNCTION carillon.prepared_statements() RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(p.name, jsonb_build_object('at', p.prepare_time, 'text', CASE WHEN p.from_sql
        THEN p.statement ELSE format('PREPARE %I%s AS %s', p.name,
            '(' || nullif(array_to_string(p.parameter_types, ','), '') || ')', p.statement) END)), '{}')
    FROM pg_prepared_statements p
$$;

-- Deferred triggers and cursors WITH HOLD run at commit; settings, prepared statements and temporary objects, such as a domain with
-- the name of a built-in type, affect later statements; and a member of carillon_reaper could change as_reaper(). If track_counts
-- is off, any deferrable trigger may be pending.
CREATE OR REPLACE FUNCTION carillon.session_state(path text) RETURNS TABLE (kind text, state text)
LANGUAGE sql VOLATILE SET search_path = pg_catalog, carillon, pg_temp AS $$
    VALUES ('changed settings of the session: put SET in the definition of its function', session_state.path || (
            SELECT sha256(convert_to(string_agg(s.name || '=' || s.setting, ',' ORDER BY s.name), 'UTF8'))::text FROM pg_settings s
            WHERE s.name NOT LIKE '%.%' AND s.name <> 'search_path')),
        ('left a cursor open that outlives the transaction', (
            SELECT count(*) FROM pg_cursors c WHERE c.is_holdable)::text),
        ('changed prepared statements of the session', carillon.prepared_statements()::text),
        ('left objects in pg_temp: it must drop what it creates there', (
            SELECT string_agg(format('%s %s', d.classid, d.objid), ',' ORDER BY d.classid, d.objid) FROM pg_depend d
            WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = pg_my_temp_schema())),
        ('changed the role carillon_reaper', (
            SELECT format('%s %s', p.ctid, p.xmin) FROM pg_proc p
            WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper')),
        ('would run at commit, with the rights of the worker: it must not be DEFERRABLE', (
            SELECT sum(CASE WHEN current_setting('track_counts')::boolean
                THEN (t.tgtype & 4) * pg_stat_get_xact_tuples_inserted(t.tgrelid)
                    + (t.tgtype & 8) * pg_stat_get_xact_tuples_deleted(t.tgrelid)
                    + (t.tgtype & 16) * pg_stat_get_xact_tuples_updated(t.tgrelid)
                ELSE random() END) FROM pg_trigger t
            WHERE t.tgdeferrable AND (NOT t.tgisinternal OR t.tgfoid = 'unique_key_recheck'::regproc))::text)
$$;

CREATE OR REPLACE FUNCTION carillon.restore_prepared_statements(before jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT n.key FROM jsonb_each(carillon.prepared_statements()) n WHERE n.value IS DISTINCT FROM before -> n.key LOOP
        EXECUTE format('DEALLOCATE %I', one.key);
    END LOOP;
    FOR one IN SELECT b.value ->> 'text' AS text FROM jsonb_each(before - ARRAY(
        SELECT n.key FROM jsonb_each(carillon.prepared_statements()) n)) b
    LOOP
        EXECUTE one.text;
    END LOOP;
END
$$;

-- $1 and $2 are the dead tokens and their times. Watched tables may have hex digits in either case. Runs with the owner's
-- search_path.
CREATE OR REPLACE FUNCTION carillon.watched_statement(watched carillon.watched_tables, what text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    app_type CONSTANT text := carillon.check_watched(
        watched.relation, watched.token_column, watched.updated_column, watched.app_column);
    app_name CONSTANT text := (SELECT a.name FROM carillon.apps a WHERE a.id = watched.app_id);
BEGIN
    RETURN format(CASE what
            WHEN 'DELETE' THEN 'WITH dead AS (DELETE FROM %s w USING %s RETURNING 1) SELECT pg_catalog.count(*) FROM dead'
            ELSE 'SELECT pg_catalog.count(*) FROM %s w, %s' END,
        (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = watched.relation),
        format('(SELECT v.token, pg_catalog.max(v.at) AS at FROM (SELECT pg_catalog.unnest(ARRAY['
            || 'o.token, pg_catalog.lower(o.token), pg_catalog.upper(o.token)]) AS token, o.at '
            || 'FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS o (token, at)) v GROUP BY v.token) g '
            || 'WHERE w.%I OPERATOR(pg_catalog.=) g.token AND w.%I OPERATOR(pg_catalog.<) g.at%s',
            watched.token_column, watched.updated_column,
            CASE WHEN app_type IS NULL THEN ''
                WHEN app_type IN ('text', 'character varying') THEN format(
                    ' AND w.%I OPERATOR(pg_catalog.=) ANY (ARRAY[%L, %L])', watched.app_column, app_name, watched.app_id)
                ELSE format(' AND w.%I OPERATOR(pg_catalog.=) %s', watched.app_column, watched.app_id) END));
END
$$;

-- run_watched_statement() undoes whatever the table's triggers and policies leave in the session, even after an error. Until then,
-- even their search_path may be in effect.
CREATE OR REPLACE FUNCTION carillon.run_watched_statement(
    watched carillon.watched_tables, what text, gone text[], gone_at timestamptz[]
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    statement CONSTANT text := carillon.watched_statement(watched, what);
    path CONSTANT text := carillon.owner_search_path(watched.relation);
    before CONSTANT text[] := ARRAY(SELECT t.state FROM carillon.session_state(current_setting('search_path')) t);
    statements CONSTANT jsonb := carillon.prepared_statements();
    unsafe CONSTANT carillon.refusal := carillon.unsafe_reaper();
    left_behind text;
    rows bigint;
BEGIN
    IF unsafe.message IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format(
            'its triggers would run with too many rights, because %s. %s', unsafe.message, unsafe.hint);
    END IF;
    rows := carillon.as_reaper(statement, path, gone, gone_at);
    SELECT t.kind INTO left_behind
    FROM ROWS FROM (carillon.session_state(pg_catalog.current_setting('search_path')), pg_catalog.unnest(before))
        AS t(kind, state, before)
    WHERE t.state OPERATOR(pg_catalog.<>) t.before OR (t.state IS NULL) OPERATOR(pg_catalog.<>) (t.before IS NULL) LIMIT 1;
    IF left_behind IS NOT NULL THEN
        RAISE EXCEPTION 'a trigger or policy of the table %', left_behind USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN rows;
EXCEPTION
    WHEN OTHERS OR query_canceled OR assert_failure THEN
        -- Everything else is rolled back.
        PERFORM carillon.restore_prepared_statements(statements);
        RAISE;
END
$$;

-- If the table's own constraints or triggers refuse to delete a row, the row stays and `fault` says why; any other problem raises
-- an error. reap_watched() never waits long for a lock, because a deadlock could abort a transaction of the application.
CREATE OR REPLACE FUNCTION carillon.reap_watched(
    watched carillon.watched_tables, gone text[], gone_at timestamptz[], OUT deleted bigint, OUT fault text
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    half CONSTANT integer := cardinality(gone) / 2;
    one record;
    other record;
BEGIN
    deleted := carillon.run_watched_statement(watched, 'DELETE', gone, gone_at);
EXCEPTION
    WHEN integrity_constraint_violation OR plpgsql_error OR with_check_option_violation THEN
        -- One of the rows is at fault; halving the list finds it.
        IF half = 0 THEN
            deleted := 0;
            fault := SQLERRM;
            RETURN;
        END IF;
        SELECT r.* INTO one FROM carillon.reap_watched(watched, gone[:half], gone_at[:half]) r;
        SELECT r.* INTO other FROM carillon.reap_watched(watched, gone[half + 1:], gone_at[half + 1:]) r;
        deleted := one.deleted + other.deleted;
        fault := coalesce(one.fault, other.fault);
END
$$;

-- catch_up_table() returns the first row of feedback still missed, or null if there is none. If it is the same as before, the row
-- cannot be applied yet. Feedback that awaits counts is still missed.
CREATE OR REPLACE FUNCTION carillon.catch_up_table(
    watched carillon.watched_tables, max_rows integer, OUT missed_from bigint, OUT deleted bigint, OUT fault text
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    gone text[];
    gone_at timestamptz[];
    waiting bigint;
    last bigint;
    rows bigint;
BEGIN
    SELECT array_agg(report.token) FILTER (WHERE report.died_at IS NOT NULL),
        array_agg(report.died_at) FILTER (WHERE report.died_at IS NOT NULL),
        min(report.id) FILTER (WHERE report.awaits_counts), max(report.id), count(*)
    INTO gone, gone_at, waiting, last, rows
    FROM (
        SELECT f.id, f.token, carillon.died_at(f), carillon.awaits_counts(f) FROM carillon.feedback f
        WHERE f.app_id = watched.app_id AND f.id >= watched.missed_from ORDER BY f.id LIMIT max_rows) report;
    missed_from := coalesce(waiting, CASE WHEN rows = max_rows THEN last + 1 END);
    deleted := 0;
    IF gone IS NOT NULL THEN
        SELECT r.deleted, r.fault INTO catch_up_table.deleted, catch_up_table.fault
        FROM carillon.reap_watched(watched, gone, gone_at) r;
    END IF;
EXCEPTION
    WHEN OTHERS THEN
        missed_from := watched.missed_from;
        deleted := 0;
        fault := SQLERRM;
END
$$;


-- functions/tokens/tokens.sql
-- Device tokens: what a valid one is, and the functions with which users register tokens and set badges. Several rows are locked in
-- the order of tokens.

-- is_token() is the only definition of a valid token: pairs of hex digits, at most 512 digits. PostgreSQL inlines both functions.
CREATE OR REPLACE FUNCTION carillon.is_token(token text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.length(token) OPERATOR(pg_catalog.<=) 512
        AND token OPERATOR(pg_catalog.~) '^(?:[0-9a-fA-F][0-9a-fA-F])+$'
$$;

CREATE OR REPLACE FUNCTION carillon.token(token text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN carillon.is_token(token) THEN pg_catalog.lower(token) END
$$;

-- invalid_token() shows both ends of a long string, and the first character that is not a hex digit.
CREATE OR REPLACE FUNCTION carillon.invalid_token(token text, place bigint DEFAULT NULL) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT coalesce(
            quote_literal(CASE WHEN length(token) > 24 THEN left(token, 12) || '…' || right(token, 8) ELSE token END), 'null')
        || coalesce(' at position ' || place, '')
        || coalesce(', whose character ' || position(s.letter IN token) || ' is ' || quote_literal(s.letter),
            ', which has ' || nullif(length(token), 0) || ' digits', '')
    FROM (SELECT substring(token FROM '[^0-9a-fA-F]') AS letter) AS s
$$;

CREATE OR REPLACE FUNCTION carillon.clean_tokens(tokens text[], OUT clean text[], OUT places bigint[], OUT refusal carillon.refusal)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    bad bigint;
BEGIN
    IF array_ndims(tokens) > 1 THEN
        refusal := carillon.refusal('tokens', 'an array of device tokens', 'an array of arrays');
        RETURN;
    END IF;
    SELECT array_agg(once.token ORDER BY once.place), array_agg(once.place ORDER BY once.place),
        min(once.place) FILTER (WHERE once.token IS NULL)
    INTO clean, places, bad
    FROM (
        SELECT carillon.token(t.token) AS token, min(t.place) AS place
        FROM unnest(tokens) WITH ORDINALITY t (token, place) GROUP BY 1
    ) once;
    IF bad IS NOT NULL THEN
        refusal := carillon.refusal('tokens', 'device tokens of 2 to 512 hex digits, an even number of them',
            carillon.invalid_token(tokens[array_lower(tokens, 1) + bad - 1], bad));
    END IF;
END
$$;

-- The table tokens, broadcast and register_token accept no other kinds. `make docs` writes them, from TokenKind.swift.
CREATE OR REPLACE FUNCTION carillon.token_kinds() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY[
        'device',
        'live_activity',
        'push_to_start',
        'widget',
        'complication',
        'control',
        'voip',
        'location',
        'file_provider',
        'push_to_talk',
        'mdm'
    ]
$$;

CREATE OR REPLACE FUNCTION carillon.check_kind(kind text) RETURNS carillon.refusal
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT carillon.refusal('kind', 'one of ' OPERATOR(pg_catalog.||)
        pg_catalog.array_to_string(carillon.token_kinds(), ', '), pg_catalog.quote_literal(kind),
        'A broadcast reaches the tokens of one kind; docs/live-activities.md says what each is for.')
    WHERE kind OPERATOR(pg_catalog.<>) ALL (carillon.token_kinds())
$$;

-- Apple ends an activity after 8 hours, and removes it from the lock screen within 4 more. STABLE, as the addition is: PostgreSQL
-- would call an IMMUTABLE function for each row instead of inlining it.
CREATE OR REPLACE FUNCTION carillon.usual_end(kind text, registered_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE kind WHEN 'live_activity' THEN registered_at OPERATOR(pg_catalog.+) interval '12 hours' END
$$;

-- A registration overrides earlier feedback, because its last_update is later than Apple's time.
CREATE OR REPLACE FUNCTION carillon.register_token(
    app text, token text, owner text DEFAULT NULL, kind text DEFAULT NULL, expires_at timestamptz DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
#variable_conflict use_column
DECLARE
    clean CONSTANT text := carillon.token(register_token.token);
    registering_app CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = register_token.app);
    refusal carillon.refusal;
BEGIN
    IF clean IS NULL OR registering_app IS NULL OR register_token.kind <> ALL (carillon.token_kinds())
        OR register_token.expires_at <= now() OR NOT carillon.is_usual(register_token.expires_at)
        OR octet_length(register_token.owner) > 2048
    THEN
        refusal := CASE WHEN clean IS NULL THEN carillon.refusal('token',
                'a device token of 2 to 512 hex digits, an even number of them',
                carillon.invalid_token(register_token.token),
                'Write each byte of the token as two hex digits, without spaces.')
            WHEN registering_app IS NULL THEN carillon.unknown_app(register_token.app)
            WHEN register_token.kind <> ALL (carillon.token_kinds()) THEN carillon.check_kind(register_token.kind)
            WHEN octet_length(register_token.owner) > 2048 THEN carillon.refusal('owner', 'text of at most 2048 bytes',
                quote_literal(left(register_token.owner, 40)) || '… (' || octet_length(register_token.owner) || ' bytes)',
                'Pass an id of your own, such as the number of a user.')
            ELSE carillon.refusal('expires_at',
                'a time in the future, up to the year 2200', quote_literal(register_token.expires_at),
                'Leave it out for a token that does not expire.') END;
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    INSERT INTO carillon.tokens AS t (app_id, token, owner, kind, expires_at)
    VALUES (registering_app, clean, register_token.owner, coalesce(register_token.kind, 'device'),
        coalesce(register_token.expires_at, carillon.usual_end(register_token.kind, now())))
    ON CONFLICT (app_id, token) DO UPDATE SET
        last_update = greatest(t.last_update, excluded.last_update), owner = coalesce(excluded.owner, t.owner),
        kind = coalesce(register_token.kind, t.kind),
        expires_at = coalesce(register_token.expires_at,
            carillon.usual_end(coalesce(register_token.kind, t.kind), now()));
END
$$;

-- A badge is never below 0. No badge is kept for a token that is not registered; it counts from 0. Rows are locked in the order of
-- tokens, so that callers do not deadlock.
CREATE OR REPLACE FUNCTION carillon.with_badges(app integer, tokens text[], step bigint, front text, rest text) RETURNS json[]
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    payloads json[];
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT k.token FROM carillon.tokens k WHERE k.app_id = app AND k.token = ANY (tokens)
        ORDER BY k.token FOR UPDATE
    ), changed AS (
        UPDATE carillon.tokens k SET badge = greatest(0, least(2147483647, k.badge + step)) FROM locked l
        WHERE k.app_id = app AND k.token = l.token RETURNING k.token, k.badge
    )
    SELECT array_agg((front || coalesce(c.badge, greatest(0, step)) || rest)::json ORDER BY g.place) INTO payloads
    FROM unnest(tokens) WITH ORDINALITY AS g(token, place) LEFT JOIN changed c ON c.token = g.token;
    RETURN payloads;
END
$$;

CREATE OR REPLACE FUNCTION carillon.check_choice(app text, chosen integer, token text, owner text) RETURNS carillon.refusal
LANGUAGE sql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
    SELECT CASE
        WHEN chosen IS NULL THEN carillon.unknown_app(app)
        WHEN num_nonnulls(token, owner) <> 1 THEN carillon.refusal('token',
            'a device token, or null if owner is given', CASE WHEN token IS NULL THEN 'neither' ELSE 'both' END,
            'An owner selects all of its tokens.')
        WHEN token IS NOT NULL AND carillon.token(token) IS NULL THEN carillon.refusal('token',
            'a device token of 2 to 512 hex digits, an even number of them', carillon.invalid_token(token),
            'Write each byte of the token as two hex digits, without spaces.') END
$$;

-- unregister_token() runs as its owner, and asks for the caller's apps: see rights.sql.
CREATE OR REPLACE FUNCTION carillon.unregister_token(app text, token text DEFAULT NULL, owner text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    clean CONSTANT text := carillon.token(unregister_token.token);
    chosen CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = unregister_token.app AND carillon.may_use(a));
    refusal CONSTANT carillon.refusal :=
        carillon.check_choice(unregister_token.app, chosen, unregister_token.token, unregister_token.owner);
    devices bigint;
BEGIN
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    DELETE FROM carillon.tokens k WHERE k.app_id = chosen AND k.token = ANY (ARRAY(
        SELECT l.token FROM carillon.tokens l
        WHERE l.app_id = chosen AND (l.token = clean OR clean IS NULL AND l.owner = unregister_token.owner)
        ORDER BY l.token FOR UPDATE));
    GET DIAGNOSTICS devices = ROW_COUNT;
    RETURN devices;
END
$$;

CREATE OR REPLACE FUNCTION carillon.set_badge(app text, token text DEFAULT NULL, owner text DEFAULT NULL, badge bigint DEFAULT 0)
RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    clean CONSTANT text := carillon.token(set_badge.token);
    chosen CONSTANT integer := (SELECT a.id FROM carillon.apps a WHERE a.name = set_badge.app);
    level CONSTANT bigint := coalesce(set_badge.badge, 0);
    refusal carillon.refusal := carillon.check_choice(set_badge.app, chosen, set_badge.token, set_badge.owner);
    devices bigint;
BEGIN
    IF refusal.message IS NULL AND level NOT BETWEEN 0 AND 2147483647 THEN
        refusal := carillon.refusal('badge', 'a number from 0 to 2147483647', level::text,
            'To add or subtract, enqueue a message with badge_add.');
    END IF;
    IF refusal.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = refusal.code, MESSAGE = refusal.message, COLUMN = refusal.argument,
            HINT = refusal.hint;
    END IF;
    UPDATE carillon.tokens k SET badge = level WHERE k.app_id = chosen AND k.token = ANY (ARRAY(
        SELECT l.token FROM carillon.tokens l
        WHERE l.app_id = chosen AND (l.token = clean OR clean IS NULL AND l.owner = set_badge.owner)
        ORDER BY l.token FOR UPDATE));
    GET DIAGNOSTICS devices = ROW_COUNT;
    RETURN devices;
END
$$;

-- Apple's channel ids are base64 ending in =. A device token does not look like that: thirty-two random bytes are practically never
-- all base64 characters.
CREATE OR REPLACE FUNCTION carillon.token_text(token text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN token OPERATOR(pg_catalog.~) '^(2[bdf]|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])+(3d){1,2}$'
        THEN pg_catalog.convert_from(pg_catalog.decode(token, 'hex'), 'SQL_ASCII') ELSE token END
$$;


-- functions/tokens/watch_tokens.sql
-- Watches the application's own tables, from which feedback passes also delete. The owner of the schema calls watch_tokens() and
-- unwatch_tokens(); reap_watched.sql deletes, and checks the table again each time.

CREATE OR REPLACE FUNCTION carillon.unfit_to_watch(
    relation regclass, token_column name, updated_column name, app_column name
) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    kind "char";
    found_type text;
    target record;
BEGIN
    SELECT c.relkind INTO kind FROM pg_class c WHERE c.oid = unfit_to_watch.relation;
    IF kind IS NULL OR kind NOT IN ('r', 'p') THEN
        RETURN carillon.refusal('relation', 'a table',
            CASE WHEN kind IS NULL AND unfit_to_watch.relation IS NOT NULL THEN 'one that was dropped'
                ELSE unfit_to_watch.relation::text END, 'For a view, name the table that it selects from.');
    END IF;
    FOR target IN SELECT * FROM (VALUES
        ('token_column', unfit_to_watch.token_column, ARRAY['text', 'character varying'],
            'the name of a column of type text or varchar', 'Tokens are compared as hex digits.'),
        ('updated_column', unfit_to_watch.updated_column, ARRAY['timestamp with time zone'],
            'the name of a column of type timestamptz',
            'Without a time zone it cannot be compared with Apple''s clock: ALTER TABLE … ALTER COLUMN … '
                'TYPE timestamptz USING … AT TIME ZONE ''UTC'''),
        ('app_column', unfit_to_watch.app_column, ARRAY['text', 'character varying', 'smallint', 'integer', 'bigint'],
            'the name of a column with the app''s name or id', 'Leave it out if all rows belong to one app.')
    ) v (argument, name, types, takes, hint) LOOP
        CONTINUE WHEN target.argument = 'app_column' AND target.name IS NULL;
        SELECT format_type(a.atttypid, NULL) INTO found_type FROM pg_attribute a
        WHERE a.attrelid = unfit_to_watch.relation AND a.attname = target.name AND a.attnum > 0 AND NOT a.attisdropped;
        IF found_type IS NULL THEN
            RETURN carillon.refusal(target.argument, target.takes, coalesce(quote_literal(target.name)
                || ', which ' || unfit_to_watch.relation || ' does not have', 'null'), coalesce((
                    SELECT 'The columns are: ' || string_agg(a.attname, ', ' ORDER BY a.attnum) || '.' FROM pg_attribute a
                    WHERE a.attrelid = unfit_to_watch.relation AND a.attnum > 0 AND NOT a.attisdropped),
                    'It has no columns.'), '42703');
        ELSIF found_type <> ALL (target.types) THEN
            RETURN carillon.refusal(target.argument, target.takes,
                quote_literal(target.name) || ' of type ' || found_type, target.hint, '42804');
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- check_watched() runs before each deletion, because tables change.
CREATE OR REPLACE FUNCTION carillon.check_watched(
    relation regclass, token_column name, updated_column name, app_column name
) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, carillon, pg_temp AS $$
BEGIN
    PERFORM carillon.refuse(carillon.unfit_to_watch(relation, token_column, updated_column, app_column));
    RETURN (SELECT format_type(a.atttypid, NULL) FROM pg_attribute a
        WHERE a.attrelid = relation AND a.attname = app_column AND a.attnum > 0 AND NOT a.attisdropped);
END
$$;

CREATE OR REPLACE FUNCTION carillon.watch_tokens(
    app text, relation regclass, token_column name, updated_column name, app_column name DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    watching_app CONSTANT integer := carillon.app_id(watch_tokens.app);
    others CONSTANT text[] := '{id,app_id,relation,created_at,last_error,missed_from}';
    before jsonb;
    after jsonb;
BEGIN
    PERFORM carillon.refuse(carillon.unfit_to_watch(
        watch_tokens.relation, watch_tokens.token_column, watch_tokens.updated_column, watch_tokens.app_column));

    SELECT to_jsonb(w) - others INTO before FROM carillon.watched_tables w
    WHERE w.app_id = watching_app AND w.relation = watch_tokens.relation FOR UPDATE;
    -- Feedback that the table has missed is applied with the new columns.
    INSERT INTO carillon.watched_tables AS w (app_id, relation, token_column, updated_column, app_column)
    VALUES (watching_app, watch_tokens.relation, watch_tokens.token_column, watch_tokens.updated_column, watch_tokens.app_column)
    ON CONFLICT ON CONSTRAINT watched_tables_once_an_app DO UPDATE SET token_column = excluded.token_column,
        updated_column = excluded.updated_column, app_column = excluded.app_column, last_error = NULL
    RETURNING to_jsonb(w) - others INTO after;
    IF before IS DISTINCT FROM after THEN
        PERFORM carillon.record_change('watch table', watch_tokens.app, CASE WHEN before IS NULL THEN after ELSE '{}' END
            || jsonb_build_object('table', watch_tokens.relation), carillon.changed_members(before, after));
    END IF;

    IF NOT has_table_privilege('carillon_reaper', watch_tokens.relation, 'SELECT')
        OR NOT has_table_privilege('carillon_reaper', watch_tokens.relation, 'DELETE')
        OR NOT (SELECT has_schema_privilege('carillon_reaper', c.relnamespace, 'USAGE')
            FROM pg_class c WHERE c.oid = watch_tokens.relation)
    THEN
        RAISE WARNING 'role carillon_reaper may not delete from % yet', watch_tokens.relation
            USING HINT = (SELECT format('GRANT USAGE ON SCHEMA %s TO carillon_reaper; GRANT SELECT, DELETE ON %s TO '
                'carillon_reaper', c.relnamespace::regnamespace, watch_tokens.relation)
                FROM pg_class c WHERE c.oid = watch_tokens.relation);
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = watch_tokens.relation AND a.attname = watch_tokens.token_column AND i.indpred IS NULL)
    THEN
        RAISE WARNING 'no index of % begins with %: each batch of the feedback pass reads the whole table',
            watch_tokens.relation, quote_ident(watch_tokens.token_column)
            USING HINT = format('CREATE INDEX CONCURRENTLY ON %s (%I)', watch_tokens.relation, watch_tokens.token_column);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION carillon.unwatch_tokens(app text, relation regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    watching_app CONSTANT integer := carillon.app_id(unwatch_tokens.app);
BEGIN
    DELETE FROM carillon.watched_tables w
    WHERE w.app_id = watching_app AND w.relation = unwatch_tokens.relation;
    IF FOUND THEN
        PERFORM carillon.record_change('unwatch table', unwatch_tokens.app, jsonb_build_object('table', unwatch_tokens.relation));
    END IF;
END
$$;


DO $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT pg_catalog.format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass)
        FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
        WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND c.relnamespace = 'carillon'::regnamespace
            AND t.tgfoid IN (SELECT p.oid FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'carillon' AND p.proowner = n.nspowner AND p.proname <> 'as_reaper'
    AND p.xmin <> pg_catalog.pg_current_xact_id()::xid
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::regclass
        AND d.objid = p.oid AND d.deptype = 'e'))
    LOOP
        EXECUTE command;
    END LOOP;
    -- In one statement, because they may depend on each other.
    SELECT 'DROP ROUTINE ' || pg_catalog.string_agg(p.oid::regprocedure::text, ', ') INTO command FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'carillon' AND p.proowner = n.nspowner AND p.proname <> 'as_reaper'
    AND p.xmin <> pg_catalog.pg_current_xact_id()::xid
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::regclass
        AND d.objid = p.oid AND d.deptype = 'e');
    IF command IS NOT NULL THEN
        EXECUTE command;
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.create_api_token IS
    'Creates a token with which a program can POST /messages for this app. Returns the token, which cannot be shown again.';
COMMENT ON FUNCTION carillon.remove_api_token IS
    'Removes an API token of an app; requests that use it are then refused. Returns false if there is none.';
COMMENT ON FUNCTION carillon.enqueue_with_token IS
    'Internal: POST /messages. Enqueues a message for the app of an API token, once for each key.';
COMMENT ON FUNCTION carillon.certificate_changed IS
    'Internal: when a credential is replaced, clears its status and what was read from it, and deletes its provider token.';
COMMENT ON FUNCTION carillon.app_changed IS 'Internal: closes the breaker of an app that is resumed.';
COMMENT ON FUNCTION carillon.app_added IS 'Internal: inserts the rows of app_locks of a new app.';
COMMENT ON FUNCTION carillon.app_to_change IS
    'Internal: returns an app by name, locked until the transaction ends, or raises an error.';
COMMENT ON FUNCTION carillon.pause_app IS
    'Pauses an app: its messages wait. Returns false if it was already paused. Recorded in audit.';
COMMENT ON FUNCTION carillon.resume_app IS 'Resumes a paused app. Returns false if it was not paused. Recorded in audit.';
COMMENT ON FUNCTION carillon.limit_app IS
    'Sets max_rate (null: no limit), max_attempts and reap_bad_tokens. Returns false if nothing changed. Recorded in audit.';
COMMENT ON FUNCTION carillon.apps_fingerprint IS
    'Internal: returns numbers that change with any change of an app or a credential.';
COMMENT ON FUNCTION carillon.find_channel IS 'Internal: returns the row of a channel, or a refusal.';
COMMENT ON FUNCTION carillon.check_channel IS
    'Internal: returns the refusal of an argument of request_channel or record_channel; null if these are valid.';
COMMENT ON FUNCTION carillon.request_channel IS
    'Requests a channel, which a worker then creates at Apple. Returns its reference; channel() returns Apple''s id.';
COMMENT ON FUNCTION carillon.record_channel IS
    'Records a channel that was created elsewhere, for example in Apple''s console, so that publish accepts it.';
COMMENT ON FUNCTION carillon.channel IS
    'Returns Apple''s id of a channel, or null if the channel is not ready. Raises an error if it is failed or missing. With '
    'wait, waits up to that long for Apple to create it.';
COMMENT ON FUNCTION carillon.remove_channel IS
    'Requests the removal of a channel, by its reference or id. A worker removes it at Apple and then deletes its row.';
COMMENT ON FUNCTION carillon.take_channels IS
    'Internal: takes due requests for channels, each for one minute, except those of the skipped apps.';
COMMENT ON FUNCTION carillon.channel_made IS
    'Internal: records a channel that Apple has created; fails if another channel of the app has its id.';
COMMENT ON FUNCTION carillon.channel_failed IS 'Internal: records that a request for a channel failed.';
COMMENT ON FUNCTION carillon.channel_gone IS 'Internal: deletes the row of a channel that Apple removed or never had.';
COMMENT ON FUNCTION carillon.channels_refused IS
    'Internal: marks a channel as missing when Apple has refused an update because it does not know the channel.';
COMMENT ON FUNCTION carillon.channels_listed IS 'Internal: compares Apple''s list of channels with the table channels.';
COMMENT ON FUNCTION carillon.credential_written IS 'Internal: writes a row of credential_input into certificates.';
COMMENT ON FUNCTION carillon.provider_token_minted IS
    'Internal: writes a row of provider_token_input into provider_tokens, unless the token there is still in use.';
COMMENT ON FUNCTION carillon.mostly_failed IS
    'Internal: returns whether more than half of an app''s pushes failed, so that its settings are probably wrong.';
COMMENT ON FUNCTION carillon.open_breakers IS
    'Internal: pauses those of the apps whose pushes fail because of their environment or topic.';
COMMENT ON FUNCTION carillon.seconds_to_renewal IS
    'Internal: returns how long a provider token is used; 0 if there is none, or if a new one is to be minted.';
COMMENT ON FUNCTION carillon.provider_token IS 'Internal: returns the provider token of a signing key, which workers share.';
COMMENT ON FUNCTION carillon.validity IS
    'Internal: returns the status of a usable credential: expired, expiring (within 30 days) or ok. A signing key does not expire.';
COMMENT ON FUNCTION carillon.act_for IS 'Internal: names the person on whose behalf this transaction makes changes.';
COMMENT ON FUNCTION carillon.changed_members IS 'Internal: returns the members whose values differ, each with its earlier value.';
COMMENT ON FUNCTION carillon.record_change IS 'Internal: records a change in audit.';
COMMENT ON FUNCTION carillon.record_on_behalf IS
    'Internal: records a change if it is made on behalf of a person, and not if a program makes it.';
COMMENT ON FUNCTION carillon.app_record IS 'Internal: returns the settings of an app that audit records.';
COMMENT ON FUNCTION carillon.app_recorded IS
    'Internal: records every change of an app, whether made by a function or by plain SQL.';
COMMENT ON FUNCTION carillon.certificate_recorded IS 'Internal: records that a credential was added, replaced or removed.';
COMMENT ON FUNCTION carillon.choose_compression IS
    'Internal: has claims compressed with LZ4 if the server can do that, and not at all otherwise.';
COMMENT ON FUNCTION carillon.this_database IS 'Internal: returns the cluster and the database of this session.';
COMMENT ON FUNCTION carillon.installation_fault IS
    'Internal: returns why nothing may be sent from this database, such as being a copy; null if pushes may be sent.';
COMMENT ON FUNCTION carillon.installation_state IS
    'Internal: says why nothing may be sent from this database, and how long the write-ahead log of its cluster is.';
COMMENT ON FUNCTION carillon.check_installation IS 'Internal: fails if nothing may be sent from this database.';
COMMENT ON FUNCTION carillon.adopt IS
    'Lets workers send from this copy of a database. Returns how many jobs expire because they are older than expire_before.';
COMMENT ON FUNCTION carillon.guarded_tables IS
    'Internal: returns the tables that row-level security guards while a role is isolated.';
COMMENT ON FUNCTION carillon.enforce_isolation IS
    'Internal: enables or disables row-level security, the check of enqueue''s caller and the schema for isolated roles.';
COMMENT ON FUNCTION carillon.apps_of_caller IS 'Internal: returns the apps that the caller may use; null means every app.';
COMMENT ON FUNCTION carillon.may_use IS 'Internal: returns whether the caller may enqueue messages of an app.';
COMMENT ON FUNCTION carillon.isolate_app IS
    'Isolates a role to this app: it can neither read nor change rows of other apps. Call it again to give the role another app '
    'too.';
COMMENT ON FUNCTION carillon.unisolate_app IS 'Revokes a role''s access to an app, which isolate_app had given it.';
COMMENT ON FUNCTION carillon.lock_tables IS
    'Internal: locks tables against all other sessions, waits for at most 100 ms at a time, and fails if it has waited in vain.';
COMMENT ON FUNCTION carillon.delete_old IS 'Internal: deletes a batch of rows older than the horizon.';
COMMENT ON FUNCTION carillon.sum_push_counts IS 'Internal: computes the sums of push_counts that are missing.';
COMMENT ON FUNCTION carillon.maintain_step IS 'Internal: does part of one step of maintenance.';
COMMENT ON PROCEDURE carillon.maintain IS
    'Creates and drops partitions, sums counts of pushes, and deletes rows older than the retention, as workers do every hour. '
    'By default, the retention is that of the workers, or seven days if none has run. Meant for pg_cron.';
COMMENT ON FUNCTION carillon.default_partition_rows IS
    'Internal: returns how many rows of each history table are outside the daily partitions because maintenance is late.';
COMMENT ON FUNCTION carillon.task_due_at IS 'Internal: returns when a task of the fleet is due; null while a worker does it.';
COMMENT ON FUNCTION carillon.partitions IS 'Internal: returns the partitions of a history table, with their bounds.';
COMMENT ON FUNCTION carillon.make_partition_table IS 'Internal: creates a table that can become a partition.';
COMMENT ON FUNCTION carillon.replace_default_partition IS
    'Internal: makes the default partition the partition of the days within the bounds, and puts an empty one in its place.';
COMMENT ON FUNCTION carillon.make_partitions IS 'Internal: creates the partitions of today and the next three days.';
COMMENT ON FUNCTION carillon.drop_partition IS 'Internal: drops one partition that ended before the horizon.';
COMMENT ON FUNCTION carillon.present_rights IS 'Internal: returns the rights that the roles of Carillon have in its schema.';
COMMENT ON FUNCTION carillon.record_rights IS 'Internal: records the rights that rights.sql has granted.';
COMMENT ON FUNCTION carillon.missing_rights IS
    'Internal: returns the rights that rights.sql granted to of_role and that as_role, which is of_role by default, does not have.';
COMMENT ON FUNCTION carillon.refusal IS 'Internal: builds the error for an argument: what it takes, and what it was given.';
COMMENT ON FUNCTION carillon.refuse IS 'Internal: raises a refusal, if there is one.';
COMMENT ON FUNCTION carillon.unknown_app IS 'Internal: builds the error for an unknown app.';
COMMENT ON FUNCTION carillon.app_id IS 'Internal: returns the id of an app, or raises an error.';
COMMENT ON FUNCTION carillon.use_session_path IS
    'Internal: restores the search_path of the session until the calling function returns.';
COMMENT ON FUNCTION carillon.max_reference_bytes IS 'Internal: returns the maximum size of a reference in bytes.';
COMMENT ON FUNCTION carillon.is_usual IS 'Internal: whether a time lies in the years 2000 to 2200; null if there is none.';
COMMENT ON FUNCTION carillon.has_payload_fields IS 'Internal: whether any argument from which a payload is built is given.';
COMMENT ON FUNCTION carillon.payload_field_names IS 'Internal: returns the names of the arguments from which a payload is built.';
COMMENT ON FUNCTION carillon.names_topic IS
    'Internal: whether a certificate that no program has read yet may name a topic; null if it names none or is invalid.';
COMMENT ON FUNCTION carillon.check_topic IS
    'Internal: returns the refusal of a topic that a message names; null if it is valid.';
COMMENT ON FUNCTION carillon.check_heading IS
    'Internal: returns the refusal of an argument that becomes a header or that decides when and in which lane a job waits; '
    'null if all are valid.';
COMMENT ON FUNCTION carillon.check_members IS
    'Internal: returns the refusal of an argument that Apple would reject or that duplicates a member of aps; null if all are '
    'valid.';
COMMENT ON FUNCTION carillon.check_fields IS 'Internal: checks the fields of a payload more closely.';
COMMENT ON FUNCTION carillon.has_alert IS 'Internal: whether a payload has an alert; false if only parsing it would tell.';
COMMENT ON FUNCTION carillon.is_ignored IS 'Internal: whether a device would ignore a payload.';
COMMENT ON FUNCTION carillon.check_silence IS
    'Internal: returns the refusal of an argument that a push of a silent type must not have; null if there is none.';
COMMENT ON FUNCTION carillon.check_payloads IS
    'Internal: checks the payload of each token, and returns whether all are silent, and one that a device would ignore.';
COMMENT ON FUNCTION carillon.ended_unsent IS
    'Internal: returns whether a message has ended without any push that may have been delivered.';
COMMENT ON FUNCTION carillon.take_dedupe_key IS 'Internal: takes a dedupe key, or returns the message that holds it.';
COMMENT ON FUNCTION carillon.alert_of_lines IS 'Internal: returns an alert with these lines as JSON.';
COMMENT ON FUNCTION carillon.other_members IS
    'Internal: returns members of aps that need no check, other than alert, badge and sound, as JSON; null if there are none.';
COMMENT ON FUNCTION carillon.own_members IS 'Internal: returns the members beside aps as JSON, each after a comma.';
COMMENT ON FUNCTION carillon.compose IS 'Internal: returns a payload of these parts.';
COMMENT ON FUNCTION carillon.compose_plain IS
    'Internal: returns a payload of an alert and, unless they are null, a badge and a sound.';
COMMENT ON FUNCTION carillon.draft IS
    'Internal: checks the arguments of a message, and returns it without its tokens and ready to be stored, or the refusal.';
COMMENT ON FUNCTION carillon.json_or_null IS 'Internal: returns text as JSON, or null if it is not JSON.';
COMMENT ON FUNCTION carillon.jsonb_or_null IS
    'Internal: returns text as jsonb, or null if it is not JSON or jsonb cannot store it.';
COMMENT ON FUNCTION carillon.broken_json IS
    'Internal: returns the refusal of text that begins like a JSON object but is not JSON; null for JSON or plain text.';
COMMENT ON FUNCTION carillon.compact_json IS 'Internal: returns jsonb as text without spaces after colons and commas.';
COMMENT ON FUNCTION carillon.is_loud IS 'Internal: returns whether a payload has anything that a device shows or plays.';
COMMENT ON FUNCTION carillon.is_silent IS 'Internal: returns whether a payload is that of a background push.';
COMMENT ON FUNCTION carillon.fits_argument IS 'Internal: returns whether a member has the JSON type that its argument takes.';
COMMENT ON FUNCTION carillon.unfit_member IS
    'Internal: returns the refusal of the first member whose value does not fit its argument; null if all fit.';
COMMENT ON FUNCTION carillon.message_of_json IS
    'Internal: returns the arguments of a message from an object with the members of enqueue.';
COMMENT ON FUNCTION carillon.preview_message IS
    'Internal: returns what enqueue would send to an app with these arguments, given as an object without app, or raises the same '
    'error. Enqueues nothing.';
COMMENT ON FUNCTION carillon.submit_once IS 'Internal: enqueues a message once for each key.';
COMMENT ON FUNCTION carillon.send_test IS
    'Internal: enqueues a message to a few tokens in the urgent lane. The object has the arguments of enqueue, without app. '
    'Returns the id of the message and whether it is new: if a message with the same key was enqueued within a day, returns its '
    'id and enqueues nothing. Recorded in audit.';
COMMENT ON FUNCTION carillon.push_each IS
    'Enqueues a message to each of the device tokens, with the payload at its position: as push(app, ARRAY[token], payload) would '
    'for each, in much less time. Returns the ids of the messages, in the order of the tokens.';
COMMENT ON FUNCTION carillon.push_types IS
    'Returns what Apple requires of each push type: the suffix of its topics, its priorities, the maximum size of payload and '
    'collapse id in bytes, whether aps must have no alert, badge or sound, and the kind of its tokens; the start of a Live '
    'Activity has the kind push_to_start. The row channel is for what publish sends.';
COMMENT ON FUNCTION carillon.rules_of IS 'Internal: returns the row of push_types for one push type.';
COMMENT ON FUNCTION carillon.topics_of IS
    'Internal: returns the topics that messages of an app may name; null if its certificate decides.';
COMMENT ON FUNCTION carillon.payload_limit IS 'Internal: returns the maximum size of a payload in bytes.';
COMMENT ON FUNCTION carillon.payload_size IS 'Internal: returns the maximum size of a payload as text for a refusal.';
COMMENT ON FUNCTION carillon.kind_of_push IS 'Internal: returns the kind of tokens that a push is for.';
COMMENT ON FUNCTION carillon.check_kinds IS
    'Internal: returns the refusal of tokens that are registered with a kind other than the push needs; null if there are none.';
COMMENT ON FUNCTION carillon.tokens_per_job IS 'Internal: returns the maximum number of tokens of one job.';
COMMENT ON FUNCTION carillon.enqueue_job IS 'Internal: stores one job of a message, in messages or scheduled.';
COMMENT ON FUNCTION carillon.enqueue_jobs IS 'Internal: stores the jobs of a message that has several.';
COMMENT ON FUNCTION carillon.open_audience IS 'Internal: opens a cursor of the tokens of one kind of an app, in arrays.';
COMMENT ON FUNCTION carillon.audience_of IS 'Internal: returns the tokens of a message, or the refusal of an argument.';
COMMENT ON FUNCTION carillon.plain_payload IS
    'Internal: returns the payload of a message if it has an alert, and needs no closer check; otherwise null.';
COMMENT ON FUNCTION carillon.submit IS 'Internal: stores a message for enqueue and broadcast.';
COMMENT ON FUNCTION carillon.activity_alert IS 'Internal: returns the alert of a Live Activity as JSON.';
COMMENT ON FUNCTION carillon.check_activity IS
    'Internal: returns the refusal of an argument that belongs to a Live Activity; null if all are valid.';
COMMENT ON FUNCTION carillon.submit_activity IS 'Internal: enqueues pushes that start, update or end Live Activities.';
COMMENT ON FUNCTION carillon.check_publication IS
    'Internal: returns the first argument of publish that is refused, other than those of every message; null if none is.';
COMMENT ON FUNCTION carillon.submit_publication IS 'Internal: stores a message for publish.';
COMMENT ON FUNCTION carillon.broadcast_progress IS
    'Returns one row with the counts of a message or broadcast. An unknown id is an error.';
COMMENT ON FUNCTION carillon.lock_for_cancel IS
    'Internal: takes the locks of a cancel and holds them until the transaction ends.';
COMMENT ON FUNCTION carillon.lock_number IS 'Internal: returns the lock_number in app_locks of a message.';
COMMENT ON FUNCTION carillon.delay_cancels IS
    'Internal: makes cancels of messages wait until this transaction ends; returns those that may already be being cancelled.';
COMMENT ON FUNCTION carillon.as_cancelled IS 'Internal: returns what is needed to record a cancelled job.';
COMMENT ON FUNCTION carillon.record_cancelled IS
    'Internal: records jobs that were cancelled or superseded, in results or unfinished.';
COMMENT ON FUNCTION carillon.remnants IS 'Internal: returns what is left of messages whose jobs were taken out of the queue.';
COMMENT ON FUNCTION carillon.remove_waiting_jobs IS 'Internal: removes the waiting jobs of messages from messages and scheduled.';
COMMENT ON FUNCTION carillon.waiting_job_ids IS 'Internal: the ids of waiting jobs of messages that were split.';
COMMENT ON FUNCTION carillon.cancel_messages IS
    'Cancels several messages, each as cancel does. A transaction that calls cancel several times can deadlock with another; one '
    'call of cancel_messages cannot. Returns the number of jobs cancelled.';
COMMENT ON FUNCTION carillon.cancel IS
    'Cancels the unclaimed jobs of a message, given the id of any of its jobs; pushes in flight are not retried. Returns the '
    'number of jobs cancelled: 0 if the id is unknown, the message has ended, or all its jobs are in flight.';
COMMENT ON FUNCTION carillon.cancel_broadcast IS
    'Another name of cancel, for the id that broadcast returned. Returns the number of jobs cancelled.';
COMMENT ON FUNCTION carillon.cancel_message IS
    'Cancels a message of one app, as cancel does, for a dashboard: audit records the person on whose behalf it acts. Returns the '
    'number of jobs cancelled.';
COMMENT ON FUNCTION carillon.estimated_depth IS 'Internal: returns the planner''s estimate of the number of ready jobs of an app.';
COMMENT ON FUNCTION carillon.queue_depth IS
    'Internal: returns the number of ready jobs of an app: exact up to exact_up_to, an estimate above it. depth_precision says '
    'which.';
COMMENT ON FUNCTION carillon.depth_precision IS
    'Internal: returns how exact a result of queue_depth is: exact, at least (a lower bound) or about (an estimate).';
COMMENT ON FUNCTION carillon.scheduled_depth IS
    'Internal: returns the number of scheduled jobs of an app, including retries. Counting stops at max_count.';
COMMENT ON FUNCTION carillon.next_due IS
    'Internal: returns the jobs that are due next after a time, including retries, of one app or of all apps. Reads at most '
    'max_rows_read jobs.';
COMMENT ON FUNCTION carillon.token_counts IS
    'Internal: returns the number of registered tokens of each app and kind: exact up to 1,000, or up to a lower limit if there '
    'are many apps, and estimated beyond.';
COMMENT ON FUNCTION carillon.feedback_schedule IS
    'Internal: returns when the next feedback pass of a worker is due, and the interval between passes.';
COMMENT ON FUNCTION carillon.newest_activities IS
    'Internal: returns the Live Activities that end latest: whether an update waits, the last update sent and its timestamp, and '
    'when the activity ends.';
COMMENT ON FUNCTION carillon.message_contents IS
    'Returns the payload of a message of this app while it is kept; if each device has its own payload, the first three. No '
    'role may call it: grant EXECUTE to the login of a dashboard that may show payloads.';
COMMENT ON FUNCTION carillon.filled_lanes IS 'Internal: returns the lanes that have rows.';
COMMENT ON FUNCTION carillon.waiting_apps IS 'Internal: returns the apps that have scheduled jobs or unfinished messages.';
COMMENT ON FUNCTION carillon.chosen_apps IS
    'Internal: returns the apps that the argument app selects: the one with that name, or all apps that the caller may use; '
    'null means every app.';
COMMENT ON FUNCTION carillon.find_job IS 'Internal: finds a job by its id, in any state.';
COMMENT ON FUNCTION carillon.messages_of IS 'Internal: returns the messages that ids belong to, with their apps.';
COMMENT ON FUNCTION carillon.has_only_failures IS 'Internal: returns whether failures are the only record of a message.';
COMMENT ON FUNCTION carillon.find_messages IS
    'Internal: returns the messages with an id or a reference, each with its app; for a job of a split message, the whole message.';
COMMENT ON FUNCTION carillon.failed_jobs IS 'Internal: the ids that a message has in failures, by its id.';
COMMENT ON FUNCTION carillon.message_jobs IS 'Internal: the ids that a message has in failures, by any of its ids.';
COMMENT ON FUNCTION carillon.max_outcomes IS 'Internal: returns how many tokens message_status lists.';
COMMENT ON FUNCTION carillon.open_jobs IS 'Internal: returns the jobs of a message that have not ended.';
COMMENT ON FUNCTION carillon.ended_counts IS 'Internal: counts the pushes of a message that have ended.';
COMMENT ON FUNCTION carillon.open_counts IS 'Internal: counts the pushes of a message that have not ended.';
COMMENT ON FUNCTION carillon.last_outcome IS 'Internal: returns the outcome of the last attempt of a message.';
COMMENT ON FUNCTION carillon.may_have_arrived IS
    'Internal: returns whether pushes of a message that do not count as sent may have been delivered.';
COMMENT ON FUNCTION carillon.token_outcomes IS 'Internal: returns the states of individual tokens of a message.';
COMMENT ON FUNCTION carillon.message_state IS 'Internal: returns the row of message_status for a message.';
COMMENT ON FUNCTION carillon.message_status IS
    'Returns the state of a message by its id or reference, with a row for each message that matches. Returns no row if there '
    'is no such message or its results were dropped after the retention.';
COMMENT ON FUNCTION carillon.can_requeue IS 'Internal: returns whether a failure can be requeued.';
COMMENT ON FUNCTION carillon.kept_payloads IS
    'Internal: returns the payloads kept for failed tokens of a message; the latest if a token has several.';
COMMENT ON FUNCTION carillon.was_cancelled IS 'Internal: returns whether a message was cancelled, at least in part.';
COMMENT ON FUNCTION carillon.failed_apps IS 'Internal: returns the apps that have failures.';
COMMENT ON FUNCTION carillon.requeueable IS 'Internal: returns the failures of an app between two times that can be requeued.';
COMMENT ON FUNCTION carillon.requeue_some IS 'Internal: requeues failures of an app, and returns the number of pushes.';
COMMENT ON FUNCTION carillon.requeue_failures IS
    'Enqueues failed pushes again as new messages, each only once: those of an app, for a reason, within an interval, or of a '
    'message. Without any of these, raises an error with their number, unless everything is true. Returns the number of pushes: '
    '0 if none matches or all were requeued before. Recorded in audit.';
COMMENT ON FUNCTION carillon.failure_batch_end IS
    'Internal: returns the time of the last of the next max_rows_read failures of an app; null if there are fewer.';
COMMENT ON FUNCTION carillon.check_failure_batch IS
    'Internal: checks the arguments, and returns the app whose failures are counted, requeued or dismissed.';
COMMENT ON FUNCTION carillon.count_failures IS
    'Internal: counts the failures of an app between two times that requeue_batch or dismiss_batch would process. Reads at most '
    'max_rows_read failures.';
COMMENT ON FUNCTION carillon.requeue_batch IS
    'Internal: requeues failed pushes of an app between two times, as requeue_failures does. Reads at most max_rows_read failures. '
    'Returns their number and the time to continue from, which is null when done. Recorded in audit.';
COMMENT ON FUNCTION carillon.dismiss_batch IS
    'Internal: marks failures of an app between two times as needing no action. Reads at most max_rows_read failures. Dashboards '
    'hide them, and bulk requeues leave them out. Returns what requeue_batch returns. Recorded in audit.';
COMMENT ON FUNCTION carillon.search_limit IS 'Internal: returns how many of the newest rows of each app a search reads.';
COMMENT ON FUNCTION carillon.unsearched_apps IS
    'Internal: returns the apps that have more rows in the queue than search_reference or search_token reads with the same '
    'max_rows_read. If with_history is true, also those with more rows of failures or feedback.';
COMMENT ON FUNCTION carillon.search_reference IS
    'Finds up to 50 messages by reference, newest first. Waiting messages are found only among the newest max_rows_read rows of '
    'each app, a third of them for each lane. With many apps, fewer rows of each are read: 4,000 in all.';
COMMENT ON FUNCTION carillon.search_token IS
    'Returns what is known of a device token, newest first, up to 100 rows: its registration, and what the newest max_rows_read '
    'rows of failures, feedback and the queue of each app say about it. With many apps, fewer rows of each are read. A push that '
    'was sent leaves no record of its token.';
COMMENT ON FUNCTION carillon.ending IS 'Internal: builds a carillon.ending from named arguments: how pushes of one message ended.';
COMMENT ON FUNCTION carillon.end_messages IS 'Internal: records pushes that have ended, in results or unfinished.';
COMMENT ON FUNCTION carillon.keep_failed_content IS 'Internal: keeps the content of failed jobs for requeue_failures().';
COMMENT ON FUNCTION carillon.is_transient IS 'Internal: returns whether an error may be temporary, by its SQLSTATE.';
COMMENT ON FUNCTION carillon.is_refusal IS
    'Internal: returns whether PostgreSQL refuses a row, by the SQLSTATE and the context of the error.';
COMMENT ON FUNCTION carillon.end_unrecorded IS
    'Internal: ends a job that is in no table and whose outcome PostgreSQL refuses to record; returns false if nothing could be '
    'written.';
COMMENT ON FUNCTION carillon.settle_unrecorded IS 'Internal: settles the one job of a claim that settle() cannot record.';
COMMENT ON FUNCTION carillon.fail_jobs IS 'Internal: fails every token of jobs that are in no table.';
COMMENT ON FUNCTION carillon.discard_unreadable IS
    'Internal: ends a message that is too large to be read, after an attempt to split it ran out of memory.';
COMMENT ON FUNCTION carillon.lock_unfinished IS
    'Internal: locks rows of unfinished; returns the messages whose rows another session has locked.';
COMMENT ON FUNCTION carillon.find_cancelled IS
    'Internal: returns which messages of an app were cancelled, and which are being cancelled, so that the outcome is not known '
    'yet.';
COMMENT ON FUNCTION carillon.job IS 'Internal: builds a job from named arguments.';
COMMENT ON FUNCTION carillon.ready_job IS 'Internal: returns the job of a row of messages.';
COMMENT ON FUNCTION carillon.scheduled_job IS 'Internal: returns the job of a row of scheduled.';
COMMENT ON FUNCTION carillon.changed_job IS
    'Internal: returns a job with new values in the named fields; null keeps the present value.';
COMMENT ON FUNCTION carillon.narrowed_job IS 'Internal: returns a job with only some of its tokens.';
COMMENT ON FUNCTION carillon.payloads_of IS
    'Internal: returns the payloads that a job has for these tokens; null if all its tokens share one payload.';
COMMENT ON FUNCTION carillon.count_tokens IS 'Internal: returns the number of distinct tokens.';
COMMENT ON FUNCTION carillon.note_update IS 'Internal: notes an update, so that no older one is sent after it.';
COMMENT ON FUNCTION carillon.order_updates IS 'Internal: orders the updates of Live Activities and channels in a claim.';
COMMENT ON FUNCTION carillon.lock_waiting_jobs IS 'Internal: locks the rows of scheduled in which background pushes wait.';
COMMENT ON FUNCTION carillon.pace_push IS
    'Internal: decides whether a background push is sent, waits for its slot or is superseded, and notes its slot.';
COMMENT ON FUNCTION carillon.apply_pace IS 'Internal: applies what pace_push() has decided about the pushes of a claim.';
COMMENT ON FUNCTION carillon.pace_devices IS
    'Internal: paces the background pushes of a claim, limiting each token to a number of pushes within any hour.';
COMMENT ON FUNCTION carillon.delay_jobs IS 'Internal: delays jobs by a second; by then it is known whether they were cancelled.';
COMMENT ON FUNCTION carillon.promote_rows IS
    'Internal: moves due rows of scheduled to messages, except those in cancelled; returns a row for each lane with new jobs.';
COMMENT ON FUNCTION carillon.promote IS 'Internal: moves jobs that are due from scheduled to messages.';
COMMENT ON FUNCTION carillon.release IS 'Internal: releases claims from which nothing was sent; returns the number of their jobs.';
COMMENT ON FUNCTION carillon.unused_job_ids IS 'Internal: returns unused ids for jobs of an app.';
COMMENT ON FUNCTION carillon.renumber_jobs IS 'Internal: gives jobs new ids because rows with their ids were inserted.';
COMMENT ON FUNCTION carillon.insert_jobs IS
    'Internal: stores jobs in messages or, with waits in milliseconds, in scheduled; returns the ids of jobs that were stored '
    'or failed.';
COMMENT ON FUNCTION carillon.return_jobs IS 'Internal: returns jobs to messages or, with waits in milliseconds, to scheduled.';
COMMENT ON FUNCTION carillon.end_as_cancelled IS
    'Internal: ends jobs that are not sent, because they were cancelled or superseded.';
COMMENT ON FUNCTION carillon.return_uncancelled IS
    'Internal: returns jobs to the queue, except those that were cancelled; returns how many jobs it was given.';
COMMENT ON FUNCTION carillon.why_unsettled IS 'Internal: returns why a claim could not be settled: before or lost.';
COMMENT ON FUNCTION carillon.outcomes_before_expiry IS 'Internal: returns the last outcome of messages that have expired.';
COMMENT ON FUNCTION carillon.unique_ids_of IS
    'Internal: returns for each message the apns-unique-ids of its tokens as an object; null if it has none.';
COMMENT ON FUNCTION carillon.endings IS 'Internal: returns how messages have ended, from the columns of settle().';
COMMENT ON FUNCTION carillon.take_from_claim IS
    'Internal: removes from a claim all jobs but those that stay. Returns the jobs that it had, perhaps none of them if needs_jobs '
    'is false, and null if the claim was settled before or taken over.';
COMMENT ON FUNCTION carillon.find_cancelled_going_back IS
    'Internal: returns which messages of jobs that go back to the queue were cancelled, and which are being cancelled.';
COMMENT ON FUNCTION carillon.record_ended IS 'Internal: records messages of which pushes have ended, in results or unfinished.';
COMMENT ON FUNCTION carillon.dead_status IS 'Internal: returns the status with which APNs answers a push to a dead token.';
COMMENT ON FUNCTION carillon.keep_requeueable IS
    'Internal: keeps the content of failed pushes for requeue_failures(), except that of pushes to dead tokens.';
COMMENT ON FUNCTION carillon.record_failed IS
    'Internal: records failed pushes, their content, dead tokens, and channels that Apple does not know.';
COMMENT ON FUNCTION carillon.return_going_back IS
    'Internal: returns jobs to the queue with their next attempts, and records those whose messages were cancelled.';
COMMENT ON FUNCTION carillon.settle IS
    'Internal: records the outcomes of a claim, or of a part of it, once. Arguments whose names begin alike are the columns of one '
    'table: ended messages, failed pushes, jobs that go back to the queue, jobs that stay in flight, and apns-unique-ids.';
COMMENT ON FUNCTION carillon.wake_sleepers IS 'Internal: notifies sleeping workers of a change that may bring work.';
COMMENT ON FUNCTION carillon.waking_tables IS 'Internal: returns the tables whose changes bring work, with these changes.';
COMMENT ON FUNCTION carillon.sleep_holders IS
    'Internal: returns the transactions that may have changed a table whose changes bring work.';
COMMENT ON FUNCTION carillon.waiting_work IS
    'Internal: returns why a worker must not sleep, if it must not, and when the next thing is due.';
COMMENT ON FUNCTION carillon.fall_asleep IS
    'Internal: marks a worker as asleep unless there is work, and returns what the worker must know.';
COMMENT ON FUNCTION carillon.max_payload_bytes IS 'Internal: returns the size of the largest payload that a claim keeps.';
COMMENT ON FUNCTION carillon.oversized_payload IS
    'Internal: returns the payload that replaces a larger one, and is refused as too large.';
COMMENT ON FUNCTION carillon.shortened_token IS
    'Internal: returns a string that is too long to be a token, shortened to its beginning and a hash.';
COMMENT ON FUNCTION carillon.split_job IS
    'Internal: divides a job that is in no table into jobs of size tokens, each token once; returns their number.';
COMMENT ON FUNCTION carillon.split IS 'Internal: splits a job with more tokens than one job may have into jobs of size tokens.';
COMMENT ON FUNCTION carillon.quarantine_from IS
    'Internal: returns the number of lost claims from which a job is in quarantine.';
COMMENT ON FUNCTION carillon.quarantine_size IS
    'Internal: returns how many pushes of jobs with this many lost claims may be in flight together.';
COMMENT ON FUNCTION carillon.lost_claims_after_death IS
    'Internal: returns the number of lost claims of a job after another worker has died with it.';
COMMENT ON FUNCTION carillon.return_lost_jobs IS
    'Internal: returns the jobs of a dead worker to the queue, each with one more lost claim.';
COMMENT ON FUNCTION carillon.gone_workers IS 'Internal: returns the workers that have claims but no row of workers.';
COMMENT ON FUNCTION carillon.take_over IS 'Internal: takes over from a dead worker, and from workers without a row of workers.';
COMMENT ON FUNCTION carillon.take_rate_turn IS
    'Internal: takes a turn for some pushes of an app, to be sent when it begins; returns the microseconds until then.';
COMMENT ON FUNCTION carillon.withdraw IS
    'Internal: withdraws pushes from a claim: those without a wait have ended as superseded, the others are sent later.';
COMMENT ON FUNCTION carillon.bad_token_is_dead IS 'Internal: returns whether a BadDeviceToken at that time means a dead token.';
COMMENT ON FUNCTION carillon.awaits_counts IS
    'Internal: returns whether a BadDeviceToken is so recent that workers may not have written their counts of that time yet.';
COMMENT ON FUNCTION carillon.died_at IS
    'Internal: returns since when the token of a row of feedback has been dead; null if the row does not apply.';
COMMENT ON FUNCTION carillon.dead_tokens IS
    'Internal: returns the feedback that applies to an app: unhandled rows, and all rows from missed_from on.';
COMMENT ON FUNCTION carillon.reap_tokens IS
    'Internal: deletes an app''s rows of tokens that were registered before they died; returns the reports to handle later.';
COMMENT ON FUNCTION carillon.reap_tables IS 'Internal: deletes dead tokens from the watched tables of an app.';
COMMENT ON FUNCTION carillon.catch_up_next_table IS 'Internal: applies some feedback that a watched table has missed.';
COMMENT ON FUNCTION carillon.reap_new_feedback IS 'Internal: handles some feedback that no pass has handled yet.';
COMMENT ON FUNCTION carillon.reap_batch IS 'Internal: runs one batch of a feedback pass.';
COMMENT ON FUNCTION carillon.reap IS
    'Runs a feedback pass, for one app or all, in one transaction. Returns the number of tokens deleted.';
COMMENT ON PROCEDURE carillon.reap_all IS 'Runs a feedback pass and commits after each batch. Meant for pg_cron.';
COMMENT ON FUNCTION carillon.keep_feedback IS 'Internal: records device tokens of a legacy feedback list for each of the apps.';
COMMENT ON FUNCTION carillon.reapable IS
    'Internal: returns what a feedback pass would delete now, table by table; fault says why that cannot be determined.';
COMMENT ON FUNCTION carillon.owner_search_path IS
    'Internal: returns the search_path of a table''s owner, for which its triggers were written.';
COMMENT ON FUNCTION carillon.unsafe_reaper IS
    'Internal: returns why triggers of watched tables would run with too many rights, with a remedy; null if they would not.';
COMMENT ON FUNCTION carillon.prepared_statements IS
    'Internal: returns the prepared statements of this session, with the text that prepares them again.';
COMMENT ON FUNCTION carillon.session_state IS
    'Internal: returns what a table''s code can leave in a session so that it later runs with the rights of the session''s '
    'user, by kind and present state.';
COMMENT ON FUNCTION carillon.restore_prepared_statements IS
    'Internal: restores the prepared statements of the session, which a rollback does not.';
COMMENT ON FUNCTION carillon.watched_statement IS
    'Internal: builds the statement that deletes from a watched table (DELETE) or counts its dead tokens (SELECT).';
COMMENT ON FUNCTION carillon.run_watched_statement IS
    'Internal: runs the statement of watched_statement() as carillon_reaper and returns its count.';
COMMENT ON FUNCTION carillon.reap_watched IS 'Internal: deletes the tokens of a batch of feedback from a watched table.';
COMMENT ON FUNCTION carillon.catch_up_table IS 'Internal: applies some of the feedback that a watched table has missed.';
COMMENT ON FUNCTION carillon.is_token IS 'Internal: returns whether text is a device token, in upper or lower case.';
COMMENT ON FUNCTION carillon.token IS 'Internal: returns a device token in lower case; null if the text is not a token.';
COMMENT ON FUNCTION carillon.invalid_token IS 'Internal: says what is wrong with a string that is not a device token.';
COMMENT ON FUNCTION carillon.clean_tokens IS
    'Internal: returns the tokens of one call: checked, in lower case, each once, in the given order, and with their positions.';
COMMENT ON FUNCTION carillon.token_kinds IS 'Internal: returns the kinds of tokens.';
COMMENT ON FUNCTION carillon.check_kind IS 'Internal: builds the error for an unknown kind of tokens.';
COMMENT ON FUNCTION carillon.usual_end IS 'Internal: returns when a token that is registered without an end expires.';
COMMENT ON FUNCTION carillon.register_token IS
    'Registers a token or renews its registration. Returns nothing. A null owner or kind keeps the present value; a new token '
    'has the kind device. Without expires_at, a token of kind live_activity expires after 12 hours and any other never.';
COMMENT ON FUNCTION carillon.with_badges IS
    'Internal: adds to the badges of tokens, and returns a payload with its own badge for each.';
COMMENT ON FUNCTION carillon.check_choice IS
    'Internal: returns the refusal of the arguments token and owner, one of which must be given; null if they are valid.';
COMMENT ON FUNCTION carillon.unregister_token IS
    'Deletes a device token, or all tokens of an owner. Returns the number of tokens that were deleted.';
COMMENT ON FUNCTION carillon.set_badge IS
    'Sets the number that badge_add adds to, for a device token or for all tokens of an owner. Sends nothing. Returns the '
    'number of registered tokens that were set.';
COMMENT ON FUNCTION carillon.token_text IS
    'Returns a token in readable form: the channel id if it stands for a channel, otherwise the token itself.';
COMMENT ON FUNCTION carillon.unfit_to_watch IS
    'Internal: returns why the feedback pass cannot delete from a table, as a refusal of an argument of watch_tokens; null if '
    'it can.';
COMMENT ON FUNCTION carillon.check_watched IS
    'Internal: refuses a watched table from which the feedback pass cannot delete, and returns the type of app_column.';
COMMENT ON FUNCTION carillon.watch_tokens IS
    'Makes feedback passes delete dead tokens from one of your tables too, by the same rule as in tokens. The table''s owner '
    'must grant carillon_reaper SELECT and DELETE on the table, and USAGE on its schema.';
COMMENT ON FUNCTION carillon.unwatch_tokens IS 'Stops feedback passes from deleting from one of your tables.';
-- views/pending.sql
-- Every job that has not ended: ready, scheduled or in flight. A retry also has the time when it is due and the outcome of the
-- previous attempt; without a status, there was no answer.
CREATE OR REPLACE VIEW carillon.pending AS
SELECT 'ready' AS state, m.id, m.app_id, a.name AS app, m.lane, cardinality(m.tokens) AS token_count, m.push_type,
    m.priority, m.topic, m.collapse_id, m.reference, m.attempt, m.origin, m.broadcast_id, m.created_at,
    NULL::timestamptz AS run_at, m.expires_at, NULL::bigint AS worker_id, NULL::timestamptz AS claimed_at,
    m.last_status, m.last_reason
FROM carillon.messages m LEFT JOIN carillon.apps a ON a.id = m.app_id
UNION ALL
SELECT 'scheduled', s.id, s.app_id, a.name, s.lane, cardinality(s.tokens), s.push_type,
    s.priority, s.topic, s.collapse_id, s.reference, s.attempt, s.origin, s.broadcast_id, s.created_at,
    s.run_at, s.expires_at, NULL, NULL, s.last_status, s.last_reason
FROM carillon.scheduled s LEFT JOIN carillon.apps a ON a.id = s.app_id
UNION ALL
SELECT 'in flight', j.id, i.app_id, a.name, j.lane, cardinality(j.tokens), j.push_type,
    j.priority, j.topic, j.collapse_id, j.reference, j.attempt, j.origin, j.broadcast_id, j.created_at,
    NULL, j.expires_at, i.worker_id, i.claimed_at, j.last_status, j.last_reason
FROM carillon.inflight i CROSS JOIN LATERAL unnest(i.jobs) j LEFT JOIN carillon.apps a ON a.id = i.app_id;
COMMENT ON VIEW carillon.pending IS 'Every job that has not ended: ready, scheduled or in flight.';
COMMENT ON COLUMN carillon.pending.state IS 'ready, scheduled or in flight';
COMMENT ON COLUMN carillon.pending.id IS 'the id of the job';
COMMENT ON COLUMN carillon.pending.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.pending.app IS 'the name of the app; null if there is no such app';
COMMENT ON COLUMN carillon.pending.lane IS '0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN carillon.pending.token_count IS 'the number of its pushes that have not ended';
COMMENT ON COLUMN carillon.pending.push_type IS 'apns-push-type';
COMMENT ON COLUMN carillon.pending.priority IS 'apns-priority; null if not set';
COMMENT ON COLUMN carillon.pending.topic IS 'apns-topic; null means the topic of the app';
COMMENT ON COLUMN carillon.pending.collapse_id IS 'apns-collapse-id';
COMMENT ON COLUMN carillon.pending.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.pending.attempt IS 'the attempt that it waits for, or that is in flight';
COMMENT ON COLUMN carillon.pending.origin IS 'for a retry, or for a part of a job: the job that it comes from';
COMMENT ON COLUMN carillon.pending.broadcast_id IS 'the id of the message, if it is a split message; otherwise null';
COMMENT ON COLUMN carillon.pending.created_at IS 'when it was enqueued';
COMMENT ON COLUMN carillon.pending.run_at IS 'when it is due, if it is scheduled';
COMMENT ON COLUMN carillon.pending.expires_at IS 'the time after which it is not sent';
COMMENT ON COLUMN carillon.pending.worker_id IS 'the worker that has claimed it';
COMMENT ON COLUMN carillon.pending.claimed_at IS 'when it was claimed';
COMMENT ON COLUMN carillon.pending.last_status IS 'for a retry: the status of the previous attempt; null if there was no answer';
COMMENT ON COLUMN carillon.pending.last_reason IS 'for a retry: the reason of the previous attempt';

-- views/held_apps.sql
-- Apps that cannot send. A worker removes a hold when pushes of the app are answered, or when the app or its credential changes.
-- In case it cannot, this view ignores a hold after such a change, and after pushes of the app were sent in a later minute.
CREATE OR REPLACE VIEW carillon.held_apps AS
SELECT h.app_id, h.kind, h.reason, h.since, h.next_attempt_at FROM carillon.holds h
JOIN carillon.apps a ON a.id = h.app_id LEFT JOIN carillon.certificates c ON c.id = a.certificate_id
WHERE h.seen_at >= greatest(a.updated_at, c.updated_at) AND NOT EXISTS (
    SELECT FROM carillon.push_counts t
    WHERE t.app_id = h.app_id AND t.minute > date_trunc('minute', h.seen_at) AND t.sent > 0);
COMMENT ON VIEW carillon.held_apps IS 'The apps that cannot send at the moment, with the reasons.';
COMMENT ON COLUMN carillon.held_apps.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.held_apps.kind IS 'connection, credential, provider_token, token_updates, setting or database';
COMMENT ON COLUMN carillon.held_apps.reason IS 'the reason for the hold, as a sentence';
COMMENT ON COLUMN carillon.held_apps.since IS 'when the hold began';
COMMENT ON COLUMN carillon.held_apps.next_attempt_at IS 'when a worker tries the app again';

-- views/app_status.sql
-- One row for each app. The last minute means the current minute of the clock and the one before.
CREATE OR REPLACE VIEW carillon.app_status AS
SELECT a.id AS app_id, a.name AS app, a.paused, a.paused_reason, a.environment, a.protocol, a.topic,
    queue.ready,
    coalesce(claimed.jobs, 0) AS in_flight,
    now() - oldest.created_at AS oldest_age,
    coalesce(counts.sent_last_minute, 0) AS sent_last_minute,
    coalesce(counts.failed_last_minute, 0) AS failed_last_minute,
    coalesce(counts.sent_last_hour, 0) AS sent_last_hour,
    coalesce(counts.failed_last_hour, 0) AS failed_last_hour,
    c.name AS credential,
    CASE WHEN c.id IS NULL THEN 'missing' WHEN c.status = 'ok' OR carillon.validity(c.not_after) = 'expired'
        THEN carillon.validity(c.not_after) ELSE c.status END AS credential_status,
    c.not_after AS credential_not_after,
    c.last_error AS credential_error, a.feedback_error,
    held.kind AS hold_kind, held.reason AS hold_reason, held.since AS held_since, counts.failure_reason,
    carillon.depth_precision(queue.ready) AS ready_precision
FROM carillon.apps a
-- With OFFSET, the queue is counted once for both columns.
CROSS JOIN LATERAL (SELECT carillon.queue_depth(a.id) AS ready OFFSET 0) queue
LEFT JOIN carillon.certificates c ON c.id = a.certificate_id
LEFT JOIN carillon.held_apps held ON held.app_id = a.id
LEFT JOIN LATERAL (
    SELECT sum(t.sent) FILTER (WHERE t.minute >= recent.minute) AS sent_last_minute,
        sum(t.failed) FILTER (WHERE t.minute >= recent.minute) AS failed_last_minute,
        sum(t.sent) AS sent_last_hour, sum(t.failed) AS failed_last_hour,
        -- Only the latest failures, through the index: there may be millions.
        CASE WHEN sum(t.failed) > 0 THEN (
            SELECT latest.reason FROM (
                SELECT f.reason FROM carillon.failures f
                WHERE f.app_id = a.id AND f.failed_at BETWEEN now() - interval '1 hour' AND now()
                ORDER BY f.failed_at DESC LIMIT 100) latest
            GROUP BY latest.reason ORDER BY count(*) DESC, latest.reason LIMIT 1) END AS failure_reason
    FROM carillon.push_counts t, (SELECT date_trunc('minute', now()) - interval '1 minute' AS minute) recent
    WHERE t.app_id = a.id AND t.minute > now() - interval '1 hour'
) counts ON true
LEFT JOIN (
    SELECT i.app_id, sum(cardinality(i.jobs)) AS jobs FROM carillon.inflight i GROUP BY i.app_id
) claimed ON claimed.app_id = a.id
LEFT JOIN LATERAL (
    -- The first job of each lane, by a loose index scan as in filled_lanes(), which readers of the view may not call.
    WITH RECURSIVE first AS (
        (SELECT m.lane, m.created_at FROM carillon.messages m WHERE m.app_id = a.id ORDER BY m.lane, m.id LIMIT 1)
        UNION ALL
        SELECT next.lane, next.created_at FROM first CROSS JOIN LATERAL (
            SELECT m.lane, m.created_at FROM carillon.messages m WHERE m.app_id = a.id AND m.lane > first.lane
            ORDER BY m.lane, m.id LIMIT 1) next)
    -- Whoever enqueues may write created_at: a time in the future or before 2000 must not end in an error.
    SELECT min(least(greatest(f.created_at, '2000-01-01 00:00+00'), now())) AS created_at FROM first f
) oldest ON true;
COMMENT ON VIEW carillon.app_status IS 'The state of each app.';
COMMENT ON COLUMN carillon.app_status.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.app_status.app IS 'the name of the app';
COMMENT ON COLUMN carillon.app_status.paused IS 'whether the app is paused: nothing is sent until it is resumed';
COMMENT ON COLUMN carillon.app_status.paused_reason IS 'why the app is paused, if a reason was given';
COMMENT ON COLUMN carillon.app_status.environment IS 'production or sandbox';
COMMENT ON COLUMN carillon.app_status.protocol IS 'http2 or binary';
COMMENT ON COLUMN carillon.app_status.topic IS 'the topic of messages that name none';
COMMENT ON COLUMN carillon.app_status.ready IS 'the number of ready jobs';
COMMENT ON COLUMN carillon.app_status.in_flight IS 'the number of jobs in flight';
COMMENT ON COLUMN carillon.app_status.oldest_age IS 'how long the oldest ready job has waited';
COMMENT ON COLUMN carillon.app_status.sent_last_minute IS
    'pushes sent since the start of the previous minute, 60 to 120 seconds ago; if a worker was killed, its last second is missing';
COMMENT ON COLUMN carillon.app_status.failed_last_minute IS
    'pushes that failed since the start of the previous minute, 60 to 120 seconds ago';
COMMENT ON COLUMN carillon.app_status.sent_last_hour IS
    'pushes sent in the last hour; if a worker was killed, its last second is missing';
COMMENT ON COLUMN carillon.app_status.failed_last_hour IS 'pushes that failed in the last hour';
COMMENT ON COLUMN carillon.app_status.credential IS 'the name of the app''s credential';
COMMENT ON COLUMN carillon.app_status.credential_status IS
    'ok, expiring, expired, invalid, rejected or missing; null if not checked yet';
COMMENT ON COLUMN carillon.app_status.credential_not_after IS 'when its certificate expires';
COMMENT ON COLUMN carillon.app_status.credential_error IS 'what is wrong with the credential';
COMMENT ON COLUMN carillon.app_status.feedback_error IS
    'why the legacy feedback list could not be read; null if there was no error';
COMMENT ON COLUMN carillon.app_status.hold_kind IS
    'why the app cannot send: connection, credential, provider_token, token_updates, setting or database';
COMMENT ON COLUMN carillon.app_status.hold_reason IS 'the reason for the hold, as a sentence; null if there is no hold';
COMMENT ON COLUMN carillon.app_status.held_since IS 'when the hold began';
COMMENT ON COLUMN carillon.app_status.failure_reason IS 'the most frequent reason among the latest 100 failures of the last hour';
COMMENT ON COLUMN carillon.app_status.ready_precision IS 'how exact ready is: exact, at least or about';

-- views/worker_status.sql
-- The only place that says whether a worker is alive, asleep, silent or stuck. Whatever times its row has, the view can be read.
CREATE OR REPLACE VIEW carillon.worker_status AS
SELECT w.id, w.name, w.host, w.pid, w.version, w.started_at, w.heartbeat_at, w.lease_until, w.connections, w.beat,
    CASE
        -- Heartbeats are a fifth of the lease apart, so after half of it two are missing. One in the future does not count: the
        -- clock was set back, and a live worker would have sent another by now.
        WHEN known.heartbeat_at NOT BETWEEN now() - known.lease / 2 AND now() + known.lease THEN 'silent'
        -- A worker with claims states by when it will settle. One that states none releases any that are left within two leases.
        WHEN w.settles_by < now() OR w.settles_by IS NULL AND claimed.oldest < now() - interval '2 minutes' - known.lease * 2
            THEN 'stuck'
        WHEN w.asleep_since IS NOT NULL THEN 'asleep'
        ELSE 'alive' END AS state,
    known.lease,
    now() - known.heartbeat_at AS silence,
    now() - known.started_at AS age,
    coalesce(claimed.claims, 0) AS claims,
    w.asleep_since
FROM carillon.workers w
CROSS JOIN LATERAL (
    SELECT least(greatest(w.started_at, '2000-01-01 00:00+00'), '2200-01-01 00:00+00') AS started_at,
        least(greatest(w.heartbeat_at, '2000-01-01 00:00+00'), '2200-01-01 00:00+00') AS heartbeat_at,
        least(greatest(w.lease_until, '2000-01-01 00:00+00'), '2200-01-01 00:00+00') AS lease_until
) bounded
CROSS JOIN LATERAL (
    -- A lease is at most ten minutes.
    SELECT bounded.started_at, bounded.heartbeat_at,
        least(greatest(bounded.lease_until - bounded.heartbeat_at, interval '0'), interval '10 minutes') AS lease
) known
LEFT JOIN (
    SELECT i.worker_id, count(*) AS claims, min(i.claimed_at) AS oldest FROM carillon.inflight i GROUP BY i.worker_id
) claimed ON claimed.worker_id = w.id;
COMMENT ON VIEW carillon.worker_status IS 'The state of each worker that runs, or that died and was not taken over yet.';
COMMENT ON COLUMN carillon.worker_status.id IS 'the id of this run';
COMMENT ON COLUMN carillon.worker_status.name IS 'the name of the worker, for people';
COMMENT ON COLUMN carillon.worker_status.host IS 'the host that the worker runs on';
COMMENT ON COLUMN carillon.worker_status.pid IS 'the process id of the worker';
COMMENT ON COLUMN carillon.worker_status.version IS 'the version of the program';
COMMENT ON COLUMN carillon.worker_status.started_at IS 'when it started';
COMMENT ON COLUMN carillon.worker_status.heartbeat_at IS 'the time of its last heartbeat';
COMMENT ON COLUMN carillon.worker_status.lease_until IS 'when its lease ends unless another heartbeat extends it';
COMMENT ON COLUMN carillon.worker_status.connections IS
    'the number of connections to gateways that its program had at its last heartbeat';
COMMENT ON COLUMN carillon.worker_status.beat IS 'the number of its heartbeats';
COMMENT ON COLUMN carillon.worker_status.state IS
    'alive; asleep while there is nothing to do; silent if two heartbeats are missing; stuck if it has claims and settles none';
COMMENT ON COLUMN carillon.worker_status.lease IS 'its lease; heartbeats are a fifth of it apart';
COMMENT ON COLUMN carillon.worker_status.silence IS 'how long ago its last heartbeat was';
COMMENT ON COLUMN carillon.worker_status.age IS 'how long it has run';
COMMENT ON COLUMN carillon.worker_status.claims IS 'the number of claims that it has';
COMMENT ON COLUMN carillon.worker_status.asleep_since IS 'since when it has slept; null if it is awake';

-- rights.sql
-- Rights of the roles. The owner of the schema grants one of these roles to a login: GRANT carillon_app TO a_login.
--
-- This file is the last to be applied, so the statements that call functions of the schema are at its end: where these
-- functions are defined, functions of an older release may still be there beside them.

-- Revokes what other releases granted, and the right of every role to execute new functions. Only objects that the owner of the
-- schema owns are changed, and as_reaper(), by a member of carillon_reaper. Partitions have no rights of their own.
--
-- `carillon migrate down` runs what is above the first line that begins with GRANT, before it undoes a migration. There may then be
-- no function, and the role of a later migration may be gone. Programs may still read which migrations are applied. There is no
-- GRANT in it: it would lock the roles, and another database may be dropping them.
DO $$
DECLARE
    owner CONSTANT oid := (SELECT n.nspowner FROM pg_catalog.pg_namespace n WHERE n.nspname = 'carillon');
    roles CONSTANT text := (SELECT string_agg(r.rolname, ', ') FROM pg_catalog.pg_roles r WHERE r.rolname IN (
        'carillon_app', 'carillon_tenant', 'carillon_worker', 'carillon_reader', 'carillon_operator'));
    command text;
BEGIN
    FOR command IN
        SELECT format('REVOKE %s ON TABLE %s FROM PUBLIC, carillon_reaper, %s', t.rights, string_agg(t.name, ', '), roles)
        FROM (SELECT c.oid::regclass::text AS name, CASE WHEN c.relname IN ('schema_migrations', 'schema_routines')
                THEN 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER' ELSE 'ALL' END AS rights
            FROM pg_catalog.pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND c.relowner = owner
                AND c.relkind IN ('r', 'p', 'v', 'S') AND NOT c.relispartition) AS t
        GROUP BY t.rights
        UNION ALL
        SELECT format('REVOKE ALL ON ROUTINE %s FROM PUBLIC, %s', string_agg(p.oid::regprocedure::text, ', '), roles)
        FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND (p.proowner = owner
            OR p.proname = 'as_reaper' AND p.proowner = 'carillon_reaper'::regrole AND pg_has_role(p.proowner, 'USAGE'))
        HAVING count(*) > 0
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;

GRANT SELECT ON carillon.schema_migrations, carillon.schema_routines, carillon.recorded_rights
TO carillon_app, carillon_operator, carillon_reader, carillon_tenant, carillon_worker;

-- carillon_app enqueues, with functions or plain INSERT, cancels, registers tokens, and reads the results of messages.
-- carillon_tenant does the same for the apps that app_roles gives its members: row-level security limits it, and so does
-- apps_of_caller() in functions that run as their owner.
GRANT SELECT (id, name, topic, environment, protocol, paused) ON carillon.apps TO carillon_app, carillon_tenant;
-- The columns of a message. Functions that run as their owner write the others.
GRANT INSERT (app_id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic, reference, on_unknown,
    created_at), SELECT (id) ON carillon.messages TO carillon_app, carillon_tenant;
-- By column: whoever may UPDATE or DELETE any row of a whole table may also LOCK it, and stop everybody's broadcasts and feedback
-- passes. Apps that share carillon_app trust each other, and may DELETE; tenants call unregister_token().
GRANT SELECT, INSERT (app_id, token, last_update, owner, badge, kind, expires_at),
    UPDATE (app_id, token, last_update, owner, badge, kind, expires_at) ON carillon.tokens TO carillon_app, carillon_tenant;
GRANT DELETE ON carillon.tokens TO carillon_app;
GRANT SELECT ON carillon.results, carillon.failures, carillon.channels TO carillon_app, carillon_tenant;
GRANT SELECT ON carillon.app_roles TO carillon_tenant;

-- carillon_worker reads settings, moves jobs, writes history and runs maintenance.
GRANT SELECT ON carillon.installation, carillon.apps, carillon.app_roles, carillon.certificates, carillon.watched_tables,
    carillon.split_messages, carillon.maintenance, carillon.pending, carillon.app_status, carillon.held_apps,
    carillon.worker_status
TO carillon_worker;
GRANT UPDATE (not_after, topics, status, last_error) ON carillon.certificates TO carillon_worker;
GRANT UPDATE (paused, paused_reason, feedback_error) ON carillon.apps TO carillon_worker;
GRANT UPDATE (last_error, missed_from) ON carillon.watched_tables TO carillon_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON carillon.messages, carillon.scheduled, carillon.inflight, carillon.workers,
    carillon.updates, carillon.update_stamps, carillon.device_slots, carillon.unfinished, carillon.holds,
    carillon.push_counts, carillon.provider_tokens, carillon.dedupe, carillon.fleet_tasks
TO carillon_worker;
GRANT SELECT, INSERT, UPDATE ON carillon.breakers, carillon.rates, carillon.feedback TO carillon_worker;
GRANT SELECT, UPDATE ON carillon.reap_lock TO carillon_worker;
GRANT INSERT ON carillon.provider_token_input TO carillon_worker;
GRANT SELECT, DELETE, UPDATE (state, channel_id, created_at, last_error, attempts, request_is_open, next_attempt_at)
    ON carillon.channels TO carillon_worker;
GRANT SELECT, DELETE, INSERT (app_id, channel_id, is_ours), UPDATE (is_ours) ON carillon.unknown_channels TO carillon_worker;
GRANT SELECT, INSERT ON carillon.results, carillon.failures, carillon.failed_messages TO carillon_worker;
-- Needed when another worker keeps content of the same message at the same time.
GRANT UPDATE (tokens, payloads) ON carillon.failed_messages TO carillon_worker;
GRANT SELECT, INSERT ON carillon.unknown_outcomes TO carillon_worker;
-- Deleting in order locks the rows, for which PostgreSQL requires the UPDATE privilege.
GRANT SELECT, DELETE, UPDATE (last_update) ON carillon.tokens TO carillon_worker;
GRANT USAGE ON SEQUENCE carillon.messages_id_seq TO carillon_worker;
GRANT UPDATE ON SEQUENCE carillon.asleep TO carillon_worker;

-- A trigger reads it for whoever inserts, whichever role that is. Up to PostgreSQL 16 its INSERT would fail without the right.
GRANT SELECT ON SEQUENCE carillon.asleep TO PUBLIC;

-- carillon_reader is for dashboards.
GRANT SELECT ON carillon.audit TO carillon_reader;
GRANT SELECT (app_id, name, created_at) ON carillon.api_tokens TO carillon_reader;
GRANT SELECT (id, name, topic, topics, certificate_id, environment, protocol, gateway, feedback_gateway, feedback_error,
    channel_gateway, remove_unknown_channels, paused, paused_reason, max_rate, max_per_device, max_attempts, reap_bad_tokens,
    collapse_unknown, keep_unique_ids, created_at, updated_at)
    ON carillon.apps TO carillon_reader;
GRANT SELECT ON carillon.pending, carillon.app_status, carillon.held_apps, carillon.results, carillon.failures,
    carillon.feedback, carillon.push_counts, carillon.push_count_sums, carillon.breakers, carillon.workers,
    carillon.worker_status, carillon.split_messages, carillon.maintenance, carillon.channels, carillon.unknown_channels
TO carillon_reader;
GRANT SELECT (id, worker_id, app_id, claimed_at) ON carillon.inflight TO carillon_reader;

-- The roles that may execute each function, all functions of a name together. Functions that no role may execute are called by
-- functions that run as their owner, or by the owner. carillon_operator may write no table; the functions that it calls record each
-- change.
DO $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('GRANT EXECUTE ON ROUTINE %s TO %s', coalesce(p.oid::regprocedure::text, 'carillon.' || n.name), g.roles)
        FROM (VALUES
            ('carillon_app, carillon_tenant', '
                push push_each enqueue broadcast submit
                start_activity update_activity end_activity publish submit_activity submit_publication
                message_status message_jobs broadcast_progress cancel cancel_messages cancel_broadcast requeue_failures
                register_token unregister_token check_choice set_badge is_token token invalid_token token_kinds check_kind
                usual_end is_usual token_text push_types
                request_channel record_channel channel remove_channel app_id apps_of_caller refusal refuse unknown_app'),
            ('carillon_app, carillon_worker', 'check_installation'),
            ('carillon_app, carillon_operator, carillon_reader, carillon_tenant, carillon_worker',
                'missing_rights guarded_tables installation_fault'),
            ('carillon_reader', '
                validity queue_depth depth_precision scheduled_depth next_due default_partition_rows feedback_schedule push_types
                message_status message_jobs failed_jobs broadcast_progress
                search_reference search_token unsearched_apps token_text token_counts newest_activities'),
            ('carillon_operator', '
                pause_app resume_app limit_app cancel_message count_failures requeue_batch dismiss_batch
                preview_message send_test enqueue_with_token'),
            ('carillon_worker', '
                topics_of app_id apps_of_caller refusal refuse unknown_app use_session_path record_on_behalf installation_state
                validity queue_depth depth_precision scheduled_depth
                take_rate_turn provider_token seconds_to_renewal open_breakers mostly_failed order_updates withdraw rules_of
                pace_devices pace_push lock_waiting_jobs apply_pace
                job ready_job scheduled_job changed_job narrowed_job payloads_of keep_failed_content ending endings end_messages
                settle take_from_claim why_unsettled find_cancelled_going_back outcomes_before_expiry unique_ids_of record_ended
                record_failed dead_status keep_requeueable return_going_back settle_unrecorded end_unrecorded
                is_transient is_refusal fail_jobs discard_unreadable shortened_token split_job split
                max_payload_bytes oversized_payload
                find_cancelled lock_unfinished record_cancelled as_cancelled end_as_cancelled count_tokens
                release return_uncancelled return_jobs insert_jobs renumber_jobs unused_job_ids delay_jobs promote_rows promote
                fall_asleep waking_tables sleep_holders waiting_work apps_fingerprint task_due_at
                take_over gone_workers return_lost_jobs quarantine_from quarantine_size lost_claims_after_death
                check_watched unfit_to_watch owner_search_path as_reaper unsafe_reaper
                prepared_statements session_state restore_prepared_statements watched_statement
                run_watched_statement reap_watched catch_up_table bad_token_is_dead awaits_counts died_at dead_tokens
                reap_tokens reap_tables keep_feedback catch_up_next_table reap_new_feedback reap_batch reap reap_all reapable
                maintain maintain_step default_partition_rows
                take_channels channel_made channel_failed channel_gone channels_refused channels_listed token_text')
        ) AS g(roles, names) CROSS JOIN LATERAL regexp_split_to_table(btrim(g.names, E' \n'), '[[:space:]]+') AS n(name)
        LEFT JOIN pg_catalog.pg_proc p ON p.pronamespace = 'carillon'::regnamespace AND p.proname = n.name
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;

-- Creates the first partitions. Maintenance creates the others, and waits for locks that an upgrade should not hold.
DO $$
BEGIN
    PERFORM carillon.make_partitions(t.parent) FROM unnest('{results,failures,failed_messages}'::text[]) AS t(parent)
    WHERE NOT EXISTS (SELECT FROM carillon.partitions(t.parent) p WHERE p.lower_bound IS NOT NULL);
END
$$;

-- Apps that were added while there was no trigger.
INSERT INTO carillon.app_locks (app_id, lock_number)
SELECT a.id, p FROM carillon.apps a CROSS JOIN generate_series(0, 64) AS p ON CONFLICT DO NOTHING;

-- Restores the roles that were isolated before a migration down.
DO $$
BEGIN
    PERFORM carillon.enforce_isolation(EXISTS (SELECT FROM carillon.app_roles));
END
$$;

SELECT carillon.choose_compression();

-- A new installation lives where it is installed.
UPDATE carillon.installation i
SET (system_identifier, database_oid) = (SELECT p.system_identifier, p.database_oid FROM carillon.this_database() AS p)
WHERE i.database_oid = 0;

SELECT carillon.record_rights();

SET LOCAL check_function_bodies = on;
DO $$
DECLARE
    routine record;
    faults text[] := '{}';
BEGIN
    FOR routine IN
        SELECT p.oid, p.oid::regprocedure::text AS name, l.lanname AS language
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
            JOIN pg_catalog.pg_language l ON l.oid = p.prolang
        WHERE n.nspname = 'carillon' AND p.proowner = n.nspowner ORDER BY 2
    LOOP
        BEGIN
            IF routine.language = 'sql' THEN
                PERFORM pg_catalog.fmgr_sql_validator(routine.oid);
            ELSIF routine.language = 'plpgsql' THEN
                PERFORM pg_catalog.plpgsql_validator(routine.oid);
            END IF;
        EXCEPTION
            WHEN lock_not_available THEN
                RAISE;
            WHEN others THEN
                faults := faults || pg_catalog.format('%s: %s', routine.name, SQLERRM);
        END;
    END LOOP;
    IF pg_catalog.cardinality(faults) > 0 THEN
        RAISE invalid_function_definition USING MESSAGE = pg_catalog.array_to_string(faults, '; ');
    END IF;
END
$$;
DELETE FROM carillon.schema_routines;
INSERT INTO carillon.schema_routines (file, release) VALUES
    ('functions/apps/api_tokens.sql', '0.1.0'),
    ('functions/apps/apps.sql', '0.1.0'),
    ('functions/apps/channels.sql', '0.1.0'),
    ('functions/apps/credential_input.sql', '0.1.0'),
    ('functions/apps/open_breakers.sql', '0.1.0'),
    ('functions/apps/provider_token.sql', '0.1.0'),
    ('functions/apps/validity.sql', '0.1.0'),
    ('functions/database/audit.sql', '0.1.0'),
    ('functions/database/compression.sql', '0.1.0'),
    ('functions/database/installation.sql', '0.1.0'),
    ('functions/database/isolation.sql', '0.1.0'),
    ('functions/database/lock_tables.sql', '0.1.0'),
    ('functions/database/maintain.sql', '0.1.0'),
    ('functions/database/partitions.sql', '0.1.0'),
    ('functions/database/recorded_rights.sql', '0.1.0'),
    ('functions/database/refusal.sql', '0.1.0'),
    ('functions/database/session_path.sql', '0.1.0'),
    ('functions/enqueue/check_arguments.sql', '0.1.0'),
    ('functions/enqueue/dedupe.sql', '0.1.0'),
    ('functions/enqueue/draft.sql', '0.1.0'),
    ('functions/enqueue/enqueue.sql', '0.1.0'),
    ('functions/enqueue/json.sql', '0.1.0'),
    ('functions/enqueue/message_of_json.sql', '0.1.0'),
    ('functions/enqueue/push.sql', '0.1.0'),
    ('functions/enqueue/push_types.sql', '0.1.0'),
    ('functions/enqueue/submit.sql', '0.1.0'),
    ('functions/enqueue/submit_activity.sql', '0.1.0'),
    ('functions/enqueue/submit_publication.sql', '0.1.0'),
    ('functions/messages/broadcast_progress.sql', '0.1.0'),
    ('functions/messages/cancel.sql', '0.1.0'),
    ('functions/messages/dashboard.sql', '0.1.0'),
    ('functions/messages/find_messages.sql', '0.1.0'),
    ('functions/messages/message_status.sql', '0.1.0'),
    ('functions/messages/requeue.sql', '0.1.0'),
    ('functions/messages/requeue_batch.sql', '0.1.0'),
    ('functions/messages/search.sql', '0.1.0'),
    ('functions/queue/end_messages.sql', '0.1.0'),
    ('functions/queue/fail_jobs.sql', '0.1.0'),
    ('functions/queue/find_cancelled.sql', '0.1.0'),
    ('functions/queue/job.sql', '0.1.0'),
    ('functions/queue/order_updates.sql', '0.1.0'),
    ('functions/queue/pace_devices.sql', '0.1.0'),
    ('functions/queue/promote.sql', '0.1.0'),
    ('functions/queue/release.sql', '0.1.0'),
    ('functions/queue/return_jobs.sql', '0.1.0'),
    ('functions/queue/settle.sql', '0.1.0'),
    ('functions/queue/sleep.sql', '0.1.0'),
    ('functions/queue/split.sql', '0.1.0'),
    ('functions/queue/take_over.sql', '0.1.0'),
    ('functions/queue/take_rate_turn.sql', '0.1.0'),
    ('functions/queue/withdraw.sql', '0.1.0'),
    ('functions/tokens/reap.sql', '0.1.0'),
    ('functions/tokens/reap_watched.sql', '0.1.0'),
    ('functions/tokens/tokens.sql', '0.1.0'),
    ('functions/tokens/watch_tokens.sql', '0.1.0'),
    ('views/pending.sql', '0.1.0'),
    ('views/held_apps.sql', '0.1.0'),
    ('views/app_status.sql', '0.1.0'),
    ('views/worker_status.sql', '0.1.0'),
    ('rights.sql', '0.1.0');

COMMIT;

UPDATE carillon.schema_migrations SET checksum = '5a4dbceb780f8ccccd2c5ec031439f4de8f783f28946c06bc7cab9ed81c14900' WHERE version = '1';
UPDATE carillon.schema_migrations SET checksum = 'c5f0878c0bc797c3c55782a519a07351e67523904e74bcdf50b43f09b9df493d' WHERE version = '2';
UPDATE carillon.schema_migrations SET checksum = 'd3646326fc6390eabc8f186f1a33f0e336061e02422cada24211882cd56987e5' WHERE version = '3';
UPDATE carillon.schema_migrations SET checksum = '9834ef88ff3ed934a7ab79e4b344aaea6eea6497517eab85ea8911d74caef7a6' WHERE version = '4';
UPDATE carillon.schema_migrations SET checksum = 'cd5e0a3a373fe95552981ae705be77a58f88c86fb91e33c0fb9799da1f149a3c' WHERE version = '5';
UPDATE carillon.schema_migrations SET checksum = 'dfc28b81666598e1f13d8a50723bf226117bc6d1e8b328f4e4f9c0810771964e' WHERE version = '6';
UPDATE carillon.schema_migrations SET checksum = 'a9452ef9db4033de0b6aab94701f40e91afa220a8eb1e1da4d4e42c7ea2b4efa' WHERE version = '7';
UPDATE carillon.schema_migrations SET checksum = '2b38e15dd92c84731a6ffe036e457aec66e016d27f5673babf8fc0ebf47bbe90' WHERE version = '8';
UPDATE carillon.schema_routines SET checksum = '93e1190c9570738526c8b21f2a2197dd364a190622f782bb53f5caf2e5c2862c' WHERE file = 'functions/apps/api_tokens.sql';
UPDATE carillon.schema_routines SET checksum = '91efa2e7abe95e1c9d315b3c8816fddcc5de3984f95f69a2965aa29ef92a7c72' WHERE file = 'functions/apps/apps.sql';
UPDATE carillon.schema_routines SET checksum = '93855158147f66ca3b5953d51db4c5772f37889613b12c0f8ed4168474db338b' WHERE file = 'functions/apps/channels.sql';
UPDATE carillon.schema_routines SET checksum = 'cee0d248a276f844e58d82638e190b8b1811d9ea3b2545dc0f467e330a8f179f' WHERE file = 'functions/apps/credential_input.sql';
UPDATE carillon.schema_routines SET checksum = 'a539b039b3cddba8a9effa91a6b73fc537fe89edaa4af901ba16c7b1294d7dd9' WHERE file = 'functions/apps/open_breakers.sql';
UPDATE carillon.schema_routines SET checksum = '5e62594540d38e66be1ca148f62460e5e4eae280f7affd53421dfd867758d0d4' WHERE file = 'functions/apps/provider_token.sql';
UPDATE carillon.schema_routines SET checksum = '3db42cad39ec56376d98c53d3dc5cb01ce1dee6f96eddf406ce7e38453d57cc6' WHERE file = 'functions/apps/validity.sql';
UPDATE carillon.schema_routines SET checksum = 'c7d1c16f6f4e28146d414f49f542b7726f85a2287d424e8ce3e92a0208179930' WHERE file = 'functions/database/audit.sql';
UPDATE carillon.schema_routines SET checksum = 'a85cc7a1a3e5d06eb6e5502810134642d99081e18eb1c3db01f9bc7e6f65b8ac' WHERE file = 'functions/database/compression.sql';
UPDATE carillon.schema_routines SET checksum = 'ef9ab85845dfa368084cef5aedfdc48e48d727b91b29c9e54dd27da39d28c3a0' WHERE file = 'functions/database/installation.sql';
UPDATE carillon.schema_routines SET checksum = '9371fc0c5de4a894f2e9d6e1e063af73e1493371b46187684b338d3c95dcfc9b' WHERE file = 'functions/database/isolation.sql';
UPDATE carillon.schema_routines SET checksum = 'f3819c22302aa96b0c8365e404d5e38aa6925b505c93e94d1824ab4936cb0085' WHERE file = 'functions/database/lock_tables.sql';
UPDATE carillon.schema_routines SET checksum = '5788cea69e5f2db14ed58c3aae2499701a2268510db604dc962de652cb44ad71' WHERE file = 'functions/database/maintain.sql';
UPDATE carillon.schema_routines SET checksum = '6ef1454afcc40e705e631df8ef20212941f4e49762f62d22d39c18e5343c46c2' WHERE file = 'functions/database/partitions.sql';
UPDATE carillon.schema_routines SET checksum = '7b5e20363bd3d5f6709c938254d6586b620a2a5fc5c0bd7baa213a7f2eb572f4' WHERE file = 'functions/database/recorded_rights.sql';
UPDATE carillon.schema_routines SET checksum = 'c497cf42023213c610a713f2b5629fc69597981717c026e15a1a02f4fc43adc4' WHERE file = 'functions/database/refusal.sql';
UPDATE carillon.schema_routines SET checksum = '9b31b66a57dc01c22eaf4b07435d7d8ff93e0d3fae03df1966fb9ce5d2227bbd' WHERE file = 'functions/database/session_path.sql';
UPDATE carillon.schema_routines SET checksum = '36a2c71b6b8a15971555289006ff17c75c3880fc0a7012aa14c2a30953fc097f' WHERE file = 'functions/enqueue/check_arguments.sql';
UPDATE carillon.schema_routines SET checksum = 'e7c24a2bcf270dc31c5a19d65840116b91899128c52e756ea67e63660b5ba071' WHERE file = 'functions/enqueue/dedupe.sql';
UPDATE carillon.schema_routines SET checksum = '559db2c0f29058e095370f20770a86f900f822a406912bb2cd64fd1294f2d90d' WHERE file = 'functions/enqueue/draft.sql';
UPDATE carillon.schema_routines SET checksum = 'd57937f2f8a5a18073704a06744fdd672d5ce96b39c177b436a50024fef3ddfb' WHERE file = 'functions/enqueue/enqueue.sql';
UPDATE carillon.schema_routines SET checksum = 'f7e28b1555232e7d9822b65fc9041d319c104b987c82fab4fb57bb44aa262cd1' WHERE file = 'functions/enqueue/json.sql';
UPDATE carillon.schema_routines SET checksum = '311cefc3adbe35868c08b90b46bff2f975f7b12e4142226e69e9209fe35f86cb' WHERE file = 'functions/enqueue/message_of_json.sql';
UPDATE carillon.schema_routines SET checksum = 'b3f44499e84a5348fce00f97f774fd5171b6e8f4dbab3ed8719b6eb7759ef711' WHERE file = 'functions/enqueue/push.sql';
UPDATE carillon.schema_routines SET checksum = 'cd43b91c5fdd53c2941de45e2153c0bd5e494d922d4a50d9af7eb97d4b4cbde8' WHERE file = 'functions/enqueue/push_types.sql';
UPDATE carillon.schema_routines SET checksum = '910d099635243b8aebabb2dd5df4c25770b9bb873d6958eb99fe43d6a20913f0' WHERE file = 'functions/enqueue/submit.sql';
UPDATE carillon.schema_routines SET checksum = '87cc20a4de6fd3ed40941c9d91c133c8687212890e3caf2b06d9e350303e7ab3' WHERE file = 'functions/enqueue/submit_activity.sql';
UPDATE carillon.schema_routines SET checksum = 'd43ef219c1f1655f0d55b0bb8e03bfad015cd0f65498637631bfdca0d674ff88' WHERE file = 'functions/enqueue/submit_publication.sql';
UPDATE carillon.schema_routines SET checksum = '03bcdc29ae22fb1b8d9afcbff39225fcaa295108d63233fb0800f7fbcfbabe58' WHERE file = 'functions/messages/broadcast_progress.sql';
UPDATE carillon.schema_routines SET checksum = 'ca2be4531d5e275de33924c7003895201ced0f15d09d78038b68048563310e1d' WHERE file = 'functions/messages/cancel.sql';
UPDATE carillon.schema_routines SET checksum = '57910b9837a74794a52872b11c28b28bc668665dcbb7d23eb2e22b3494855b03' WHERE file = 'functions/messages/dashboard.sql';
UPDATE carillon.schema_routines SET checksum = '3ff093bb1dc08290b54af56995f5c2edb9f223f894a5d2121c901ce07cc8c9f2' WHERE file = 'functions/messages/find_messages.sql';
UPDATE carillon.schema_routines SET checksum = 'd64ac6453b6f08e1e3c64d73986434b4a12d98c58efeb5bd881131aed47940b9' WHERE file = 'functions/messages/message_status.sql';
UPDATE carillon.schema_routines SET checksum = 'dd21f7117876a7ef26f1982e06eb05e7dffab391dd490fd74b76843c3a5de676' WHERE file = 'functions/messages/requeue.sql';
UPDATE carillon.schema_routines SET checksum = '1a8f977cbae9701f984633cb3b7464c6d649f979105eb495138c1bfcdbda8ac4' WHERE file = 'functions/messages/requeue_batch.sql';
UPDATE carillon.schema_routines SET checksum = 'f32a2cf615b71e5a74fef9d9730d14ebc3b05ae15e0a8fe138ec3150adbfc923' WHERE file = 'functions/messages/search.sql';
UPDATE carillon.schema_routines SET checksum = 'fb188816f517def41aa3f3e78bd06062f93ae8f57ecc80dd2bc36d3b3a7efecf' WHERE file = 'functions/queue/end_messages.sql';
UPDATE carillon.schema_routines SET checksum = '5ed698ce651abd67f3daf6797aef47860495b79a2478cc8bef8a9506dea3a44e' WHERE file = 'functions/queue/fail_jobs.sql';
UPDATE carillon.schema_routines SET checksum = 'fc1f2d872647a76e54a714ba62ec30d7f3f935f980d7be2bd4ed1cb07ee8a0fd' WHERE file = 'functions/queue/find_cancelled.sql';
UPDATE carillon.schema_routines SET checksum = '984f064daba416b1bfc0946790d2eed0ed9ab5c6c9b2ecf94beef2e9f66d2477' WHERE file = 'functions/queue/job.sql';
UPDATE carillon.schema_routines SET checksum = 'd39cb3854d0ceb7a3566655ad77be11984f8b7ddbc103d5d778ee788792f531c' WHERE file = 'functions/queue/order_updates.sql';
UPDATE carillon.schema_routines SET checksum = '5256c677ff68654de42eae6aa365dd9e3ead95116ea716924bfe5e3f5f36c94b' WHERE file = 'functions/queue/pace_devices.sql';
UPDATE carillon.schema_routines SET checksum = 'a60ee346b43af39f0dea168d6f27e0fb2c6ce8ae3c56b28cdb5434f2b0fcba09' WHERE file = 'functions/queue/promote.sql';
UPDATE carillon.schema_routines SET checksum = 'c8bdf7fc5e3a8d75d43fc123272c7ce07cfd8625820c19c7ff725e7609cd4d00' WHERE file = 'functions/queue/release.sql';
UPDATE carillon.schema_routines SET checksum = '044f2b7cffb608c824ed1e9105d2e3480d86351d28122e6eaed4bcfb4c433443' WHERE file = 'functions/queue/return_jobs.sql';
UPDATE carillon.schema_routines SET checksum = '89b36a5f389db4fa09351e183fc4129893eaf0b10fe80070329e36ff0b3c3295' WHERE file = 'functions/queue/settle.sql';
UPDATE carillon.schema_routines SET checksum = '14bdaf417abe507b453a05e60bcee8855519d270a279464f28309fd6b995a03d' WHERE file = 'functions/queue/sleep.sql';
UPDATE carillon.schema_routines SET checksum = 'c466e9690e4222c0a5f4c4bfcfebc8e98738e293bf69b1ee9d58b8757eee00fa' WHERE file = 'functions/queue/split.sql';
UPDATE carillon.schema_routines SET checksum = '671bb8f3cf1fff1f2aec2719e7f36a914b773035fefefd66dd7c31d9869c24b3' WHERE file = 'functions/queue/take_over.sql';
UPDATE carillon.schema_routines SET checksum = 'f571f5a744e2816698daa0d5cfaf1cd402a9f871affc69c6869e6910934f7959' WHERE file = 'functions/queue/take_rate_turn.sql';
UPDATE carillon.schema_routines SET checksum = 'c875a99873f36e29d5c593761b107ff4652e546c38fb0b28d695d3353db41c98' WHERE file = 'functions/queue/withdraw.sql';
UPDATE carillon.schema_routines SET checksum = '6ed70186a3674bd375f7dff061f73454f5e05fd6adc4f4f68427009a9cbc343a' WHERE file = 'functions/tokens/reap.sql';
UPDATE carillon.schema_routines SET checksum = 'c32786fa9aa95436e7a4c767bf315f6ae581bf81f8cd37bf0bead2da7225e318' WHERE file = 'functions/tokens/reap_watched.sql';
UPDATE carillon.schema_routines SET checksum = '08dbaf29337b798b927ac124c25311d1ec5b6d0c9457235f9d5f700fd6f7ef70' WHERE file = 'functions/tokens/tokens.sql';
UPDATE carillon.schema_routines SET checksum = '4783c58e1301622bfccb53ff1c3be4a3c503a08b23f64582105fb069d67934da' WHERE file = 'functions/tokens/watch_tokens.sql';
UPDATE carillon.schema_routines SET checksum = '641b361d3c7865100507d88cdc63d5e7d71f821f988d8a1d73e1bc4cbe5badd0' WHERE file = 'rights.sql';
UPDATE carillon.schema_routines SET checksum = 'bbecc7e94e0e64034d8fe35ac60dc8cc10069d4dc6de1610b9bfc91d6ff18143' WHERE file = 'views/app_status.sql';
UPDATE carillon.schema_routines SET checksum = '9c635abe0b0f43c4ba220b7d918f9dec1098e6273ad2a2df7e5edfda00ba1dce' WHERE file = 'views/held_apps.sql';
UPDATE carillon.schema_routines SET checksum = '7d3dd0d49527a66c32b377cc19aadc92e54e18c850467f40e3bc4623b4c25b84' WHERE file = 'views/pending.sql';
UPDATE carillon.schema_routines SET checksum = '272554cecffb7f9dac70dbdced1f2bd43c790960246e9f775c4ed9c3cc4aca75' WHERE file = 'views/worker_status.sql';

INSERT INTO carillon.certificates (name, certificate) VALUES ('main', 'unread');
INSERT INTO carillon.apps (name, topic, certificate_id)
SELECT a.name, 'com.example.' || a.name, c.id FROM carillon.certificates c, unnest('{demo,other}'::text[]) AS a (name);
SELECT carillon.register_token('demo', repeat('aa', 32));
SELECT carillon.enqueue('demo', ARRAY[repeat('aa', 32), repeat('ab', 32)], 'ready', reference => 'ready');
SELECT carillon.enqueue('demo', ARRAY[repeat('aa', 32)], 'later', run_at => now() + interval '1 day', dedupe_key => 'later');
SELECT carillon.broadcast('demo', 'to all');
SELECT carillon.update_activity('demo', ARRAY[repeat('ac', 32)], content_state => '{"score": 1}'::jsonb);
SELECT carillon.request_channel('demo', reference => 'final', policy => 1);
SELECT carillon.create_api_token('demo', 'shop');
INSERT INTO carillon.workers (name, lease_until) VALUES ('host:1', now());
INSERT INTO carillon.inflight (worker_id, app_id, jobs)
SELECT w.id, a.id, ARRAY[carillon.job(id => 1000, lane => 1::smallint, tokens => '{aa,ab}', payload => '{"aps":{}}')]
FROM carillon.workers w, carillon.apps a WHERE a.name = 'demo';
INSERT INTO carillon.results (message_id, app_id, sent) SELECT 1001, a.id, 2 FROM carillon.apps a WHERE a.name = 'demo';
INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
SELECT 1002, a.id, 'ab', 410, 'Unregistered' FROM carillon.apps a WHERE a.name = 'demo';
INSERT INTO carillon.unfinished (app_id, message_id, remaining) SELECT a.id, 1000, 2 FROM carillon.apps a WHERE a.name = 'demo';
INSERT INTO carillon.feedback (app_id, token, unregistered_at) SELECT a.id, 'ad', now() FROM carillon.apps a WHERE a.name = 'demo';
INSERT INTO carillon.holds (app_id, kind, reason) SELECT a.id, 'connection', 'refused' FROM carillon.apps a WHERE a.name = 'other';
