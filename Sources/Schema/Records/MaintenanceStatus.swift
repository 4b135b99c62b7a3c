package import CarillonPostgres

/// The state of maintenance: each step in `carillon.maintenance`, and the rows in default partitions.
package struct MaintenanceStatus: Sendable {
    package let steps: [MaintenanceRecord]
    package let defaultPartitions: [DefaultPartition]

    package init(from database: some StatementRunner) async throws {
        steps = try await database.values(of: MaintenanceRecord.statement)
        defaultPartitions = try await database.values(of: DefaultPartition.statement)
    }

    package var failing: [MaintenanceRecord] { steps.filter(\.isFailing) }
    package var filledPartitions: [DefaultPartition] { defaultPartitions.filter { $0.rows > 0 } }
}
