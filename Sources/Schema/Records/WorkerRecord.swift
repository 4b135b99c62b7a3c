package import CarillonPostgres
package import CarillonText

/// A row of `workers`, with what the worker holds.
package struct WorkerRecord: RowReadable, JSONConvertible {
    /// Of `carillon.workers w`.
    package static let columns = """
        w.name AS worker, w.id AS number, w.host, w.pid, w.version,
            extract(epoch FROM now() - w.started_at)::int8 AS up_seconds,
            extract(epoch FROM now() - w.heartbeat_at)::int8 AS silent_seconds,
            extract(epoch FROM w.lease_until - w.heartbeat_at)::int8 AS lease_seconds, w.lease_until > now() AS alive,
            (SELECT count(*) FROM carillon.inflight i WHERE i.worker_id = w.id) AS claims
        """
    private static let statement = Statement(
        "workers",
        "SELECT \(columns) FROM carillon.workers w ORDER BY w.id LIMIT $1"
    )

    /// - Parameter most: At most so many, the oldest first; nil: all.
    package static func all(most: Int64? = nil, from database: some StatementRunner) async throws -> [WorkerRecord] {
        try await database.values(of: statement, Parameters(most))
    }

    /// The name in the worker's log. A worker that was declared dead goes on with another id and the same name.
    package let number: Int64
    package let name: String
    package let host: String?
    package let version: String?
    /// In seconds.
    package let upFor: Int64
    package let silentFor: Int64
    /// The time-out of its lease, which it renews five times in that time.
    package let lease: Int64
    package let isAlive: Bool
    package let claims: Int64
    /// All columns of the row that it was read from.
    package let json: JSONValue

    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        number = try rows.int64(row, "number")
        name = try rows.string(row, "worker")
        host = try rows.stringIfPresent(row, "host")
        version = try rows.stringIfPresent(row, "version")
        upFor = try rows.int64(row, "up_seconds")
        silentFor = try rows.int64(row, "silent_seconds")
        lease = try rows.int64(row, "lease_seconds")
        isAlive = try rows.bool(row, "alive")
        claims = try rows.int64(row, "claims")
        json = try JSONValue(rows, row)
    }
}
