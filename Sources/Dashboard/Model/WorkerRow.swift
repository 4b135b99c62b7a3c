import CarillonPostgres
import CarillonSchema
import CarillonText

/// A worker as the dashboard shows it.
struct WorkerRow: RowReadable, JSONConvertible {
    static let statement = Statement(
        "web_workers",
        """
        SELECT w.id AS number, w.name AS worker, w.host, w.pid, w.version, w.started_at,
            extract(epoch FROM now() - w.started_at)::int8 AS up_seconds,
            extract(epoch FROM now() - w.heartbeat_at)::int8 AS silent_seconds,
            extract(epoch FROM w.lease_until - w.heartbeat_at)::int8 AS lease_seconds, w.lease_until > now() AS alive,
            w.connections,
            (SELECT count(*) FROM carillon.inflight i WHERE i.worker_id = w.id) AS claims,
            (SELECT coalesce(sum(t.sent), 0)::int8 FROM carillon.apps a CROSS JOIN LATERAL (
                SELECT t.sent FROM carillon.push_counts t WHERE t.app_id = a.id AND t.worker_id = w.id
                    AND t.minute >= date_trunc('minute', now()) - interval '1 minute') t) AS sent_last_minute
        FROM carillon.workers w ORDER BY w.id LIMIT 500
        """
    )

    let number: Int64
    let name: String
    let host: String?
    let version: String?
    let startedAt: Moment
    let upFor: Int64
    let silentFor: Int64
    let lease: Int64
    let isAlive: Bool
    let claims: Int64
    /// To gateways; nil: it has not said yet.
    let connections: Int64?
    let sentLastMinute: Int64
    let json: JSONValue

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        number = try rows.int64(row, "number")
        name = try rows.string(row, "worker")
        host = try rows.stringIfPresent(row, "host")
        version = try rows.stringIfPresent(row, "version")
        startedAt = Moment(try rows.timestamp(row, "started_at"))
        upFor = try rows.int64(row, "up_seconds")
        silentFor = try rows.int64(row, "silent_seconds")
        lease = try rows.int64(row, "lease_seconds")
        isAlive = try rows.bool(row, "alive")
        claims = try rows.int64(row, "claims")
        connections = try rows.int64IfPresent(row, "connections")
        sentLastMinute = try rows.int64(row, "sent_last_minute")
        json = try JSONValue(rows, row)
    }
}
