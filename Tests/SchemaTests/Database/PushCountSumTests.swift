import TestSupport
import Testing

/// The sums of counts of pushes that maintenance makes for charts.
@Suite(.demo) struct PushCountSumTests {
    /// When the 20 minutes began that ended at least 20 minutes ago.
    private static let complete = "date_bin('20 minutes', now() - interval '40 minutes', 'epoch')"
    private static let sums = """
        SELECT app_id, start - \(complete), sent, failed, expired, retried FROM carillon.push_count_sums ORDER BY 1, 2
        """

    private func count(_ database: TestDatabase, _ minute: String, app: Int = 1, worker: Int = 1, _ sent: Int)
        async throws
    {
        try await database.run(
            """
            INSERT INTO carillon.push_counts AS a (minute, app_id, worker_id, sent, failed, expired, retried)
            VALUES (date_trunc('minute', \(minute)), \(app), \(worker), \(sent), 1, 2, 3)
            ON CONFLICT (app_id, minute, worker_id) DO UPDATE SET sent = a.sent + excluded.sent
            """
        )
    }

    private func sum(_ database: TestDatabase) async throws -> [String] {
        try await database.run("SELECT carillon.maintain_step('sum', 'push_counts')")
        return try await database.rows(Self.sums)
    }

    @Test func `the minutes of an app and of all workers are summed, but not those that have not ended`() async throws {
        try await database.run("INSERT INTO carillon.apps (name) VALUES ('other')")
        try await count(database, Self.complete, 100)
        try await count(database, Self.complete, worker: 2, 20)
        try await count(database, "\(Self.complete) + interval '19 minutes'", 3)
        try await count(database, Self.complete, app: 2, 7)
        try await count(database, "now()", 1_000)
        let sums = ["(1,00:00:00,123,3,6,9)", "(2,00:00:00,7,1,2,3)"]
        #expect(try await sum(database) == sums)
        #expect(try await sum(database) == sums)
        #expect(try await database.rows("SELECT changed FROM carillon.maintain_step('sum', 'push_counts')") == ["(0)"])
    }

    @Test
    func `counts that a worker writes late are added, and nothing is lost when old minutes are deleted`() async throws {
        try await count(database, Self.complete, 100)
        try await count(database, "\(Self.complete) + interval '1 minute'", 10)
        #expect(try await sum(database) == ["(1,00:00:00,110,2,4,6)"])
        try await count(database, Self.complete, 5)
        #expect(try await sum(database) == ["(1,00:00:00,115,2,4,6)"])
        try await database.run("DELETE FROM carillon.push_counts WHERE minute = \(Self.complete)")
        #expect(try await sum(database) == ["(1,00:00:00,115,2,4,6)"])
    }

    @Test func `sums are made before their minutes are deleted, and deleted after the retention`() async throws {
        try await count(database, "now() - interval '3 hours'", 4)
        try await database.run("CALL carillon.maintain('2 hours')")
        #expect(try await database.rows("TABLE carillon.push_counts") == [])
        #expect(try await database.rows("TABLE carillon.push_count_sums") == [])
        try await count(database, "now() - interval '30 hours'", 4)
        try await database.run("CALL carillon.maintain()")
        #expect(try await database.rows("TABLE carillon.push_counts") == [])
        #expect(try await database.rows("SELECT sent FROM carillon.push_count_sums") == ["(4)"])
        try await database.run("UPDATE carillon.push_count_sums SET start = start - interval '1 day'")
        try await database.run("CALL carillon.maintain()")
        #expect(try await database.rows("TABLE carillon.push_count_sums") == [])
    }
}
