import CarillonIO
import CarillonPostgres
import CarillonWeb
import FoundationEssentials
import TestSupport
import Testing

/// The dashboard in a real browser: Chromium without a window. `make test` and `make browse` run it.
@Suite(
    .enabled(if: WebDriver.isWanted, "'make test' and 'make browse' run these"),
    .enabled(if: WebDriver.isInstalled, "Chromium is not installed: apt-get install chromium chromium-driver"),
    .serialized
)
struct BrowserTests {
    private static let pages =
        DashboardClient.pages + [
            "/apps/shop", "/messages/1?app=shop", "/messages/2/cancel?app=shop", "/trace?q=order+7", "/webhooks/crm",
        ]

    /// A shop with something on each page, and a dashboard on which this machine may change it.
    func withShop(
        _ words: [String] = ["--local-changes", "--show-contents", "operators"],
        scripts: Bool = true,
        _ body: (Shop, WebDriver, _ root: String) async throws -> Void
    ) async throws {
        try await Shop.with(answers: ["bad=400:BadDeviceToken", "dead=410:Unregistered"]) { shop in
            let tokens = ["a0", "bad", "dead"].map { "'\(Shop.token($0))'" }.joined(separator: ",")
            try await shop.database.run(
                """
                SELECT carillon.enqueue('shop', ARRAY[\(tokens)], 'hi', reference => 'order 7');
                SELECT carillon.enqueue('shop', '{aa}', 'hi', run_at => now() + interval '1 hour', reference => 'later');
                INSERT INTO carillon.tokens (app_id, token, last_update)
                SELECT 1, lpad(to_hex(n), 64, '0'), now() - interval '1 day' FROM generate_series(1, 2500) n;
                INSERT INTO carillon.channels (app_id, reference, policy, state, last_error)
                VALUES (1, 'match 12', 1, 'failed', 'APNs refused it');
                SELECT carillon.add_webhook('crm', 'shop', 'https://127.0.0.1:1/', allow_private => true);
                GRANT EXECUTE ON FUNCTION carillon.message_contents TO \(TestLogin.web.rawValue)
                """
            )
            #expect(try await shop.drain().status == 0)
            try await DashboardClient.with(shop.database.url, in: shop.folder, words) { client, loop in
                try await WebDriver.with(in: shop.folder, on: loop, usesScripts: scripts) { browser in
                    try await body(shop, browser, "http://127.0.0.1:\(client.port)")
                }
            }
        }
    }

    /// What a page must never have: a script that is not the dashboard's, or an attribute that is one.
    private static let strangers = """
        return [...document.querySelectorAll('*')].filter((e) => (e.tagName === 'SCRIPT' && !e.src.includes('/assets/'))
          || ['IFRAME', 'OBJECT', 'EMBED', 'BASE', 'STYLE'].includes(e.tagName)
          || [...e.attributes].some((a) => a.name.startsWith('on') || a.name === 'style' || /^\\s*javascript:/i.test(a.value)
            && ['href', 'src', 'action', 'formaction'].includes(a.name))).length
          + (document.documentElement.dataset.broken ? 1000 : 0)
        """

    @Test(.timeLimit(.minutes(5)))
    func `no hostile text runs as a script on any page, while the dashboard's own script does`() async throws {
        let mark = "document.documentElement.dataset.broken=1"
        let texts =
            HostileText.all.filter { !$0.contains("\0") && (1...255).contains($0.utf8.count) } + [
                "<img src=x onerror=\(mark)>", "<script>\(mark)</script>", "\"><svg onload=\(mark)>",
                "' onmouseover='\(mark)", "javascript:\(mark)", "</title><script>\(mark)</script>",
                "</textarea><script>\(mark)</script>", "</main><script src=/assets/x></script>",
            ]
        #expect(texts.count >= 50)
        try await withShop { shop, browser, root in
            let list = texts.map { "'" + $0.replacing("'", with: "''") + "'" }.joined(separator: ",")
            try await shop.database.run(
                """
                CREATE TABLE hostile AS SELECT t, n FROM unnest(ARRAY[\(list)]) WITH ORDINALITY AS u(t, n);
                INSERT INTO carillon.apps (name, certificate_id, paused, paused_reason) SELECT t, 1, true, t FROM hostile
                ON CONFLICT DO NOTHING;
                INSERT INTO carillon.failures (message_id, app_id, token, reason, reference)
                SELECT 5000 + a.id, a.id, a.name, a.name, a.name FROM carillon.apps a;
                INSERT INTO carillon.results (message_id, app_id, reference, failed)
                SELECT 5000 + a.id, a.id, a.name, 1 FROM carillon.apps a;
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at, attempt, last_reason, reference)
                SELECT 9000 + n, 1, '{aa}', '{}', now() + interval '1 minute', 2, t, t FROM hostile;
                INSERT INTO carillon.channels (app_id, reference, policy, state, last_error)
                SELECT 1, t, 1, 'failed', t FROM hostile;
                INSERT INTO carillon.audit (on_behalf_of, source, action, app, details)
                SELECT t, t, 'pause', t, jsonb_build_object('reason', t) FROM hostile;
                INSERT INTO carillon.workers (name, host, lease_until) SELECT t, t, now() FROM hostile;
                WITH k AS (INSERT INTO carillon.subscriptions (app_id, consumer, mask) SELECT DISTINCT 1, 'webhook:' || t, -1
                    FROM hostile RETURNING id, substr(consumer, 9) AS t)
                INSERT INTO carillon.webhooks (name, subscription_id, url, secret, failed_at, last_error)
                SELECT t, id, 'https://example.com/"><script>\(mark)</script>', 'none', now(), t FROM k
                """
            )
            let names = try await shop.database.rows(
                "SELECT a.id, n.t FROM hostile n JOIN carillon.apps a ON a.name = n.t"
            )
            #expect(names.count >= 45)
            var paths = Self.pages
            for text in texts {
                paths += [Link("apps", text).text, Link("webhooks", text).text]
                paths.append(Link("failures", query: ["app": text, "reason": text]).text)
            }
            for path in paths {
                try await browser.open(root + path)
                #expect(try await browser.value(Self.strangers) == "0", "\(path)")
                #expect(try await browser.value("return document.querySelectorAll('h1').length") == "1", "\(path)")
                // The dashboard's script has put each time into the viewer's form.
                #expect(
                    try await browser.value(
                        "return [...document.querySelectorAll('time')].filter((t) => / UTC$/.test(t.textContent)).length"
                    ) == "0",
                    "\(path)"
                )
            }
            // Nothing even tried.
            let log = try await browser.log
            #expect(!log.contains("Content Security Policy") && !log.contains("Uncaught"), "\(log.prefix(2_000))")
        }
    }

    @Test(arguments: [true, false])
    func `everything is changed with clicks, with JavaScript on or off`(scripts: Bool) async throws {
        try await withShop(scripts: scripts) { shop, browser, root in
            try await browser.open(root + "/apps/shop")
            try await browser.type("the printer is on fire", into: "input[name=reason]")
            try await browser.click("form[action='/apps/shop/pause'] button")
            try await browser.see("The app is paused: its messages wait.")
            try await browser.see("the printer is on fire")
            try await browser.click("form[action='/apps/shop/resume'] button")
            try await browser.see("The app is resumed.")
            try await browser.type("50", into: "input[name=max_rate]")
            try await browser.click("form[action='/apps/shop/limits'] button")
            try await browser.see("at most 50")

            try await browser.open(root + "/messages/2?app=shop")
            try await browser.click("a[href='/messages/2/cancel?app=shop']")
            try await browser.click("button.danger")
            try await browser.see("Cancelled 1 job.")

            try await browser.open(root + "/failures")
            try await browser.click("a[href^='/failures/requeue?app=shop&reason=BadDeviceToken']")
            try await browser.see("Requeue 1 push of shop")
            try await browser.click("button.danger")
            try await browser.see("1 push was enqueued again, as new messages.")
            try await browser.open(root + "/failures?app=shop&reason=Unregistered")
            try await browser.click("a[href^='/failures/dismiss']")
            try await browser.click("button.danger")
            try await browser.see("1 failure was dismissed.")

            try await browser.open(root + "/test")
            try await browser.type(Shop.token("a1"), into: "input[name=token]")
            try await browser.type("Is anybody <b>there</b>?", into: "input[name=text]")
            try await browser.click("button[name=preview]")
            try await browser.see(#"{"aps":{"alert":"Is anybody <b>there</b>?"}}"#)
            try await browser.click("button[name=send]")
            try await browser.see("The test push is enqueued.")

            try await browser.open(root + "/changes")
            let sight = try await browser.sight
            for action in ["pause", "resume", "set app", "cancel", "requeue", "dismiss", "send test"] {
                #expect(sight.contains(action), "\(action)")
            }
            #expect(
                try await shop.database.number("SELECT count(*) FROM carillon.audit WHERE source = 'dashboard'") == 7
            )
        }
    }

    /// Keeps the timers that the page waits for in `window.pending`.
    private static let timers = """
        window.pending = new Set();
        const [set, clear] = [window.setTimeout, window.clearTimeout];
        window.setTimeout = (run, time) => {
          const id = set(() => { window.pending.delete(id); run(); }, time);
          window.pending.add(id);
          return id;
        };
        window.clearTimeout = (id) => { window.pending.delete(id); clear(id); };
        """

    @Test func `an open page follows by itself, leaves alone what is typed, and survives its server's database`()
        async throws
    {
        try await withShop { shop, browser, root in
            try await browser.open(root + "/apps/shop")
            try await shop.database.run("SELECT carillon.pause_app('shop', 'elsewhere')")
            try await browser.loop.eventually("the page shows it") { try await browser.sight.contains("elsewhere") }
            #expect(try await browser.sight.contains("live, changed at"))
            // Said once: not again after a reload.
            try await browser.click("form[action='/apps/shop/resume'] button")
            try await browser.see("The app is resumed.")
            try await browser.loop.eventually("the address no longer says it") {
                try await !browser.address.contains("done=")
            }
            try await browser.type("half a sent", into: "input[name=reason]")
            _ = try await browser.value("document.activeElement.blur()")
            _ = try await browser.value(Self.timers)
            // Another stream of the same page tells when the page's own must have had the change, too.
            _ = try await browser.value(
                "window.seen = 0; new EventSource('/live?page=/apps/shop').onmessage = () => { window.seen += 1 }"
            )
            for rate in 75...77 {
                try await browser.loop.eventually("the stream has what was changed before") {
                    try await browser.value("return window.seen >= \(rate - 74)") == "true"
                }
                try await shop.database.run("SELECT carillon.limit_app('shop', \(rate), 10, false)")
            }
            #expect(
                try await browser.value("return document.querySelector('input[name=reason]').value")
                    == "\"half a sent\""
            )
            #expect(try await browser.value("return window.pending.size <= 1") == "true")
            _ = try await browser.value("document.querySelector('input[name=reason]').value = ''")
            try await browser.loop.eventually("the page goes on") { try await browser.sight.contains("at most 77") }

            let cut =
                "SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a WHERE a.application_name = 'carillon web'"
            try await shop.database.run(
                "ALTER DATABASE \(try #require(try await shop.database.value("current_database()"))) CONNECTION LIMIT 0"
            )
            _ = try await shop.database.number(cut)
            try await shop.database.run("SELECT carillon.pause_app('shop', 'after the break')")
            try await shop.database.run(
                "ALTER DATABASE \(try #require(try await shop.database.value("current_database()"))) CONNECTION LIMIT -1"
            )
            try await browser.loop.eventually("the page is back") {
                try await browser.sight.contains("after the break")
            }
        }
    }

    /// The connections that browsers have to the dashboard.
    private static func connections(to port: some StringProtocol) throws -> Int {
        let port = String(try #require(UInt16(port)), radix: 16, uppercase: true)
        let table = try TemporaryFolder.text(of: "/proc/net/tcp")
        return table.split(separator: "\n").count { line in
            let fields = line.split(separator: " ")
            return fields.count > 3 && fields[1].hasSuffix(":" + port) && fields[3] == "01"
        }
    }

    @Test func `a hidden page has no stream, and shows what has changed when it is seen again`() async throws {
        try await withShop { shop, browser, root in
            let port = root.drop { $0 != ":" }.dropFirst().drop { $0 != ":" }.dropFirst()
            try await browser.open(root + "/apps/shop")
            try await browser.loop.eventually("the page is live") { try await browser.sight.contains("live") }
            #expect(try Self.connections(to: port) > 0)
            try await browser.hide()
            // Others are kept for a while after their last response.
            try await browser.loop.eventually("nothing listens any more") {
                try Self.connections(to: port) == 0
            }
            try await shop.database.run("SELECT carillon.pause_app('shop', 'while nobody looked')")
            try await browser.unhide()
            try await browser.loop.eventually("the page has caught up") {
                try await browser.sight.contains("while nobody looked")
            }
        }
    }

    @Test func `a page of another version of the dashboard is loaded again`() async throws {
        try await withShop { _, browser, root in
            try await browser.open(root + "/apps/shop")
            _ = try await browser.value("isOlder = 1; document.querySelector('link').href += '0'")
            _ = try await browser.value("EventSource = class extends EventSource { constructor() { super('/none') } }")
            try await browser.hide()
            try await browser.unhide()
            let isLoaded = "return window.isOlder === undefined"
            try await browser.loop.eventually("it is new") { try await browser.value(isLoaded) == "true" }
        }
    }

    @Test func `a browser ends with its test, however that ends`() async throws {
        struct Stop: Error {}
        try await TemporaryFolder.with { folder in
            try await TestLoop.with { loop in
                await #expect(throws: Stop.self) {
                    try await WebDriver.with(in: folder, on: loop) { browser in
                        #expect(try await browser.value("return 1") == "1")
                        throw Stop()
                    }
                }
                let work = Task {
                    try await WebDriver.with(in: folder, on: loop) { _ in
                        await Gate().pass()
                    }
                }
                work.cancel()
                await #expect(throws: (any Error).self) { try await work.value }
                try await loop.eventually("no browser is left") {
                    try FileManager.default.contentsOfDirectory(atPath: "/proc").allSatisfy { name in
                        guard Int32(name) != nil, let line = try? TemporaryFolder.text(of: "/proc/\(name)/cmdline")
                        else {
                            return true
                        }
                        return !line.contains(folder.path)
                    }
                }
            }
        }
    }

    @Test func `the keyboard is enough, and what others cannot see is said in words`() async throws {
        try await withShop { _, browser, root in
            for path in Self.pages {
                try await browser.open(root + path)
                let faults = try await browser.value(
                    """
                    const named = (e) => (e.labels && e.labels.length) || e.getAttribute('aria-label');
                    return [...document.querySelectorAll('input:not([type=hidden]), select, textarea')].filter((e) => !named(e)).length
                      + [...document.querySelectorAll('a, button')].filter((e) => !e.textContent.trim()).length
                      + [...document.querySelectorAll('svg')].filter((e) => !e.getAttribute('aria-label')).length
                      + [...document.querySelectorAll('th')].filter((e) => !e.scope).length
                      + [...document.querySelectorAll('table')].filter((e) => !e.caption).length
                      + (document.querySelectorAll('h1').length - 1) + (document.documentElement.lang === 'en' ? 0 : 1)
                      + ['header', 'main', 'footer', 'nav'].filter((name) => !document.querySelector(name)).length
                      + new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size
                      - document.querySelectorAll('[id]').length
                    """
                )
                #expect(faults == "0", "\(path)")
            }
            try await browser.open(root + "/")
            try await browser.press("/")
            #expect(try await browser.value("return document.activeElement.name") == "\"q\"")
            try await browser.press("order 7\u{E007}")
            try await browser.loop.eventually("the message is found") {
                try await browser.sight.contains("By then, 1 of 3 pushes was accepted by Apple.")
            }
            // The first stop of the tab key leads past the navigation.
            try await browser.open(root + "/")
            try await browser.press("\u{E004}")
            #expect(try await browser.value("return document.activeElement.textContent") == "\"Skip to the content\"")
        }
    }

    @Test(.shop) func `a wrong password lets nobody in, and no other site can frame a page`() async throws {
        let file = try shop.folder.write("password", "correct horse\n")
        let words = [
            "--operator-password-file", file, "--password-file", try shop.folder.write("readers", "battery staple"),
        ]
        try await DashboardClient.with(shop.database.url, in: shop.folder, words) { client, loop in
            try await WebDriver.with(in: shop.folder, on: loop) { browser in
                let root = "http://127.0.0.1:\(client.port)"
                try await browser.open(root + "/apps/shop")
                try await browser.type("wrong horse", into: "#password")
                try await browser.click("button")
                try await browser.see("The password is wrong.")
                try await browser.type("anna", into: "#name")
                try await browser.type("correct horse", into: "#password")
                try await browser.click("button")
                try await browser.see("Log out anna")
                #expect(try await browser.address == root + "/apps/shop")
                #expect(try await browser.value("return document.cookie") == "\"\"")
                try await browser.click("form[action='/apps/shop/pause'] button")
                try await browser.see("The app is paused")
                // Not even from a page of the same server.
                try await browser.open(root + "/nothing")
                _ = try await browser.value(
                    """
                    const frame = document.createElement('iframe');
                    frame.onload = () => { window.seen = frame.contentDocument ? 'shown' : 'blocked'; };
                    frame.src = '/apps/shop';
                    document.body.append(frame)
                    """
                )
                try await loop.eventually("the browser decides") {
                    try await browser.value("return window.seen || ''") != "\"\""
                }
                #expect(try await browser.value("return window.seen") == "\"blocked\"")
                try await browser.open(root)
                try await browser.click("footer button")
                try await browser.see("Password")
                try await browser.back()
                #expect(try await !browser.sight.contains("Sent a second"))
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `no page is wider than its window, in light and dark, and none weighs 60 KB`() async throws {
        try await withShop { _, browser, root in
            for path in Self.pages {
                for (width, isDark) in [(1280, false), (1280, true), (390, false), (390, true)] {
                    try await browser.show(width: width, isDark: isDark)
                    try await browser.open(root + path)
                    #expect(
                        try await browser.value("return document.documentElement.scrollWidth") == "\(width)",
                        "\(path)"
                    )
                    let ground = try await browser.value("return getComputedStyle(document.body).backgroundColor")
                    #expect(ground.contains(isDark ? "18, 21, 26" : "247, 248, 250"), "\(path): \(ground)")
                }
                let weight = try await browser.value(
                    "return performance.getEntriesByType('navigation')[0].encodedBodySize "
                        + "+ performance.getEntriesByType('resource').reduce((sum, e) => sum + (e.name.includes('/live') ? 0 : e.encodedBodySize), 0)"
                )
                #expect(try #require(Double(weight)) < 60_000, "\(path): \(weight)")
            }
        }
    }
}
