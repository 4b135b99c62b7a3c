import CarillonPostgres
import CarillonSchema
import CarillonText

/// A row of `workers`, with what the worker holds.
struct WorkerStatus: RowReadable, JSONConvertible {
    static let statement = Statement(
        "status_workers",
        """
        SELECT w.name AS worker, w.id AS number, w.host, w.pid, w.version,
            extract(epoch FROM now() - w.started_at)::int8 AS up_seconds,
            extract(epoch FROM now() - w.heartbeat_at)::int8 AS silent_seconds,
            extract(epoch FROM w.lease_until - w.heartbeat_at)::int8 AS lease_seconds, w.lease_until > now() AS alive,
            (SELECT count(*) FROM carillon.inflight i WHERE i.worker_id = w.id) AS claims
        FROM carillon.workers w ORDER BY w.id
        """
    )

    /// The name in the worker's log. A worker that was declared dead goes on under another id, with the same name.
    let number: Int64
    let name: String
    let version: String?
    /// In seconds.
    let upFor: Int64
    let silentFor: Int64
    /// The time-out of its lease, which it renews five times in that time.
    let lease: Int64
    let isAlive: Bool
    let claims: Int64
    let json: JSONValue

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        number = try rows.int64(row, "number")
        name = try rows.string(row, "worker")
        version = try rows.stringIfPresent(row, "version")
        upFor = try rows.int64(row, "up_seconds")
        silentFor = try rows.int64(row, "silent_seconds")
        lease = try rows.int64(row, "lease_seconds")
        isAlive = try rows.bool(row, "alive")
        claims = try rows.int64(row, "claims")
        json = try JSONValue(rows, row)
    }
}
