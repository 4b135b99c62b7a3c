package import CarillonPostgres

/// The claim: it moves rows of a lane from `messages` into one row of `inflight`, and returns them.
///
/// It takes the first rows whose pushes fit together, and names the first row that does not fit. A worker without a row in
/// `workers` gets nothing, nor does anybody in a copy of the database.
///
/// This is a statement and not a function of the schema: the result of a function could not get a column while workers of the
/// version before call it, and PostgreSQL would copy each row once more.
package enum ClaimStatement {
    /// The most bytes that a token takes in a claim, on average. Longer ones are shortened.
    static let tokenBytes = 520
    /// The most bytes that a payload takes in a row, on average if each token has one. Splitting a row cuts those that are longer.
    private static let payloadBytes = 8300
    /// The most bytes that an array takes besides its elements.
    static let arrayBytes = 256
    /// Tokens with so few bytes are not measured: even uncompressed they are small.
    private static let fewBytes = 256
    /// Larger arrays of tokens that are too long are shortened by splitting their row, so that no claim reads many of them.
    private static let maxShortenedBytes = 8192
    /// Compressed tokens with more bytes are not uncompressed to be measured.
    private static let maxCompressedBytes = 65536
    /// A longer payload is replaced by one that is refused as too large.
    private static let maxPayloadBytes = "carillon.max_payload_bytes()"
    /// The number of pushes of a row that cannot be claimed, and has to be split or discarded.
    private static let unfit = "2147483647"

    /// Whether an array has more bytes than its tokens may have. A compressed array is measured uncompressed.
    private static func isTooLarge(_ array: String, each bytes: Int) -> String {
        let most = "\(bytes) * cardinality(s.tokens) + \(arrayBytes)"
        return """
            (pg_column_size(\(array)) > \(most) \
            OR pg_column_compression(\(array)) IS NOT NULL AND octet_length(array_send(\(array))) > \(most))
            """
    }

    /// So a claim of a thousand rows has a few megabytes at most. The size of the stored tokens decides whether a row is taken,
    /// measured or unfit. If it is measured, it is unfit when they are too large, or have more than `$7` bytes:
    ///     bytes, at most      not compressed                 compressed
    ///     fewBytes            taken                          taken
    ///     maxShortenedBytes   taken, long tokens shortened   measured
    ///     maxCompressedBytes  measured                       measured
    ///     more                measured                       unfit
    private static let pushes = """
        CASE WHEN s.payloads IS NOT NULL AND \(isTooLarge("s.payloads", each: payloadBytes)) THEN \(unfit)
            WHEN pg_column_size(s.tokens) <= \(fewBytes) THEN cardinality(s.tokens)
            WHEN pg_column_size(s.tokens) <= \(maxShortenedBytes) AND pg_column_compression(s.tokens) IS NULL
            THEN cardinality(s.tokens)
            WHEN pg_column_size(s.tokens) > $7 THEN \(unfit)
            WHEN pg_column_size(s.tokens) > \(maxCompressedBytes) AND pg_column_compression(s.tokens) IS NOT NULL THEN \(unfit)
            WHEN \(isTooLarge("s.tokens", each: tokenBytes)) THEN \(unfit)
            ELSE cardinality(s.tokens) END
        """

    private static let tokens = """
        CASE WHEN pg_column_size(m.tokens) <= \(fewBytes) OR pg_column_size(m.tokens) > \(maxShortenedBytes)
                OR pg_column_compression(m.tokens) IS NOT NULL
                OR pg_column_size(m.tokens) <= \(tokenBytes) * cardinality(m.tokens) + \(arrayBytes) THEN m.tokens
            ELSE carillon.shortened_tokens(m.tokens) END
        """

    private static let payload = """
        CASE WHEN pg_column_size(m.payload) <= \(fewBytes) THEN m.payload
            WHEN pg_column_size(m.payload) > \(maxPayloadBytes)
                OR pg_column_compression(m.payload) IS NOT NULL AND octet_length(m.payload::text) > \(maxPayloadBytes)
            THEN carillon.oversized_payload() ELSE m.payload END
        """

    /// Jobs that three workers have died with are in quarantine: claimed apart from all others, a few at a time, and one such
    /// claim for each worker. Other jobs behind them may be claimed meanwhile. The kind of the first row decides which are
    /// claimed.
    private static let seen = """
        SELECT s.ctid AS tid, s.id,
            CASE WHEN s.lost_claims >= carillon.quarantine_from() THEN s.lost_claims ELSE 0 END AS quarantine,
            \(pushes) AS pushes
        FROM carillon.messages s
        WHERE s.app_id = $1 AND s.lane = $2 AND s.id >= $3
            AND \(isInstalledHere)
            AND EXISTS (SELECT FROM carillon.workers w WHERE w.id = $4 AND \(asynchronousCommit))
            AND (s.lost_claims < carillon.quarantine_from()
                OR NOT EXISTS (SELECT FROM carillon.inflight f WHERE f.worker_id = $4 AND f.quarantined))
        ORDER BY s.id LIMIT $5 FOR UPDATE OF s SKIP LOCKED
        """

    /// A pooler that is pointed at a copy gets there with the next statement, and the copy has the worker's row too. The planner
    /// computes `here()`, so a prepared claim reads only the row of `installation`.
    private static let isInstalledHere = """
        EXISTS (SELECT FROM carillon.installation i WHERE i.system_identifier || '/' || i.database_oid = carillon.here())
        """

    /// Safe: a crash that undoes the claim also undoes every settlement of it.
    private static let asynchronousCommit = "set_config('synchronous_commit', 'off', true) IS NOT NULL"

    /// Restores the session's own `synchronous_commit` if one of the jobs must not be sent twice.
    private static let usualCommit = """
        CASE WHEN bool_or(p.on_unknown = 'fail') THEN carillon.use_session_commit() ELSE true END
        """

    /// With `$8`, jobs without a collapse id are marked whose message has an attempt of unknown outcome. Each job is looked up
    /// only if the app has such messages.
    private static let mayHaveArrived = """
        CASE WHEN $8 AND EXISTS (SELECT FROM carillon.unknown_outcomes o WHERE o.app_id = $1)
            AND coalesce(p.collapse_id, '') = '' AND EXISTS (SELECT FROM carillon.unknown_outcomes u
                WHERE u.app_id = $1 AND u.message_id = coalesce(p.origin, p.id)) THEN true END
        """

    /// The app's topics are looked up once, and only if a row names a topic. With an empty one, the certificate decides.
    private static let topicNotAllowed = """
        CASE WHEN p.topic IS NULL OR p.topic = '' THEN NULL
            WHEN p.topic <> ALL ((SELECT carillon.topics_of($1))::text[])
                AND NOT carillon.is_derived_topic(p.topic, p.push_type, (SELECT carillon.topics_of($1)))
            THEN true END AS topic_not_allowed
        """

    /// How often a push is sent again because the outcome was unknown.
    static let maxResends = 3

    /// Once that is reached, an unknown outcome ends the push.
    private static let onUnknown = """
        CASE WHEN p.unknown_attempts >= \(maxResends) AND p.on_unknown = 'retry' THEN 'fail'
            ELSE nullif(p.on_unknown, 'retry') END AS on_unknown
        """

    /// Usually all rows fit: `all_fit` decides that once for the claim, and `fitting`, which decides for each row, is not executed.
    ///
    /// The claim has a row of its own: its columns in the row of each job would cost a fifteenth of the throughput of rows with one
    /// token. It comes after the jobs, and the first SELECT names the columns. A join of the three would copy each job twice more.
    /// `make docs` writes what `picked` returns, and the arguments of `carillon.job`.
    package static let statement = Statement(
        "claim",
        """
        WITH seen AS MATERIALIZED (
            \(seen)
        ), fitting AS (
            SELECT c.tid, c.id, c.pushes, c.total <= $6
                AND (c.quarantine = 0 OR c.total = c.pushes OR c.total <= carillon.quarantine_size(c.quarantine)) AS fits
            FROM (
                SELECT s.*, sum(s.pushes) OVER (ORDER BY s.id ROWS UNBOUNDED PRECEDING) AS total
                FROM seen s WHERE s.quarantine = (SELECT first.quarantine FROM seen first LIMIT 1)
            ) AS c
        ), all_fit AS (
            SELECT CASE WHEN sum(s.pushes) <= $6 AND max(s.quarantine) = 0 THEN array_agg(s.tid) END AS tids FROM seen s
        ), picked AS (
            DELETE FROM carillon.messages m
            WHERE m.ctid = ANY (coalesce((SELECT a.tids FROM all_fit a), ARRAY(SELECT f.tid FROM fitting f WHERE f.fits)))
            RETURNING
                m.id, m.lane, \(tokens) AS tokens, \(payload) AS payload, m.payloads, m.push_type, m.priority, m.expires_at,
                m.collapse_id, m.topic, m.reference, m.on_unknown, m.attempt, m.lost_claims, m.origin, m.broadcast_id,
                m.created_at, m.last_status, m.last_reason, m.unknown_attempts
        ), claim AS (
            INSERT INTO carillon.inflight (worker_id, app_id, quarantined, jobs)
            SELECT $4, $1, bool_or(p.lost_claims >= carillon.quarantine_from()), array_agg(carillon.job(
                id => p.id, lane => p.lane, tokens => p.tokens, payload => p.payload, payloads => p.payloads,
                push_type => p.push_type, priority => p.priority, expires_at => p.expires_at, collapse_id => p.collapse_id,
                topic => p.topic, reference => p.reference, on_unknown => p.on_unknown, attempt => p.attempt,
                lost_claims => p.lost_claims, origin => p.origin, broadcast_id => p.broadcast_id, created_at => p.created_at,
                last_status => p.last_status, last_reason => p.last_reason, unknown_attempts => p.unknown_attempts))
            FROM picked p HAVING count(*) > 0 AND \(usualCommit)
            RETURNING id, claimed_at, quarantined
        ), next AS (
            SELECT f.id, f.pushes FROM fitting f
            WHERE (SELECT a.tids FROM all_fit a) IS NULL AND NOT f.fits ORDER BY f.id LIMIT 1
        )
        SELECT NULL::bigint AS claim, NULL::timestamptz AS claimed_at, NULL::boolean AS quarantined, p.id, p.tokens, p.payload,
            p.payloads, nullif(p.push_type, 'alert') AS push_type, p.priority, p.expires_at, p.collapse_id, p.topic,
            p.reference, \(onUnknown), nullif(p.attempt, 1) AS attempt, p.origin, p.broadcast_id, p.created_at,
            \(topicNotAllowed), \(mayHaveArrived) AS may_have_arrived, NULL::integer AS unfit_pushes
        FROM picked p
        UNION ALL
        SELECT c.id, c.claimed_at, c.quarantined, \(nulls(18)) FROM claim c
        UNION ALL
        SELECT NULL, NULL, NULL, n.id, \(nulls(16)), n.pushes FROM next n
        """
    )

    private static func nulls(_ count: Int) -> String {
        Array(repeating: "NULL", count: count).joined(separator: ", ")
    }

    /// - Parameter collapseUnknown: The rows mark the jobs whose pushes get a collapse id because they may have arrived.
    package static func parameters(
        _ plan: ClaimPlan,
        worker: Int64,
        maxBytes: Int32,
        collapseUnknown: Bool = false
    ) -> Parameters {
        Parameters(
            plan.lane.app,
            plan.lane.number,
            plan.floor,
            worker,
            plan.rows,
            plan.pushes,
            maxBytes,
            collapseUnknown
        )
    }
}
