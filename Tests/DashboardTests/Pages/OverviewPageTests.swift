import TestSupport
import Testing

/// The tiles of the first page.
@Suite(.shop) struct OverviewPageTests {
    @Test func `the tile counts as many failed pushes as the table, and says besides how many expired`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.push_counts (app_id, worker_id, minute, failed, expired)
            VALUES (1, 1, date_trunc('minute', now()), 3, 5)
            """
        )
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let page = try DashboardClient.read(await client.get("/"), "/").text
            #expect(page.contains("3 in the last hour, and 5 expired"), "\(page)")
        }
    }
}
