import CarillonPostgres

/// The state of maintenance: each step in `carillon.maintenance`, and the rows in default partitions.
struct MaintenanceStatus: Sendable {
    private static let steps = Statement(
        "status_maintenance",
        """
        SELECT m.step, extract(epoch FROM now() - m.last_success)::int8 AS age,
            coalesce(m.last_failure > m.last_success, false) AS is_failing, m.last_error
        FROM carillon.maintenance m ORDER BY m.place
        """
    )
    private static let rows = Statement(
        "status_default_rows",
        "SELECT r.relation, r.rows FROM carillon.default_partition_rows() AS r"
    )

    struct Step: RowReadable {
        let name: String
        let secondsSinceSuccess: Int64
        /// The last run failed.
        let isFailing: Bool
        let lastError: String?

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            name = try rows.string(row, "step")
            secondsSinceSuccess = try rows.int64(row, "age")
            isFailing = try rows.bool(row, "is_failing")
            lastError = try rows.stringIfPresent(row, "last_error")
        }
    }

    struct DefaultPartition: RowReadable {
        let table: String
        /// An estimate if there are many.
        let rows: Int64

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            table = try rows.string(row, "relation")
            self.rows = try rows.int64(row, "rows")
        }
    }

    let steps: [Step]
    let defaultPartitions: [DefaultPartition]

    init(on connection: PostgresConnection) async throws {
        steps = try await connection.values(of: Self.steps)
        defaultPartitions = try await connection.values(of: Self.rows)
    }
}
