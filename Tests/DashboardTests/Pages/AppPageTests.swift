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
}
