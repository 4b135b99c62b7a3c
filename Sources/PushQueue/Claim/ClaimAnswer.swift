import ApplePush
package import CarillonPostgres

package struct ClaimAnswer: Sendable {
    /// A row that was left behind because its pushes did not fit.
    package struct NextRow: Equatable, Sendable {
        package let id: Int64
        package let pushes: Int
    }

    /// Nil: no row fitted.
    package internal(set) var jobs: ClaimedJobs?
    package internal(set) var rows = 0
    /// The lowest id among them.
    package internal(set) var first: Int64?
    package internal(set) var next: NextRow?
}

extension ClaimAnswer {
    /// Moves rows of a lane from `messages` into one row of `inflight`, and returns them.
    ///
    /// It takes the first rows whose pushes fit together, and names the first row that does not fit. A worker without a row in
    /// `workers` gets nothing. Values that are too long to be sent are cut to a length that is still refused, and a row whose
    /// tokens are too long is named as one with too many of them, so a claim of a thousand rows has a few megabytes at most.
    /// Compressed values are measured, unless they have so few bytes that even uncompressed they are small. Payloads for
    /// each token may have as many bytes on average as one payload for all may have; splitting a row cuts those that are longer.
    ///
    /// The commit is asynchronous: if a crash undoes a claim, the claim was not settled. It is synchronous if one of the
    /// jobs must not be sent twice.
    ///
    /// Rows that three workers have died with are in quarantine: claimed apart from all others, a few at a time, and one such
    /// claim for each worker. Other rows behind them may be claimed meanwhile. The kind of the first row decides which are
    /// claimed.
    ///
    /// With `$8`, the jobs without a collapse id are marked whose message has an attempt of unknown outcome. Each row is looked
    /// up only if the app has such messages.
    package static let statement = Statement(
        "claim",
        """
        WITH seen AS MATERIALIZED (
            SELECT s.ctid AS place, s.id, CASE WHEN s.claims < 3 THEN 0 ELSE s.claims END AS quarantine, CASE
                WHEN s.payloads IS NOT NULL AND (pg_column_size(s.payloads) > 8300 * cardinality(s.tokens) + 1024
                    OR pg_column_compression(s.payloads) IS NOT NULL
                        AND octet_length(array_send(s.payloads)) > 8300 * cardinality(s.tokens) + 1024) THEN 2147483647
                WHEN pg_column_size(s.tokens) <= 256 THEN cardinality(s.tokens)
                WHEN pg_column_size(s.tokens) > $7 THEN 2147483647
                WHEN pg_column_compression(s.tokens) IS NOT NULL AND (pg_column_size(s.tokens) > 65536
                    OR octet_length(array_send(s.tokens)) > 2080 * cardinality(s.tokens) + 1024) THEN 2147483647
                WHEN pg_column_size(s.tokens) > 2080 * cardinality(s.tokens) + 1024 THEN 2147483647
                ELSE cardinality(s.tokens) END AS pushes
            FROM carillon.messages s
            WHERE s.app_id = $1 AND s.lane = $2 AND s.id >= $3
              AND EXISTS (SELECT FROM carillon.workers w
                WHERE w.id = $4 AND set_config('synchronous_commit', 'off', true) IS NOT NULL)
              AND (s.claims < 3 OR NOT EXISTS (SELECT FROM carillon.inflight f WHERE f.worker_id = $4 AND f.quarantined))
            ORDER BY s.id LIMIT $5 FOR UPDATE OF s SKIP LOCKED
        ), fitting AS (
            SELECT c.place, c.id, c.pushes, c.total <= $6
                AND (c.quarantine = 0 OR c.total = c.pushes OR c.total <= carillon.quarantine_size(c.quarantine)) AS fits
            FROM (
                SELECT s.*, sum(s.pushes) OVER (ORDER BY s.id ROWS UNBOUNDED PRECEDING) AS total
                FROM seen s WHERE s.quarantine = (SELECT f.quarantine FROM seen f LIMIT 1)
            ) AS c
        ), picked AS (
            DELETE FROM carillon.messages m WHERE m.ctid = ANY (ARRAY(SELECT f.place FROM fitting f WHERE f.fits))
            RETURNING m.id, m.lane, m.tokens,
                CASE WHEN pg_column_size(m.payload) <= 256 THEN m.payload
                    WHEN pg_column_size(m.payload) > 8192 OR pg_column_compression(m.payload) IS NOT NULL AND octet_length(m.payload::text) > 8192
                    THEN to_json(repeat('x', 8192)) ELSE m.payload END AS payload, m.payloads,
                left(m.push_type, 64) AS push_type, m.priority, m.expires_at, left(m.collapse_id, 65) AS collapse_id,
                left(m.topic, 256) AS topic, left(m.reference, 16384) AS reference, left(m.on_unknown, 64) AS on_unknown,
                m.attempt, m.claims, m.origin, m.broadcast_id, m.created_at, m.last_status,
                left(m.last_reason, 256) AS last_reason
        ), kept AS (
            INSERT INTO carillon.inflight (worker_id, app_id, quarantined, jobs)
            SELECT $4, $1, bool_or(p.claims >= 3), array_agg(ROW(p.id, p.lane, p.tokens, p.payload, p.payloads,
                p.push_type, p.priority, p.expires_at, p.collapse_id, p.topic, p.reference, p.on_unknown, p.attempt, p.claims,
                p.origin, p.broadcast_id, p.created_at, p.last_status, p.last_reason)::carillon.job)
            FROM picked p HAVING count(*) > 0 AND CASE WHEN bool_or(p.on_unknown = 'fail') THEN set_config(
                'synchronous_commit', (SELECT c.reset_val FROM pg_settings c WHERE c.name = 'synchronous_commit'), true)
                IS NOT NULL ELSE true END
            RETURNING id, claimed_at, quarantined
        )
        SELECT 1::smallint, k.id, NULL::text[], NULL::json, NULL::text, NULL::smallint, NULL::timestamptz, NULL::text,
            NULL::text, NULL::text, NULL::text, NULL::smallint, k.quarantined::integer::bigint, NULL::bigint, k.claimed_at,
            NULL::json[], NULL::boolean FROM kept k
        UNION ALL
        SELECT NULL, p.id, p.tokens, p.payload, nullif(p.push_type, 'alert'), p.priority, p.expires_at, p.collapse_id,
            p.topic, p.reference, nullif(p.on_unknown, 'retry'), nullif(p.attempt, 1), p.origin, p.broadcast_id,
            p.created_at, p.payloads, CASE WHEN $8 AND EXISTS (SELECT FROM carillon.unknown_outcomes o WHERE o.app_id = $1)
                AND coalesce(p.collapse_id, '') = '' AND EXISTS (SELECT FROM carillon.unknown_outcomes u
                    WHERE u.app_id = $1 AND u.message_id = coalesce(p.origin, p.id)) THEN true END
        FROM picked p
        UNION ALL
        (SELECT 2::smallint, f.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, f.pushes::bigint, NULL, NULL,
            NULL, NULL
        FROM fitting f WHERE NOT f.fits ORDER BY f.id LIMIT 1)
        """
    )

    /// - Parameter collapsesUnknown: The answer marks the jobs whose pushes get a collapse id because they may have arrived.
    package static func parameters(
        _ plan: ClaimPlan,
        worker: Int64,
        mostBytes: Int32,
        collapsesUnknown: Bool = false
    ) -> Parameters {
        Parameters(
            plan.lane.app,
            plan.lane.number,
            plan.floor,
            worker,
            plan.rows,
            plan.pushes,
            mostBytes,
            collapsesUnknown
        )
    }

    /// - Parameter app: nil: the database has no such app.
    package init(
        _ rows: borrowing Rows,
        _ plan: ClaimPlan,
        app: RoutedApp?,
        installation: (UInt64, UInt64)
    ) throws(PostgresError) {
        var seen = TokenSet()
        for row in rows.indices {
            if try rows.isNull(row, .kind) {
                guard self.jobs != nil else {
                    throw PostgresError(.unexpectedValue, "a claimed row came before its claim")
                }
                try self.jobs?.read(rows, row, of: app, unlessIn: &seen)
                let id = try rows.int64(row, .id)
                first = min(first ?? id, id)
                self.rows += 1
            } else if try rows.int16(row, .kind) == 1 {
                var jobs = ClaimedJobs(
                    id: try rows.int64(row, .id),
                    app: plan.lane.app,
                    lane: plan.lane.number,
                    claimedAt: try rows.timestamp(row, .createdAt),
                    installation: installation,
                    areQuarantined: try rows.int64(row, .origin) != 0
                )
                jobs.reserve(jobs: rows.count)
                self.jobs = consume jobs
            } else {
                let pushes = Int(try rows.int64(row, .origin))
                next = NextRow(id: try rows.int64(row, .id), pushes: pushes)
            }
        }
    }
}

extension ClaimedJobs {
    /// A null means the default of its column.
    fileprivate mutating func read(
        _ rows: borrowing Rows,
        _ row: Int,
        of app: RoutedApp?,
        unlessIn seen: inout TokenSet
    ) throws(PostgresError) {
        var reference: Extent?
        if try !rows.isNull(row, .reference) { reference = try rows.withBytes(row, .reference) { store($0) } }
        let onUnknown = try rows.stringIfPresent(row, .onUnknown)
        let job = Job(
            id: try rows.int64(row, .id),
            origin: try rows.int64IfPresent(row, .origin),
            broadcast: try rows.int64IfPresent(row, .broadcast),
            reference: reference,
            createdAt: try rows.timestamp(row, .createdAt),
            expiresAt: try rows.timestampIfPresent(row, .expiresAt),
            attempt: try rows.int16IfPresent(row, .attempt) ?? 1,
            mayRepeat: onUnknown == nil
        )
        waited(since: job.createdAt, attempt: job.attempt)
        let priority = try rows.int16IfPresent(row, .priority)
        let pushType = try rows.stringIfPresent(row, .pushType).map { PushType(stored: $0) } ?? .alert
        let usualTopic = app?.topic(for: pushType) ?? []
        try rows.withText(row, .topic, else: usualTopic) { (topic: RawSpan) throws(PostgresError) in
            try rows.withText(row, .collapseID, else: []) { collapseID in
                begin(
                    job,
                    topic: topic,
                    collapseID: collapseID,
                    priority: priority,
                    pushType: pushType,
                    onUnknown: onUnknown,
                    appIsKnown: app != nil
                )
            }
        }
        if try !rows.isNull(row, .mayHaveArrived) { collapse() }
        try readPayload(rows, row)
        seen.begin()
        try rows.forEachElement(row, .tokens) { token in
            if let token { add(token, unlessIn: &seen) } else { add(RawSpan(), unlessIn: &seen) }
        }
    }

    private mutating func readPayload(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        let isShared = try !rows.isNull(row, .payload)
        guard try !rows.isNull(row, .payloads) else {
            if isShared { try rows.withBytes(row, .payload) { add(payload: $0) } } else { add(payload: nil) }
            return
        }
        let counts = (try rows.elementCount(row, .payloads), try rows.elementCount(row, .tokens))
        guard !isShared, counts.0 == counts.1 else {
            refuseMismatch()
            return
        }
        try rows.forEachElement(row, .payloads) { add(nextPayload: $0) }
    }
}

extension Rows {
    fileprivate func withText(
        _ row: Int,
        _ column: Column,
        else fallback: [UInt8],
        _ body: (RawSpan) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        if try isNull(row, column) {
            // A span of bytes has no padding that could be read uninitialised, which is what makes `bytes` unsafe.
            try body(unsafe fallback.span.bytes)
        } else {
            try withBytes(row, column, body)
        }
    }
}

/// The columns of the answer to a claim, by position: names would be looked up for each row.
extension Rows.Column {
    fileprivate static var kind: Self { .place(0) }
    fileprivate static var id: Self { .place(1) }
    fileprivate static var tokens: Self { .place(2) }
    fileprivate static var payload: Self { .place(3) }
    fileprivate static var pushType: Self { .place(4) }
    fileprivate static var priority: Self { .place(5) }
    fileprivate static var expiresAt: Self { .place(6) }
    fileprivate static var collapseID: Self { .place(7) }
    fileprivate static var topic: Self { .place(8) }
    fileprivate static var reference: Self { .place(9) }
    fileprivate static var onUnknown: Self { .place(10) }
    fileprivate static var attempt: Self { .place(11) }
    fileprivate static var origin: Self { .place(12) }
    fileprivate static var broadcast: Self { .place(13) }
    fileprivate static var createdAt: Self { .place(14) }
    fileprivate static var payloads: Self { .place(15) }
    fileprivate static var mayHaveArrived: Self { .place(16) }
}
