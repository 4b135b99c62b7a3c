import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

/// What people change with the dashboard: who may, how it is confirmed, and what is recorded.
@Suite struct ActionTests {
    private typealias Client = DashboardClient

    @Test
    func `an app is paused, limited and resumed with forms, and each change is shown with who made it`() async throws {
        try await Visitor.withOperator { shop, client in
            let visitor = try await Visitor(client)
            let paused = await visitor.post("/apps/shop/pause", "reason=too+many+%3Cb%3E")
            let address = try #require(paused.header("Location"))
            #expect(paused.status == "303" && address.hasPrefix("/apps/shop?done=paused&seal="), "\(paused.head)")
            #expect(try await shop.database.value("(SELECT paused FROM carillon.apps)") == "true")
            let page = await client.get(address, headers: visitor.headers)
            #expect(page.body.contains("The app is paused: its messages wait."))
            #expect(page.body.contains("too many &lt;b&gt;") && page.body.contains("action=\"/apps/shop/resume\""))
            #expect(await visitor.post("/apps/shop/pause").isDone("unchanged"))
            #expect(await visitor.post("/apps/shop/resume").isDone("resumed"))
            let limits = await visitor.post("/apps/shop/limits", "max_rate=50&max_attempts=3&reap_bad_tokens=yes")
            #expect(limits.isDone("limited"))
            #expect(
                try await shop.database.rows("SELECT max_rate, max_attempts, reap_bad_tokens FROM carillon.apps")
                    == ["(50,3,t)"]
            )
            #expect(await visitor.post("/apps/shop/limits", "max_rate=0&max_attempts=3").status == "400")
            #expect(await visitor.post("/apps/shop/limits", "max_rate=5").status == "400")
            #expect(await visitor.post("/apps/none/pause").status == "404")
            let json = await visitor.post("/apps/shop/pause", more: "Accept: application/json\r\n")
            #expect(json.status == "200" && json.body.contains("\"done\":\"paused\""), "\(json.body)")
            let changes = await client.get("/changes", json: true).body
            #expect(changes.contains("\"action\":\"set app\"") && changes.contains("\"max_rate\": 50"), "\(changes)")
            #expect(
                try await shop.database.number("SELECT count(*) FROM carillon.audit WHERE source = 'dashboard'") == 4
            )
        }
    }

    @Test func `a form without the token of its viewer changes nothing`() async throws {
        try await Visitor.withOperator { shop, client in
            let visitor = try await Visitor(client)
            let other = try await Visitor(client)
            let forged = [
                await client.post("/apps/shop/pause", "", headers: visitor.headers),
                await client.post("/apps/shop/pause", "form_token=", headers: visitor.headers),
                await client.post("/apps/shop/pause", "form_token=\(other.token)", headers: visitor.headers),
                await client.post("/apps/shop/pause", "form_token=\(visitor.token)"),
                await visitor.post("/apps/shop/pause", more: "Origin: http://evil.example\r\n"),
                await visitor.post("/apps/shop/pause", more: "Origin: null\r\n"),
            ]
            for answer in forged { #expect(answer.status == "403", "\(answer.head)") }
            #expect(await client.get("/apps/shop/pause", headers: visitor.headers).status == "405")
            #expect(
                try await shop.database.number("SELECT count(*) FROM carillon.audit WHERE source = 'dashboard'") == 0
            )
            #expect(try await shop.database.value("(SELECT paused FROM carillon.apps)") == "false")
        }
    }

    @Test func `without the right to change, there are no forms, and none is taken`() async throws {
        try await Visitor.withOperator([]) { shop, client in
            let page = await client.get("/apps/shop")
            #expect(page.status == "200" && !page.body.contains("form_token") && page.header("Set-Cookie") == nil)
            #expect(await client.post("/apps/shop/pause", "form_token=x").status == "403")
            #expect(await client.get("/failures/requeue?app=shop").status == "403")
            #expect(await client.get("/test").body.contains("You may read but not change anything."))
        }
        // The right at PostgreSQL is another one.
        try await Visitor.withOperator(roles: "carillon_reader") { shop, client in
            let visitor = try await Visitor(client)
            let answer = await visitor.post("/apps/shop/pause")
            #expect(answer.status == "503" && answer.body.contains("GRANT carillon_operator TO"), "\(answer.body)")
        }
    }

    @Test(.shop) func `readers and operators have passwords of their own`() async throws {
        let readers = try shop.folder.write("readers", "correct horse\n")
        let operators = try shop.folder.write("operators", "battery staple\n")
        let words = ["--password-file", readers, "--operator-password-file", operators]
        try await Client.with(shop.database.url, in: shop.folder, words) { client, _ in
            func logIn(_ password: String, _ name: String) async throws -> String {
                let answer = await client.post("/login", "name=\(name)&password=\(password)")
                #expect(answer.status == "303", "\(answer.head)")
                return "Cookie: \(try #require(answer.header("Set-Cookie")).prefix { $0 != ";" })\r\n"
            }
            let reader = try await logIn("correct+horse", "rita")
            let page = await client.get("/apps/shop", headers: reader)
            #expect(page.status == "200" && !page.body.contains("form_token"))
            #expect(page.body.contains("Log in to change something") && page.body.contains("Log out rita"))
            #expect(await client.post("/apps/shop/pause", "", headers: reader).status == "403")
            let anna = try await Visitor(client, headers: try await logIn("battery+staple", "anna"))
            #expect(await anna.post("/apps/shop/pause").status == "303")
            #expect(
                try await shop.database.rows(
                    "SELECT on_behalf_of, action, app FROM carillon.audit WHERE source = 'dashboard'"
                ) == ["(anna,pause,shop)"]
            )
            // A stolen cookie is not enough.
            #expect(await client.post("/apps/shop/resume", "", headers: anna.headers).status == "403")
            #expect(await client.post("/apps/shop/resume", "form_token=\(anna.token)").status == "303")
            #expect(try await shop.database.value("(SELECT paused FROM carillon.apps)") == "true")
        }
    }

    @Test func `a page that reaches the proxy's machine by a name of its own reads and changes nothing`() async throws {
        let words = [
            "--trusted-proxy", "127.0.0.1", "--public-host", "localhost", "--user-header", "X-User", "--operator",
            "anna",
        ]
        try await Visitor.withOperator(words) { shop, client in
            let anna = try await Visitor(client, headers: "X-User: anna\r\n")
            func foreign(_ line: String, _ form: String = "") async -> String {
                let site = "evil.example:\(client.port)"
                let head = "\(line) HTTP/1.1\r\nHost: \(site)\r\nOrigin: http://\(site)\r\n\(anna.headers)"
                let rest = "Content-Length: \(form.utf8.count)\r\nConnection: close\r\n\r\n\(form)"
                return await RawHTTP.exchange(client.port, head + rest)
            }
            let page = await foreign("GET /apps/shop")
            #expect(page.hasPrefix("HTTP/1.1 403 ") && !page.contains("form_token"), "\(page)")
            let pause = await foreign("POST /apps/shop/pause", "form_token=\(anna.token)")
            #expect(pause.hasPrefix("HTTP/1.1 403 "), "\(pause)")
            #expect(try await shop.database.value("(SELECT paused FROM carillon.apps)") == "false")
            #expect(await anna.post("/apps/shop/pause", more: "Origin: https://localhost\r\n").status == "303")
            #expect(
                try await shop.database.rows(
                    "SELECT on_behalf_of, action FROM carillon.audit WHERE source = 'dashboard'"
                )
                    == ["(anna,pause)"]
            )
        }
    }

    @Test func `a message is cancelled after it was confirmed`() async throws {
        try await Visitor.withOperator { shop, client in
            let id = try await shop.database.number(
                "SELECT carillon.enqueue('shop', '{aa}', 'x', run_at => now() + interval '1 hour')"
            )
            let visitor = try await Visitor(client, "/messages/\(id)/cancel?app=shop")
            let question = await client.get("/messages/\(id)/cancel?app=shop", headers: visitor.headers)
            #expect(question.body.contains("1 push of 1 has not ended."), "\(question.body)")
            let done = await visitor.post("/messages/\(id)/cancel", "app=shop")
            let address = try #require(done.header("Location"))
            #expect(address.hasPrefix("/messages/\(id)?app=shop&done=cancelled&count=1&seal="), "\(done.head)")
            let page = await client.get(address, headers: visitor.headers).body
            #expect(page.contains("Cancelled 1 job.") && page.contains("cancelled before it was sent"))
            #expect(await client.get("/messages/\(id)/cancel?app=shop").body.contains("nothing is left to cancel"))
            #expect(await visitor.post("/messages/\(id)/cancel").status == "400")
            #expect(await visitor.post("/messages/\(id)/cancel", "app=none").status == "404")
            #expect(await visitor.post("/messages/999999/cancel", "app=shop").status == "404")
            let again = await visitor.post("/messages/\(id)/cancel", "app=shop")
            #expect(again.header("Location")?.contains("done=cancelled&count=0&seal=") == true, "\(again.head)")
            #expect(
                try await shop.database.rows("SELECT action, app FROM carillon.audit WHERE source = 'dashboard'") == [
                    "(cancel,shop)"
                ]
            )
        }
    }

    @Test func `failures are requeued and dismissed after their number was confirmed`() async throws {
        try await Visitor.withOperator { shop, client in
            let tokens = (0..<3).map { "'\(Shop.token("bad\($0)"))'" } + ["'\(Shop.token("dead"))'"]
            try await shop.database.run("SELECT carillon.enqueue('shop', ARRAY[\(tokens.joined(separator: ","))], 'x')")
            #expect(try await shop.drain().status == 0)
            let link = "/failures/requeue?app=shop&reason=BadDeviceToken&since=1d"
            let visitor = try await Visitor(client, link)
            let list = await client.get("/failures", headers: visitor.headers).body
            #expect(list.contains("/failures/requeue?app=shop&amp;reason=BadDeviceToken&amp;since=1d"))
            #expect(!list.contains("/failures/requeue?app=shop&amp;reason=Unregistered"))
            let question = await client.get(link, headers: visitor.headers).body
            #expect(question.contains("Requeue 3 pushes of shop that failed as BadDeviceToken after"), "\(question)")
            let (after, until) = (try Visitor.hidden("after", in: question), try Visitor.hidden("until", in: question))
            let form = "app=shop&reason=BadDeviceToken&after=\(after)&until=\(until)&so_far=0"
            let done = await visitor.post("/failures/requeue", form)
            let address = try #require(done.header("Location"))
            #expect(
                address.hasPrefix("/failures?app=shop&reason=BadDeviceToken&done=requeued&count=3&seal="),
                "\(done.head)\(done.body)"
            )
            #expect(await client.get(address, headers: visitor.headers).body.contains("3 pushes were enqueued again"))
            // What a person sends to another person says nothing, nor does what nobody made.
            let others = try await Visitor(client)
            for (forged, headers) in [
                (address, others.headers), (address, ""),
                (address.replacing("count=3", with: "count=1000000"), visitor.headers),
                (String(address.prefix { $0 != "&" }) + "&done=requeued&count=1000000", visitor.headers),
            ] {
                let page = await client.get(forged, headers: headers)
                #expect(page.status == "200" && !page.body.contains("enqueued again"), "\(forged)")
            }
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 1)
            // Twice sent, it does nothing more.
            #expect(await visitor.post("/failures/requeue", form).isDone("requeued&count=0"))
            let left = await client.get("/failures", headers: visitor.headers).body
            #expect(left.contains("/failures/dismiss?app=shop&amp;reason=BadDeviceToken"))
            #expect(!left.contains("/failures/requeue?app=shop&amp;reason=BadDeviceToken"))
            let dismissed = await visitor.post("/failures/dismiss", "app=shop&after=\(after)&until=\(until)")
            #expect(dismissed.isDone("dismissed&count=1"), "\(dismissed.head)")
            // Where dismissed ones are left out, the page says so.
            let whole = "/failures?app=shop&since=1h&dismissed=1"
            let app = try Client.read(await client.get("/apps/shop"), "/apps/shop")
            #expect(app.text.contains("Without those that were dismissed") && app.links.contains(whole), "\(app.links)")
            let hidden = try Client.read(await client.get("/failures?app=shop&reason=Unregistered"), "/failures")
            #expect(hidden.links.contains("/failures?app=shop&reason=Unregistered&since=1d&dismissed=1"))
            #expect(!(await client.get(whole).body.contains("Without those that were dismissed")))
            try await shop.database.run("UPDATE carillon.failures SET dismissed_at = now()")
            #expect(await client.get("/apps/shop").body.contains("All failures of the last hour were dismissed"))
            let rest = await client.get("/failures?app=shop&reason=Unregistered", json: true).body
            #expect(rest.contains("\"groups\":[]"))
            let all = await client.get("/failures?app=shop&reason=Unregistered&dismissed=1", json: true).body
            #expect(all.contains("\"dismissed\":true"))
            #expect(await visitor.post("/failures/requeue", "app=shop&after=x&until=1").status == "400")
            let overflowing = "app=shop&after=\(after)&until=\(until)&so_far=\(Int64.max)"
            #expect(await visitor.post("/failures/dismiss", overflowing).status == "400")
            #expect(await visitor.post("/failures/dismiss", "app=none&after=1&until=2").status == "404")
            #expect(await client.get("/failures/dismiss", headers: visitor.headers).status == "400")
            #expect(
                try await shop.database.rows(
                    "SELECT action, details ->> 'pushes' FROM carillon.audit WHERE source = 'dashboard' ORDER BY id"
                )
                    == ["(requeue,3)", "(dismiss,1)"]
            )
        }
    }

    @Test func `a test push is shown as it goes out before it is enqueued`() async throws {
        try await Visitor.withOperator { shop, client in
            let visitor = try await Visitor(client, "/test?app=shop")
            let token = Shop.token("a0")
            let form = "app=shop&token=+\(token)+&title=Hi&text=%22you%22+%26+me&badge=2&collapse_id=c"
            let sight = await visitor.post("/test", form + "&preview=yes")
            let payload = #"{"aps":{"alert":{"title":"Hi","body":"\"you\" & me"},"badge":2}}"#
            #expect(
                sight.status == "200" && sight.body.contains("\(payload.utf8.count) of 4,096 bytes"),
                "\(sight.body)"
            )
            let text = try Client.read(sight, "/test").text
            #expect(text.contains(payload), "\(text)")
            #expect(!text.contains("A device does nothing with this push"), "\(text)")
            let ignored = "app=shop&token=\(token)&payload=%7B%22aps%22%3A%7B%7D%7D&preview=yes"
            let notice = try Client.read(await visitor.post("/test", ignored), "/test").text
            #expect(notice.contains("A device does nothing with this push"), "\(notice)")
            let json = await visitor.post("/test", ignored, more: "Accept: application/json\r\n")
            #expect(json.body.contains(#""notices":["A device does nothing with this push"#), "\(json)")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 0)
            let sent = await visitor.post("/test", form + "&send=yes")
            #expect(sent.status == "303" && sent.header("Location")?.hasPrefix("/messages/") == true, "\(sent.body)")
            #expect(try await shop.database.value("(SELECT payload::text FROM carillon.messages)") == payload)
            let wrong = await visitor.post("/test", "app=shop&token=xyz&text=hi&preview=yes")
            #expect(wrong.status == "400" && wrong.body.contains("role=\"alert\"") && wrong.body.contains("tokens"))
            // As it was typed.
            #expect(wrong.body.contains("value=\"xyz\""))
            let refused = await visitor.post(
                "/test",
                "app=shop&token=xyz&text=hi",
                more: "Accept: application/json\r\n"
            )
            #expect(
                refused.status == "400" && refused.header("Content-Type") == "application/problem+json",
                "\(refused)"
            )
            #expect(await visitor.post("/test", more: "Content-Type: application/json\r\n").status == "415")
            let long = String(repeating: "x", count: 5_000)
            #expect(await visitor.post("/test", "app=shop&token=aa&text=\(long)").body.contains("at most 4096 bytes"))
            #expect(await visitor.post("/test", "app=none&token=aa&text=hi").body.contains("role=\"alert\""))
        }
    }

    @Test func `a test push that is sent twice is enqueued once, and both lead to its message`() async throws {
        try await Visitor.withOperator { shop, client in
            let visitor = try await Visitor(client, "/test?app=shop")
            let form = "app=shop&token=\(Shop.token("a0"))&text=hi"
            func preview() async throws -> String {
                try Visitor.hidden("key", in: await visitor.post("/test", form + "&preview=yes").body)
            }
            let key = try await preview()
            let first = await visitor.post("/test", form + "&send=yes&key=\(key)")
            let again = await visitor.post("/test", form + "&send=yes&key=\(key)")
            #expect(first.isDone("sent") && again.isDone("sent_before"), "\(first.head)\(again.head)")
            #expect(Set([first, again].map { $0.header("Location")?.prefix { $0 != "?" } }).count == 1)
            let changed = await visitor.post("/test", form + "+there&send=yes&key=\(key)")
            #expect(
                changed.status == "422" && changed.body.contains("submitted before with other values"),
                "\(changed.body)"
            )
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 1)
            #expect(
                try await shop.database.number("SELECT count(*) FROM carillon.audit WHERE action = 'send test'") == 1
            )
            // The page that says so, and each further preview, has a key of its own.
            let (shown, next) = (try Visitor.hidden("key", in: changed.body), try await preview())
            #expect(Set([key, shown, next]).count == 3)
            #expect(await visitor.post("/test", form + "&send=yes&key=\(next)").isDone("sent"))
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 2)
            let id = try #require(first.header("Location")?.firstMatch(of: /[0-9]+/)).output
            let changes = try DashboardClient.read(await client.get("/changes"), "/changes")
            #expect(changes.links.contains("/messages/\(id)?app=shop"))
            #expect(changes.text.contains("\"message_id\": \(id)"), "\(changes.text)")
        }
    }
}
