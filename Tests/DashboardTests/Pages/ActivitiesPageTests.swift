import TestSupport
import Testing

/// Live Activities in the dashboard.
@Suite(.shop) struct ActivitiesPageTests {
    @Test func `each Live Activity under way has its state, its last update and its end`() async throws {
        let tokens = ["a0", "a1", "a2"].map { Shop.token($0) }
        try await shop.database.run(
            """
            UPDATE carillon.certificates SET topics = '{com.example.shop,com.example.shop.push-type.liveactivity}';
            SELECT carillon.register_token('shop', t, kind => 'live_activity') FROM unnest('{\(tokens.joined(separator: ","))}'::text[]) t;
            SELECT carillon.register_token('shop', '\(Shop.token("a9"))', expires_at => now() + interval '1 day');
            SELECT carillon.update_activity('shop', '{\(tokens[1])}', '{"goals": 1}');
            SELECT carillon.update_activity('shop', '{\(tokens[2])}', '{"goals": 1}', run_at => now() + interval '1 hour')
            """
        )
        #expect(try await shop.drain().status == 0)
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let json = await client.get("/activities", json: true).body
            #expect(json.matches(of: /"token":/).count == 3, "\(json)")
            for (token, state, waiting) in [("a0", "registered", 0), ("a1", "updated", 0), ("a2", "update waits", 1)] {
                let one = try #require(json.split(separator: "{").first { $0.contains("\"token\":\"\(token)") })
                #expect(one.contains("\"state\":\"\(state)\"") && one.contains("\"waiting\":\(waiting)"), "\(one)")
            }
            #expect(json.contains("\"kind\":\"live_activity\""))
            let page = try DashboardClient.read(await client.get("/activities"), "/activities").text
            #expect(page.contains("update waits") && page.contains("Under way"))
        }
    }

    @Test func `a media session is listed too, though it need not expire`() async throws {
        try await shop.database.run(
            """
            UPDATE carillon.certificates SET topics = '{com.example.shop,com.example.shop.push-type.nowplaying}';
            SELECT carillon.register_token('shop', '\(Shop.token("a1"))', kind => 'media_session');
            SELECT carillon.register_token('shop', '\(Shop.token("a2"))', kind => 'media_session',
                expires_at => now() + interval '1 hour');
            SELECT carillon.register_token('shop', '\(Shop.token("a3"))', kind => 'media_start');
            INSERT INTO carillon.tokens (app_id, token, kind, expires_at)
            SELECT a.id, '\(Shop.token("a4"))', 'media_session', now() - interval '1 s' FROM carillon.apps a;
            SELECT carillon.update_media('shop', '{\(Shop.token("a1"))}', '{"id": 1}')
            """
        )
        #expect(try await shop.drain().status == 0)
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let json = await client.get("/activities", json: true).body
            #expect(json.matches(of: /"kind":"media_session"/).count == 2, "\(json)")
            #expect(json.contains("\"state\":\"updated\"") && json.contains("\"ends_at\":null"), "\(json)")
            let page = try DashboardClient.read(await client.get("/activities"), "/activities").text
            #expect(page.contains("media session"), "\(page)")
        }
    }
}
