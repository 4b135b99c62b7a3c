import CarillonPostgres

/// The statements that count pushes, and pause apps most of whose pushes fail.
enum PushCountStatements {
    static let write = Statement(
        "write_counts",
        """
        INSERT INTO carillon.push_counts AS a (minute, app_id, worker_id, sent, failed, expired, retried, bad_tokens, bad_topics)
        SELECT date_trunc('minute', now()), c.app, $1, c.sent, c.failed, c.expired, c.retried, c.bad_tokens, c.bad_topics
        FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
            AS c(app, sent, failed, expired, retried, bad_tokens, bad_topics)
        ON CONFLICT (app_id, minute, worker_id) DO UPDATE SET sent = a.sent + excluded.sent,
            failed = a.failed + excluded.failed, expired = a.expired + excluded.expired,
            retried = a.retried + excluded.retried, bad_tokens = a.bad_tokens + excluded.bad_tokens,
            bad_topics = a.bad_topics + excluded.bad_topics
        """
    )

    static func parameters(_ counts: [Int32: Settlement.Tally], of worker: Int64) -> Parameters {
        Parameters(
            worker,
            PostgresArray(counts.keys),
            PostgresArray(counts.values.lazy.map { Int64($0.sent) }),
            PostgresArray(counts.values.lazy.map { Int64($0.failed) }),
            PostgresArray(counts.values.lazy.map { Int64($0.expired) }),
            PostgresArray(counts.values.lazy.map { Int64($0.retried) }),
            PostgresArray(counts.values.lazy.map { Int64($0.badTokens) }),
            PostgresArray(counts.values.lazy.map { Int64($0.badTopics) })
        )
    }

    /// Pauses each of these apps if most of its pushes failed as BadDeviceToken or because of their topic.
    static let openBreakers = Statement(
        "open_breakers",
        "SELECT b.app_id, b.app, b.reason FROM carillon.open_breakers($1) AS b"
    )
}
