import TestSupport
import Testing

/// What people change about webhooks with the dashboard.
@Suite struct WebhookActionTests {
    private typealias Client = DashboardClient

    private static let hook = """
        SELECT carillon.add_webhook('crm', 'shop', 'https://a.example/');
        SELECT carillon.note_dead(1, '{aa,bb}', ARRAY[now(), now()])
        """
    private static let changes =
        "SELECT action, app, details ->> 'name' FROM carillon.audit WHERE source = 'dashboard' ORDER BY id"

    @Test func `a webhook is paused and resumed with forms, and each change is recorded`() async throws {
        try await Visitor.withOperator { shop, client in
            try await shop.database.run(Self.hook)
            let visitor = try await Visitor(client, "/webhooks/crm")
            let paused = await visitor.post("/webhooks/crm/pause", "reason=too+many+%3Cb%3E")
            #expect(paused.isDone("webhook_paused"), "\(paused.head)\(paused.body)")
            let address = try #require(paused.header("Location"))
            #expect(address.hasPrefix("/webhooks/crm?done="))
            let page = await client.get(address, headers: visitor.headers).body
            #expect(page.contains("The webhook is paused: its events wait."))
            #expect(page.contains("too many &lt;b&gt;") && page.contains("action=\"/webhooks/crm/resume\""))
            #expect(!page.contains("action=\"/webhooks/crm/pause\""))
            #expect(await visitor.post("/webhooks/crm/pause").isDone("unchanged"))
            let long = String(repeating: "x", count: 1_001)
            #expect(await visitor.post("/webhooks/crm/pause", "reason=\(long)").status == "400")
            #expect(await visitor.post("/webhooks/none/pause").status == "404")
            let resumed = await visitor.post("/webhooks/crm/resume", more: "Accept: application/json\r\n")
            #expect(
                resumed.status == "200"
                    && resumed.body.hasPrefix(#"{"done":"webhook_resumed","count":null,"see":"/webhooks/crm"}"#),
                "\(resumed.body)"
            )
            #expect(await visitor.post("/webhooks/crm/resume").isDone("unchanged"))
            // One that fails is attempted at once.
            try await shop.database.run("UPDATE carillon.webhooks SET failing_since = now(), failed_at = now()")
            #expect(await client.get("/webhooks/crm", headers: visitor.headers).body.contains("Attempt now"))
            #expect(await visitor.post("/webhooks/crm/resume").isDone("webhook_resumed"))
            #expect(
                try await shop.database.rows(Self.changes) == [
                    #"("pause webhook",shop,crm)"#, #"("resume webhook",shop,crm)"#, #"("resume webhook",shop,crm)"#,
                ]
            )
            #expect(await client.get("/changes").body.contains("pause webhook"))
        }
    }

    @Test func `events are posted again after their number was confirmed`() async throws {
        try await Visitor.withOperator { shop, client in
            try await shop.database.run(
                "\(Self.hook); DELETE FROM carillon.untaken_events; UPDATE carillon.events SET at = now() - interval '1 hour'"
            )
            let visitor = try await Visitor(client, "/webhooks/crm")
            #expect(await client.get("/webhooks/crm").body.contains("0 events wait."))
            let question = await client.get("/webhooks/crm/redeliver?since=90m", headers: visitor.headers)
            #expect(question.body.contains("Post 2 events again, stored since "), "\(question.body)")
            let since = try Visitor.hidden("since", in: question.body)
            let json = await client.get("/webhooks/crm/redeliver?since=90m", json: true).body
            #expect(json.contains(#""events":2,"events_precision":"exact""#), "\(json)")
            #expect(await client.get("/webhooks/crm/redeliver?since=30m").body.contains("No event that this webhook"))
            for wrong in ["", "?since=", "?since=2", "?since=0s", "?since=3651d", "?since=x"] {
                #expect(await client.get("/webhooks/crm/redeliver\(wrong)").status == "400", "\(wrong)")
            }
            #expect(await client.get("/webhooks/none/redeliver?since=2h").status == "404")
            let done = await visitor.post("/webhooks/crm/redeliver", "since=\(since)")
            #expect(done.isDone("redelivered&count=2"), "\(done.head)\(done.body)")
            let page = await client.get(try #require(done.header("Location")), headers: visitor.headers).body
            #expect(page.contains("2 events will be posted again.") && page.contains("2 events wait"), "\(page)")
            #expect(await visitor.post("/webhooks/crm/redeliver").status == "400")
            #expect(await visitor.post("/webhooks/crm/redeliver", "since=4000000000000000").status == "400")
            #expect(await visitor.post("/webhooks/none/redeliver", "since=\(since)").status == "404")
            #expect(try await shop.database.rows(Self.changes) == [#"("redeliver webhook",shop,crm)"#])
        }
    }

    @Test func `without the right to change webhooks or their form token, nothing is changed`() async throws {
        let forms = ["pause", "resume", "redeliver"].map { "/webhooks/crm/\($0)" }
        try await Visitor.withOperator([]) { shop, client in
            try await shop.database.run(Self.hook)
            let page = await client.get("/webhooks/crm")
            #expect(page.status == "200" && !page.body.contains("form_token"))
            #expect(!page.body.contains("<form class=\"filters\""), "\(page.body)")
            #expect(await client.get("/webhooks/crm/redeliver?since=2h").status == "403")
            for form in forms { #expect(await client.post(form, "form_token=x&since=1").status == "403", "\(form)") }
            #expect(try await shop.database.rows(Self.changes) == [])
        }
        try await Visitor.withOperator { shop, client in
            try await shop.database.run(Self.hook)
            let visitor = try await Visitor(client, "/webhooks/crm")
            let other = try await Visitor(client, "/webhooks/crm")
            for form in forms {
                let forged = [
                    await client.post(form, "since=1", headers: visitor.headers),
                    await client.post(form, "since=1&form_token=\(other.token)", headers: visitor.headers),
                    await visitor.post(form, "since=1", more: "Origin: http://evil.example\r\n"),
                ]
                for answer in forged { #expect(answer.status == "403", "\(form): \(answer.head)") }
            }
            #expect(await client.get("/webhooks/crm/pause", headers: visitor.headers).status == "405")
            #expect(try await shop.database.rows(Self.changes) == [])
        }
        // The right at PostgreSQL is another one.
        try await Visitor.withOperator(roles: "carillon_reader") { shop, client in
            try await shop.database.run(Self.hook)
            let visitor = try await Visitor(client, "/webhooks/crm")
            let answer = await visitor.post("/webhooks/crm/pause")
            #expect(answer.status == "503" && answer.body.contains("GRANT carillon_operator TO"), "\(answer.body)")
        }
    }
}
