/// How a job, called `u`, is compared with that of the model.
extension ModelJob {
    static let fields: [ModelColumn<ModelJob>] = [
        ModelColumn("id") { "\($0.id)" },
        ModelColumn("lane") { "\($0.lane)" },
        ModelColumn(
            "tokens",
            as: #"(SELECT string_agg(t.token, ',' ORDER BY t.token COLLATE "C") FROM unnest(u.tokens) AS t(token))"#
        ) { $0.tokens.sorted().joined(separator: ",") },
        ModelColumn("on_unknown") { $0.mayRepeat ? "retry" : "fail" },
        ModelColumn("attempt") { "\($0.attempt)" },
        ModelColumn("lost_claims") { "\($0.lostClaims)" },
        ModelColumn("unknown_attempts") { "\($0.unknownAttempts)" },
        ModelColumn("origin") { job in job.origin.map { "\($0)" } ?? "" },
    ]

    /// Fields that are not compared. `JobFieldTests` shows that nothing changes them.
    static let others: Set = [
        "payload", "payloads", "push_type", "priority", "expires_at", "collapse_id", "topic", "reference",
        "broadcast_id", "created_at", "last_status", "last_reason",
    ]
}
