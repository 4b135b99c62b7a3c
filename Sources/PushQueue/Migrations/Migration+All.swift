extension Migration {
    /// Every migration, in order. The names on the right are how the build spells `migrations/0001_schema.up.sql`.
    package static let all = [
        Migration(
            1,
            "schema",
            up: PackageResources._001_schema_up_sql,
            down: PackageResources._001_schema_down_sql
        ),
        Migration(
            2,
            "settings",
            up: PackageResources._002_settings_up_sql,
            down: PackageResources._002_settings_down_sql
        ),
        Migration(
            3,
            "queue",
            up: PackageResources._003_queue_up_sql,
            down: PackageResources._003_queue_down_sql
        ),
        Migration(
            4,
            "tokens",
            up: PackageResources._004_tokens_up_sql,
            down: PackageResources._004_tokens_down_sql
        ),
        Migration(
            5,
            "history",
            up: PackageResources._005_history_up_sql,
            down: PackageResources._005_history_down_sql
        ),
        Migration(
            6,
            "drafts",
            up: PackageResources._006_drafts_up_sql,
            down: PackageResources._006_drafts_down_sql
        ),
        Migration(
            7,
            "enqueue",
            up: PackageResources._007_enqueue_up_sql,
            down: PackageResources._007_enqueue_down_sql
        ),
        Migration(
            8,
            "broadcast",
            up: PackageResources._008_broadcast_up_sql,
            down: PackageResources._008_broadcast_down_sql
        ),
        Migration(
            9,
            "cancel",
            up: PackageResources._009_cancel_up_sql,
            down: PackageResources._009_cancel_down_sql
        ),
        Migration(
            10,
            "feedback",
            up: PackageResources._010_feedback_up_sql,
            down: PackageResources._010_feedback_down_sql
        ),
        Migration(
            11,
            "views",
            up: PackageResources._011_views_up_sql,
            down: PackageResources._011_views_down_sql
        ),
        Migration(
            12,
            "grants",
            up: PackageResources._012_grants_up_sql,
            down: PackageResources._012_grants_down_sql
        ),
        Migration(
            13,
            "work",
            up: PackageResources._013_work_up_sql,
            down: PackageResources._013_work_down_sql
        ),
        Migration(
            14,
            "returns",
            up: PackageResources._014_returns_up_sql,
            down: PackageResources._014_returns_down_sql
        ),
        Migration(
            15,
            "takeover",
            up: PackageResources._015_takeover_up_sql,
            down: PackageResources._015_takeover_down_sql
        ),
        Migration(
            16,
            "requeue",
            up: PackageResources._016_requeue_up_sql,
            down: PackageResources._016_requeue_down_sql
        ),
        Migration(
            17,
            "provider_token",
            up: PackageResources._017_provider_token_up_sql,
            down: PackageResources._017_provider_token_down_sql
        ),
        Migration(
            18,
            "reap",
            up: PackageResources._018_reap_up_sql,
            down: PackageResources._018_reap_down_sql
        ),
        Migration(
            19,
            "message_status",
            up: PackageResources._019_message_status_up_sql,
            down: PackageResources._019_message_status_down_sql
        ),
        Migration(
            20,
            "rates",
            up: PackageResources._020_rates_up_sql,
            down: PackageResources._020_rates_down_sql
        ),
        Migration(
            21,
            "maintenance",
            up: PackageResources._021_maintenance_up_sql,
            down: PackageResources._021_maintenance_down_sql
        ),
        Migration(
            22,
            "isolation",
            up: PackageResources._022_isolation_up_sql,
            down: PackageResources._022_isolation_down_sql
        ),
        Migration(
            23,
            "breakers",
            up: PackageResources._023_breakers_up_sql,
            down: PackageResources._023_breakers_down_sql
        ),
        Migration(
            24,
            "watched",
            up: PackageResources._024_watched_up_sql,
            down: PackageResources._024_watched_down_sql
        ),
        Migration(
            25,
            "comments",
            up: PackageResources._025_comments_up_sql,
            down: PackageResources._025_comments_down_sql
        ),
    ]

    /// The version of the schema that this program works with.
    package static var latest: Int { all.last?.version ?? 0 }
}
