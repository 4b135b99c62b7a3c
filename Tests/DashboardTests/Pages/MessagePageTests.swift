import TestSupport
import Testing

/// The page of a message.
@Suite(.shop) struct MessagePageTests {
    /// Failures are read after the counts, so there may be more of them.
    @Test(arguments: [(5, 10), (30, 10), (100, 80)])
    func `the timeline shows 20 failures, and counts the others`(counted: Int, others: Int) async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, failed) VALUES (1, 1, \(counted));
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
            SELECT 1, 1, lpad(to_hex(n), 64, '0'), 400, 'BadDeviceToken' FROM generate_series(1, 30) n
            """
        )
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let page = await client.get("/messages/1?app=shop").body
            #expect(page.contains("And \(others) more failures."), "\(page)")
        }
    }
}
