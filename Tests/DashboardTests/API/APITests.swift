import CarillonIO
import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

/// The HTTP API, as programs use it.
@Suite struct APITests {
    private typealias Client = DashboardClient

    /// A program with an API token of the app `shop`.
    private struct Caller {
        let client: Client
        let token: String

        var headers: String { "Authorization: Bearer \(token)\r\n" }

        func get(_ path: String) async -> Client.Answer { await client.get("/v1/apps/shop\(path)", headers: headers) }

        func delete(_ path: String) async -> Client.Answer {
            await client.delete("/v1/apps/shop\(path)", headers: headers)
        }

        func post(_ path: String, _ body: String, key: String? = nil) async -> Client.Answer {
            let key = key.map { "Idempotency-Key: \($0)\r\n" } ?? ""
            let headers = headers + "Content-Type: application/json\r\n" + key
            return await client.post("/v1/apps/shop\(path)", body, headers: headers)
        }
    }

    private static func with(
        _ rights: String = "send,read,tokens,forget",
        _ body: (Shop, Caller) async throws -> Void
    ) async throws {
        try await Visitor.withOperator([]) { shop, client in
            let token = try #require(
                try await shop.database.value("carillon.create_api_token('shop', 'test', rights => '{\(rights)}')")
            )
            try await body(shop, Caller(client: client, token: token))
        }
    }

    private static func expect(
        _ answer: Client.Answer,
        _ status: String,
        _ parts: String...,
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status, "\(answer.head)\n\(answer.body)", sourceLocation: location)
        if status != "204" { #expect(Client.isJSON(answer.body), "\(answer.body)", sourceLocation: location) }
        if status.first == "4" {
            let type = answer.header("Content-Type")
            #expect(type == "application/problem+json", "\(answer.head)", sourceLocation: location)
        }
        for part in parts { #expect(answer.body.contains(part), "\(answer.body)", sourceLocation: location) }
    }

    @Test func `a program registers tokens, sends to them, follows its messages and cancels them`() async throws {
        try await Self.with { shop, caller in
            let (one, two) = (Shop.token("a1"), Shop.token("a2"))
            for (token, locale) in [(one, "de_AT"), (two, "en")] {
                let details = #""locale": "\#(locale)", "attributes": {"plan": "pro"}"#
                Self.expect(
                    await caller.post("/tokens", #"{"token": "\#(token)", "owner": "u-1", \#(details)}"#),
                    "204"
                )
            }
            let first = await caller.get("/tokens?owner=u-1&max_rows=1")
            Self.expect(first, "200", "\"token\": \"\(one)\"", "\"locale\": \"de-AT\"", "\"next\": \"\(one)\"")
            let choice = #""where_attributes": {"plan": "pro"}, "locales": ["de"], "run_at": "2100-01-01T00:00:00Z""#
            Self.expect(await caller.post("/broadcasts", #"{"alert": "hi", \#(choice)}"#), "201")
            #expect(try await shop.database.rows("SELECT tokens FROM carillon.scheduled") == ["({\(one)})"])
            let rest = await caller.get("/tokens?owner=u-1&max_rows=1&after=\(one)")
            Self.expect(rest, "200", "\"token\": \"\(two)\"", "\"next\": null")

            let body =
                #"{"tokens": ["\#(one)"], "alert": {"title": "hi"}, "reference": "r-1", "run_at": "2100-01-01T00:00:00Z"}"#
            let sent = await caller.post("/messages", body, key: "k")
            Self.expect(sent, "201", "\"app\":\"shop\",\"is_new\":true,\"see\":\"/v1/apps/shop/messages/")
            let place = try #require(sent.header("Location"))
            Self.expect(await caller.post("/messages", body, key: "k"), "200", "\"is_new\":false", place)
            Self.expect(await caller.post("/messages", body.replacing("hi", with: "ho"), key: "k"), "422")
            Self.expect(await caller.post("/broadcasts", #"{"alert": "hi"}"#, key: "k"), "422")
            Self.expect(await caller.post("/broadcasts", #"{"alert": "hi"}"#, key: "b"), "201")
            let status = await caller.client.get(place, headers: caller.headers)
            Self.expect(status, "200", "\"state\": \"scheduled\"", "\"reference\": \"r-1\"")
            Self.expect(await caller.get("/messages?reference=r-1"), "200", "\"messages\": [{", "scheduled")
            let none = #"{"next": null, "messages": []}"#
            Self.expect(await caller.get("/messages?reference=none"), "200", none)
            let page = await caller.get("/messages?reference=r-1&max_rows=1&after=999999")
            Self.expect(page, "200", none)
            for place in ["/messages/999999", "/trace?message_id=999999"] {
                Self.expect(await caller.get(place), "404", "The app has no such message.")
            }
            Self.expect(await caller.get("/trace?reference=none"), "200", "no message of this app")
            Self.expect(await caller.get("/trace?reference=none&since=junk"), "400", "and docs/sql.md say")
            let exactlyOne = "takes exactly one of owner, token, reference and message_id"
            Self.expect(await caller.get("/trace"), "400", exactlyOne)
            Self.expect(await caller.get("/trace?reference=r-1"), "200", "{\"trace\":[{", "\"event\": \"scheduled\"")
            Self.expect(await caller.post("/cancel", #"{"reference": "r-1"}"#), "200", "{\"jobs\":1}")
            Self.expect(await caller.delete("/tokens?owner=u-1"), "200", "{\"tokens\":2}")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.audit WHERE source = 'API'") == 0)
        }
    }

    @Test func `a program starts, updates and ends Live Activities and media sessions, and publishes to a channel`()
        async throws
    {
        try await Self.with { shop, caller in
            try await shop.database.run(
                "UPDATE carillon.certificates SET certificate = NULL, private_key = 'k', key_id = 'K', team_id = 'T'"
            )
            let tokens = #""tokens": ["ab"]"#
            let start =
                #"{\#(tokens), "attributes_type": "T", "attributes": {}, "content_state": {"a": 1}, "title": "x"}"#
            Self.expect(await caller.post("/activities/start", start), "201", "\"is_new\":true")
            Self.expect(await caller.post("/activities/update", #"{\#(tokens), "content_state": {"a": 2}}"#), "201")
            Self.expect(await caller.post("/activities/end", "{\(tokens)}"), "201")
            for event in ["start", "update", "end"] {
                let media = #"{\#(tokens), "attributes": {"id": "radio"}}"#
                Self.expect(await caller.post("/media/\(event)", media), "201", "\"is_new\":true")
                let unnamed = #"{\#(tokens), "attributes": {"title": "x"}}"#
                Self.expect(await caller.post("/media/\(event)", unnamed), "400", #"Argument \"attributes\" takes"#)
            }
            let missing = await caller.post("/activities/update", "{\(tokens)}")
            Self.expect(missing, "400", #"Argument \"content_state\" takes a JSON object"#)
            Self.expect(await caller.post("/channels", #"{"reference": "m 1"}"#), "200", #"{"reference":"m 1"}"#)
            Self.expect(await caller.get("/channels"), "200", "\"state\": \"requested\"", "\"next\": null")
            let early = await caller.post("/publish", #"{"channel": "m 1", "content_state": {"a": 1}}"#)
            Self.expect(early, "409", "takes a channel that is ready")
            Self.expect(await caller.delete("/channels/m%201"), "204")
            Self.expect(await caller.delete("/channels/m%201"), "404", "takes the reference or the id")
        }
    }

    @Test func `a program is told what was not checked`() async throws {
        try await Self.with { shop, caller in
            try await shop.database.run(
                "UPDATE carillon.certificates SET certificate = NULL, private_key = 'k', key_id = 'K', team_id = 'T'"
            )
            let said = #""notices":["Argument \"push_type\" is 'spatial', which this version of Carillon does not know"#
            let type = #""push_type": "spatial", "topic": "com.example.shop.push-type.spatial""#
            Self.expect(
                await caller.post("/messages", #"{"tokens": ["ab"], "alert": "x", \#(type)}"#),
                "201",
                said
            )
            let refused = await caller.post("/messages", #"{"tokens": ["ab"], "alert": "x", "push_type": "spatial"}"#)
            Self.expect(refused, "400", "pass its topic too")
            let kind = await caller.post("/tokens", #"{"token": "ab", "kind": "spatial"}"#)
            Self.expect(kind, "200", #"{"notices":["Argument \"kind\" is 'spatial'"#)
            Self.expect(await caller.post("/tokens", #"{"token": "ab", "kind": "widget"}"#), "204")
            Self.expect(await caller.post("/tokens", #"{"token": "ab", "kind": "Spatial"}"#), "400")
            let level = #"{"tokens": ["ab"], "alert": "x", "interruption_level": "loud"}"#
            Self.expect(await caller.post("/messages", level), "201", #"Argument \"interruption_level\" is 'loud'"#)
            try await shop.database.run("SELECT carillon.record_channel('shop', 'QUJD', 0, 'r')")
            let event = #"{"channel": "r", "content_state": {}, "event": "pause"}"#
            Self.expect(await caller.post("/publish", event), "201", #"Argument \"event\" is 'pause'"#)
        }
    }

    @Test func `a number whose text would be huge is refused, but not a text that looks like one`() async throws {
        try await Self.with { _, caller in
            for number in ["1e1000", "1E+130000", "1.5e-16383", "[1e0001]"] {
                let body = #"{"tokens": ["ab"], "alert": "\\\" 1", "extra": {"a": \#(number)}}"#
                Self.expect(await caller.post("/messages", body), "400", "a number whose exponent has more than three")
            }
            let body =
                #"{"tokens": ["1e130000"], "alert": "1e130000 \" 1e130000", "extra": {"a": [1e100, true, 12345]}}"#
            Self.expect(await caller.post("/messages", body), "201")
        }
    }

    @Test func `an answer of more than 1 MB is refused, and says how to ask for less`() async throws {
        try await Self.with { shop, caller in
            // As JSON, each character of the owner has six bytes.
            try await shop.database.run(
                #"""
                SELECT carillon.register_token('shop', lpad(to_hex(i), 64, '0'), repeat(E'\x01', 2048))
                FROM generate_series(1, 100) AS i
                """#
            )
            let path = "/tokens?owner=" + String(repeating: "%01", count: 2048) + "&max_rows="
            Self.expect(await caller.get(path + "80"), "200", "\"next\": \"")
            Self.expect(await caller.get(path + "100"), "400", "The answer would have more than 1 MB.", "max_rows")
        }
    }

    /// Sends so many unknown tokens that the next may be refused, until one is.
    private static func guess(_ client: Client) async -> [Client.Answer] {
        var answers: [Client.Answer] = []
        while answers.last?.status != "429", answers.count < 200 {
            answers.append(await Caller(client: client, token: "carillon_\(answers.count)").get("/channels"))
        }
        return answers
    }

    @Test func `unknown tokens of an address are limited, and those that were known are answered meanwhile`()
        async throws
    {
        try await Self.with { shop, caller in
            Self.expect(await caller.get("/channels"), "200")
            let answers = await Self.guess(caller.client)
            #expect(answers.count > 20 && answers.dropLast().allSatisfy { $0.status == "401" })
            let refused = try #require(answers.last)
            Self.expect(refused, "429", "Too many unknown tokens")
            #expect(refused.header("Retry-After") == "1", "\(refused.head)")
            Self.expect(await caller.get("/channels"), "200")
            // One that was removed is asked for once more.
            try await shop.database.run("SELECT carillon.remove_api_token('shop', 'test')")
            Self.expect(await caller.get("/channels"), "401", "Unknown token.")
        }
    }

    @Test func `a key that is not UTF-8 is refused`() async throws {
        try await Self.with { _, caller in
            let body = #"{"tokens": ["ab"], "alert": "x"}"#
            Self.expect(await caller.post("/messages", body, key: "caf\u{e9}"), "201")
            Self.expect(await caller.post("/messages", body, key: "\u{FFFD}"), "400", "not valid UTF-8")
        }
    }

    @Test func `an event comes again until it is acknowledged`() async throws {
        try await Self.with { shop, caller in
            Self.expect(await caller.get("/events?consumer=c"), "404", "takes the name of a consumer")
            try await shop.database.run("SELECT carillon.subscribe('shop', 'c')")
            Self.expect(await caller.get("/events?consumer=c"), "200", "{\"cursor\": null, \"events\": []}")
            // Waits, and returns as soon as there is one.
            let (port, headers) = (caller.client.port, caller.headers)
            async let waiting = RawHTTP.ask(port, "GET /v1/apps/shop/events?consumer=c&wait=30", headers: headers)
            try await shop.database.run(
                "SELECT carillon.cancel(carillon.enqueue('shop', '{ab}', 'x', reference => 'r'))"
            )
            let waited = await waiting
            let first = await caller.get("/events?consumer=c")
            Self.expect(first, "200", "\"kind\": \"finished\"", "\"reference\": \"r\"")
            #expect(waited.hasSuffix("\r\n\r\n" + first.body), "\(waited)")
            let cursor = try JSONDecoder().decode(Events.self, from: Data(first.body.utf8)).cursor
            let body = #"{"consumer": "c", "cursor": "\#(cursor)"}"#
            Self.expect(await caller.post("/events/acknowledge", body), "200", "{\"events\":1}")
            Self.expect(await caller.post("/events/acknowledge", body), "200", "{\"events\":0}")
            Self.expect(await caller.get("/events?consumer=c&wait=0"), "200", "\"events\": []")
            Self.expect(await caller.get("/events?consumer=c&wait=31"), "400", #"Argument \"wait\" takes"#)
        }
    }

    private struct Events: Decodable {
        let cursor: String
    }

    @Test func `requests that wait for events ask soon after a notification, and otherwise seldom`() async throws {
        try await Self.with { shop, caller in
            // A sequence counts also what is rolled back.
            try await shop.database.run(
                """
                SELECT carillon.subscribe('shop', 'c');
                CREATE SEQUENCE asked;
                CREATE OR REPLACE FUNCTION carillon.refused_consumer(consumer text) RETURNS carillon.refusal
                LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('public.asked'); RETURN NULL; END $$
                """
            )
            func asked() async throws -> Int { try await shop.database.number("SELECT last_value FROM asked") }
            let (port, headers) = (caller.client.port, caller.headers)
            async let waiting = RawHTTP.ask(port, "GET /v1/apps/shop/events?consumer=c&wait=30", headers: headers)
            try await TestLoop.shared.eventually("it has asked, and again once it listened") { try await asked() == 2 }
            let start = MonotonicInstant.now
            for number in 3...6 {
                try await shop.database.run("NOTIFY carillon_events")
                try await TestLoop.shared.eventually("it asks again") { try await asked() >= number }
            }
            // A second for each; without notifications, five.
            #expect(.now - start < .seconds(16))
            try await shop.database.run(
                "SELECT carillon.cancel(carillon.enqueue('shop', '{ab}', 'x')); NOTIFY carillon_events"
            )
            let waited = await waiting
            #expect(waited.contains("\"kind\": \"finished\""), "\(waited)")
        }
    }

    @Test func `the tokens of an app share its half of the places for requests that wait for events`() async throws {
        try await Self.with { shop, caller in
            try await shop.database.run(
                """
                SELECT carillon.subscribe('shop', 'c');
                INSERT INTO carillon.apps (name) VALUES ('other');
                SELECT carillon.subscribe('other', 'c');
                CREATE SEQUENCE asked;
                CREATE OR REPLACE FUNCTION carillon.refused_consumer(consumer text) RETURNS carillon.refusal
                LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('public.asked'); RETURN NULL; END $$
                """
            )
            let port = caller.client.port
            let waiting = "GET /v1/apps/shop/events?consumer=c&wait="
            func headers(_ app: String) async throws -> String {
                let call = "carillon.create_api_token('\(app)', 'second', rights => '{read}')"
                return "Authorization: Bearer \(try #require(try await shop.database.value(call)))\r\n"
            }
            let (first, second) = (caller.headers, try await headers("shop"))
            let headersOfOther = try await headers("other")
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<16 {
                    group.addTask { await RawHTTP.ask(port, waiting + "30", headers: first) }
                }
                // Each asks before it waits, and once it has a place.
                try await TestLoop.shared.eventually("all wait") {
                    try await shop.database.number("SELECT last_value FROM asked") >= 32
                }
                let refused = await RawHTTP.ask(port, waiting + "1", headers: second)
                #expect(refused.contains("Too many requests wait for events."), "\(refused)")
                let answer = await caller.client.get("/v1/apps/other/events?consumer=c&wait=1", headers: headersOfOther)
                Self.expect(answer, "200", #""events": []"#)
                try await shop.database.run(
                    "SELECT carillon.cancel(carillon.enqueue('shop', '{ab}', 'x')); NOTIFY carillon_events"
                )
                for try await answer in group { #expect(answer.contains(#""kind": "finished""#), "\(answer)") }
            }
        }
    }

    @Test func `a program sets a badge, and erases a person, recorded with the name of its token`() async throws {
        try await Self.with { shop, caller in
            let token = Shop.token("a1")
            Self.expect(await caller.post("/tokens", #"{"token": "\#(token)", "owner": "u-1"}"#), "204")
            Self.expect(await caller.post("/badge", #"{"owner": "u-1", "badge": 7}"#), "200", #"{"tokens":1}"#)
            Self.expect(await caller.get("/tokens?owner=u-1"), "200", "\"badge\": 7")
            Self.expect(await caller.post("/badge", #"{"badge": 7}"#), "400", "or null if owner is given, got neither")
            let negative = await caller.post("/badge", #"{"owner": "u-1", "badge": -1}"#)
            Self.expect(negative, "400", "enqueue a message with badge_add")
            Self.expect(
                await caller.post("/messages", #"{"tokens": ["\#(token)"], "alert": "x", "reference": "u-1"}"#),
                "201"
            )
            Self.expect(await caller.post("/forget", "{}"), "400", "Pass what register_token was given as owner.")
            let forgotten = await caller.post("/forget", #"{"owner": "u-1"}"#)
            Self.expect(forgotten, "200", #"{"forgotten":[{"kind": "messages", "removed": 1}"#)
            Self.expect(forgotten, "200", #"{"kind": "tokens", "removed": 1}"#)
            Self.expect(await caller.get("/tokens?owner=u-1"), "200", #""tokens": []"#)
            Self.expect(await caller.get("/messages?reference=u-1"), "200", #""messages": []"#)
            let recorded = try await shop.database.rows(
                "SELECT action, on_behalf_of, source, details FROM carillon.audit WHERE source = 'API'"
            )
            #expect(recorded == [#"(forget,"API token test",API,"{""tokens"": 1}")"#])
        }
    }

    @Test func `a token allows its rights only, for its app only, until it expires`() async throws {
        try await Self.with("read") { shop, caller in
            let message = #"{"tokens": ["ab"], "alert": "x"}"#
            Self.expect(await caller.get("/channels"), "200")
            for refused in [
                await caller.post("/messages", message), await caller.delete("/tokens?owner=u"),
                await caller.client.post(
                    "/messages",
                    message,
                    headers: caller.headers + "Content-Type: application/json\r\n"
                ),
            ] { Self.expect(refused, "403", "The token lacks the right") }
            let other = await caller.client.get("/v1/apps/other/channels", headers: caller.headers)
            Self.expect(other, "403", "The token is for the app 'shop', not for 'other'.")
            #expect(
                try await shop.database.value("(SELECT last_used_at IS NOT NULL FROM carillon.api_tokens)") == "true"
            )
            try await shop.database.run("UPDATE carillon.api_tokens SET expires_at = now()")
            Self.expect(await caller.get("/channels"), "401", "The token has expired.")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 0)
        }
    }

    @Test func `a request that fits no route gets a problem document`() async throws {
        try await Self.with { _, caller in
            Self.expect(await caller.get("/nothing"), "404")
            Self.expect(await caller.get("/cancel"), "405")
            Self.expect(await caller.get("/channels?x=1"), "400", "There is no parameter 'x'.", "after, max_rows")
            Self.expect(await caller.get("/channels?after=a&after=b"), "400", "several parameters 'after'")
            Self.expect(await caller.get("/channels?max_rows=many"), "400", #"\"max_rows\" takes a whole number"#)
            Self.expect(await caller.get("/messages/x"), "400", #"Argument \"id\" takes a whole number, got \"x\"."#)
            Self.expect(await caller.post("/cancel", "[]"), "400", #"\"request\" takes a JSON object"#)
            Self.expect(
                await caller.post("/cancel", #"{"id": 1}"#),
                "400",
                "The members are: message_id, reference, owner."
            )
            Self.expect(await caller.post("/tokens", #"{"token": "xy"}"#), "400", "takes a device token")
        }
    }

    @Test func `the OpenAPI document describes every route`() async throws {
        try await Visitor.withOperator([]) { _, client in
            let answer = await client.get("/openapi.json")
            Self.expect(answer, "200", "{\"openapi\":\"3.1.0\",")
            for path in ["/v1/apps/{app}/messages", "/v1/apps/{app}/events/acknowledge"] {
                #expect(answer.body.contains("\"\(path)\":{"), "\(answer.body)")
            }
        }
    }
}
