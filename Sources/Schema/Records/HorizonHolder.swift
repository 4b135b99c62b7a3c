package import CarillonPostgres

/// What keeps vacuum from removing dead rows of this database: what has done so for long, if there is any, and otherwise the oldest.
package struct HorizonHolder: Decodable, Sendable {
    private static let longAge: Int64 = 300

    /// Without pg_read_all_stats, only sessions of the same login are visible. PostgreSQL does not say since when a replication slot
    /// is unused.
    private static let statement = Statement(
        "horizon_holder",
        """
        SELECT h.what, h.transactions, h.seconds FROM (
            SELECT 'the transaction of process ' || a.pid || coalesce(' (' || nullif(a.application_name, '') || ')', '')
                AS what, greatest(age(a.backend_xmin), age(a.backend_xid))::int8 AS transactions,
                extract(epoch FROM now() - a.xact_start)::int8 AS seconds
            FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL
                AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.backend_type = 'client backend'
            UNION ALL
            SELECT 'the prepared transaction ' || p.gid, age(p.transaction)::int8,
                extract(epoch FROM now() - p.prepared)::int8
            FROM pg_prepared_xacts p WHERE p.database = current_database()
            UNION ALL
            SELECT 'the unused replication slot ' || r.slot_name, age(r.xmin)::int8, NULL
            FROM pg_replication_slots r WHERE r.xmin IS NOT NULL AND NOT r.active
        ) AS h ORDER BY coalesce(h.seconds >= \(longAge), true) DESC, h.transactions DESC, h.seconds DESC LIMIT 1
        """
    )

    /// As a sentence names it.
    package let what: String
    /// It holds back the horizon by so many.
    package let transactions: Int64
    /// Nil if it is unknown.
    package let seconds: Int64?

    package var isLong: Bool { seconds.map { $0 >= Self.longAge } ?? true }

    package static func find(from database: some StatementRunner) async throws -> HorizonHolder? {
        let found: [HorizonHolder] = try await database.values(of: statement)
        return found.first
    }
}
