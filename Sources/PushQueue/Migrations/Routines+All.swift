private typealias Files = PackageResources

extension Routines {
    /// Every file, in the order in which they are applied. The build calls `migrations/functions/settle.sql` `settle_sql`, so
    /// that no view has the name of a file of functions.
    package static let current = Routines(
        of: .current,
        functions: [
            File("functions/activities.sql", Files.activities_sql),
            File("functions/apps.sql", Files.apps_sql),
            File("functions/arguments.sql", Files.arguments_sql),
            File("functions/cancel.sql", Files.cancel_sql),
            File("functions/channels.sql", Files.channels_sql),
            File("functions/due.sql", Files.due_sql),
            File("functions/enqueue.sql", Files.enqueue_sql),
            File("functions/fleet.sql", Files.fleet_sql),
            File("functions/history.sql", Files.history_sql),
            File("functions/isolation.sql", Files.isolation_sql),
            File("functions/lookup.sql", Files.lookup_sql),
            File("functions/maintenance.sql", Files.maintenance_sql),
            File("functions/operate.sql", Files.operate_sql),
            File("functions/post.sql", Files.post_sql),
            File("functions/queue.sql", Files.queue_sql),
            File("functions/reap.sql", Files.reap_sql),
            File("functions/refused.sql", Files.refused_sql),
            File("functions/requeue.sql", Files.requeue_sql),
            File("functions/returns.sql", Files.returns_sql),
            File("functions/schema.sql", Files.schema_sql),
            File("functions/settle.sql", Files.settle_sql),
            File("functions/split.sql", Files.split_sql),
            File("functions/status.sql", Files.status_sql),
            File("functions/takeover.sql", Files.takeover_sql),
            File("functions/tokens.sql", Files.tokens_sql),
            File("functions/updates.sql", Files.updates_sql),
            File("functions/views.sql", Files.views_sql),
            File("functions/watched.sql", Files.watched_sql),
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
