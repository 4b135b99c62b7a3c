import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

@testable import CarillonDashboard

/// The dashboard as a browser meets it, on a real database.
@Suite struct DashboardTests {
    private typealias Client = DashboardClient

    /// A login with the rights of a reader and no others.
    private func withReader(
        _ words: [String] = [],
        _ body: (Shop, Client, EventLoop, _ login: String) async throws -> Void
    ) async throws {
        try await Shop.with(answers: ["dead=410:Unregistered:1700000000000", "bad=400:BadDeviceToken"]) { shop in
            let login = "reader_\(shop.database.connection.backendProcessID)"
            try await shop.database.run("CREATE ROLE \(login) LOGIN; GRANT carillon_reader TO \(login)")
            try await attempt {
                try await Client.with(shop.database.url + "&user=\(login)", in: shop.folder, words) { client, loop in
                    try await body(shop, client, loop, login)
                }
            } finally: {
                try await shop.database.run("DROP OWNED BY \(login); DROP ROLE \(login)")
            }
        }
    }

    private func enqueue(_ shop: Shop, _ tokens: String..., more: String = "") async throws -> Int {
        let list = tokens.map { "'\(Shop.token($0))'" }.joined(separator: ",")
        return try await shop.database.number("SELECT carillon.enqueue('shop', ARRAY[\(list)], alert => 'hi'\(more))")
    }

    /// The next test and `ActionTests` ask for these.
    @Test func `every page is in a test`() {
        let others = Client.routes.filter { !Client.pages.contains($0) }
        #expect(
            others == [
                "/apps/{name}", "/webhooks/{name}", "/webhooks/{name}/redeliver", "/messages/{id}",
                "/messages/{id}/cancel", "/failures/requeue", "/failures/dismiss",
            ]
        )
    }

    @Test func `every page is HTML and JSON, small, and read with the rights of a reader`() async throws {
        try await withReader { shop, client, _, _ in
            let first = try await enqueue(shop, "a0", "dead", "bad", more: ", reference => 'order 7'")
            _ = try await enqueue(shop, "a1", more: ", run_at => now() + interval '1 hour'")
            #expect(try await shop.drain().status == 0)
            try await shop.database.run(
                """
                INSERT INTO carillon.tokens (app_id, token) SELECT 1, lpad(to_hex(n), 64, '0') FROM generate_series(1, 2500) n;
                SELECT carillon.broadcast('shop', 'hi');
                SELECT carillon.add_webhook('crm', 'shop', 'https://a.example/')
                """
            )
            let pages =
                Client.pages + [
                    "/webhooks/crm", "/apps/shop", "/apps/shop?over=day",
                    "/messages/\(first)", "/messages/\(first)?app=shop",
                    "/trace?q=order+7", "/trace?q=order+7&by=reference&app=shop&since=1h",
                    "/trace?q=\(Shop.token("dead"))", "/trace?q=nothing", "/scheduled?app=shop&only=retries",
                    "/failures?dismissed=1", "/changes?app=shop", "/messages/\(first)/cancel?app=shop",
                    "/failures?app=shop&reason=BadDeviceToken&since=7d",
                ]
            for path in pages {
                let page = await client.get(path)
                #expect(page.status == "200" && page.body.utf8.count < 60_000, "\(path): \(page.head)")
                #expect(page.header("Content-Security-Policy")?.contains("default-src 'none'") == true)
                let reading = try Client.read(page, path)
                #expect(reading.elements.count { $0.name == "h1" } == 1, "\(path)")
                for table in reading.elements where table.name == "th" { #expect(table.attributes["scope"] == "col") }
                let json = await client.get(path, json: true)
                #expect(
                    json.status == "200" && json.header("Content-Type") == "application/json",
                    "\(path): \(json.head)"
                )
                #expect(Client.isJSON(json.body), "\(path): \(json.body)")
            }
            #expect(await client.get("/").header("Set-Cookie") == nil)
        }
    }

    @Test func `a message shows its life, and why a person got nothing`() async throws {
        try await withReader { shop, client, _, _ in
            let id = try await enqueue(shop, "a0", "dead", "bad", more: ", reference => 'order 7'")
            let waiting = await client.get("/messages/\(id)").body
            #expect(waiting.contains("It has not been sent yet: no worker is running."), "\(waiting)")
            #expect(try await shop.drain().status == 0)
            let page = try Client.read(await client.get("/messages/\(id)"), "message").text
            for expected in [
                "APNs accepted 1 of 3 pushes; 2 failed.",
                "1 push failed as 410 Unregistered. The app was removed from the device",
                "1 push failed as 400 BadDeviceToken.", "carillon app set shop --environment NAME",
                "Attempt 1 to dead0000…0000 failed: 410 Unregistered.", "2023-11-14 22:13:20 UTC",
                "It ended: 1 sent, 2 failed. Finished by worker 1.",
            ] { #expect(page.contains(expected), "\(expected) is not in \(page)") }
            #expect(!page.contains("time not recorded") && !page.contains(Shop.token("dead")))
            for path in ["/messages/99999", "/messages/\(id)?app=other", "/apps/other"] {
                #expect(await client.get(path).status == "404", "\(path)")
            }
            #expect(await client.get("/messages/x").status == "400")
            for path in [
                "/failures?since=2h", "/?over=week", "/apps/shop?over=1d", "/scheduled?only=retry", "/trace?q=x&by=it",
                "/trace?q=x&since=2h",
            ] {
                #expect(await client.get(path).status == "400", "\(path)")
            }
            #expect(await client.get("/failures?before=99999999999999999999").status == "400")
        }
    }

    @Test func `of a message that was split, each failure is shown once, those of its first job too`() async throws {
        try await withReader { shop, client, _, _ in
            let id = try await shop.database.number(
                """
                SELECT carillon.enqueue('shop',
                    array_agg(rpad(CASE n % 1000 WHEN 1 THEN 'bad' ELSE 'a00' END || lpad(n::text, 5, '0'), 64, '0')),
                    alert => 'hi') FROM generate_series(1, 2000) n
                """
            )
            #expect(try await shop.drain().status == 0)
            let page = await client.get("/messages/\(id)", json: true).body
            #expect(page.matches(of: /"failed_at"/).count == 2, "\(page)")
            let share = #""workers":[{"worker_id":1,"worker":null,"jobs":2,"sent":1998,"failed":2,"#
            #expect(page.contains(share), "\(page)")
            let story = try Client.read(await client.get("/messages/\(id)"), "message").text
            #expect(story.contains("2 pushes failed as 400 BadDeviceToken."), "\(story)")
        }
    }

    @Test func `a message that was sent in part says what became of the rest`() async throws {
        try await withReader { shop, client, _, _ in
            try await shop.database.run(
                """
                INSERT INTO carillon.results (message_id, app_id, sent, failed, expired, cancelled, last_reason)
                VALUES (1, 1, 1, 2, 1, 1, NULL), (2, 1, 1, 0, 0, 1, 'Superseded'),
                    (3, 1, 0, 250, 0, 0, NULL), (4, 1, 0, 2500, 0, 0, NULL);
                INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
                SELECT 3, 1, lpad(to_hex(n), 64, '0'), 400, CASE WHEN n <= 220 THEN 'BadDeviceToken' ELSE 'BadTopic' END,
                    now() - n * interval '1 second' FROM generate_series(1, 250) n;
                INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
                SELECT 4, 1, lpad(to_hex(n), 64, '0'), 400, 'BadTopic' FROM generate_series(1, 2500) n
                """
            )
            func story(_ id: Int) async throws -> String {
                try Client.read(await client.get("/messages/\(id)"), "message").text
            }
            #expect(try await story(1).contains("APNs accepted 1 of 5 pushes; 2 failed, 1 expired, 1 cancelled."))
            #expect(try await story(2).contains("APNs accepted 1 of 2 pushes; 1 cancelled (a newer push replaced it)."))
            // The 200 newest are shown, and one of each other reason.
            let both = try await story(3)
            #expect(
                both.contains("220 pushes failed as 400 BadDeviceToken.")
                    && both.contains("30 pushes failed as 400 BadTopic.")
            )
            let many = try await story(4)
            #expect(many.contains("Of 2,000 failures that were read: 2,000 pushes failed as 400 BadTopic."), "\(many)")
        }
    }

    @Test func `rows that have one time are on one page after another`() async throws {
        try await withReader { shop, client, _, _ in
            try await shop.database.run(
                """
                INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
                SELECT n, 1, lpad(to_hex(n), 64, '0'), 400, 'BadDeviceToken',
                    date_trunc('minute', now()) - CASE WHEN n <= 120 THEN interval '2 minutes' ELSE interval '3 minutes' END
                FROM generate_series(1, 130) n;
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
                SELECT n, 1, '{aa}', '{}',
                    date_trunc('hour', now()) + CASE WHEN n <= 220 THEN interval '2 hours' ELSE interval '3 hours' END
                FROM generate_series(1, 230) n
                """
            )
            #expect(try await ids(from: "/failures?app=shop", "older", client).sorted() == Array(1...130))
            #expect(try await ids(from: "/scheduled", "later", client) == Array(1...230))
        }
    }

    /// The messages of all pages that a list has.
    private func ids(from first: String, _ next: String, _ client: Client) async throws -> [Int] {
        var found: [Int] = []
        var path: String? = first
        while let page = path, found.count < 1_000 {
            let json = await client.get(page, json: true).body
            found += json.matches(of: /"message_id":(\d+)/).compactMap { Int($0.output.1) }
            let link = try Regex("\"\(next)\":\"([^\"]+)\"", as: (Substring, Substring).self)
            path = json.firstMatch(of: link).map { String($0.output.1) }
        }
        return found
    }

    @Test func `a hostile text is never more than text`() async throws {
        try await withReader { shop, client, _, _ in
            let texts = HostileText.all.filter { !$0.contains("\0") && $0.utf8.count <= 255 }
            let list = texts.map { "'" + $0.replacing("'", with: "''") + "'" }.joined(separator: ",")
            try await shop.database.run(
                """
                CREATE TEMP TABLE hostile (n serial, text text); INSERT INTO hostile (text) SELECT unnest(ARRAY[\(list)]);
                UPDATE carillon.certificates SET name = '<script>alert(1)</script>';
                UPDATE carillon.certificates SET last_error = '"><img src=x onerror=alert(1)>', status = 'rejected';
                INSERT INTO carillon.apps (name, certificate_id, paused, paused_reason)
                SELECT h.text, 1, h.n % 2 = 0, h.text FROM hostile h;
                INSERT INTO carillon.failures (message_id, app_id, token, reason, status, reference)
                SELECT 5000 + h.n, a.id, h.text, h.text, 400, h.text FROM hostile h JOIN carillon.apps a ON a.name = h.text;
                INSERT INTO carillon.results (message_id, app_id, reference, failed)
                SELECT 5000 + h.n, a.id, h.text, 1 FROM hostile h JOIN carillon.apps a ON a.name = h.text;
                INSERT INTO carillon.workers (name, host, version, lease_until)
                SELECT h.text, h.text, h.text, now() - interval '1 hour' FROM hostile h;
                INSERT INTO carillon.holds (app_id, kind, reason)
                SELECT a.id, 'connection', h.text FROM hostile h JOIN carillon.apps a ON a.name = h.text WHERE h.n % 2 = 1;
                INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens, reference)
                SELECT a.id, 7000 + h.n, 7000 + h.n, 1, 1, 1, h.text FROM hostile h JOIN carillon.apps a ON a.name = h.text;
                INSERT INTO carillon.subscriptions (app_id, consumer, mask) SELECT 1, h.text, -1 FROM hostile h;
                WITH hooks AS (
                    INSERT INTO carillon.subscriptions (app_id, consumer, mask)
                    SELECT a.id, 'webhook:' || h.text, -1 FROM hostile h JOIN carillon.apps a ON a.name = h.text
                    WHERE octet_length(h.text) <= 200 RETURNING *)
                INSERT INTO carillon.webhooks (name, subscription_id, url, secret, failed_at, last_error)
                SELECT substr(k.consumer, 9), k.id, 'https://example.com/?"><script>alert(1)</script>', 'whsec_', now(),
                    substr(k.consumer, 9)
                FROM hooks k;
                UPDATE carillon.webhooks SET paused_at = now(), paused_by = name, paused_reason = name WHERE id % 2 = 0
                """
            )
            for path in Client.pages {
                _ = try Client.read(await client.get(path), path)
                #expect(Client.isJSON(await client.get(path, json: true).body), "\(path)")
            }
            for (number, text) in texts.enumerated() {
                let name = text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                let app = text.hasPrefix("~") || text.allSatisfy { $0 == "." } ? "~" + name : name
                let webhooks = text.utf8.count <= 200 ? ["/webhooks/\(app)"] : []
                for path in webhooks + [
                    "/apps/\(app)", "/messages/\(5_001 + number)?app=\(name)", "/trace?q=\(name)",
                    "/trace?q=\(name)&app=\(name)&by=owner",
                    "/failures?app=\(name)&reason=\(name)",
                ] {
                    let answer = await client.get(path)
                    #expect(answer.status == "200", "\(path): \(answer.head)")
                    _ = try Client.read(answer, path)
                }
            }
        }
    }

    @Test(arguments: [
        "/../../etc/passwd", "/assets/../../etc/passwd", "/assets/..%2f..%2fetc%2fpasswd", "/apps/..%2f..%2f",
        "/apps/%00",
        "//evil.example/", "/assets/", "/apps/%ff", "/login", "/logout", "/messages/1%00", "/%2e%2e/",
    ])
    func `an invalid path leads nowhere`(path: String) async throws {
        try await TemporaryFolder.with { folder in
            try await Client.with("postgresql://127.0.0.1:1/none", in: folder) { client, _ in
                let answer = await client.get(path)
                #expect(["400", "404", "503"].contains(answer.status), "\(answer.head)")
                #expect(!answer.body.contains("root:"))
            }
        }
    }

    @Test func `requests that are slow, huge or of another site are refused, and it continues`() async throws {
        try await TemporaryFolder.with { folder in
            try await Client.with("postgresql://127.0.0.1:1/none", in: folder) { client, _ in
                let long = String(repeating: "x", count: 200_000)
                #expect(await client.get("/trace?q=\(long)").status != "200")
                #expect(await client.get("/", headers: "Cookie: \(long)\r\n").status != "200")
                #expect(
                    await client.post("/login", "password=x", headers: "Content-Type: text/plain\r\n").status == "404"
                )
                #expect(await client.post("/", "").status == "405")
                let huge = await RawHTTP.exchange(
                    client.port,
                    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\n"
                )
                #expect(huge.hasPrefix("HTTP/1.1 413 "), "\(huge)")
                let foreign = "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
                #expect(await RawHTTP.exchange(client.port, foreign).hasPrefix("HTTP/1.1 403 "))
                // An unfinished request holds nothing up.
                let port = client.port
                async let slow = RawHTTP.exchange(port, "GET / HTTP/1.1\r\nHost: loc")
                let style = await client.get("/assets/dashboard.css")
                #expect(style.status == "200" && style.header("Content-Type") == "text/css; charset=utf-8")
                #expect(await !slow.contains("200 OK"))
            }
        }
    }

    @Test func `the dashboard starts without a database, says so, and continues when it is back`() async throws {
        try await withReader { shop, client, loop, login in
            #expect(await client.get("/").status == "200")
            try await shop.database.run("ALTER ROLE \(login) NOLOGIN")
            let cut = "SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a WHERE a.usename = '\(login)'"
            #expect(try await shop.database.number(cut) >= 1)
            try await loop.eventually("the connection is lost") { await client.get("/apps").status == "503" }
            let page = await client.get("/")
            #expect(page.body.contains("There is nothing to show") && page.body.contains("data-every=\"5\""))
            let json = await client.get("/", json: true)
            #expect(json.status == "503" && json.body.contains("\"detail\":\"") && !json.body.contains("user="))
            try await shop.database.run("ALTER ROLE \(login) LOGIN")
            #expect(await client.get("/").status == "200")
            // A connection that was lost without a request in between is not noticed by anybody.
            #expect(try await shop.database.number(cut) >= 1)
            #expect(await client.get("/").status == "200")
        }
    }

    @Test func `without the right or the schema, the page says what to do`() async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            try await TemporaryFolder.with { folder in
                try await Client.with(url, in: folder) { client, _ in
                    let answer = await client.get("/")
                    #expect(answer.status == "503" && answer.body.contains("carillon migrate up"), "\(answer.body)")
                }
            }
        }
        try await withReader { shop, client, _, login in
            try await shop.database.run("REVOKE carillon_reader FROM \(login)")
            let answer = await client.get("/")
            #expect(answer.status == "503" && answer.body.contains("GRANT carillon_reader TO"), "\(answer.body)")
        }
    }

    @Test(.shop) func `with a password, nothing is read without it`() async throws {
        let file = try shop.folder.write("password", "correct horse\n")
        try await Client.with(shop.database.url, in: shop.folder, ["--password-file", file]) { client, _ in
            for path in Client.pages + ["/apps/shop", "/messages/1"] {
                let answer = await client.get(path)
                #expect(
                    answer.status == "303" && answer.header("Location")?.hasPrefix("/login?next=%2F") == true,
                    "\(path)"
                )
                #expect(await client.get(path, json: true).status == "401")
                #expect(await client.get(path, headers: "Cookie: carillon_session=0\r\n").status == "303")
            }
            let form = await client.get("/login?next=//evil.example")
            #expect(form.status == "200" && form.body.contains("name=\"next\" value=\"/~/evil.example\""))
            #expect(await client.post("/login", "password=wrong").status == "403")
            #expect(await client.post("/login", "").status == "400")
            let foreign = await client.post(
                "/login",
                "password=correct+horse",
                headers: "Origin: http://evil.example\r\n"
            )
            #expect(foreign.status == "403")
            let entered = await client.post("/login", "password=correct+horse&next=%2Ffailures%3Fsince%3D7d")
            #expect(entered.status == "303" && entered.header("Location") == "/failures?since=7d")
            let cookie = try #require(entered.header("Set-Cookie"))
            #expect(cookie.contains("; HttpOnly; SameSite=Strict;"))
            let headers = "Cookie: \(cookie.prefix { $0 != ";" })\r\n"
            let page = await client.get("/", headers: headers)
            #expect(page.status == "200" && page.body.contains("action=\"/logout\""))
            #expect(
                await client.post("/logout", "", headers: headers).header("Set-Cookie")?.contains("Max-Age=0")
                    == true
            )
            #expect(await client.get("/", headers: headers).status == "303")
            // Each five seconds allow one more, which is soon on a busy machine.
            var late = entered
            for _ in 1...20 where late.status != "429" {
                await client.post("/login", "password=wrong", times: AttemptLimit().atOnce + 1)
                late = await client.post("/login", "password=correct+horse")
            }
            #expect(late.status == "429" && late.header("Retry-After") == "5")
            #expect(!client.program.said.contains("correct horse"))
        }
    }

    @Test func `on an address other than this machine's it requires a password`() async throws {
        let open = try await ProgramRun.run(["web", "--http", "0.0.0.0:0"])
        #expect(open.status == 2 && open.errors.contains("--password-file"))
        let short = try await ProgramRun.run(["web"], environment: ["CARILLON_PASSWORD": "short"])
        #expect(short.status == 2 && short.errors.contains("8 characters") && !short.errors.contains("'short'"))
    }
}
