extension TestDatabase {
    /// Waits until a statement of another session that contains this text waits for a lock.
    package func seesBlocked(_ statement: String) async throws {
        try await TestLoop.shared.eventually("\(statement) waits for a lock") {
            // In a transaction it would see the same again and again.
            try await run("SELECT pg_stat_clear_snapshot()")
            return try await number(
                """
                SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database()
                    AND a.wait_event_type = 'Lock' AND a.query LIKE '%\(statement)%' AND a.pid <> pg_backend_pid()
                """
            ) > 0
        }
    }

    /// How many blocks a statement reads where PostgreSQL stores the long values of a table. It is rolled back.
    package func blocksOfLongValues(in table: String, readBy statement: String) async throws -> Int {
        let count = """
            SELECT pg_stat_get_xact_blocks_fetched(c.reltoastrelid) FROM pg_class c WHERE c.oid = 'carillon.\(table)'::regclass
            """
        try await run("BEGIN")
        let before = try await number(count)
        try await run(statement)
        let after = try await number(count)
        try await run("ROLLBACK")
        return after - before
    }
}
