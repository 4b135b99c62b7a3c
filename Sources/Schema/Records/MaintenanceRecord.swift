package import CarillonPostgres

/// A row of `maintenance`: a step, and how its last runs ended.
package struct MaintenanceRecord: RowReadable {
    static let statement = Statement(
        "maintenance_steps",
        """
        SELECT m.step, extract(epoch FROM now() - m.last_success)::int8 AS age,
            coalesce(m.last_failure > m.last_success, false) AS is_failing, m.last_error
        FROM carillon.maintenance m ORDER BY m.place
        """
    )

    package let step: String
    package let secondsSinceSuccess: Int64
    /// The last run failed.
    package let isFailing: Bool
    package let lastError: String?

    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        step = try rows.string(row, "step")
        secondsSinceSuccess = try rows.int64(row, "age")
        isFailing = try rows.bool(row, "is_failing")
        lastError = try rows.stringIfPresent(row, "last_error")
    }
}
