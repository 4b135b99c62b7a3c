import FoundationEssentials
import TestSupport
import Testing

/// The dashboard of an installation with hundreds of apps.
@Suite(.shop) struct ManyAppsTests {
    private static let apps = """
        INSERT INTO carillon.apps (name, topic, certificate_id)
        SELECT 'app ' || lpad(n::text, 3, '0'), 'com.example.app' || n, (SELECT min(c.id) FROM carillon.certificates c)
        FROM generate_series(1, 300) n;
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
        SELECT n, a.id, lpad(to_hex(n), 64, '0'), 400, 'Reason' || n % 7, now() - n * interval '1 second'
        FROM carillon.apps a, generate_series(1, 60) n;
        INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, seen_at)
        SELECT a.id, lpad(to_hex(n), 64, '0'), now(), 'Unregistered', now() - n * interval '1 day'
        FROM carillon.apps a, generate_series(1, 13) n;
        INSERT INTO carillon.tokens (app_id, token) SELECT a.id, 'aa' FROM carillon.apps a;
        INSERT INTO carillon.tokens (app_id, token, kind, expires_at)
        SELECT a.id, 'bb', 'live_activity', now() + interval '8 hours' FROM carillon.apps a;
        INSERT INTO carillon.channels (app_id, reference, policy, state, last_error)
        SELECT a.id, 'match ' || n, 0, 'failed', 'Apple refused it' FROM carillon.apps a, generate_series(1, 3) n;
        INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent)
        SELECT date_trunc('minute', now()), a.id, 1, a.id FROM carillon.apps a;
        SELECT carillon.add_webhook('webhook of ' || a.name, a.name, 'https://a.example/'), carillon.subscribe(a.name, 'billing')
        FROM carillon.apps a;
        UPDATE carillon.webhooks SET failed_at = now(), failing_since = now() - interval '2 hours', last_error = repeat('x', 300)
        """

    @Test func `every page stays small, and says that there is more`() async throws {
        try await shop.database.run(Self.apps)
        try await DashboardClient.with(shop.database.url, in: shop.folder, ["--local-changes"]) { client, _ in
            let assets = try await assetBytes(client)
            for path in DashboardClient.pages + ["/failures?since=7d", "/trace?q=nothing"] {
                let page = await client.get(path)
                #expect(page.status == "200")
                let bytes = page.body.utf8.count + assets
                #expect(bytes < 60_000, "\(path) has \(bytes) bytes with what it loads")
            }
            let overview = try DashboardClient.read(await client.get("/"), "/").text
            #expect(overview.contains("only the first 200 apps") && overview.contains("All apps"))
            #expect(overview.contains("45.5k in the last hour"), "the pushes of all 301 apps")
            let failures = try DashboardClient.read(await client.get("/failures"), "/failures").text
            #expect(failures.contains("The largest 25"))
        }
    }

    @Test func `the list of apps continues from page to page, as JSON too`() async throws {
        try await shop.database.run(Self.apps)
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            struct List: Decodable {
                struct App: Decodable { let app: String }
                let apps: [App]
                let more: String?
            }
            var names: [String] = []
            var next: String? = "/apps"
            while let path = next {
                let page = await client.get(path)
                let json = await client.get(path, json: true).body
                let list = try JSONDecoder().decode(List.self, from: Data(json.utf8))
                #expect(list.apps.count <= 50)
                #expect(page.body.contains(">More</a>") == (list.more != nil))
                names += list.apps.map(\.app)
                next = list.more
            }
            #expect(names.count == 301 && names == names.sorted())
            #expect(await client.get("/apps?after=zzz").body.contains("There are no more apps."))
        }
    }

    @Test func `a search that did not read everything does not say that there is nothing`() async throws {
        let token = String(repeating: "ef", count: 32)
        try await shop.database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload, reference) VALUES (1, '{\(token)}', '{}', 'deep');
            INSERT INTO carillon.messages (app_id, tokens, payload) SELECT 1, '{aa}', '{}' FROM generate_series(1, 2000)
            """
        )
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            for wanted in ["deep", token] {
                let page = await client.get("/trace?q=\(wanted)").body
                #expect(
                    page.contains("Nothing was found among the newest rows") && page.contains("shop has more"),
                    "\(page)"
                )
                let json = await client.get("/trace?q=\(wanted)", json: true).body
                #expect(
                    json.contains("\"found_precision\":\"at least\"") && json.contains("\"unsearched\":[\"shop\"]"),
                    "\(json)"
                )
            }
            try await shop.database.run("DELETE FROM carillon.messages WHERE reference IS DISTINCT FROM 'deep'")
            let json = await client.get("/trace?q=deep", json: true).body
            #expect(
                json.contains("\"found_precision\":\"exact\"") && json.contains("\"unsearched\":[]"),
                "\(json)"
            )
            #expect(await client.get("/trace?q=nothing").body.contains("Nothing was found<"))
        }
    }

    @Test func `failures and reports that were not all read are no totals`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
            SELECT n, 1, 'aa', 400, 'BadTopic' FROM generate_series(1, 6000) n;
            INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason)
            SELECT 1, lpad(to_hex(n), 64, '0'), now(), 'Unregistered' FROM generate_series(1, 6000) n
            """
        )
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let failures = await client.get("/failures?app=shop", json: true).body
            #expect(
                failures.contains("\"pushes\":5000,") && failures.contains("\"pushes_precision\":\"at least\""),
                "\(failures)"
            )
            #expect(await client.get("/failures?app=shop").body.contains("at least 5,000"))
            let other = await client.get("/failures?app=shop&reason=BadPath", json: true).body
            #expect(
                other.contains("\"groups_precision\":\"at least\"")
                    && other.contains("\"failures_precision\":\"at least\""),
                "\(other)"
            )
            let page = await client.get("/failures?app=shop&reason=BadPath").body
            #expect(page.contains("No failures to show among the newest 5,000"), "\(page)")
            let tokens = await client.get("/tokens", json: true).body
            #expect(tokens.contains("\"reported_dead\":5000,\"reported_dead_precision\":\"at least\""), "\(tokens)")
            #expect(await client.get("/tokens").body.contains("at least 5,000"))
        }
    }

    /// The style sheet and the script.
    private func assetBytes(_ client: DashboardClient) async throws -> Int {
        let page = try HTMLReading(await client.get("/trace").body)
        var bytes = 0
        for (name, attributes) in page.elements where name == "link" || name == "script" {
            bytes += await client.get(try #require(attributes["href"] ?? attributes["src"])).body.utf8.count
        }
        #expect(bytes > 10_000)
        return bytes
    }
}
