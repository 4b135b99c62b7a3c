import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonDashboard

/// The page that shows in the order of time what is known of an owner, a device token, a reference or a message.
@Suite struct TracePageTests {
    private typealias Client = DashboardClient

    private struct Page: Decodable {
        struct Found: Decodable {
            let app: String?
            let by: String
            let rows: [Row]?
        }

        struct Row: Decodable {
            let event: String
            let what: String
            let token: String?
        }

        let found: [Found]
    }

    private static func page(_ path: String, _ client: Client) async throws -> Page {
        let answer = await client.get(path, json: true)
        #expect(answer.status == "200", "\(path): \(answer.body)")
        return try JSONDecoder().decode(Page.self, from: Data(answer.body.utf8))
    }

    private static func text(_ path: String, _ client: Client) async throws -> String {
        try Client.read(await client.get(path), path).text
    }

    /// A shop in which a person has a good and a dead token, a push was sent to each, and one waits.
    private func withPerson(_ words: [String], _ body: (Shop, Client) async throws -> Void) async throws {
        try await Shop.with(answers: ["dead=410:Unregistered"]) { shop in
            let (good, dead) = (Shop.token("aa"), Shop.token("dead"))
            try await shop.database.run(
                """
                SELECT carillon.register_token('shop', '\(good)', 'u-42'), carillon.register_token('shop', '\(dead)', 'u-42');
                SELECT carillon.enqueue('shop', '{\(good)}', 'hi', reference => 'order 7'),
                    carillon.enqueue('shop', '{\(dead)}', 'hi', reference => 'order 8');
                SELECT carillon.enqueue('shop', '{\(good)}', 'hi', run_at => now() + interval '1 hour', reference => 'order 7')
                """
            )
            #expect(try await shop.drain().status == 0)
            try await Client.with(shop.database.url, in: shop.folder, words) { client, _ in
                try await body(shop, client)
            }
        }
    }

    @Test func `a person's pushes are shown in the order of time, in plain words`() async throws {
        try await withPerson([]) { _, client in
            let page = try await Self.text("/trace?q=u-42", client)
            for part in [
                "Owner u-42 in shop", "Last registered.", "Refused by Apple: 410 Unregistered.",
                "Apple reported the token dead: Unregistered.", "Scheduled for then",
                "Unregistered: The app was removed",
                "A push that was accepted, expired, cancelled or replaced is not kept by its token",
            ] { #expect(page.contains(part), "\(part): \(page)") }
            for token in [Shop.token("aa"), Shop.token("dead")] {
                #expect(page.contains(TokenDisplay.short(token)) && !page.contains(token), "\(page)")
            }
            let reference = try await Self.text("/trace?q=+order+7+", client)
            #expect(reference.contains("Reference order 7 in shop") && reference.contains("Accepted by Apple."))
            #expect(
                reference.matches(of: /Enqueued to 1 token, with the reference order 7\./).count == 2,
                "\(reference)"
            )
            let message = try await Self.text("/trace?q=2", client)
            #expect(message.contains("Message 2 in shop") && message.contains("Refused by Apple: 410"), "\(message)")
            #expect(await client.get("/trace?q=2").body.contains("href=\"/messages/2?app=shop\""))
            let token = try await Self.text("/trace?q=\(Shop.token("dead").uppercased())", client)
            #expect(token.contains("Device token DEAD0000…0000 in shop"), "\(token)")
            // Only who may see whole tokens may see whose they are.
            let whose = try await Self.page("/trace?q=\(Shop.token("aa"))", client).found.first?.rows ?? []
            #expect(!whose.isEmpty && !whose.contains { $0.event == "owner" }, "\(whose)")
        }
    }

    @Test func `its rows are those of carillon trace`() async throws {
        try await withPerson(["--show-contents", "readers"]) { shop, client in
            for (by, text) in [
                ("owner", "u-42"), ("token", Shop.token("dead")), ("reference", "order 7"), ("message", "2"),
                ("token", Shop.token("aa")),
            ] {
                let command = try await shop.run("trace", "shop", "--\(by)", text, "--json")
                let told = try JSONDecoder().decode([Page.Row].self, from: Data(command.output.utf8))
                let query = text.replacing(" ", with: "+")
                for path in ["/trace?q=\(query)", "/trace?q=\(query)&by=\(by)&app=shop"] {
                    let found = try await Self.page(path, client).found
                    #expect(found.map(\.by) == [by] && found.map(\.app) == ["shop"], "\(path)")
                    // What is so now has the time of the call.
                    let rows = (found.first?.rows ?? []).map { [$0.event, $0.what, $0.token ?? ""] }
                    #expect(!rows.isEmpty && rows == told.map { [$0.event, $0.what, $0.token ?? ""] }, "\(path)")
                    if text == Shop.token("aa") {
                        #expect(rows.contains { $0[1] == "registered for the owner u-42" }, "\(rows)")
                    }
                }
            }
        }
    }

    @Test(.shop) func `what several apps know is traced in the first, and the others are links`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.apps (name) SELECT 'app ' || n FROM generate_series(1, 4) n;
            SELECT carillon.register_token(a.name, repeat('ab', 32), '77') FROM carillon.apps a;
            SELECT carillon.enqueue('shop', '{aa}', 'hi', reference => '77')
            """
        )
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            let found = try await Self.page("/trace?q=77", client).found
            #expect(found.map(\.by) == Array(repeating: "owner", count: 5) + ["reference"])
            #expect(found.count { $0.rows != nil } == TraceQuery.maxTraces)
            let page = await client.get("/trace?q=77").body
            #expect(page.contains("href=\"/trace?q=77&amp;by=owner&amp;app=app%204\""), "\(page)")
            let one = try await Self.page("/trace?q=77&by=reference", client).found
            #expect(one.map(\.by) == ["reference"] && one.first?.rows?.first?.event == "enqueued")
            #expect(try await Self.page("/trace?q=77&app=app+2", client).found.map(\.app) == ["app 2"])
            // A link to a device token would contain the whole token.
            let tokens = await client.get("/trace?q=\(String(repeating: "ab", count: 32))").body
            #expect(tokens.contains("Also found") && !tokens.contains("&amp;by=token"), "\(tokens)")
        }
    }

    @Test(.shop) func `what is asked of one app is answered or refused as the function does`() async throws {
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            let stranger = try await Self.text("/trace?q=nobody&by=owner&app=shop", client)
            #expect(stranger.contains("No token of this owner is registered: broadcasts leave the owner out."))
            let nothing = try await Self.text("/trace?q=4711&by=message&app=shop", client)
            #expect(nothing.contains("No message of this app: enqueue returned null"), "\(nothing)")
            for (path, status, word) in [
                ("/trace?q=x&by=token&app=shop", "400", "token"), ("/trace?q=x&by=message&app=shop", "400", "number"),
                ("/trace?q=x&by=owner&app=shoop", "404", "shoop"),
            ] {
                let answer = await client.get(path)
                #expect(answer.status == status && answer.body.contains(word), "\(path): \(answer.body)")
            }
        }
    }

    @Test(.shop) func `a long trace shows its newest events, and says so`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
            SELECT n, 1, repeat('ab', 32), 400, 'BadDeviceToken', now() - n * interval '1 second' FROM generate_series(1, 500) n
            """
        )
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            let answer = await client.get("/trace?q=\(String(repeating: "ab", count: 32))")
            #expect(answer.body.utf8.count < 45_000)
            let page = try Client.read(answer, "trace").text
            #expect(page.contains("The newest 100 of 501 events. 'carillon trace' shows all of them."), "\(page)")
        }
    }

    @Test(.shop) func `the JSON of a long trace has its newest events, of 1 MB at most, and says that there are more`()
        async throws
    {
        // As JSON, each character of the reason has six bytes.
        try await shop.database.run(
            #"""
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason, failed_at)
            SELECT n, 1, repeat('ab', 32), 400, repeat(E'\x01', 200), now() - n * interval '1 second'
            FROM generate_series(1, 1000) n
            """#
        )
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            let answer = await client.get("/trace?q=\(String(repeating: "ab", count: 32))", json: true)
            #expect(answer.status == "200" && answer.body.utf8.count < 1_100_000, "\(answer.body.utf8.count)")
            #expect(answer.body.contains(#""rows_precision":"at least""#) && answer.body.contains(#""message_id":1,"#))
            #expect(!answer.body.contains(#""message_id":1000,"#) && answer.body.contains(#""event":"not known""#))
        }
    }
}
