-- Who may do what. The owner of a login grants it one of these roles: GRANT carillon_app TO somebody.

-- PostgreSQL lets everybody execute a new function.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;

-- carillon_app: enqueues, by function or plain INSERT; cancels; registers tokens; reads what became of its messages.
GRANT SELECT (id, name, topic, environment, protocol, paused) ON carillon.apps TO carillon_app;
-- The columns that say what is sent. What the queue itself keeps of a message is written by its functions only: they run as
-- their owner.
GRANT INSERT (app_id, lane, tokens, payload, push_type, priority, expires_at, collapse_id, topic, reference, on_unknown,
    created_at), SELECT (id) ON carillon.messages TO carillon_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON carillon.tokens TO carillon_app;
GRANT SELECT ON carillon.results, carillon.failures TO carillon_app;
GRANT EXECUTE ON FUNCTION
    carillon.enqueue(text, text[], text, bigint, text, boolean, boolean, text, text, jsonb, anycompatible, text, bigint,
        timestamptz, text, text, timestamptz, bigint, text, text, interval, text, text, text, text, boolean, text),
    carillon.enqueue(text, text[], anyelement, bigint, text, boolean, boolean, text, text, jsonb, anycompatible, text,
        bigint, timestamptz, text, text, timestamptz, bigint, text, text, interval, text, text, text, text, boolean, text),
    carillon.broadcast(text, text, bigint, text, boolean, boolean, text, text, jsonb, anycompatible, text, bigint,
        timestamptz, text, text, timestamptz, bigint, text, text, interval, text, text, text, text, boolean, text),
    carillon.broadcast(text, anyelement, bigint, text, boolean, boolean, text, text, jsonb, anycompatible, text, bigint,
        timestamptz, text, text, timestamptz, bigint, text, text, interval, text, text, text, text, boolean, text),
    carillon.submit,
    carillon.app_id, carillon.apps_of_caller, carillon.refusal, carillon.unknown_app, carillon.token,
    carillon.strange_token, carillon.broadcast_progress, carillon.cancel,
    carillon.cancel_messages, carillon.cancel_broadcast,
    carillon.register_token
TO carillon_app;

-- carillon_worker: reads settings, moves the queue, writes history, runs the chores.
GRANT SELECT ON carillon.installation, carillon.apps, carillon.certificates, carillon.watched_tables TO carillon_worker;
GRANT UPDATE (not_after, topics, status, last_error) ON carillon.certificates TO carillon_worker;
GRANT UPDATE (paused, paused_reason, feedback_error) ON carillon.apps TO carillon_worker;
GRANT SELECT, INSERT, UPDATE ON carillon.breakers TO carillon_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON carillon.holds TO carillon_worker;
GRANT UPDATE (last_error, missed_from) ON carillon.watched_tables TO carillon_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON carillon.messages, carillon.scheduled, carillon.inflight, carillon.workers,
    carillon.unfinished, carillon.activity, carillon.provider_tokens, carillon.dedupe, carillon.chores
TO carillon_worker;
GRANT SELECT, INSERT ON carillon.results, carillon.failures TO carillon_worker;
GRANT INSERT ON carillon.unknown_outcomes TO carillon_worker;
GRANT SELECT, INSERT, UPDATE ON carillon.feedback TO carillon_worker;
-- Deleting in order takes row locks, and a row lock takes the right to update.
GRANT SELECT, DELETE, UPDATE (last_update) ON carillon.tokens TO carillon_worker;
GRANT SELECT ON carillon.broadcasts TO carillon_worker;
GRANT USAGE ON SEQUENCE carillon.messages_id_seq TO carillon_worker;
GRANT SELECT ON carillon.pending, carillon.app_status, carillon.held_apps TO carillon_worker;
GRANT EXECUTE ON FUNCTION
    carillon.app_id, carillon.apps_of_caller, carillon.refusal, carillon.unknown_app, carillon.queue_depth,
    carillon.check_watched,
    carillon.unfit_to_watch,
    carillon.path_of, carillon.as_reaper, carillon.unsafe_reaper, carillon.prepared, carillon.traces, carillon.prepare_again
TO carillon_worker;

-- carillon_reader: dashboards.
GRANT SELECT (id, name, topic, certificate_id, environment, protocol, gateway, feedback_gateway, feedback_error, paused, paused_reason,
    max_rate, max_attempts, reap_bad_tokens, created_at, updated_at) ON carillon.apps TO carillon_reader;
GRANT SELECT ON carillon.pending, carillon.app_status, carillon.held_apps, carillon.results, carillon.failures, carillon.feedback,
    carillon.activity, carillon.breakers, carillon.workers, carillon.broadcasts TO carillon_reader;
GRANT SELECT (id, worker_id, app_id, claimed_at) ON carillon.inflight TO carillon_reader;
GRANT EXECUTE ON FUNCTION carillon.queue_depth, carillon.broadcast_progress TO carillon_reader;

INSERT INTO carillon.schema_migrations (version, name) VALUES (12, 'grants');
