-- Who may do what. The owner of the schema grants one of these roles to a login: GRANT carillon_app TO a_login.

-- What an earlier release has granted, and the right of every role to execute a new function. Only of what belongs to the
-- owner of the schema: the rest is not ours. Partitions have no rights of their own.
DO $$
DECLARE
    roles CONSTANT text := 'carillon_app, carillon_tenant, carillon_worker, carillon_reader, carillon_operator';
    owner CONSTANT oid := (SELECT n.nspowner FROM pg_catalog.pg_namespace n WHERE n.nspname = 'carillon');
BEGIN
    EXECUTE (SELECT format('REVOKE ALL ON TABLE %s FROM %s, carillon_reaper', string_agg(c.oid::regclass::text, ', '), roles)
        FROM pg_catalog.pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND c.relowner = owner
            AND c.relkind IN ('r', 'p', 'v', 'S') AND NOT c.relispartition);
    EXECUTE (SELECT format('REVOKE ALL ON ROUTINE %s FROM PUBLIC, %s', string_agg(p.oid::regprocedure::text, ', '), roles)
        FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace
            AND (p.proowner = owner OR p.proname = 'as_reaper'));
END
$$;

GRANT SELECT ON carillon.schema_migrations, carillon.schema_routines
TO carillon_app, carillon_operator, carillon_reader, carillon_tenant, carillon_worker;

-- carillon_app enqueues, by function or plain INSERT, cancels, registers tokens and reads what became of its
-- messages. carillon_tenant does the same for the apps that app_roles gives its members: row security limits it, and
-- functions that run as their owner call apps_of_caller().
GRANT SELECT (id, name, topic, environment, protocol, paused) ON carillon.apps TO carillon_app, carillon_tenant;
-- The columns that a message consists of. Functions that run as their owner write the others.
GRANT INSERT (app_id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic, reference, on_unknown,
    created_at), SELECT (id) ON carillon.messages TO carillon_app, carillon_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON carillon.tokens TO carillon_app, carillon_tenant;
GRANT SELECT ON carillon.results, carillon.failures, carillon.channels TO carillon_app, carillon_tenant;
GRANT SELECT ON carillon.app_roles TO carillon_tenant;
DO $$
DECLARE
    function regprocedure;
BEGIN
    FOR function IN
        SELECT p.oid FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname IN ('enqueue', 'broadcast', 'submit', 'app_id',
            'apps_of_caller', 'refusal', 'unknown_app', 'token', 'invalid_token', 'broadcast_progress', 'cancel',
            'cancel_messages', 'cancel_broadcast', 'register_token', 'set_badge', 'token_kinds', 'check_kind', 'usual_end',
            'start_activity', 'update_activity', 'end_activity', 'submit_activity',
            'request_channel', 'record_channel', 'channel', 'remove_channel', 'publish', 'submit_publication',
            'token_text', 'requeue_failures', 'message_parts', 'message_status', 'push_types')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO carillon_app, carillon_tenant', function);
    END LOOP;
END
$$;

-- carillon_worker reads settings, moves jobs, writes history and runs maintenance.
GRANT SELECT ON carillon.installation, carillon.apps, carillon.app_roles, carillon.certificates, carillon.watched_tables,
    carillon.broadcasts, carillon.maintenance, carillon.pending, carillon.app_status, carillon.held_apps
TO carillon_worker;
GRANT UPDATE (not_after, topics, status, last_error) ON carillon.certificates TO carillon_worker;
GRANT UPDATE (paused, paused_reason, feedback_error) ON carillon.apps TO carillon_worker;
GRANT UPDATE (last_error, missed_from) ON carillon.watched_tables TO carillon_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON carillon.messages, carillon.scheduled, carillon.inflight, carillon.workers,
    carillon.activity_updates, carillon.activity_stamps, carillon.device_slots, carillon.unfinished, carillon.holds, carillon.activity,
    carillon.provider_tokens, carillon.dedupe, carillon.fleet_tasks
TO carillon_worker;
GRANT SELECT, INSERT, UPDATE ON carillon.breakers, carillon.rates, carillon.feedback TO carillon_worker;
GRANT SELECT, DELETE, UPDATE (state, channel_id, created_at, last_error, attempts, is_asked, next_try_at) ON carillon.channels
TO carillon_worker;
GRANT SELECT, DELETE, INSERT (app_id, channel_id, is_ours), UPDATE (is_ours) ON carillon.unknown_channels TO carillon_worker;
GRANT SELECT, INSERT ON carillon.results, carillon.failures, carillon.failed_messages TO carillon_worker;
-- Content that another worker keeps at the same time is added to.
GRANT UPDATE (tokens, payloads) ON carillon.failed_messages TO carillon_worker;
GRANT SELECT, INSERT ON carillon.unknown_outcomes TO carillon_worker;
-- Deleting in order takes row locks, for which PostgreSQL requires the right to update.
GRANT SELECT, DELETE, UPDATE (last_update) ON carillon.tokens TO carillon_worker;
GRANT USAGE ON SEQUENCE carillon.messages_id_seq TO carillon_worker;
GRANT EXECUTE ON ROUTINE
    carillon.app_id, carillon.apps_of_caller, carillon.refusal, carillon.unknown_app, carillon.queue_depth, carillon.scheduled_depth,
    carillon.own_path, carillon.ending, carillon.end_messages, carillon.payloads_of, carillon.narrowed, carillon.job, carillon.changed, carillon.keep_failed,
    carillon.unsettled, carillon.last_attempts, carillon.unique_ids_of, carillon.settle,
    carillon.is_transient, carillon.end_unrecorded, carillon.settle_refused, carillon.fail_jobs, carillon.discard,
    carillon.record_cancelled, carillon.updated_tokens, carillon.as_cancelled, carillon.count_tokens, carillon.lock_unfinished, carillon.find_cancelled,
    carillon.free_ids, carillon.renumber, carillon.place, carillon.put_back, carillon.end_cancelled, carillon.restore,
    carillon.release, carillon.withdraw, carillon.order_updates, carillon.pace_devices, carillon.put_off, carillon.move_due, carillon.promote, carillon.shortened, carillon.cut,
    carillon.rules_of, carillon.split, carillon.quarantine_size, carillon.count_death, carillon.recover, carillon.take_over, carillon.gone_workers,
    carillon.take_turn, carillon.provider_token, carillon.open_breakers,
    carillon.check_watched, carillon.unfit_to_watch, carillon.path_of, carillon.as_reaper, carillon.unsafe_reaper,
    carillon.prepared, carillon.traces, carillon.prepare_again, carillon.watched_match, carillon.run_watched,
    carillon.reap_watched, carillon.catch_up, carillon.bad_token_is_dead, carillon.dead_tokens, carillon.reap_batch,
    carillon.reap, carillon.reap_all, carillon.reapable,
    carillon.maintain_step, carillon.maintain, carillon.default_partition_rows,
    carillon.take_channels, carillon.channel_made, carillon.channel_failed, carillon.channel_gone, carillon.channels_refused, carillon.channels_listed,
    carillon.request_channel, carillon.channel, carillon.remove_channel, carillon.record_channel, carillon.token_text, carillon.record_of_person
TO carillon_worker;

-- carillon_reader is for dashboards.
GRANT SELECT ON carillon.audit TO carillon_reader;
GRANT SELECT (app_id, name, created_at) ON carillon.api_tokens TO carillon_reader;
GRANT SELECT (id, name, topic, certificate_id, environment, protocol, gateway, feedback_gateway, feedback_error, channel_gateway,
    remove_unknown_channels, paused, paused_reason, max_rate, max_per_device, max_attempts, reap_bad_tokens, collapse_unknown, keep_unique_ids, created_at,
    updated_at)
    ON carillon.apps TO carillon_reader;
GRANT SELECT ON carillon.pending, carillon.app_status, carillon.held_apps, carillon.results, carillon.failures,
    carillon.feedback, carillon.activity, carillon.activity_sums, carillon.breakers, carillon.workers, carillon.broadcasts, carillon.maintenance,
    carillon.channels, carillon.unknown_channels
TO carillon_reader;
GRANT SELECT (id, worker_id, app_id, claimed_at) ON carillon.inflight TO carillon_reader;
GRANT EXECUTE ON FUNCTION carillon.queue_depth, carillon.scheduled_depth, carillon.broadcast_progress, carillon.message_parts, carillon.message_status,
    carillon.failed_parts, carillon.default_partition_rows, carillon.push_types, carillon.token_text, carillon.search_reference, carillon.search_token,
    carillon.next_due, carillon.token_counts, carillon.feedback_schedule,
    carillon.newest_activities
TO carillon_reader;

-- carillon_operator changes what these functions change, and each records it. It has no rights on tables.
GRANT EXECUTE ON FUNCTION carillon.pause_app, carillon.resume_app, carillon.limit_app, carillon.cancel_message,
    carillon.count_failures, carillon.requeue_step, carillon.dismiss_step, carillon.preview_message, carillon.send_test,
    carillon.enqueue_with_token
TO carillon_operator;

-- The first partitions. Maintenance makes the others, and waits for locks that an upgrade should not hold.
DO $$
BEGIN
    PERFORM carillon.make_partitions(t.parent) FROM unnest('{results,failures,failed_messages}'::text[]) AS t(parent)
    WHERE NOT EXISTS (SELECT FROM carillon.partitions(t.parent) p WHERE p.lower_bound IS NOT NULL);
END
$$;

-- Roles that were isolated before a migration down.
DO $$
BEGIN
    IF EXISTS (SELECT FROM carillon.app_roles) THEN
        PERFORM carillon.enforce_isolation(true);
    END IF;
END
$$;
