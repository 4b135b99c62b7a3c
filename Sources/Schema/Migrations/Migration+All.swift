private typealias Files = PackageResources

extension Migration {
    /// Every migration, in order. The build calls `migrations/0001_schema.up.sql` `_001_schema_up_sql`.
    package static let all = [
        Migration(1, "schema", up: Files._001_schema_up_sql, down: Files._001_schema_down_sql),
        Migration(2, "apps", up: Files._002_apps_up_sql, down: Files._002_apps_down_sql),
        Migration(3, "queue", up: Files._003_queue_up_sql, down: Files._003_queue_down_sql),
        Migration(4, "history", up: Files._004_history_up_sql, down: Files._004_history_down_sql),
        Migration(5, "fleet", up: Files._005_fleet_up_sql, down: Files._005_fleet_down_sql),
        Migration(6, "tokens", up: Files._006_tokens_up_sql, down: Files._006_tokens_down_sql),
        Migration(7, "arguments", up: Files._007_arguments_up_sql, down: Files._007_arguments_down_sql),
        Migration(8, "isolation", up: Files._008_isolation_up_sql, down: Files._008_isolation_down_sql),
        Migration(9, "events", up: Files._009_events_up_sql, down: Files._009_events_down_sql),
    ]

    /// The version of the schema that this program works with.
    package static var latest: Int { all.last?.version ?? 0 }
}
