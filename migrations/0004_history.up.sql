-- What became of messages. What is kept is partitioned by day (UTC): maintenance creates partitions ahead of time and drops them
-- after the retention.

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

-- Pushes that were accepted, for apps with keep_sent: one row for each settlement, as in events. The arrays have one element for
-- each push. A row is read through the time, because an index of tokens would cost more than the rest of a settlement.
CREATE TABLE carillon.sent_pushes (
    app_id  integer NOT NULL,
    sent_at timestamptz NOT NULL DEFAULT now(),
    message bigint[] NOT NULL,
    token   bytea[] NOT NULL,
    apns_id uuid[] NOT NULL
) PARTITION BY RANGE (sent_at);
-- Device tokens and apns-ids are random. Compressing the ids of messages takes longer than writing the row.
ALTER TABLE carillon.sent_pushes ALTER message SET STORAGE EXTERNAL, ALTER token SET STORAGE EXTERNAL,
    ALTER apns_id SET STORAGE EXTERNAL;
CREATE INDEX sent_pushes_by_app ON carillon.sent_pushes (app_id, sent_at);
CREATE TABLE carillon.sent_pushes_default PARTITION OF carillon.sent_pushes DEFAULT;
COMMENT ON TABLE carillon.sent_pushes_default IS 'Internal: rows of sent_pushes for whose day there was no partition.';
ALTER TABLE carillon.sent_pushes REPLICA IDENTITY FULL;
ALTER TABLE carillon.sent_pushes_default REPLICA IDENTITY FULL;
COMMENT ON TABLE carillon.sent_pushes IS
    'Internal: the device tokens of pushes that were accepted, of apps with keep_sent; one row for each settlement.';

-- What Apple has counted of the pushes that it accepted: see functions/apps/store_metrics.sql.
CREATE TABLE carillon.exported_metrics (
    app_id    integer CONSTRAINT exported_metrics_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    day       date,  -- UTC
    push_type text,
    status    text,
    count     bigint,  -- null: Apple hides it
    PRIMARY KEY (app_id, day, push_type, status),
    CONSTRAINT exported_metrics_day_is_possible CHECK (day BETWEEN '2009-06-17' AND '2199-12-31'),
    CONSTRAINT exported_metrics_push_type_has_1_to_64_bytes CHECK (octet_length(push_type) BETWEEN 1 AND 64),
    CONSTRAINT exported_metrics_status_has_1_to_255_bytes CHECK (octet_length(status) BETWEEN 1 AND 255),
    CONSTRAINT exported_metrics_count_is_possible CHECK (count BETWEEN 0 AND 1000000000000000)
);
COMMENT ON TABLE carillon.exported_metrics IS
    'Internal: what Apple has counted, by app, day, push type and status. The view delivery_metrics shows it.';

INSERT INTO carillon.schema_migrations (version, name) VALUES (4, 'history');
