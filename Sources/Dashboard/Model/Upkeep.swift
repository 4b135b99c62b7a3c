import CarillonPostgres

/// What can go wrong around the queue: maintenance, history outside its partitions, and transactions that hold back vacuum.
struct Upkeep: Sendable {
    private static let steps = Statement(
        "web_maintenance",
        """
        SELECT m.step, m.last_error FROM carillon.maintenance m
        WHERE m.last_failure > coalesce(m.last_success, '-infinity') ORDER BY m.place
        """
    )
    private static let spill = Statement(
        "web_default_rows",
        "SELECT r.relation, r.rows FROM carillon.default_partition_rows() AS r WHERE r.rows > 0"
    )
    /// Without pg_read_all_stats only the sessions of the same login are seen.
    private static let transaction = Statement(
        "web_oldest_transaction",
        """
        SELECT extract(epoch FROM max(now() - s.xact_start))::int8 AS age FROM pg_stat_activity s
        WHERE s.datname = current_database() AND s.backend_xmin IS NOT NULL AND s.backend_type = 'client backend'
        """
    )

    struct Failing: RowReadable {
        let step: String
        let error: String?

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            step = try rows.string(row, "step")
            error = try rows.stringIfPresent(row, "last_error")
        }
    }

    struct Spill: RowReadable {
        let table: String
        let rows: Int64

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            table = try rows.string(row, "relation")
            self.rows = try rows.int64(row, "rows")
        }
    }

    var failing: [Failing] = []
    var spills: [Spill] = []
    /// Seconds.
    var oldestTransaction: Int64?

    init() {}

    init(from database: WebDatabase) async throws {
        failing = try await database.values(of: Self.steps)
        spills = try await database.values(of: Self.spill)
        oldestTransaction = try await database.query(Self.transaction, Parameters()) { rows in
            try rows.int64IfPresent(0, "age")
        }
    }
}
