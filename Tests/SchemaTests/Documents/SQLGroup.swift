/// A part of docs/sql.md: functions, or tables and views, with one purpose.
struct SQLGroup {
    let title: String
    let names: [String]

    private init(_ title: String, _ names: String...) {
        self.title = title
        self.names = names
    }

    var isOfFunctions: Bool { title.hasPrefix("Functions") }

    var indexRow: String {
        let anchor = title.lowercased().replacing(" ", with: "-").filter { $0.isLetter || $0 == "-" }
        return "| [\(title)](#\(anchor)) | \(names.map { "[`\($0)`](#\($0))" }.joined(separator: ", ")) |"
    }

    func text(with sections: [String: String]) -> String {
        (["## \(title)"] + names.compactMap { sections[$0] }).joined(separator: "\n\n")
    }

    static let all = [
        Self(
            "Functions: enqueueing",
            "push",
            "push_each",
            "enqueue",
            "broadcast",
            "cancel",
            "cancel_messages",
            "cancel_broadcast",
            "requeue_failures",
            "set_badge",
            "push_types"
        ),
        Self("Functions: Live Activities", "start_activity", "update_activity", "end_activity"),
        Self(
            "Functions: channels",
            "request_channel",
            "channel",
            "publish",
            "record_channel",
            "remove_channel",
            "token_text"
        ),
        Self("Functions: device tokens", "register_token", "unregister_token"),
        Self("Functions: status", "message_status", "broadcast_progress"),
        Self("Functions: operating", "maintain", "reap", "reap_all"),
        Self(
            "Functions: the dashboard",
            "cancel_message",
            "limit_app",
            "pause_app",
            "resume_app",
            "search_reference",
            "search_token"
        ),
        Self(
            "Functions: for the owner",
            "adopt",
            "isolate_app",
            "unisolate_app",
            "watch_tokens",
            "unwatch_tokens",
            "create_api_token",
            "remove_api_token",
            "message_contents"
        ),
        Self("Tables: the queue", "messages", "pending", "inflight", "split_messages"),
        Self("Tables: history", "results", "failures", "feedback", "push_counts", "push_count_sums", "audit"),
        Self("Tables: apps", "apps", "app_status", "held_apps", "breakers", "api_tokens"),
        Self("Tables: device tokens and channels", "tokens", "channels", "unknown_channels"),
        Self("Tables: workers", "workers", "worker_status", "maintenance"),
        Self("Tables: the schema", "schema_migrations", "schema_routines"),
        Self("Tables: for the owner", "certificates", "watched_tables", "app_roles"),
    ]
}
