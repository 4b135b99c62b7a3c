/// What the columns of results are that have no comment in the catalog, because `RETURNS TABLE` and `OUT` take none.
enum SQLResultColumns {
    /// By function. A column `app` is the name of the app.
    static let own: [String: [String: String]] = [
        "broadcast_progress": [
            "app_id": "the id of the app",
            "tokens": "the number of its pushes",
            "sent": "pushes that APNs answered with 200; with the protocol binary, pushes that no error followed",
            "failed": "pushes that failed",
            "expired": "pushes that were not sent before expires_at",
            "cancelled": "pushes that were cancelled, or superseded by a newer push",
            "waiting": "pushes that have not ended",
            "finished": "whether all pushes have ended",
            "created_at": "when it was enqueued",
            "finished_at": "when its last push ended; null if some pushes have not ended",
        ],
        "count_failures": [
            "pushes": "the number of failures", "is_all": "false if max_rows_read ended the count before until",
        ],
        "default_partition_rows": [
            "relation": "results, failures or failed_messages",
            "rows": "the number of rows in its default partition: exact up to 1,000, estimated beyond",
        ],
        "dismiss_step": [
            "pushes": "the number of failures dismissed", "next": "the after of the next call; null when done",
        ],
        "feedback_schedule": [
            "next_run": "when the next feedback pass is due", "every": "the interval between feedback passes",
        ],
        "message_contents": [
            "state": "where the payload is kept: ready, scheduled, in flight or failed",
            "push_type": "apns-push-type",
            "topic": "apns-topic; null means the topic of the app",
            "token": "the token that the payload is for, if each device has its own; otherwise null",
            "payload": "the payload",
        ],
        "newest_activities": [
            "token": "the token of the Live Activity",
            "state": "registered, update waits, updated or ended",
            "registered_at": "when the token was last registered",
            "ends_at": "when the Live Activity ends",
            "updated_at": "the timestamp of the last update; null if there was none",
            "message_id": "the id of the message with that update",
            "waiting": "the number of updates that wait, up to 100",
        ],
        "next_due": [
            "id": "the id of the job",
            "message_id": "the id of the message",
            "run_at": "when the job is due",
            "tokens": "the number of its pushes",
            "attempt": "the attempt that it waits for",
            "last_status": "for a retry: the status of the previous attempt; null if there was no answer",
            "last_reason": "for a retry: the reason of the previous attempt",
            "reference": "the caller's own id",
        ],
        "preview_message": [
            "payload": "the payload; the first one if payloads is given",
            "bytes": "its size",
            "max_bytes": "the largest size that the push type allows, or the protocol of the app",
            "push_type": "apns-push-type",
            "priority": "apns-priority; 10, which is Apple's default, if none is sent",
            "topic": "the topic of the message or, if it names none, of the app",
            "tokens": "the device tokens in lower case, each once",
        ],
        "push_types": [
            "push_type": "apns-push-type, or channel",
            "topic_suffix": "the suffix that its topics append to the bundle ID",
            "priorities": "the priorities that it may have",
            "default_priority": "the priority that is sent if a message has none; null if none is sent",
            "payload_limit": "the largest payload, in bytes",
            "collapse_id_limit": "the longest collapse_id, in bytes; 0 if it may have none",
            "is_silent": "whether aps must have no alert, badge or sound",
            "needs_expiration": "whether APNs requires apns-expiration",
            "needs_provider_token": "whether a signing key is required",
            "token_kind": "the kind of its tokens",
        ],
        "requeue_step": [
            "pushes": "the number of pushes requeued", "next": "the after of the next call; null when done",
        ],
        "search_reference": ["id": "the id of the message"],
        "search_token": [
            "event": "registered, failed, dead since, reported dead, reaped, ready, scheduled or in flight",
            "at": "when it happened; if scheduled, when it is due",
            "message_id": "the id of the message; for failed, the id of its job",
            "status": "the status that APNs answered to the last attempt; null if there was no answer",
            "reason": "the reason of the last attempt, or of the report",
            "attempt": "the number of the attempt",
            "apns_id": "for failed: the apns-id of the push",
        ],
        "send_test": ["id": "the id of the message", "is_new": "false if a message with the key was enqueued before"],
        "token_counts": [
            "kind": "what the tokens are for",
            "tokens": "the number of registered tokens",
            "is_estimate": "whether the number is an estimate",
        ],
    ]

    /// As rows of a `VALUES` list: function, column, text.
    static var values: String {
        own.flatMap { function, columns in columns.map { (function, $0.key, $0.value) } }
            .map { "('\($0)', '\($1)', '\($2.replacing("'", with: "''"))')" }.joined(separator: ",\n")
    }
}
