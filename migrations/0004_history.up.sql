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

-- What applications follow of what becomes of pushes: see functions/events.

CREATE TABLE carillon.subscriptions (
    id         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,  -- never reused
    app_id     integer NOT NULL CONSTRAINT subscriptions_app_exists REFERENCES carillon.apps ON DELETE CASCADE,
    consumer   text NOT NULL,
    mask       integer NOT NULL,  -- the kinds, as event_kinds() numbers them; -1 for all
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT subscriptions_consumer_is_unique UNIQUE (app_id, consumer),
    CONSTRAINT subscriptions_consumer_has_1_to_255_bytes CHECK (octet_length(consumer) BETWEEN 1 AND 255)
);
COMMENT ON TABLE carillon.subscriptions IS 'Internal: which consumers follow which apps. subscribe and unsubscribe write it.';

CREATE SEQUENCE carillon.event_ids;
COMMENT ON SEQUENCE carillon.event_ids IS 'Internal: the ids of rows of events and untaken_events.';

-- One row for each settlement, or other transaction in which pushes end: it is written once, and dropped with its day. Arrays whose
-- names begin alike are the columns of one table, as in settle(); a table without rows is null, and so is a column without values.
CREATE TABLE carillon.events (
    id                  bigint NOT NULL,
    app_id              integer NOT NULL,
    at                  timestamptz NOT NULL DEFAULT now(),
    -- The messages of the pushes in this row.
    message             bigint[],
    message_reference   text[],
    message_broadcast   bigint[],
    -- Pushes, each with its message.
    sent                bigint[],
    sent_token          text[],
    failed              bigint[],
    failed_token        text[],
    failed_status       smallint[],
    failed_reason       text[],
    expired             bigint[],
    expired_token       text[],
    superseded          bigint[],
    superseded_token    text[],
    -- Dead tokens, each with the message that met it, if any.
    dead                bigint[],
    dead_token          text[],
    dead_at             timestamptz[],
    -- Messages that have finished, with their sums. Null stands for 1 sent, and for 0 of the others.
    finished            bigint[],
    finished_sent       integer[],
    finished_failed     integer[],
    finished_expired    integer[],
    finished_cancelled  integer[],
    -- What happened to the app: app_held, app_resumed or credential_ending.
    notice              text,
    notice_reason       text
) PARTITION BY RANGE (at);
-- Compressing them with pglz takes as long as the rest of a settlement.
ALTER TABLE carillon.events ALTER message SET STORAGE EXTERNAL, ALTER message_reference SET STORAGE EXTERNAL,
    ALTER message_broadcast SET STORAGE EXTERNAL, ALTER sent SET STORAGE EXTERNAL, ALTER sent_token SET STORAGE EXTERNAL,
    ALTER failed SET STORAGE EXTERNAL, ALTER failed_token SET STORAGE EXTERNAL, ALTER failed_status SET STORAGE EXTERNAL,
    ALTER failed_reason SET STORAGE EXTERNAL, ALTER expired SET STORAGE EXTERNAL, ALTER expired_token SET STORAGE EXTERNAL,
    ALTER superseded SET STORAGE EXTERNAL, ALTER superseded_token SET STORAGE EXTERNAL, ALTER dead SET STORAGE EXTERNAL,
    ALTER dead_token SET STORAGE EXTERNAL, ALTER dead_at SET STORAGE EXTERNAL, ALTER finished SET STORAGE EXTERNAL,
    ALTER finished_sent SET STORAGE EXTERNAL, ALTER finished_failed SET STORAGE EXTERNAL,
    ALTER finished_expired SET STORAGE EXTERNAL, ALTER finished_cancelled SET STORAGE EXTERNAL;
CREATE INDEX events_by_id ON carillon.events (id);
CREATE INDEX events_by_app ON carillon.events (app_id, at);
CREATE TABLE carillon.events_default PARTITION OF carillon.events DEFAULT;
COMMENT ON TABLE carillon.events_default IS 'Internal: rows of events for whose day there was no partition.';
ALTER TABLE carillon.events REPLICA IDENTITY FULL;
ALTER TABLE carillon.events_default REPLICA IDENTITY FULL;
COMMENT ON TABLE carillon.events IS
    'Internal: what became of pushes of apps that a consumer follows; one row for each settlement. take_events returns its events.';

CREATE TYPE carillon.event AS (
    id              text,
    kind            text,
    happened_at     timestamptz,
    app             text,
    message_id      bigint,
    broadcast_id    bigint,
    reference       text,
    token           text,
    status          smallint,
    reason          text,
    unregistered_at timestamptz,
    sent            bigint,
    failed          bigint,
    expired         bigint,
    cancelled       bigint
);
COMMENT ON TYPE carillon.event IS 'What became of a push, a message or an app, as returned by take_events.';
COMMENT ON COLUMN carillon.event.id IS 'the id of the event; the same each time that it is taken, and for each consumer of an app';
COMMENT ON COLUMN carillon.event.kind IS
    'sent, failed, expired, superseded, token_dead, finished, broadcast_finished, app_held, app_resumed or credential_ending';
COMMENT ON COLUMN carillon.event.happened_at IS 'when it was recorded';
COMMENT ON COLUMN carillon.event.app IS 'the name of the app';
COMMENT ON COLUMN carillon.event.message_id IS
    'the id of the job, as in results; for broadcast_finished, the id of the message; null if it is about no message';
COMMENT ON COLUMN carillon.event.broadcast_id IS 'the id of the message, if it is a split message; otherwise null';
COMMENT ON COLUMN carillon.event.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.event.token IS 'the device token in lower case, if the event is about one';
COMMENT ON COLUMN carillon.event.status IS 'for failed: the status that APNs answered; null if there was no answer';
COMMENT ON COLUMN carillon.event.reason IS 'for failed, as in failures; for events of an app, the reason as a sentence';
COMMENT ON COLUMN carillon.event.unregistered_at IS 'for token_dead: since when the token is dead';
COMMENT ON COLUMN carillon.event.sent IS 'for finished and broadcast_finished: its pushes that count as sent, as in results';
COMMENT ON COLUMN carillon.event.failed IS 'for finished and broadcast_finished: its pushes that failed';
COMMENT ON COLUMN carillon.event.expired IS 'for finished and broadcast_finished: its pushes that have expired';
COMMENT ON COLUMN carillon.event.cancelled IS
    'for finished and broadcast_finished: its pushes that were cancelled or superseded';

-- What a consumer has not taken yet: one row for each of its subscriptions and row of events. take_events() deletes it.
CREATE TABLE carillon.untaken_events (
    subscription_id bigint,
    event_id        bigint,
    at              timestamptz NOT NULL DEFAULT now(),
    mask            integer NOT NULL,  -- of the subscription at that time
    events          integer NOT NULL,  -- how many events of the row it follows
    taken           integer NOT NULL DEFAULT 0,  -- how many of these were taken
    -- The end of a split message, which has no row of events. Its last job has ended; the others may not have.
    broadcast_id    bigint,
    PRIMARY KEY (subscription_id, event_id)
);
ALTER TABLE carillon.untaken_events SET (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE carillon.untaken_events IS 'Internal: which rows of events each consumer has not taken yet.';

-- Events that were taken together: of a row of events, those after `first`, up to `last`, among those of the mask.
CREATE TYPE carillon.taken_range AS (
    event_id bigint, at timestamptz, mask integer, first integer, last integer, broadcast_id bigint
);
COMMENT ON TYPE carillon.taken_range IS 'Internal: where events are that were taken.';

-- URLs to which workers post what becomes of an app's pushes. A batch is posted until the receiver accepts it, and only then the
-- next one is taken. It says where its events are, so that forget() erases a person from it too.
CREATE TABLE carillon.webhooks (
    id               bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name             text NOT NULL CONSTRAINT webhooks_name_is_unique UNIQUE,
    subscription_id  bigint NOT NULL CONSTRAINT webhooks_subscription_is_unique UNIQUE
        CONSTRAINT webhooks_subscription_exists REFERENCES carillon.subscriptions ON DELETE CASCADE,
    url              text NOT NULL,
    ca               text,  -- PEM; null: what the system trusts
    allows_private   boolean NOT NULL DEFAULT false,
    secret           text NOT NULL,  -- as Standard Webhooks writes it
    old_secret       text,
    old_secret_until timestamptz,
    paused_reason    text,  -- null: not paused
    created_at       timestamptz NOT NULL DEFAULT now(),
    -- What workers write.
    batch            carillon.taken_range[],  -- null: none
    batch_id         uuid,
    batch_at         timestamptz,
    attempts         integer NOT NULL DEFAULT 0,  -- of the batch
    next_attempt_at  timestamptz NOT NULL DEFAULT now(),  -- while a worker attempts it: when another one may
    failing_since    timestamptz,
    last_error       text,
    accepted_at      timestamptz,  -- the last batch
    CONSTRAINT webhooks_name_has_1_to_200_bytes CHECK (octet_length(name) BETWEEN 1 AND 200),
    -- Without a user, because audit and error messages show it.
    CONSTRAINT webhooks_url_is_http CHECK (octet_length(url) <= 2048
        AND url ~ '^https?://([a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?([/?][!"$-~]*)?$'),
    CONSTRAINT webhooks_url_is_encrypted CHECK (allows_private OR url LIKE 'https://%'),
    CONSTRAINT webhooks_ca_is_256_kb_at_most CHECK (octet_length(ca) <= 262144)
);
COMMENT ON TABLE carillon.webhooks IS 'Internal: webhooks, with their secrets and the batch that each is to accept next.';

INSERT INTO carillon.schema_migrations (version, name) VALUES (4, 'history');
