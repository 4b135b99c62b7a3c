/// What the columns of results are that have no comment in the catalog, because `RETURNS TABLE` and `OUT` take none.
enum SQLResultColumns {
    /// By function. A column `app` is the name of the app.
    static let own: [String: [String: String]] = [
        "audience": [
            "tokens": "the number of tokens",
            "exact": "whether the number is exact; otherwise it is an estimate",
        ],
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
        "broadcast_zones": [
            "time_zone": "the name of the time zone",
            "run_at": "when its pushes are due",
            "tokens": "the number of its pushes",
            "sent": "pushes that APNs answered with 200; with the protocol binary, pushes that no error followed",
            "failed": "pushes that failed",
            "expired": "pushes that were not sent before expires_at",
            "cancelled": "pushes that were cancelled, or superseded by a newer push",
            "waiting": "pushes that have not ended",
        ],
        "forget": [
            "kind": "the table",
            "removed": "how many of its rows were deleted or changed; for inflight, how many pushes are in flight",
        ],
        "message_contents": [
            "state": "where the payload is kept: ready, scheduled, in flight or failed",
            "push_type": "apns-push-type",
            "topic": "apns-topic; null means the topic of the app",
            "token": "the token that the payload is for, if each device has its own; otherwise null",
            "payload": "the payload",
        ],
        "push_types": [
            "push_type": "apns-push-type, or channel; null for all other types",
            "topic_suffix": "the suffix that its topics append to the bundle ID",
            "priorities": "the priorities that it may have",
            "default_priority": "the priority that is sent if a message has none; null if none is sent",
            "payload_limit": "the largest payload, in bytes",
            "collapse_id_limit": "the longest collapse_id, in bytes; 0 if it may have none",
            "is_silent": "whether aps must have no alert, badge or sound",
            "needs_expiration": "whether APNs requires apns-expiration",
            "needs_provider_token":
                "whether a signing key is required: a certificate is refused even if it names the topic",
            "token_kind": "the kind of its tokens",
            "start_kind": "the kind of the tokens that starts are sent to, if it is another",
            "is_update": "whether an older push to a token is never sent after a newer one",
        ],
        "search_reference": ["id": "the id of the message"],
    ]

    /// As rows of a `VALUES` list: function, column, text.
    static var values: String {
        own.flatMap { function, columns in columns.map { (function, $0.key, $0.value) } }
            .map { "('\($0)', '\($1)', '\($2.replacing("'", with: "''"))')" }.joined(separator: ",\n")
    }
}
