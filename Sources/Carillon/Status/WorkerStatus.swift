import Postgres

/// A row of `workers`, and how much it holds.
struct WorkerStatus: Sendable {
    static let statement = Statement(
        "status_workers",
        """
        SELECT w.name, w.host, w.pid, w.version, extract(epoch FROM now() - w.started_at)::int8,
            extract(epoch FROM now() - w.heartbeat_at)::int8, w.lease_until > now(),
            (SELECT count(*) FROM carillon.inflight i WHERE i.worker_id = w.id)
        FROM carillon.workers w ORDER BY w.id
        """
    )

    let name: String
    let host: String?
    let processID: Int64?
    let version: String?
    /// Seconds.
    let upFor: Int64
    let silentFor: Int64
    let isAlive: Bool
    let claims: Int64

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        name = try rows.string(row, 0)
        host = try rows.stringIfPresent(row, 1)
        processID = try rows.int64IfPresent(row, 2)
        version = try rows.stringIfPresent(row, 3)
        upFor = try rows.int64(row, 4)
        silentFor = try rows.int64(row, 5)
        isAlive = try rows.bool(row, 6)
        claims = try rows.int64(row, 7)
    }

    var json: JSONValue {
        .object([
            ("worker", .string(name)), ("host", JSONValue(host)), ("pid", processID.map { .int($0) } ?? .null),
            ("version", JSONValue(version)), ("up_seconds", .int(upFor)), ("silent_seconds", .int(silentFor)),
            ("alive", .bool(isAlive)), ("claims", .int(claims)),
        ])
    }
}
