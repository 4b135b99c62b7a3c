package import CarillonPostgres

/// The state of maintenance: each step in `carillon.maintenance`, and the rows in default partitions.
package struct MaintenanceReport: Sendable {
    /// How many rows lie outside the partitions of their days.
    package struct DefaultPartition: Decodable, Sendable {
        static let statement = Statement(
            "default_partition_rows",
            """
            SELECT r.relation AS table, r.rows, carillon.depth_precision(r.rows) AS rows_precision
            FROM carillon.default_partition_rows() AS r
            """
        )

        package let table: String
        package var amount: Amount { Amount(rows, rowsPrecision) }
        package let rows: Int64
        package let rowsPrecision: Amount.Precision
    }

    package let steps: [MaintenanceRecord]
    package let defaultPartitions: [DefaultPartition]

    package init(from database: some StatementRunner) async throws {
        steps = try await database.values(of: MaintenanceRecord.statement)
        defaultPartitions = try await database.values(of: DefaultPartition.statement)
    }

    package var failing: [MaintenanceRecord] { steps.filter(\.isFailing) }
    package var filledPartitions: [DefaultPartition] { defaultPartitions.filter { $0.rows > 0 } }
}
