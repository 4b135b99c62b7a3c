import TestSupport
import Testing

/// Channels, as programs read them.
@Suite(.shop) struct ChannelsPageTests {
    private static let rows = """
        INSERT INTO carillon.channels (app_id, reference, policy, channel_id, state, last_error, requested_at, created_at)
        VALUES (1, 'match 1', 1, 'aGk=', 'ready', NULL, '2026-01-31T12:00:00.9Z', '2026-01-31T12:00:05Z'),
            (1, 'match 2', 0, NULL, 'failed', 'no "room"', '2026-02-01T00:00:00Z', NULL)
        """

    @Test func `each member of a channel has its name and its value, in the list and on the page`() async throws {
        try await shop.database.run(Self.rows)
        let members = [
            #"{"app":"shop","reference":"match 1","channel_id":"aGk=","policy":1,"state":"ready","last_error":null,"#
                + #""requested_at":"2026-01-31T12:00:00Z","created_at":"2026-01-31T12:00:05Z"}"#,
            #"{"app":"shop","reference":"match 2","channel_id":null,"policy":0,"state":"failed","last_error":"no \"room\"","#
                + #""requested_at":"2026-02-01T00:00:00Z","created_at":null}"#,
        ]
        let list = try await shop.run("channel", "list", "--json").output
        for channel in members { #expect(list.contains(channel), "\(list)") }
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let page = await client.get("/channels", json: true).body
            for channel in members { #expect(page.contains(channel), "\(page)") }
        }
    }
}
