-- What psql shows of the objects that applications (carillon_app) and dashboards (carillon_reader) may use, by \df+, \d+ and
-- \dd. docs/sql.md is made from this, and a test sees to it that nothing they may use is left out. What begins with
-- "Internal" is called by other functions on the caller's behalf.

-- Two functions of each name, which take the same arguments: their own files say why.
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT p.oid::regprocedure AS function, c.comment FROM pg_catalog.pg_proc p JOIN (VALUES
            ('enqueue', 'Enqueues a message to device tokens. Returns the id of the message; null: there are no tokens, or '
                'the dedupe_key is taken.'),
            ('broadcast', 'Enqueues a message to every token registered for the app. Returns the id of the message; null: '
                'there are no tokens, or the dedupe_key is taken.')
        ) AS c(name, comment) ON c.name = p.proname
        WHERE p.pronamespace = 'carillon'::regnamespace
    LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', one.function, one.comment);
    END LOOP;
END
$$;
COMMENT ON FUNCTION carillon.cancel IS
    'Cancels what no worker has claimed of a message, by the id of any of its jobs. Returns how many jobs that was; 0: '
    'no such message, it has ended, or all that is left is in flight, which is not retried.';
COMMENT ON FUNCTION carillon.cancel_messages IS
    'Cancels several messages, as cancel does. Returns how many jobs that was, of all of them together.';
COMMENT ON FUNCTION carillon.cancel_broadcast IS 'The same as cancel.';
COMMENT ON FUNCTION carillon.message_status IS
    'Tells the state of a message, by its id or by its reference. Returns a row a message; none: there is no such '
    'message, or its results were dropped by the retention.';
COMMENT ON FUNCTION carillon.broadcast_progress IS
    'Counts the pushes of a message, also of a broadcast. Returns one row; an unknown id is an error.';
COMMENT ON FUNCTION carillon.register_token IS
    'Registers a device token, or renews its registration. Returns nothing. An owner of null keeps the one that is '
    'known.';
COMMENT ON FUNCTION carillon.requeue_failures IS
    'Sends again what failed, once, as new messages: of an app, for a reason, since an interval, of a message. '
    'Returns how many pushes; 0: nothing fits, or it was requeued before. With none of these it requeues all failures if '
    'everything is true; otherwise that is an error, which says how many pushes that would be.';
COMMENT ON FUNCTION carillon.queue_depth IS
    'Returns how many jobs of an app are ready: counted up to 1,000, estimated beyond.';
COMMENT ON FUNCTION carillon.default_partition_rows IS
    'Returns for each table of history how many rows lie outside the partitions of a day, where maintenance is late.';

COMMENT ON FUNCTION carillon.submit IS 'Internal: stores a message for enqueue and broadcast.';
COMMENT ON FUNCTION carillon.app_id IS 'Internal: the id of an app, or an error.';
COMMENT ON FUNCTION carillon.apps_of_caller IS 'Internal: the apps that the caller may use; null: every one.';
COMMENT ON FUNCTION carillon.refusal IS 'Internal: the error for an argument.';
COMMENT ON FUNCTION carillon.unknown_app IS 'Internal: the error for an unknown app.';
COMMENT ON FUNCTION carillon.message_parts IS 'Internal: the ids that failures have of a message, by any of its ids.';
COMMENT ON FUNCTION carillon.token IS 'Internal: a device token in lower case; null: it is none.';
COMMENT ON FUNCTION carillon.strange_token IS 'Internal: what is wrong with a text that is no device token.';

COMMENT ON TYPE carillon.message_state IS 'A message and what became of it, as message_status returns it.';
COMMENT ON COLUMN carillon.message_state.id IS 'what enqueue or broadcast returned';
COMMENT ON COLUMN carillon.message_state.app IS 'the name of the app';
COMMENT ON COLUMN carillon.message_state.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.message_state.state IS
    'scheduled, ready, in flight or retrying; of what has ended sent, partly sent, failed, expired, cancelled or empty';
COMMENT ON COLUMN carillon.message_state.attempts IS 'how many attempts were begun, of the token that had most';
COMMENT ON COLUMN carillon.message_state.next_attempt_at IS 'when the first of what is scheduled or retried is due';
COMMENT ON COLUMN carillon.message_state.last_status IS
    'the status of the last attempt that failed, null: it had no answer; 200 where all that has ended was sent';
COMMENT ON COLUMN carillon.message_state.last_reason IS
    'the reason of the last attempt that failed, also where the push expired or was cancelled after it';
COMMENT ON COLUMN carillon.message_state.tokens IS 'how many pushes it is, one a token';
COMMENT ON COLUMN carillon.message_state.sent IS 'pushes that APNs answered with 200';
COMMENT ON COLUMN carillon.message_state.failed IS 'pushes that failed for good';
COMMENT ON COLUMN carillon.message_state.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.message_state.cancelled IS 'pushes that were cancelled';
COMMENT ON COLUMN carillon.message_state.waiting IS 'pushes that have not ended';
COMMENT ON COLUMN carillon.message_state.held IS
    'why nothing of it is sent at the moment: a paused app, no worker, a refused credential';
COMMENT ON COLUMN carillon.message_state.created_at IS 'when it was enqueued; null: a message of one job that has ended';
COMMENT ON COLUMN carillon.message_state.finished_at IS 'when its last push ended; null: some wait';
COMMENT ON COLUMN carillon.message_state.outcomes IS
    'an array of objects {token, state, status, reason, next_attempt_at}: tokens that failed or wait, 1,000 at most; '
    'all others were sent, expired or cancelled';
COMMENT ON COLUMN carillon.message_state.may_have_arrived IS
    'whether pushes that were not sent, or wait, may have been delivered all the same: an attempt of them had no answer';

COMMENT ON TABLE carillon.apps IS 'The apps that messages are sent for. Operators add and change them.';
COMMENT ON COLUMN carillon.apps.id IS 'what app_id means everywhere';
COMMENT ON COLUMN carillon.apps.name IS 'what functions take as app';
COMMENT ON COLUMN carillon.apps.topic IS 'the topic of messages that name none, to which their push type may add its ending';
COMMENT ON COLUMN carillon.apps.certificate_id IS 'the credential it sends with';
COMMENT ON COLUMN carillon.apps.environment IS 'production or sandbox';
COMMENT ON COLUMN carillon.apps.protocol IS 'http2 or binary';
COMMENT ON COLUMN carillon.apps.gateway IS 'host:port in place of Apple''s';
COMMENT ON COLUMN carillon.apps.feedback_gateway IS 'host:port of the legacy feedback service';
COMMENT ON COLUMN carillon.apps.feedback_error IS 'why the legacy feedback list could not be read the last time';
COMMENT ON COLUMN carillon.apps.paused IS 'whether its queue waits until it is resumed';
COMMENT ON COLUMN carillon.apps.paused_reason IS 'why, where a worker has paused it';
COMMENT ON COLUMN carillon.apps.max_rate IS 'pushes a second, of all workers together; null: no limit';
COMMENT ON COLUMN carillon.apps.max_attempts IS 'attempts a push may have';
COMMENT ON COLUMN carillon.apps.reap_bad_tokens IS 'whether BadDeviceToken deletes a token as 410 does';
COMMENT ON COLUMN carillon.apps.created_at IS 'when it was added';
COMMENT ON COLUMN carillon.apps.updated_at IS 'when it was changed last';

COMMENT ON TABLE carillon.messages IS
    'The queue. An INSERT of app_id, tokens and payload is a complete job; rows leave it when a worker claims them.';
COMMENT ON COLUMN carillon.messages.id IS 'given by the queue; INSERT … RETURNING id tells it';
COMMENT ON COLUMN carillon.messages.app_id IS 'the id of the app; an unknown one fails as UnknownApp';
COMMENT ON COLUMN carillon.messages.lane IS
    '0 urgent, 1 normal, 2 bulk; any other number counts as the nearest of them';
COMMENT ON COLUMN carillon.messages.tokens IS 'device tokens in hex; each is a push';
COMMENT ON COLUMN carillon.messages.payload IS 'sent byte for byte';
COMMENT ON COLUMN carillon.messages.push_type IS 'apns-push-type; never derived from the payload here';
COMMENT ON COLUMN carillon.messages.priority IS
    '10, 5 or 1; null: 5 for push type background, and else none, which Apple reads as 10';
COMMENT ON COLUMN carillon.messages.expires_at IS
    'not sent after; null: no limit; epoch: none, and Apple does not store it (apns-expiration 0)';
COMMENT ON COLUMN carillon.messages.collapse_id IS 'apns-collapse-id';
COMMENT ON COLUMN carillon.messages.topic IS 'apns-topic; null: the app''s, with the ending of the push type';
COMMENT ON COLUMN carillon.messages.reference IS 'your own id, in results and failures';
COMMENT ON COLUMN carillon.messages.on_unknown IS
    'retry, or fail for what must not be sent twice; a row with anything else fails';
COMMENT ON COLUMN carillon.messages.created_at IS 'when it was enqueued';

COMMENT ON TABLE carillon.tokens IS
    'Device tokens that are registered: whom broadcast sends to. Feedback passes delete those that Apple says are '
    'gone.';
COMMENT ON COLUMN carillon.tokens.app_id IS 'the id of the app; no foreign key checks it';
COMMENT ON COLUMN carillon.tokens.token IS 'hex digits in lower case';
COMMENT ON COLUMN carillon.tokens.last_update IS 'when it was registered last; feedback of a later time deletes it';
COMMENT ON COLUMN carillon.tokens.owner IS 'whose it is, for you alone';

COMMENT ON TABLE carillon.results IS
    'What became of messages: a row a job that has ended. A message of more than 1,000 tokens has several.';
COMMENT ON COLUMN carillon.results.message_id IS 'the id of the job; of a message of one job, that of the message';
COMMENT ON COLUMN carillon.results.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.results.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.results.broadcast_id IS 'the id of the message that was cut into several jobs; null: it has one';
COMMENT ON COLUMN carillon.results.sent IS 'pushes that APNs answered with 200';
COMMENT ON COLUMN carillon.results.failed IS 'pushes that failed for good; each has a row of failures';
COMMENT ON COLUMN carillon.results.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.results.cancelled IS 'pushes that were cancelled';
COMMENT ON COLUMN carillon.results.attempts IS 'attempts of the token that had most';
COMMENT ON COLUMN carillon.results.finished_at IS 'when its last push ended';
COMMENT ON COLUMN carillon.results.last_status IS
    'of pushes that expired or were cancelled: the status of the last attempt; null: no answer, or no attempt';
COMMENT ON COLUMN carillon.results.last_reason IS 'of the same: the reason of the last attempt; null: no attempt';

COMMENT ON TABLE carillon.failures IS 'A row a token that failed for good, also while others of its message wait.';
COMMENT ON COLUMN carillon.failures.message_id IS 'as in results';
COMMENT ON COLUMN carillon.failures.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.failures.token IS 'the device token';
COMMENT ON COLUMN carillon.failures.status IS 'what APNs answered; null: refused before it was sent, or no answer came';
COMMENT ON COLUMN carillon.failures.reason IS 'Apple''s reason, or one of our own';
COMMENT ON COLUMN carillon.failures.unregistered_at IS 'of a 410: since when the token is gone';
COMMENT ON COLUMN carillon.failures.apns_id IS 'the apns-id of the push';
COMMENT ON COLUMN carillon.failures.attempt IS 'the attempt that was the last';
COMMENT ON COLUMN carillon.failures.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.failures.failed_at IS 'when it failed';
COMMENT ON COLUMN carillon.failures.requeued_at IS 'when requeue_failures sent it again; null: never';
COMMENT ON COLUMN carillon.failures.broadcast_id IS
    'of a part of a message that was cut, where results has no row of that part: the id of the message';

COMMENT ON VIEW carillon.pending IS 'Every job that has not ended: ready, scheduled or in flight.';
COMMENT ON COLUMN carillon.pending.state IS 'ready, scheduled or in flight';
COMMENT ON COLUMN carillon.pending.id IS 'the id of the job';
COMMENT ON COLUMN carillon.pending.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.pending.app IS 'the name of the app; null: there is none';
COMMENT ON COLUMN carillon.pending.lane IS '0 urgent, 1 normal, 2 bulk';
COMMENT ON COLUMN carillon.pending.token_count IS 'how many pushes of it have not ended';
COMMENT ON COLUMN carillon.pending.push_type IS 'apns-push-type';
COMMENT ON COLUMN carillon.pending.priority IS 'apns-priority; null: none';
COMMENT ON COLUMN carillon.pending.topic IS 'apns-topic; null: the app''s';
COMMENT ON COLUMN carillon.pending.collapse_id IS 'apns-collapse-id';
COMMENT ON COLUMN carillon.pending.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.pending.attempt IS 'which attempt it waits for, or has in flight';
COMMENT ON COLUMN carillon.pending.origin IS 'of a retry: the job that it is a part of';
COMMENT ON COLUMN carillon.pending.broadcast_id IS 'the message that was cut into several jobs; null: it has one';
COMMENT ON COLUMN carillon.pending.created_at IS 'when it was enqueued';
COMMENT ON COLUMN carillon.pending.run_at IS 'when it is due, if it is scheduled';
COMMENT ON COLUMN carillon.pending.expires_at IS 'not sent after';
COMMENT ON COLUMN carillon.pending.worker_id IS 'the worker that has it in flight';
COMMENT ON COLUMN carillon.pending.claimed_at IS 'since when that has it';
COMMENT ON COLUMN carillon.pending.last_status IS 'of a retry: how the attempt before ended; null: no answer';
COMMENT ON COLUMN carillon.pending.last_reason IS 'of a retry: why the attempt before failed';

COMMENT ON VIEW carillon.app_status IS 'A row an app: how it fares.';
COMMENT ON COLUMN carillon.app_status.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.app_status.app IS 'its name';
COMMENT ON COLUMN carillon.app_status.paused IS 'whether its queue waits until it is resumed';
COMMENT ON COLUMN carillon.app_status.paused_reason IS 'why, where a worker has paused it';
COMMENT ON COLUMN carillon.app_status.environment IS 'production or sandbox';
COMMENT ON COLUMN carillon.app_status.protocol IS 'http2 or binary';
COMMENT ON COLUMN carillon.app_status.topic IS 'the topic of messages that name none';
COMMENT ON COLUMN carillon.app_status.depth IS 'jobs that are ready, by queue_depth';
COMMENT ON COLUMN carillon.app_status.in_flight IS 'jobs that workers hold';
COMMENT ON COLUMN carillon.app_status.oldest_age IS 'how long the oldest job that is ready has waited';
COMMENT ON COLUMN carillon.app_status.sent_last_minute IS 'pushes sent in the running minute and the one before';
COMMENT ON COLUMN carillon.app_status.failed_last_minute IS 'pushes failed, likewise';
COMMENT ON COLUMN carillon.app_status.sent_last_hour IS 'pushes sent in the last hour; a worker that was killed may have left its last second uncounted';
COMMENT ON COLUMN carillon.app_status.failed_last_hour IS 'pushes failed in the last hour';
COMMENT ON COLUMN carillon.app_status.credential IS 'the name of its credential';
COMMENT ON COLUMN carillon.app_status.credential_status IS
    'ok, expiring, expired, invalid, rejected or missing; null: not looked at yet';
COMMENT ON COLUMN carillon.app_status.credential_not_after IS 'when its certificate expires';
COMMENT ON COLUMN carillon.app_status.credential_error IS 'what is wrong with the credential';
COMMENT ON COLUMN carillon.app_status.feedback_error IS 'why the legacy feedback list could not be read the last time';
COMMENT ON COLUMN carillon.app_status.hold_kind IS
    'what keeps it from sending: connection, credential, provider_token, token_updates or setting';
COMMENT ON COLUMN carillon.app_status.hold_reason IS 'the same in a sentence; null: nothing';
COMMENT ON COLUMN carillon.app_status.held_since IS 'since when';
COMMENT ON COLUMN carillon.app_status.failure_reason IS
    'the most frequent reason of the latest 100 failures of the last hour';

COMMENT ON VIEW carillon.held_apps IS 'The apps that cannot send at the moment, and why.';
COMMENT ON COLUMN carillon.held_apps.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.held_apps.kind IS 'connection, credential, provider_token, token_updates or setting';
COMMENT ON COLUMN carillon.held_apps.reason IS 'the same in a sentence';
COMMENT ON COLUMN carillon.held_apps.since IS 'since when';
COMMENT ON COLUMN carillon.held_apps.next_try_at IS 'when the next attempt is due';

COMMENT ON TABLE carillon.feedback IS 'What APNs and the legacy feedback service said of tokens that are gone.';
COMMENT ON COLUMN carillon.feedback.id IS 'in the order in which it was heard';
COMMENT ON COLUMN carillon.feedback.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.feedback.token IS 'the device token';
COMMENT ON COLUMN carillon.feedback.unregistered_at IS 'since when it is gone';
COMMENT ON COLUMN carillon.feedback.reason IS 'Apple''s reason';
COMMENT ON COLUMN carillon.feedback.source IS 'http2, or binary for the legacy feedback service';
COMMENT ON COLUMN carillon.feedback.seen_at IS 'when it was heard';
COMMENT ON COLUMN carillon.feedback.handled_at IS 'when a feedback pass was done with it; null: not yet';

COMMENT ON TABLE carillon.activity IS
    'Counts of pushes by minute, app and worker, which each worker writes once a second. A worker that is killed leaves up to a second uncounted; results has all of it.';
COMMENT ON COLUMN carillon.activity.minute IS 'the minute in which they ended';
COMMENT ON COLUMN carillon.activity.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.activity.worker_id IS 'the worker that sent them';
COMMENT ON COLUMN carillon.activity.sent IS 'pushes that APNs answered with 200';
COMMENT ON COLUMN carillon.activity.failed IS 'pushes that failed for good';
COMMENT ON COLUMN carillon.activity.expired IS 'pushes that were not sent before expires_at';
COMMENT ON COLUMN carillon.activity.retried IS 'attempts that were followed by another';
COMMENT ON COLUMN carillon.activity.bad_tokens IS 'of the failed: those with BadDeviceToken';

COMMENT ON TABLE carillon.breakers IS 'Apps that were paused because most of their pushes failed as BadDeviceToken.';
COMMENT ON COLUMN carillon.breakers.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.breakers.opened_at IS 'when it was paused';
COMMENT ON COLUMN carillon.breakers.bad_tokens IS 'pushes with BadDeviceToken by then';
COMMENT ON COLUMN carillon.breakers.pushes IS 'all pushes by then';
COMMENT ON COLUMN carillon.breakers.closed_at IS 'when it was resumed; null: it is paused';
COMMENT ON COLUMN carillon.breakers.closed_bad_tokens IS
    'pushes with BadDeviceToken in the minute of closed_at, which count no more';
COMMENT ON COLUMN carillon.breakers.closed_pushes IS 'all pushes in that minute, which count no more';

COMMENT ON TABLE carillon.workers IS 'The workers that run, or died and are about to be taken over.';
COMMENT ON COLUMN carillon.workers.id IS 'of this run of the worker; never used again';
COMMENT ON COLUMN carillon.workers.name IS 'what people call it';
COMMENT ON COLUMN carillon.workers.host IS 'where it runs';
COMMENT ON COLUMN carillon.workers.pid IS 'its process';
COMMENT ON COLUMN carillon.workers.version IS 'of the program';
COMMENT ON COLUMN carillon.workers.started_at IS 'when it began';
COMMENT ON COLUMN carillon.workers.heartbeat_at IS 'when it was heard last, by the database''s clock';
COMMENT ON COLUMN carillon.workers.beat IS 'its heartbeats; one that stands still for the lease is dead';
COMMENT ON COLUMN carillon.workers.lease_until IS 'when its lease ends unless it is heard again';

COMMENT ON TABLE carillon.broadcasts IS
    'The messages that were cut into several jobs: broadcasts, and lists of more than 1,000 tokens.';
COMMENT ON COLUMN carillon.broadcasts.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.broadcasts.id IS 'the id of the message, which is that of its first job';
COMMENT ON COLUMN carillon.broadcasts.last_id IS 'the id of its last job';
COMMENT ON COLUMN carillon.broadcasts.lane IS 'where its jobs wait';
COMMENT ON COLUMN carillon.broadcasts.jobs IS 'how many jobs it was cut into';
COMMENT ON COLUMN carillon.broadcasts.tokens IS 'how many pushes it is';
COMMENT ON COLUMN carillon.broadcasts.reference IS 'the caller''s own id';
COMMENT ON COLUMN carillon.broadcasts.created_at IS 'when it was enqueued';
COMMENT ON COLUMN carillon.broadcasts.cancelled_at IS 'when it was cancelled; null: it was not';

COMMENT ON TABLE carillon.inflight IS 'What workers hold: a row a claim. The jobs of it are in pending.';
COMMENT ON COLUMN carillon.inflight.id IS 'the claim';
COMMENT ON COLUMN carillon.inflight.worker_id IS 'whose it is';
COMMENT ON COLUMN carillon.inflight.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.inflight.claimed_at IS 'since when';

COMMENT ON TABLE carillon.maintenance IS 'How the steps of maintenance fare.';
COMMENT ON COLUMN carillon.maintenance.step IS 'what is done';
COMMENT ON COLUMN carillon.maintenance.place IS 'its turn among the others';
COMMENT ON COLUMN carillon.maintenance.last_success IS 'when it went well last';
COMMENT ON COLUMN carillon.maintenance.last_failure IS 'when it failed last';
COMMENT ON COLUMN carillon.maintenance.last_error IS 'what the last failure said';

COMMENT ON TABLE carillon.schema_migrations IS 'The migrations that were applied.';
COMMENT ON COLUMN carillon.schema_migrations.version IS 'its number';
COMMENT ON COLUMN carillon.schema_migrations.name IS 'its name';
COMMENT ON COLUMN carillon.schema_migrations.checksum IS 'SHA-256 of its file; null: it was applied by hand';
COMMENT ON COLUMN carillon.schema_migrations.applied_at IS 'when';

INSERT INTO carillon.schema_migrations (version, name) VALUES (25, 'comments');
