private typealias Files = PackageResources

extension Migration {
    /// Every migration, in order. The build calls `migrations/0001_schema.up.sql` `_001_schema_up_sql`.
    package static let all = [
        Migration(1, "schema", up: Files._001_schema_up_sql, down: Files._001_schema_down_sql),
        Migration(2, "apps", up: Files._002_apps_up_sql, down: Files._002_apps_down_sql),
        Migration(3, "queue", up: Files._003_queue_up_sql, down: Files._003_queue_down_sql),
        Migration(4, "history", up: Files._004_history_up_sql, down: Files._004_history_down_sql),
        Migration(5, "arguments", up: Files._005_arguments_up_sql, down: Files._005_arguments_down_sql),
        Migration(6, "enqueue", up: Files._006_enqueue_up_sql, down: Files._006_enqueue_down_sql),
        Migration(7, "tokens", up: Files._007_tokens_up_sql, down: Files._007_tokens_down_sql),
        Migration(8, "lookup", up: Files._008_lookup_up_sql, down: Files._008_lookup_down_sql),
        Migration(9, "status", up: Files._009_status_up_sql, down: Files._009_status_down_sql),
        Migration(10, "cancel", up: Files._010_cancel_up_sql, down: Files._010_cancel_down_sql),
        Migration(11, "settle", up: Files._011_settle_up_sql, down: Files._011_settle_down_sql),
        Migration(12, "refused", up: Files._012_refused_up_sql, down: Files._012_refused_down_sql),
        Migration(13, "returns", up: Files._013_returns_up_sql, down: Files._013_returns_down_sql),
        Migration(14, "due", up: Files._014_due_up_sql, down: Files._014_due_down_sql),
        Migration(15, "split", up: Files._015_split_up_sql, down: Files._015_split_down_sql),
        Migration(16, "takeover", up: Files._016_takeover_up_sql, down: Files._016_takeover_down_sql),
        Migration(17, "requeue", up: Files._017_requeue_up_sql, down: Files._017_requeue_down_sql),
        Migration(18, "fleet", up: Files._018_fleet_up_sql, down: Files._018_fleet_down_sql),
        Migration(19, "watched", up: Files._019_watched_up_sql, down: Files._019_watched_down_sql),
        Migration(20, "reap", up: Files._020_reap_up_sql, down: Files._020_reap_down_sql),
        Migration(21, "maintenance", up: Files._021_maintenance_up_sql, down: Files._021_maintenance_down_sql),
        Migration(22, "views", up: Files._022_views_up_sql, down: Files._022_views_down_sql),
        Migration(23, "updates", up: Files._023_updates_up_sql, down: Files._023_updates_down_sql),
        Migration(24, "activities", up: Files._024_activities_up_sql, down: Files._024_activities_down_sql),
        Migration(25, "channels", up: Files._025_channels_up_sql, down: Files._025_channels_down_sql),
        Migration(26, "isolation", up: Files._026_isolation_up_sql, down: Files._026_isolation_down_sql),
        Migration(27, "operate", up: Files._027_operate_up_sql, down: Files._027_operate_down_sql),
        Migration(28, "post", up: Files._028_post_up_sql, down: Files._028_post_down_sql),
        Migration(29, "rights", up: Files._029_rights_up_sql, down: Files._029_rights_down_sql),
    ]

    /// The version of the schema that this program works with.
    package static var latest: Int { all.last?.version ?? 0 }
}
