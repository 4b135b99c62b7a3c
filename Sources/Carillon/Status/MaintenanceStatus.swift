import Postgres

/// How the tables of history are kept: what `carillon.maintenance` says of each step, and the rows that lie in default
/// partitions because their days had none.
struct MaintenanceStatus: Sendable {
    private static let steps = Statement(
        "status_maintenance",
        """
        SELECT m.step, extract(epoch FROM now() - m.last_success)::int8, m.last_failure > m.last_success, m.last_error
        FROM carillon.maintenance m ORDER BY m.place
        """
    )
    private static let rows = Statement(
        "status_default_rows",
        "SELECT r.relation, r.rows FROM carillon.default_partition_rows() AS r"
    )

    struct Step: Sendable {
        let name: String
        let secondsSinceSuccess: Int64
        /// The last time that it was done it failed.
        let isFailing: Bool
        let lastError: String?
    }

    struct DefaultPartition: Sendable {
        let table: String
        /// An estimate where they are many.
        let rows: Int64
    }

    let steps: [Step]
    let defaultPartitions: [DefaultPartition]

    init(on connection: PostgresConnection) async throws {
        steps = try await connection.query(Self.steps) { rows in
            try rows.indices.map { row in
                Step(
                    name: try rows.string(row, 0),
                    secondsSinceSuccess: try rows.int64(row, 1),
                    isFailing: rows.isNull(row, 2) ? false : try rows.bool(row, 2),
                    lastError: try rows.stringIfPresent(row, 3)
                )
            }
        }
        defaultPartitions = try await connection.query(Self.rows) { rows in
            try rows.indices.map { row in
                DefaultPartition(table: try rows.string(row, 0), rows: try rows.int64(row, 1))
            }
        }
    }
}
