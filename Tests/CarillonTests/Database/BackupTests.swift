import ApplePushSimulator
import CarillonPostgres
import TestSupport
import Testing

/// A restored copy, as docs/backup.md tells how to treat it.
@Suite(.shop) struct BackupTests {
    private static var disarming: String {
        get throws {
            let page = try GeneratedPage("docs/backup.md").text
            return String(try #require(page.firstMatch(of: /```sql\n(UPDATE [^`]*)```/)).output.1)
        }
    }

    @Test
    func `a copy that was disarmed sends nothing, and what is given a credential and resumed does`() async throws {
        try await shop.enqueue(5)
        // What a worker held at the time of the backup.
        try await shop.database.connection.script(
            """
            WITH gone AS (DELETE FROM carillon.messages WHERE id <= 2 RETURNING *)
            INSERT INTO carillon.inflight (id, worker_id, app_id, jobs)
            SELECT 5, 77, 1, array_agg(json_populate_record(NULL::carillon.job, to_json(g))) FROM gone g
            """
        )
        try await shop.database.connection.script(Self.disarming)
        // As the first worker does once that one's lease is over.
        try await shop.database.connection.script("SELECT carillon.take_over(0)")
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 5)
        #expect(try await shop.drain().status == 0)
        #expect(await shop.gateway.receivedRequests().isEmpty)
        // Resumed by mistake, it still has nothing to send with.
        #expect(try await shop.run("app", "resume", "shop").status == 0)
        _ = try await shop.run("worker", "--once")
        #expect(await shop.gateway.receivedRequests().isEmpty)
        #expect(try await shop.run("app", "set", "shop", "--credential", "shop").status == 0)
        #expect(try await shop.drain().status == 0)
        #expect(await shop.gateway.receivedRequests().count == 5)
    }
}
