import TestSupport
import Testing

@Suite(.shop) struct AppPageTests {
    @Test func `the page of an app shows the additional topics that its messages may name`() async throws {
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            #expect(await !client.get("/apps/shop").body.contains("Additional topics"))
            try await shop.database.run("UPDATE carillon.apps SET topics = '{com.bank,com.bakery}'")
            let page = try DashboardClient.read(await client.get("/apps/shop"), "/apps/shop").text
            #expect(page.contains("Additional topics") && page.contains("com.bank, com.bakery"), "\(page)")
            let json = await client.get("/apps/shop", json: true).body
            #expect(json.contains(#""topics":["com.bank","com.bakery"]"#), "\(json)")
        }
    }

    @Test func `the page of an app shows what Apple has delivered, for days that were counted here too`() async throws {
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            #expect(await client.get("/apps/shop", json: true).body.contains(#""deliveries":null"#))
            try await shop.database.run(
                """
                SELECT carillon.store_metrics('shop', ARRAY[d, d, d], '{alert,alert,alert}',
                    '{Delivered to Device,Delivered to Device (From Storage),Stored}', '{700,NULL,50}')
                FROM (SELECT ((now() AT TIME ZONE 'UTC')::date - n)::text AS d FROM generate_series(1, 9) n) AS days;
                INSERT INTO carillon.push_count_sums (app_id, start, sent, failed, expired, retried)
                SELECT 1, date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - n * interval '1 day', 900, 80, 20, 5
                FROM generate_series(1, 4) n
                """
            )
            let page = try DashboardClient.read(await client.get("/apps/shop"), "/apps/shop").text
            #expect(page.contains("Accepted by Apple") && page.contains("at least about 2,100"), "\(page)")
            // The first of the four days may not be complete.
            let json = await client.get("/apps/shop", json: true).body
            let members = #""ended":3000,"accepted":2700,"delivered":2100,"delivered_precision":"at least about""#
            #expect(json.contains(members), "\(json)")
        }
    }
}
