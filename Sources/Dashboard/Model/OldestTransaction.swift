import CarillonPostgres
import CarillonSchema
import CarillonText

/// The transaction that keeps vacuum from removing dead rows.
enum OldestTransaction {
    /// In seconds.
    static let longAge: Int64 = 600

    /// Without pg_read_all_stats, only sessions of the same login are visible.
    private static let statement = Statement(
        "web_oldest_transaction",
        """
        SELECT extract(epoch FROM max(now() - s.xact_start))::int8 AS age FROM pg_stat_activity s
        WHERE s.datname = current_database() AND s.backend_xmin IS NOT NULL AND s.backend_type = 'client backend'
        """
    )

    /// In seconds; nil if there is none.
    static func age(from database: ServiceRunner) async throws -> Int64? {
        try await database.query(statement) { rows in try rows.int64IfPresent(0, "age") }
    }

    static func finding(of age: Int64?) -> Finding? {
        guard let age, age >= longAge else { return nil }
        return Finding(
            .maintenance,
            .warning,
            "A transaction has been open for \(DurationText.age(age)) and keeps vacuum from removing dead rows of the queue.",
            remedy: "Find it in pg_stat_activity by xact_start, and end it."
        )
    }
}
