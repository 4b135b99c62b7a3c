import CarillonPostgres

/// What `feedback` returns: the dead tokens that it has not returned before.
enum PyapnsFeedback {
    /// The rows are kept and marked as read. This does not affect feedback passes, which mark them as handled. Rows that another
    /// call is reading are skipped. One extra row has no token, so that an unknown app is an error.
    static let statement = Statement(
        "pyapns_feedback",
        """
        WITH app AS MATERIALIZED (SELECT carillon.app_id($1) AS id, carillon.check_installation()),
        unread AS MATERIALIZED (
            SELECT f.app_id, f.id FROM carillon.feedback f
            WHERE f.app_id = (SELECT a.id FROM app a) AND f.read_at IS NULL AND f.seen_at <= clock_timestamp()
                AND NOT carillon.awaits_counts(f)
            ORDER BY f.id LIMIT 100000 FOR UPDATE SKIP LOCKED
        ),
        reading AS (
            UPDATE carillon.feedback f SET read_at = now() FROM unread u WHERE f.app_id = u.app_id AND f.id = u.id
            RETURNING f.app_id, f.token, f.reason, f.seen_at, least(f.unregistered_at, f.seen_at) AS at
        ),
        dead AS (
            SELECT lower(r.token) AS token, max(r.at) AS at FROM reading r
            WHERE r.reason IS DISTINCT FROM 'BadDeviceToken' OR carillon.bad_token_is_dead(r.app_id, r.seen_at)
            GROUP BY 1
        )
        SELECT d.token, to_char(d.at AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24:MI:SS') AS at
        FROM app LEFT JOIN dead d ON true ORDER BY d.at, d.token
        """
    )

    static func value(_ rows: borrowing Rows) throws -> XMLRPCValue {
        var entries: [XMLRPCValue] = []
        for row in rows.indices {
            guard let token = try rows.stringIfPresent(row, "token") else { continue }
            entries.append(.array([.dateTime(try rows.string(row, "at")), .string(token)]))
        }
        return .array(entries)
    }
}
