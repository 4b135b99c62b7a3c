import CarillonPostgres
import TestSupport
import Testing

/// Who sees whole device tokens, and what messages say.
@Suite struct ContentRightTests {
    private static let token = Shop.token("bad1")
    private static let short = "bad10000…0000"

    /// A message that failed, one with a payload for each device that waits, and a dashboard with the rights of a reader.
    private func withMessages(
        _ words: [String],
        _ body: (Shop, DashboardClient, _ failed: Int, _ waiting: Int, _ login: String) async throws -> Void
    ) async throws {
        try await Shop.with(answers: ["bad=400:BadDeviceToken"]) { shop in
            let failed = try await shop.database.number(
                "SELECT carillon.enqueue('shop', '{\(Self.token)}', alert => 'a <b>secret</b>')"
            )
            let waiting = try await shop.database.number(
                """
                SELECT carillon.enqueue('shop', '{aa,bb}', payloads => ARRAY['{"aps":{"alert":"for a"}}', '{"aps":{"alert":"for b"}}'],
                    run_at => now() + interval '1 hour')
                """
            )
            #expect(try await shop.drain().status == 0)
            let login = "reader_\(shop.database.connection.backendProcessID)"
            try await shop.database.run("CREATE ROLE \(login) LOGIN; GRANT carillon_reader TO \(login)")
            try await attempt {
                try await DashboardClient.with(shop.database.url + "&user=\(login)", in: shop.folder, words) {
                    client,
                    _ in
                    try await body(shop, client, failed, waiting, login)
                }
            } finally: {
                try await shop.database.run("DROP OWNED BY \(login); DROP ROLE \(login)")
            }
        }
    }

    private func grant(_ shop: Shop, to login: String) async throws {
        try await shop.database.run("GRANT EXECUTE ON FUNCTION carillon.message_contents TO \(login)")
    }

    @Test func `by default nobody sees a whole token or a payload, whatever the login may`() async throws {
        try await withMessages([]) { shop, client, failed, _, login in
            try await grant(shop, to: login)
            let sought = "/trace?q=\(Self.token)"
            for path in ["/messages/\(failed)", "/failures", sought] {
                let (page, json) = (await client.get(path).body, await client.get(path, json: true).body)
                #expect(page.contains(Self.short) && json.contains(Self.short), "\(path)")
                // What was typed into the field stays there.
                let shown = path == sought ? page.replacing("value=\"\(Self.token)\"", with: "") : page
                #expect(!shown.contains(Self.token), "\(path)")
                #expect(!json.contains(Self.token), "\(path)")
                #expect(!page.contains("secret") && !json.contains("secret"), "\(path)")
            }
            let event = await RawHTTP.exchange(
                client.port,
                "GET /live?page=/failures HTTP/1.1\r\nHost: localhost\r\n\r\n"
            ) { String(decoding: $0, as: UTF8.self).contains("pager") }
            #expect(event.contains(Self.short) && !event.contains(Self.token))
            #expect(await client.get("/messages/\(failed)", json: true).body.contains("\"contents\":null"))
        }
    }

    @Test
    func `permitted users see whole tokens and the contents of messages, if the login may read them`() async throws {
        try await withMessages(["--show-contents", "readers"]) { shop, client, failed, waiting, login in
            let denied = await client.get("/messages/\(failed)").body
            #expect(denied.contains(Self.token) && !denied.contains("secret"))
            #expect(denied.contains("GRANT EXECUTE ON FUNCTION carillon.message_contents"))
            try await grant(shop, to: login)
            let page = try DashboardClient.read(await client.get("/messages/\(failed)"), "message").text
            #expect(page.contains(#"{"aps":{"alert":"a <b>secret</b>"}}"#), "\(page)")
            let both = await client.get("/messages/\(waiting)", json: true).body
            #expect(both.contains("for a") && both.contains("for b") && both.contains("\"token\":\"bb\""), "\(both)")
            _ = try await shop.database.number("SELECT carillon.cancel(\(waiting))")
            #expect(await client.get("/messages/\(waiting)").body.contains("No longer kept"))
        }
    }

    @Test
    func `a payload that is too large to be sent is not shown, and a message without one has a page`() async throws {
        try await withMessages(["--show-contents", "readers"]) { shop, client, _, waiting, login in
            try await grant(shop, to: login)
            let large = "json_build_object('a', repeat('x', 65536))"
            for (payload, shown) in [(large, "It is too large to be shown, and to be sent."), ("NULL", "no payload")] {
                try await shop.database.run(
                    "UPDATE carillon.scheduled SET payload = \(payload), payloads = NULL WHERE id = \(waiting)"
                )
                let page = await client.get("/messages/\(waiting)").body
                #expect(page.contains(shown) && !page.contains("xxxxxxxx"), "\(page.prefix(10_000))")
                #expect(await client.get("/messages/\(waiting)", json: true).body.contains(#""payload":null"#))
            }
        }
    }

    @Test func `the right of operators is theirs alone`() async throws {
        try await TemporaryFolder.with { folder in
            let file = try folder.write("operators", "battery staple")
            let words = ["--operator-password-file", file, "--show-contents", "operators"]
            try await withMessages(words) { shop, client, failed, _, login in
                try await grant(shop, to: login)
                let read = await client.get("/messages/\(failed)").body
                #expect(read.contains(Self.short) && !read.contains("secret"))
                let answer = await client.post("/login", "password=battery+staple&name=anna")
                let cookie = try #require(answer.header("Set-Cookie")?.prefix { $0 != ";" })
                let seen = await client.get("/messages/\(failed)", headers: "Cookie: \(cookie)\r\n").body
                #expect(seen.contains(Self.token) && seen.contains("secret"))
            }
        }
    }
}
