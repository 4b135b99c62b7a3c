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
GRANT SELECT (id, name, topic, environment, protocol, paused, moved_to) ON carillon.apps TO carillon_app, carillon_tenant;
-- The columns of a message. Functions that run as their owner write the others.
GRANT INSERT (app_id, lane, tokens, payload, payloads, push_type, priority, expires_at, collapse_id, topic, reference, on_unknown,
    created_at), SELECT (id) ON carillon.messages TO carillon_app, carillon_tenant;
-- By column: whoever may UPDATE or DELETE any row of a whole table may also LOCK it, and stop everybody's broadcasts and feedback
-- passes. Apps that share carillon_app trust each other, and may DELETE; tenants call unregister_token().
GRANT SELECT,
    INSERT (app_id, token, last_update, owner, badge, kind, expires_at, environment, activity_type, time_zone, locale, attributes),
    UPDATE (app_id, token, last_update, owner, badge, kind, expires_at, environment, activity_type, time_zone, locale, attributes)
ON carillon.tokens TO carillon_app, carillon_tenant;
GRANT DELETE ON carillon.tokens TO carillon_app;
GRANT SELECT ON carillon.results, carillon.failures, carillon.channels, carillon.consumers, carillon.delivery_metrics
TO carillon_app, carillon_tenant;
GRANT SELECT ON carillon.app_roles TO carillon_tenant;

-- carillon_worker reads settings, moves jobs, writes history and runs maintenance.
GRANT SELECT ON carillon.installation, carillon.apps, carillon.app_roles, carillon.certificates, carillon.watched_tables,
    carillon.split_messages, carillon.maintenance, carillon.pending, carillon.app_status, carillon.held_apps,
    carillon.worker_status, carillon.consumers, carillon.webhook_status, carillon.export_tokens, carillon.delivery_metrics
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
GRANT SELECT ON carillon.subscriptions TO carillon_worker;
GRANT INSERT ON carillon.events, carillon.untaken_events, carillon.sent_pushes TO carillon_worker;
GRANT USAGE ON SEQUENCE carillon.event_ids TO carillon_worker;
-- Deleting in order locks the rows, for which PostgreSQL requires the UPDATE privilege.
GRANT SELECT, DELETE, UPDATE (last_update, environment) ON carillon.tokens TO carillon_worker;
GRANT USAGE ON SEQUENCE carillon.messages_id_seq TO carillon_worker;
GRANT UPDATE ON SEQUENCE carillon.asleep TO carillon_worker;

-- A trigger reads it for whoever inserts, whichever role that is. Up to PostgreSQL 16 its INSERT would fail without the right.
GRANT SELECT ON SEQUENCE carillon.asleep TO PUBLIC;

-- carillon_reader is for dashboards.
GRANT SELECT ON carillon.audit TO carillon_reader;
GRANT SELECT (app_id, name, created_at, rights, expires_at, last_used_at) ON carillon.api_tokens TO carillon_reader;
-- Every column of apps but these, including those of later settings. A setting that dashboards must not show is named here.
DO $$
BEGIN
    EXECUTE (SELECT format('GRANT SELECT (%s) ON carillon.apps TO carillon_reader', string_agg(quote_ident(a.attname), ', '))
        FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'carillon.apps'::regclass AND a.attnum > 0 AND NOT a.attisdropped
            AND a.attname NOT IN ('gateway_ca', 'is_guarded'));
END
$$;
GRANT SELECT ON carillon.pending, carillon.app_status, carillon.held_apps, carillon.results, carillon.failures,
    carillon.feedback, carillon.push_counts, carillon.push_count_sums, carillon.breakers, carillon.workers,
    carillon.worker_status, carillon.split_messages, carillon.maintenance, carillon.channels, carillon.unknown_channels,
    carillon.consumers, carillon.webhook_status, carillon.delivery_metrics
TO carillon_reader;
GRANT SELECT (id, worker_id, app_id, claimed_at) ON carillon.inflight TO carillon_reader;

-- Only members of carillon_reaper may grant rights on as_reaper(), and REASSIGN OWNED makes nobody one.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'as_reaper'
            AND p.proowner = 'carillon_reaper'::regrole AND NOT pg_has_role(p.proowner, 'USAGE'))
    THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('%s is not a member of carillon_reaper, and may grant no right on its functions', current_user),
            HINT = format('Have a superuser, or a role with ADMIN OPTION on carillon_reaper (before PostgreSQL 16 with '
                'CREATEROLE), run: GRANT carillon_reaper TO %I', current_user);
    END IF;
END
$$;

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
                push push_each enqueue broadcast audience submit
                start_activity update_activity end_activity start_media update_media end_media publish
                submit_activity submit_media submit_publication
                message_status message_jobs trace broadcast_progress broadcast_zones
                cancel cancel_messages cancel_found cancel_broadcast
                requeue_failures forget subscribe unsubscribe take_events peek_events acknowledge_events
                register_token unregister_token check_choice set_badge is_token token invalid_token token_kinds check_kind
                check_details locale time_zone jsonb_or_null note_unknown usual_end is_usual token_text push_types
                request_channel record_channel channel remove_channel app_id apps_of_caller refusal refuse unknown_app list_of_apps
                list_tokens list_channels list_messages page_size'),
            ('carillon_app, carillon_worker', 'check_installation'),
            ('carillon_app, carillon_reader, carillon_tenant, carillon_worker', 'event_kinds kinds_of'),
            ('carillon_app, carillon_operator, carillon_reader, carillon_tenant, carillon_worker',
                'missing_rights guarded_tables installation_fault'),
            ('carillon_reader', '
                validity queue_depth depth_precision scheduled_depth next_due default_partition_rows feedback_schedule push_types
                apps_of_caller message_status message_jobs trace failed_jobs broadcast_progress broadcast_zones
                search_owner search_reference search_token unsearched_apps token_text token_counts newest_activities
                untaken_depth'),
            ('carillon_operator', '
                pause_app resume_app limit_app cancel_message count_failures requeue_batch dismiss_batch
                 preview_message send_test app_of_digest call_with_token pause_webhook resume_webhook redeliver_webhook
                 count_redelivery'),
            ('carillon_worker', '
                topics_of is_derived_topic push_types app_id apps_of_caller refusal refuse unknown_app list_of_apps use_session_path
                record_on_behalf wider_role roles_of_all_apps
                here installation_state validity queue_depth depth_precision scheduled_depth next_due
                take_rate_turn provider_token seconds_to_renewal open_breakers mostly_failed order_updates withdraw rules_of
                pace_devices pace_push lock_waiting_jobs apply_pace
                job ready_job scheduled_job changed_job narrowed_job payloads_of keep_failed_content ending endings end_messages
                settle take_from_claim why_unsettled find_cancelled_going_back outcomes_before_expiry unique_ids_of record_ended
                followed_kinds note_settled sent_and_expired last_jobs_of note_finished note_jobs note_unrecorded note_dead
                store_events record_sent unforgotten_sent
                record_failed dead_status keep_requeueable return_going_back learn_environments settle_unrecorded end_unrecorded
                is_transient is_refusal fail_jobs discard_unreadable split_job split
                shortened_token shortened_tokens use_session_commit max_payload_bytes oversized_payload
                find_cancelled lock_unfinished record_cancelled as_cancelled is_update end_as_cancelled count_tokens
                stopped_tokens forgotten_tokens divide_jobs begin_stopped stop_pushes drop_stopped take_stops
                kept_references unforgotten_job unforgotten_failures unstopped_jobs without_tokens
                stop_going_back settle_stopped
                release return_uncancelled return_jobs insert_jobs renumber_jobs unused_job_ids delay_jobs promote_rows promote
                delay_quiet_jobs quiet_until quiet_end
                fall_asleep waking_tables sleep_holders waiting_work apps_fingerprint task_due_at
                take_over gone_workers return_lost_jobs quarantine_from quarantine_size lost_claims_after_death
                check_watched unfit_to_watch owner_search_path as_reaper unsafe_reaper
                prepared_statements session_state restore_prepared_statements watched_statement
                run_watched_statement reap_watched catch_up_table bad_token_is_dead awaits_counts died_at dead_tokens
                reap_tokens reap_tables keep_feedback catch_up_next_table reap_new_feedback reap_batch reap reap_all reapable
                maintain maintain_step default_partition_rows
                take_channels channel_made channel_failed channel_gone channels_refused channels_listed token_text
                claim_webhooks webhook_batch settle_webhook seconds_to_webhook untaken_depth
                store_metrics')
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
    PERFORM carillon.make_partitions(t.parent) FROM unnest('{results,failures,failed_messages,events,sent_pushes}'::text[])
        AS t(parent)
    WHERE NOT EXISTS (SELECT FROM carillon.partitions(t.parent) p WHERE p.lower_bound IS NOT NULL);
END
$$;

-- Apps that were added while there was no trigger.
INSERT INTO carillon.app_locks (app_id, lock_number)
SELECT a.id, p FROM carillon.apps a CROSS JOIN generate_series(0, 65) AS p ON CONFLICT DO NOTHING;

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
