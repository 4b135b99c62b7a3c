/// How a row of `results` or `unfinished`, called `u`, is compared with that of the model.
extension ModelProgress {
    static let columns: [ModelColumn<ModelProgress>] = [
        ModelColumn("message_id") { "\($0.message)" },
        ModelColumn("app_id") { "\($0.app)" },
        ModelColumn("sent") { "\($0.sent)" },
        ModelColumn("failed") { "\($0.failed)" },
        ModelColumn("expired") { "\($0.expired)" },
        ModelColumn("cancelled") { "\($0.cancelled)" },
        ModelColumn("attempts") { "\($0.attempts)" },
        ModelColumn(
            "apns_unique_ids",
            as: """
                (SELECT string_agg(s.token || '=' || s.id, ',' ORDER BY s.token COLLATE "C")
                FROM jsonb_each_text(u.apns_unique_ids) AS s(token, id))
                """
        ) { row in
            row.uniqueIDs.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
        },
    ]

    /// The columns of `results` that the model does not have.
    static let others: Set = [
        "reference", "broadcast_id", "created_at", "finished_at", "worker_id", "last_status", "last_reason",
    ]
}
