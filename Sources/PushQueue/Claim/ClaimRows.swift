import ApplePush
import CarillonIO
package import CarillonPostgres

package struct ClaimRows: Sendable {
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

extension ClaimRows {
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
            SELECT $4, $1, bool_or(p.claims >= 3), array_agg(carillon.job(id => p.id, lane => p.lane, tokens => p.tokens,
                payload => p.payload, payloads => p.payloads, push_type => p.push_type, priority => p.priority,
                expires_at => p.expires_at, collapse_id => p.collapse_id, topic => p.topic, reference => p.reference,
                on_unknown => p.on_unknown, attempt => p.attempt, claims => p.claims, origin => p.origin,
                broadcast_id => p.broadcast_id, created_at => p.created_at, last_status => p.last_status,
                last_reason => p.last_reason))
            FROM picked p HAVING count(*) > 0 AND CASE WHEN bool_or(p.on_unknown = 'fail') THEN set_config(
                'synchronous_commit', (SELECT c.reset_val FROM pg_settings c WHERE c.name = 'synchronous_commit'), true)
                IS NOT NULL ELSE true END
            RETURNING id, claimed_at, quarantined
        )
        SELECT k.id AS claim, k.claimed_at, k.quarantined, NULL::bigint AS id, NULL::text[] AS tokens, NULL::json AS payload,
            NULL::json[] AS payloads, NULL::text AS push_type, NULL::smallint AS priority, NULL::timestamptz AS expires_at,
            NULL::text AS collapse_id, NULL::text AS topic, NULL::text AS reference, NULL::text AS on_unknown,
            NULL::smallint AS attempt, NULL::bigint AS origin, NULL::bigint AS broadcast_id, NULL::timestamptz AS created_at,
            NULL::boolean AS may_have_arrived, NULL::bigint AS unfit_pushes
        FROM kept k
        UNION ALL
        SELECT NULL, NULL, NULL, p.id, p.tokens, p.payload, p.payloads, nullif(p.push_type, 'alert'), p.priority, p.expires_at,
            p.collapse_id, p.topic, p.reference, nullif(p.on_unknown, 'retry'), nullif(p.attempt, 1), p.origin, p.broadcast_id,
            p.created_at, CASE WHEN $8 AND EXISTS (SELECT FROM carillon.unknown_outcomes o WHERE o.app_id = $1)
                AND coalesce(p.collapse_id, '') = '' AND EXISTS (SELECT FROM carillon.unknown_outcomes u
                    WHERE u.app_id = $1 AND u.message_id = coalesce(p.origin, p.id)) THEN true END, NULL
        FROM picked p
        UNION ALL
        (SELECT NULL, NULL, NULL, f.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            f.pushes
        FROM fitting f WHERE NOT f.fits ORDER BY f.id LIMIT 1)
        """
    )

    /// - Parameter collapseUnknown: The answer marks the jobs whose pushes get a collapse id because they may have arrived.
    package static func parameters(
        _ plan: ClaimPlan,
        worker: Int64,
        mostBytes: Int32,
        collapseUnknown: Bool = false
    ) -> Parameters {
        Parameters(
            plan.lane.app,
            plan.lane.number,
            plan.floor,
            worker,
            plan.rows,
            plan.pushes,
            mostBytes,
            collapseUnknown
        )
    }

    /// - Parameter app: nil: the database has no such app.
    package init(
        _ rows: borrowing Rows,
        _ plan: ClaimPlan,
        app: AppRoute?,
        installation: (UInt64, UInt64)
    ) throws(PostgresError) {
        let columns = try ClaimColumns(rows)
        var seen = TokenSet()
        for row in rows.indices {
            if try !rows.isNull(row, columns.claim) {
                var jobs = ClaimedJobs(
                    id: try rows.int64(row, columns.claim),
                    app: plan.lane.app,
                    lane: plan.lane.number,
                    claimedAt: try rows.timestamp(row, columns.claimedAt),
                    installation: installation,
                    areQuarantined: try rows.bool(row, columns.quarantined)
                )
                jobs.reserve(jobs: rows.count)
                self.jobs = consume jobs
            } else if try rows.isNull(row, columns.unfitPushes) {
                guard self.jobs != nil else {
                    throw PostgresError(.unexpectedValue, "a claimed row came before its claim")
                }
                try self.jobs?.read(rows, row, columns, of: app, unlessIn: &seen)
                let id = try rows.int64(row, columns.id)
                first = min(first ?? id, id)
                self.rows += 1
            } else {
                let pushes = Int(try rows.int64(row, columns.unfitPushes))
                next = NextRow(id: try rows.int64(row, columns.id), pushes: pushes)
            }
        }
    }
}

extension ClaimedJobs {
    /// A null means the default of its column.
    fileprivate mutating func read(
        _ rows: borrowing Rows,
        _ row: Int,
        _ columns: ClaimColumns,
        of app: AppRoute?,
        unlessIn seen: inout TokenSet
    ) throws(PostgresError) {
        var reference: ByteRange?
        if try !rows.isNull(row, columns.reference) {
            reference = try rows.withBytes(row, columns.reference) { store($0) }
        }
        let onUnknown = try rows.stringIfPresent(row, columns.onUnknown)
        let job = Job(
            id: try rows.int64(row, columns.id),
            origin: try rows.int64IfPresent(row, columns.origin),
            broadcast: try rows.int64IfPresent(row, columns.broadcast),
            reference: reference,
            createdAt: try rows.timestamp(row, columns.createdAt),
            expiresAt: try rows.timestampIfPresent(row, columns.expiresAt),
            attempt: try rows.int16IfPresent(row, columns.attempt) ?? 1,
            mayRepeat: onUnknown == nil
        )
        waited(since: job.createdAt, attempt: job.attempt)
        let priority = try rows.int16IfPresent(row, columns.priority)
        let pushType = try rows.stringIfPresent(row, columns.pushType).map { PushType(stored: $0) } ?? .alert
        let usualTopic = app?.topic(for: pushType) ?? []
        try rows.withText(row, columns.topic, else: usualTopic) { (topic: RawSpan) throws(PostgresError) in
            try rows.withText(row, columns.collapseID, else: []) { collapseID in
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
        if try !rows.isNull(row, columns.mayHaveArrived) { collapse() }
        try readPayload(rows, row, columns)
        seen.begin()
        try rows.forEachElement(row, columns.tokens) { token in
            if let token { add(token, unlessIn: &seen) } else { add(RawSpan(), unlessIn: &seen) }
        }
    }

    private mutating func readPayload(
        _ rows: borrowing Rows,
        _ row: Int,
        _ columns: ClaimColumns
    ) throws(PostgresError) {
        let isShared = try !rows.isNull(row, columns.payload)
        guard try !rows.isNull(row, columns.payloads) else {
            if isShared { try rows.withBytes(row, columns.payload) { add(payload: $0) } } else { add(payload: nil) }
            return
        }
        let counts = (try rows.elementCount(row, columns.payloads), try rows.elementCount(row, columns.tokens))
        guard !isShared, counts.0 == counts.1 else {
            refuseMismatch()
            return
        }
        try rows.forEachElement(row, columns.payloads) { add(nextPayload: $0) }
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
