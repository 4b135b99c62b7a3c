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

-- The meaning is a hash: see pace_devices.sql.
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
    last_at timestamptz NOT NULL,  -- the latest of their times
    PRIMARY KEY (app_id, token)
);
ALTER TABLE carillon.device_slots SET (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.device_slots IS
    'Internal: when background pushes were sent to each token, and when waiting ones will be sent. Only apps with max_per_device '
    'have rows.';

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
    app_id        integer PRIMARY KEY CONSTRAINT breakers_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    closed_at     timestamptz,
    -- The counts of the minute of closed_at, up to closed_at.
    closed_bad    bigint NOT NULL DEFAULT 0,
    closed_pushes bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE carillon.breakers IS
    'Apps that were paused because most of their pushes failed as BadDeviceToken or because of their topic.';
COMMENT ON COLUMN carillon.breakers.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.breakers.closed_at IS 'when the app was resumed; null while it is paused';
COMMENT ON COLUMN carillon.breakers.closed_bad IS
    'how many pushes had failed in this way in the minute of closed_at; they are not counted again';
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
    ('delete', 'events_default', 4), ('make', 'results', 5), ('make', 'failures', 6), ('make', 'failed_messages', 7),
    ('make', 'events', 8), ('make', 'sent_pushes', 9), ('drop', 'results', 10), ('drop', 'failures', 11),
    ('drop', 'failed_messages', 12), ('drop', 'events', 13), ('drop', 'sent_pushes', 14), ('delete', 'sent_pushes', 15),
    ('delete', 'untaken_events', 16), ('delete', 'cancelled', 17), ('sum', 'push_counts', 18),
    ('delete', 'push_counts', 19), ('delete', 'push_count_sums', 20), ('delete', 'dedupe', 21),
    ('delete', 'feedback', 22), ('delete', 'split_messages', 23), ('delete', 'unknown_outcomes', 24),
    ('delete', 'tokens', 25), ('delete', 'updates', 26), ('delete', 'update_stamps', 27),
    ('delete', 'device_slots', 28), ('delete', 'audit', 29), ('delete', 'exported_metrics', 30);
COMMENT ON TABLE carillon.maintenance IS 'The steps of maintenance and their state.';
COMMENT ON COLUMN carillon.maintenance.action IS
    'what the step does: make or drop partitions, sum counts, or delete old rows';
COMMENT ON COLUMN carillon.maintenance.target IS 'the table with which it does this';
COMMENT ON COLUMN carillon.maintenance.run_order IS 'the order in which the steps run, from 1';
COMMENT ON COLUMN carillon.maintenance.last_success IS 'when it last succeeded';
COMMENT ON COLUMN carillon.maintenance.last_failure IS 'when it last failed';
COMMENT ON COLUMN carillon.maintenance.last_error IS 'the error of the last failure';

INSERT INTO carillon.schema_migrations (version, name) VALUES (5, 'fleet');
