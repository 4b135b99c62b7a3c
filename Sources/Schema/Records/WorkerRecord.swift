package import CarillonPostgres
package import CarillonText

/// A row of `worker_status`.
package struct WorkerRecord: Record {
    package enum State: String, CaseIterable, Decodable, Sendable {
        case alive
        /// There is nothing to do.
        case asleep
        /// Two heartbeats are missing.
        case silent
        /// It holds claims and settles none.
        case stuck

        package var isAlive: Bool { self == .alive || self == .asleep }
    }

    /// Of `carillon.worker_status w`.
    package static let columns = """
        w.id, w.name, w.host, w.pid, w.version, w.state, w.state IN ('alive', 'asleep') AS alive,
            extract(epoch FROM w.age)::int8 AS age_seconds, extract(epoch FROM w.silence)::int8 AS silence_seconds,
            extract(epoch FROM w.lease)::int8 AS lease_seconds, w.claims, w.asleep_since
        """
    private static let statement = Statement(
        "workers",
        "SELECT \(columns) FROM carillon.worker_status w ORDER BY w.id LIMIT $1"
    )

    /// - Parameter maxRows: The largest number of workers to read, oldest first; nil reads all.
    package static func all(
        maxRows: Int64? = nil,
        from database: some StatementRunner
    ) async throws -> [WorkerRecord] {
        try await database.values(of: statement, Parameters(maxRows))
    }

    /// The name in the worker's log. A worker that was declared dead goes on with another id and the same name.
    package let id: Int64
    package let name: String
    package let host: String?
    package let version: String?
    package let state: State
    /// In seconds.
    package let upFor: Int64
    package let silentFor: Int64
    /// The timeout of its lease, which it renews five times in that time.
    package let lease: Int64
    package let claims: Int64
    /// Nil if it is awake.
    package let asleepSince: Moment?
    /// All columns of the row that it was read from.
    package let json: JSONValue

    private enum CodingKeys: String, CodingKey {
        case id, name, host, version, state, claims, json
        case upFor = "age_seconds"
        case silentFor = "silence_seconds"
        case lease = "lease_seconds"
        case asleepSince = "asleep_since"
    }
}
