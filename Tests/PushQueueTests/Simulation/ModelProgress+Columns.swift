/// How a row of `results` or `unfinished`, called `u`, and the model's are compared.
extension ModelProgress {
    /// A column that the model has.
    struct Column: Sendable {
        let name: String
        /// Its value as text, in SQL.
        let sql: String
        /// The model's.
        let text: @Sendable (ModelProgress) -> String

        init(_ name: String, as sql: String? = nil, _ text: @escaping @Sendable (ModelProgress) -> String) {
            self.name = name
            self.sql = sql ?? "u.\(name)"
            self.text = text
        }
    }

    static let columns = [
        Column("message_id") { "\($0.message)" },
        Column("app_id") { "\($0.app)" },
        Column("sent") { "\($0.sent)" },
        Column("failed") { "\($0.failed)" },
        Column("expired") { "\($0.expired)" },
        Column("cancelled") { "\($0.cancelled)" },
        Column("attempts") { "\($0.attempts)" },
        Column(
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
