private typealias Files = PackageResources

extension Routines {
    /// Every file, in the order in which they are applied. The build calls `migrations/functions/settle.sql` `settle_sql`, so
    /// that no view has the name of a file of functions.
    package static let current = Routines(
        of: .current,
        functions: [
            File("functions/api_tokens.sql", Files.api_tokens_sql),
            File("functions/apps.sql", Files.apps_sql),
            File("functions/audit.sql", Files.audit_sql),
            File("functions/broadcast_progress.sql", Files.broadcast_progress_sql),
            File("functions/cancel.sql", Files.cancel_sql),
            File("functions/channels.sql", Files.channels_sql),
            File("functions/check_arguments.sql", Files.check_arguments_sql),
            File("functions/dashboard.sql", Files.dashboard_sql),
            File("functions/dedupe.sql", Files.dedupe_sql),
            File("functions/draft.sql", Files.draft_sql),
            File("functions/end_messages.sql", Files.end_messages_sql),
            File("functions/enqueue.sql", Files.enqueue_sql),
            File("functions/fail_jobs.sql", Files.fail_jobs_sql),
            File("functions/find_cancelled.sql", Files.find_cancelled_sql),
            File("functions/find_messages.sql", Files.find_messages_sql),
            File("functions/isolation.sql", Files.isolation_sql),
            File("functions/job.sql", Files.job_sql),
            File("functions/json.sql", Files.json_sql),
            File("functions/maintain.sql", Files.maintain_sql),
            File("functions/message_of_json.sql", Files.message_of_json_sql),
            File("functions/message_status.sql", Files.message_status_sql),
            File("functions/open_breakers.sql", Files.open_breakers_sql),
            File("functions/order_updates.sql", Files.order_updates_sql),
            File("functions/pace_devices.sql", Files.pace_devices_sql),
            File("functions/partitions.sql", Files.partitions_sql),
            File("functions/promote.sql", Files.promote_sql),
            File("functions/provider_token.sql", Files.provider_token_sql),
            File("functions/push_types.sql", Files.push_types_sql),
            File("functions/reap.sql", Files.reap_sql),
            File("functions/reap_watched.sql", Files.reap_watched_sql),
            File("functions/refusal.sql", Files.refusal_sql),
            File("functions/release.sql", Files.release_sql),
            File("functions/requeue.sql", Files.requeue_sql),
            File("functions/requeue_step.sql", Files.requeue_step_sql),
            File("functions/return_jobs.sql", Files.return_jobs_sql),
            File("functions/search.sql", Files.search_sql),
            File("functions/settle.sql", Files.settle_sql),
            File("functions/split.sql", Files.split_sql),
            File("functions/submit.sql", Files.submit_sql),
            File("functions/submit_activity.sql", Files.submit_activity_sql),
            File("functions/submit_publication.sql", Files.submit_publication_sql),
            File("functions/take_over.sql", Files.take_over_sql),
            File("functions/take_rate_turn.sql", Files.take_rate_turn_sql),
            File("functions/tokens.sql", Files.tokens_sql),
            File("functions/watch_tokens.sql", Files.watch_tokens_sql),
            File("functions/withdraw.sql", Files.withdraw_sql),
        ],
        // A view stands after those that it reads.
        views: [
            File("views/pending.sql", Files.pending_sql),
            File("views/held_apps.sql", Files.held_apps_sql),
            File("views/app_status.sql", Files.app_status_sql),
        ],
        rights: File("rights.sql", Files.rights_sql)
    )
}
