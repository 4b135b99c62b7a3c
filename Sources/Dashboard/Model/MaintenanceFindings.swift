import CarillonPostgres
import CarillonSchema

/// Problems around the queue: maintenance, history outside its partitions, and transactions that hold back vacuum.
struct MaintenanceFindings: Sendable {
    /// Without pg_read_all_stats, only sessions of the same login are visible.
    private static let transaction = Statement(
        "web_oldest_transaction",
        """
        SELECT extract(epoch FROM max(now() - s.xact_start))::int8 AS age FROM pg_stat_activity s
        WHERE s.datname = current_database() AND s.backend_xmin IS NOT NULL AND s.backend_type = 'client backend'
        """
    )

    let report: MaintenanceReport
    /// In seconds.
    let oldestTransaction: Int64?

    init(from database: WebDatabase) async throws {
        report = try await MaintenanceReport(from: database)
        oldestTransaction = try await database.query(Self.transaction) { rows in
            try rows.int64IfPresent(0, "age")
        }
    }
}
