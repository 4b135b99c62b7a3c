import TestSupport
import Testing

/// What the dashboard shows of webhooks and of consumers.
@Suite(.shop) struct WebhookPageTests {
    private typealias Client = DashboardClient

    private static let hook = """
        SELECT carillon.add_webhook('crm', 'shop', 'https://example.com/hook');
        SELECT carillon.note_dead(1, '{aa,bb}', ARRAY[now(), now()])
        """
    private static let claim = "SELECT carillon.claim_webhooks(1)"

    /// - Parameter error: why the receiver has not accepted the batch; nil: it has.
    private static func settle(_ error: String?) -> String {
        """
        SELECT carillon.settle_webhook(w.id, w.batch_id, w.attempts, \(error.map { "'\($0)'" } ?? "NULL"), 60, false)
        FROM carillon.webhooks w
        """
    }

    @Test func `webhooks and consumers are on the page of all apps, and on that of their app`() async throws {
        try await shop.database.run(
            """
            \(Self.hook); SELECT carillon.subscribe('shop', 'billing', '{token_dead,failed}');
            SELECT carillon.note_dead(1, '{cc}', ARRAY[now()])
            """
        )
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            for path in ["/apps", "/apps/shop"] {
                let page = try Client.read(await client.get(path), path)
                #expect(page.links.contains("/webhooks/crm"), "\(page.links)")
                for expected in ["1 webhook", "1 consumer", "billing", "failed, token_dead", "active", "never"] {
                    #expect(page.text.contains(expected), "\(path): \(expected) is not in \(page.text)")
                }
                let json = await client.get(path, json: true).body
                #expect(json.contains(#""name":"crm","app":"shop","url":"https://example.com/hook","kinds":null"#))
                #expect(json.contains(#""state":"active""#) && json.contains(#""consumer":"billing""#), "\(json)")
                #expect(json.contains(#""events":3,"events_precision":"exact""#), "\(json)")
                #expect(json.contains(#""events":1,"events_precision":"exact""#), "\(json)")
                // A consumer that belongs to a webhook is not listed twice.
                #expect(!json.contains("webhook:crm"))
            }
            #expect(await client.get("/apps?after=a", json: true).body.contains(#""webhooks":null"#))
        }
    }

    @Test func `an app that nothing follows says so`() async throws {
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            #expect(await client.get("/apps/shop").body.contains("No webhook and no consumer"))
            #expect(await !client.get("/apps").body.contains("consumer"))
        }
    }

    /// `check` reads it too: see `CheckCommandTests`.
    @Test func `the commands and the pages have the same state of a webhook, even after it was resumed`() async throws {
        try await shop.database.run(Self.hook)
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            func expect(_ state: String, _ sentences: String...) async throws {
                let page = await client.get("/webhooks/crm")
                #expect(page.status == "200" && page.body.contains("data-every=\"5\""), "\(page.head)")
                let text = try Client.read(page, "/webhooks/crm").text
                for sentence in sentences { #expect(text.contains(sentence), "\(sentence) is not in \(text)") }
                #expect(text.contains("https://example.com/hook"))
                let member = "\"state\":\"\(state)\""
                for path in ["/webhooks/crm", "/apps", "/apps/shop"] {
                    #expect(await client.get(path, json: true).body.contains(member), "\(path): \(state)")
                }
                for words in [["list"], ["show", "crm"]] {
                    #expect(try await shop.run(["webhook"] + words + ["--json"]).output.contains(member), "\(words)")
                    #expect(try await shop.run(["webhook"] + words).output.contains(state), "\(words)")
                }
            }
            try await expect("active", "Its receiver has accepted nothing yet. 2 events wait, the oldest for ")
            try await shop.database.run("\(Self.claim); \(Self.settle("the receiver answered 500"))")
            try await expect("failing", "It has been failing since ", ": the receiver answered 500. 2 events wait")
            #expect(await !client.get("/").body.contains("/webhooks/crm"))
            try await shop.database.run("UPDATE carillon.webhooks SET failing_since = now() - interval '2 hours'")
            let overview = try Client.read(await client.get("/"), "/")
            #expect(overview.text.contains("The webhook crm of shop has been failing since "), "\(overview.text)")
            #expect(overview.links.contains("/webhooks/crm"))
            try await shop.database.run("SELECT carillon.pause_webhook('crm', 'a sale', 'anna')")
            try await expect("paused", "It has been paused since ", " by anna: a sale. 2 events wait")
            #expect(await client.get("/").body.contains("by anna: a sale. 2 events wait"))
            try await shop.database.run("SELECT carillon.resume_webhook('crm')")
            try await expect("failing", ": the receiver answered 500. 2 events wait")
            try await shop.database.run("\(Self.claim); \(Self.settle(nil))")
            try await expect("active", "Its receiver accepted the last batch. 0 events wait.")
            #expect(await client.get("/webhooks/none").status == "404")
        }
    }

    @Test func `a page counts what waits up to a limit, and says so`() async throws {
        try await shop.database.run(
            """
            \(Self.hook); INSERT INTO carillon.untaken_events (subscription_id, event_id, mask, events)
            SELECT s.id, 1000 + n, -1, 1 FROM carillon.subscriptions s, generate_series(1, 6000) n
            """
        )
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            for (path, events) in [("/apps", "402"), ("/apps/shop", "402"), ("/webhooks/crm", "5002")] {
                let json = await client.get(path, json: true).body
                #expect(json.contains("\"events\":\(events),\"events_precision\":\"at least\""), "\(json)")
                #expect(await client.get(path).body.contains("at least "), "\(path)")
            }
            #expect(await client.get("/webhooks/crm").body.contains("At least 5,002 events wait, the oldest for "))
        }
        #expect(try await shop.run("webhook", "show", "crm").output.contains("6,002 events wait"))
    }
}
