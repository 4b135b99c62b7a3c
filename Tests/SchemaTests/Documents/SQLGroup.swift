/// A part of docs/sql.md: functions, or tables and views, with one purpose.
struct SQLGroup {
    let title: String
    /// The pages, or sections of pages, that explain its members.
    let guides: [String]
    let names: [String]

    private init(_ title: String, guides: [String], _ names: String...) {
        self.title = title
        self.guides = guides
        self.names = names
    }

    var isOfFunctions: Bool { title.hasPrefix("Functions") }

    var indexRow: String {
        let anchor = title.lowercased().replacing(" ", with: "-").filter { $0.isLetter || $0 == "-" }
        return "| [\(title)](#\(anchor)) | \(names.map { "[`\($0)`](#\($0))" }.joined(separator: ", ")) |"
    }

    private var links: String {
        let links = guides.map { "[\($0.prefix { $0 != "#" })](\($0))" }
        return links.dropLast().joined(separator: ", ") + (links.count > 1 ? " and " : "") + (links.last ?? "")
    }

    func text(with sections: [String: String]) -> String {
        (["## \(title)", "See \(links)."] + names.compactMap { sections[$0] }).joined(separator: "\n\n")
    }

    static let all = [
        Self(
            "Functions: enqueueing",
            guides: ["enqueue.md", "messages.md"],
            "push",
            "push_each",
            "enqueue",
            "broadcast",
            "audience",
            "cancel",
            "cancel_messages",
            "cancel_broadcast",
            "requeue_failures",
            "set_badge",
            "push_types"
        ),
        Self(
            "Functions: Live Activities",
            guides: ["live-activities.md"],
            "start_activity",
            "update_activity",
            "end_activity"
        ),
        Self(
            "Functions: media sessions",
            guides: ["media-sessions.md"],
            "start_media",
            "update_media",
            "end_media"
        ),
        Self(
            "Functions: channels",
            guides: ["channels.md"],
            "request_channel",
            "channel",
            "publish",
            "record_channel",
            "remove_channel",
            "token_text"
        ),
        Self(
            "Functions: device tokens",
            guides: ["enqueue.md#device-tokens"],
            "register_token",
            "unregister_token",
            "forget"
        ),
        Self(
            "Functions: status",
            guides: ["messages.md", "troubleshooting.md"],
            "trace",
            "message_status",
            "broadcast_progress",
            "broadcast_zones"
        ),
        Self("Functions: events", guides: ["events.md"], "subscribe", "unsubscribe", "take_events"),
        Self("Functions: operating", guides: ["operating.md"], "maintain", "reap", "reap_all"),
        Self(
            "Functions: the dashboard",
            guides: ["dashboard.md"],
            "cancel_message",
            "limit_app",
            "pause_app",
            "pause_webhook",
            "redeliver_webhook",
            "resume_app",
            "resume_webhook",
            "search_owner",
            "search_reference",
            "search_token"
        ),
        Self(
            "Functions: for the owner",
            guides: [
                "backup.md", "isolation.md", "operating.md#your-own-token-tables", "http.md#api-tokens", "webhooks.md",
            ],
            "adopt",
            "isolate_app",
            "unisolate_app",
            "watch_tokens",
            "unwatch_tokens",
            "create_api_token",
            "remove_api_token",
            "add_webhook",
            "remove_webhook",
            "rotate_webhook_secret",
            "message_contents"
        ),
        Self(
            "Tables: the queue",
            guides: ["lifecycle.md", "enqueue.md#a-plain-insert"],
            "messages",
            "pending",
            "inflight",
            "split_messages"
        ),
        Self(
            "Tables: history",
            guides: ["messages.md#results-and-failures", "delivered.md"],
            "results",
            "failures",
            "feedback",
            "push_counts",
            "push_count_sums",
            "delivery_metrics",
            "audit"
        ),
        Self("Tables: events", guides: ["events.md", "webhooks.md"], "consumers", "webhook_status"),
        Self(
            "Tables: apps",
            guides: ["cli.md#carillon-app-add", "operating.md"],
            "apps",
            "app_status",
            "held_apps",
            "breakers",
            "api_tokens"
        ),
        Self(
            "Tables: device tokens and channels",
            guides: ["enqueue.md#device-tokens", "channels.md"],
            "tokens",
            "channels",
            "unknown_channels"
        ),
        Self(
            "Tables: workers",
            guides: ["operating.md#workers"],
            "workers",
            "worker_status",
            "maintenance"
        ),
        Self("Tables: the schema", guides: ["upgrading.md"], "schema_migrations", "schema_routines"),
        Self(
            "Tables: for the owner",
            guides: ["operating.md#change", "isolation.md"],
            "certificates",
            "watched_tables",
            "app_roles"
        ),
    ]
}
