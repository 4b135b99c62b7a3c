import Postgres

/// A row of `workers`, with what the worker holds.
struct WorkerStatus: RowReadable {
    static let statement = Statement(
        "status_workers",
        """
        SELECT w.id, w.name, w.host, w.pid, w.version, extract(epoch FROM now() - w.started_at)::int8 AS up_for,
            extract(epoch FROM now() - w.heartbeat_at)::int8 AS silent_for,
            extract(epoch FROM w.lease_until - w.heartbeat_at)::int8 AS lease, w.lease_until > now() AS is_alive,
            (SELECT count(*) FROM carillon.inflight i WHERE i.worker_id = w.id) AS claims
        FROM carillon.workers w ORDER BY w.id
        """
    )

    /// The name in the worker's log. A worker that was declared dead goes on under another number, with the same name.
    let number: Int64
    let name: String
    let host: String?
    let processID: Int64?
    let version: String?
    /// In seconds.
    let upFor: Int64
    let silentFor: Int64
    /// The time-out of its lease, which it renews five times in that time.
    let lease: Int64
    let isAlive: Bool
    let claims: Int64

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        number = try rows.int64(row, "id")
        name = try rows.string(row, "name")
        host = try rows.stringIfPresent(row, "host")
        processID = try rows.int64IfPresent(row, "pid")
        version = try rows.stringIfPresent(row, "version")
        upFor = try rows.int64(row, "up_for")
        silentFor = try rows.int64(row, "silent_for")
        lease = try rows.int64(row, "lease")
        isAlive = try rows.bool(row, "is_alive")
        claims = try rows.int64(row, "claims")
    }

    var json: JSONValue {
        .object([
            ("worker", .string(name)), ("number", .int(number)),
            ("host", JSONValue(host)), ("pid", processID.map { .int($0) } ?? .null),
            ("version", JSONValue(version)), ("up_seconds", .int(upFor)), ("silent_seconds", .int(silentFor)),
            ("lease_seconds", .int(lease)), ("alive", .bool(isAlive)), ("claims", .int(claims)),
        ])
    }
}
