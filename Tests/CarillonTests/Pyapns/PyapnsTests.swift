import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

@testable import Carillon

@Suite struct PyapnsTests {
    private typealias Client = PyapnsClient

    private func with(_ words: [String] = [], _ body: (Shop, PyapnsClient) async throws -> Void) async throws {
        try await Shop.with { shop in
            try await PyapnsClient.with(shop.database.url, in: shop.folder, words) { client, _, _ in
                try await body(shop, client)
            }
        }
    }

    private static let versions =
        "SELECT a.xmin, c.xmin FROM carillon.apps a, carillon.certificates c ORDER BY a.id, c.id"

    // MARK: notify

    @Test func `an app keeps its gateway when it is provisioned, and what is notified arrives there`() async throws {
        try await with { shop, client in
            let text = try Client.certificate(Shop.topic)
            #expect(await client.call("provision", "shop", text, "sandbox").isNothing)
            let token = Shop.token("ab")
            #expect(
                await client.call(
                    "notify",
                    "shop",
                    "<string>\(token.prefix(8)) \(token.dropFirst(8))</string>",
                    Client.hello("Grüße")
                ).isNothing
            )
            #expect(try await shop.drain().status == 0)
            let arrived = await shop.gateway.receivedRequests()
            #expect(arrived.map(\.token) == [token])
            #expect(arrived.first.map { String(decoding: $0.payload, as: UTF8.self) } == #"{"aps":{"alert":"Grüße"}}"#)
        }
    }

    @Test func `pairs are one transaction, and equal payloads one message`() async throws {
        try await with { shop, client in
            let (one, two) = (Client.hello("one"), Client.hello("two"))
            let tokens = Client.array(["aa", "bb", "cc", "dd"].map { Shop.token($0) })
            let answer = await client.call("notify", "shop", tokens, Client.array([one, two, one, one]))
            #expect(answer.isNothing, "\(answer)")
            let rows = try await shop.database.rows(
                """
                SELECT m.payload, (SELECT array_agg(left(t, 2)) FROM unnest(m.tokens) t), count(*) OVER (PARTITION BY m.xmin::text)
                FROM carillon.messages m ORDER BY m.id
                """
            )
            #expect(
                rows == [
                    #"("{""aps"":{""alert"":""one""}}","{aa,cc,dd}",2)"#, #"("{""aps"":{""alert"":""two""}}",{bb},2)"#,
                ]
            )
            let bad = Client.array([Shop.token("ee"), "xyz"])
            let refusal = await client.call("notify", "shop", bad, Client.array([one, two]))
            #expect(refusal.faultCode == 8002 && refusal.contains("xyz"), "\(refusal)")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 2)
            // Nothing to do is no error, and Ruby's client sends an array for one token.
            #expect(await client.call("notify", "shop", Client.array([]), Client.array([])).isNothing)
            #expect(await client.call("notify", "shop", Shop.token("ff"), Client.array([one])).isNothing)
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 3)
        }
    }

    @Test func `a payload is in JSON what it was in XML`() async throws {
        try await with { shop, client in
            let payload = Client.structure([
                "aps": Client.structure(["badge": "<int>3</int>", "alert": "„Zoë“ \u{1F514} &lt;b&gt; \"q\" \\"]),
                "list": Client.array(["<boolean>1</boolean>", "<double>0.5</double>", "<nil/>", "<i8>5000000000</i8>"]),
                "": Client.structure([:]),
            ])
            let answer = await client.call("notify", "shop", Shop.token("aa"), payload)
            #expect(answer.isNothing, "\(answer)")
            let stored = try await shop.database.value("SELECT payload FROM carillon.messages")
            #expect(
                stored
                    == #"{"aps":{"badge":3,"alert":"„Zoë“ 🔔 <b> \"q\" \\"},"list":[true,0.5,null,5000000000],"":{}}"#
            )
        }
    }

    // MARK: Faults

    @Test(arguments: [
        ("notify", ["nobody", "aa", PyapnsClient.hello("x")], 404, "nobody"), ("feedback", ["nobody"], 404, "nobody"),
        ("notify", ["nobody", PyapnsClient.array([]), PyapnsClient.array([])], 404, "nobody"),
        ("provision", ["news", "-----BEGIN CERTIFICATE-----", "staging"], 401, "staging"),
        ("provision", ["news", "-----BEGIN CERTIFICATE-----", "sandbox"], 8002, "certificate"),
        ("provision", ["news", "/x"], 8002, "needs the argument environment"),
        ("provision", ["news", "-----BEGIN CERTIFICATE-----", "<nil/>"], 401, "not nil"),
        ("provision", ["", "-----BEGIN CERTIFICATE-----", "sandbox"], 8002, "app_id of provision is the app's name"),
        ("provision", ["news", "-----BEGIN PRIVATE KEY-----", "sandbox"], 8002, "--key-id KEY --team-id TEAM"),
        (
            "provision",
            ["news", "-----BEGIN CERTIFICATE-----\n-----BEGIN ENCRYPTED PRIVATE KEY-----", "sandbox"],
            8002, "--passphrase-file"
        ),
        (
            "notify", ["shop", "aa", PyapnsClient.structure(["x": "<double>nan</double>"])], 8002,
            "takes a finite number"
        ),
        ("provision", ["<int>1</int>", "/x", "sandbox"], 8002, "app_id of provision takes a string, not an integer"),
        ("notify", ["shop", "aa"], 8002, "needs the argument notification"),
        ("notify", ["shop", "aa", "text"], 8002, "takes a struct"),
        ("notify", ["shop", "<int>1</int>", "x"], 8002, "not an integer"),
        ("notify", ["shop", PyapnsClient.array(["aa"]), PyapnsClient.hello("x")], 8002, "an array, as token is one"),
        (
            "notify", ["shop", PyapnsClient.array(["aa"]), PyapnsClient.array([])], 8002,
            "there is 1 token and 0 notifications"
        ),
        ("notify", ["shop", PyapnsClient.array(["<int>1</int>"]), PyapnsClient.array(["x"])], 8002, "not an integer"),
        (
            "notify", ["shop", PyapnsClient.array(["aa"]), PyapnsClient.array(["x"])], 8002,
            "takes structs, not a string"
        ),
        (
            "notify",
            ["shop", "aa", PyapnsClient.structure(["at": "<dateTime.iso8601>20261124T00:10:04</dateTime.iso8601>"])],
            8002, "a date, which JSON cannot represent"
        ),
        (
            "notify", ["shop", "aa", PyapnsClient.hello(String(repeating: "x", count: 5000))], 8002,
            "at most 4096 bytes"
        ),
        ("feedback", ["shop", "more"], 8002, "no further argument"), ("feedback", [], 8002, "app_id"),
        ("system.listMethods", [], 8001, "system.listMethods"),
    ])
    func `each fault has its code, and says what is wrong`(
        method: String,
        values: [String],
        code: Int,
        reason: String
    ) async throws {
        try await with { shop, client in
            let parameters = values.map { "<param><value>\($0)</value></param>" }.joined()
            let answer = await client.post(
                "<methodCall><methodName>\(method)</methodName><params>\(parameters)</params></methodCall>",
                to: "/RPC2"
            )
            #expect(answer.faultCode == code && answer.contains(reason), "\(answer)")
            let messages = try await shop.database.number("SELECT count(*) FROM carillon.messages")
            #expect(messages == 0)
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.apps") == 1)
        }
    }

    @Test func `an expired certificate, and one without its key, replace nothing`() async throws {
        try await with(["--add-apps"]) { shop, client in
            let versions = try await shop.database.rows(Self.versions)
            // The app has a better one.
            let old = try Client.certificate(Shop.topic, days: -1)
            #expect(await client.call("provision", "shop", old, "sandbox").isNothing)
            let expired = await client.call("provision", "news", old, "sandbox")
            #expect(expired.faultCode == 8002 && expired.contains("UTC: provision a newer one."), "\(expired)")
            let text = try Client.certificate(Shop.topic)
            let alone = String(text[..<(try #require(text.firstRange(of: "-----BEGIN PRIVATE")).lowerBound)])
            let keyless = await client.call("provision", "shop", alone, "sandbox")
            #expect(keyless.faultCode == 8002 && keyless.contains("key"), "\(keyless)")
            #expect(try await shop.database.rows(Self.versions) == versions)
        }
    }

    // MARK: feedback

    @Test func `feedback returns each dead token once, and feedback passes handle it all the same`() async throws {
        try await with { shop, client in
            try await shop.database.run(
                """
                INSERT INTO carillon.tokens (app_id, token, last_update) VALUES (1, 'aa', '2026-01-01Z'), (1, 'bb', '2026-01-01Z');
                INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason) VALUES
                    (1, 'aa', '2026-02-03 04:05:06Z', 'Unregistered'), (1, 'AA', '2026-02-03 04:05:07Z', 'Unregistered'),
                    (1, 'bb', '2026-01-02 00:00:00Z', NULL), (2, 'cc', '2026-01-02 00:00:00Z', NULL)
                """
            )
            let first = await client.call("feedback", "shop").entries
            #expect(first.map(\.token) == ["bb", "aa"])
            #expect(first.map(\.time) == ["20260102T00:00:00", "20260203T04:05:07"])
            #expect(await client.call("feedback", "shop").contains("<array><data></data></array>"))
            #expect(try await shop.database.number("carillon.reap()") == 2)
            #expect(
                try await shop.database.number(
                    "SELECT count(*) FROM carillon.feedback WHERE handled_at IS NULL AND app_id = 1"
                ) == 0
            )
            // Handled before it is read: it is returned too.
            try await shop.database.run(
                "INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, 'dd', now()); SELECT carillon.reap()"
            )
            #expect(await client.call("feedback", "shop").entries.map(\.token) == ["dd"])
        }
    }

    @Test func `two calls of feedback at once return no token twice, and none is left`() async throws {
        try await with { shop, client in
            let count = 3000
            try await shop.database.run(
                """
                INSERT INTO carillon.feedback (app_id, token, unregistered_at)
                SELECT 1, lpad(to_hex(n), 64, '0'), now() FROM generate_series(1, \(count)) n
                """
            )
            // Another service has connections of its own.
            try await PyapnsClient.with(shop.database.url, in: shop.folder) { other, _, _ in
                var tokens: [String] = []
                await withTaskGroup(of: [String].self) { group in
                    for place in 0..<6 {
                        group.addTask {
                            await (place.isMultiple(of: 2) ? client : other).call("feedback", "shop").entries.map(
                                \.token
                            )
                        }
                    }
                    for await some in group { tokens += some }
                }
                tokens += await client.call("feedback", "shop").entries.map(\.token)
                #expect(tokens.count == count && Set(tokens).count == count)
            }
        }
    }

    @Test func `tokens in the wrong environment are not reported as dead`() async throws {
        try await with { shop, client in
            try await shop.database.run(
                """
                UPDATE carillon.apps SET reap_bad_tokens = true;
                INSERT INTO carillon.feedback (app_id, token, unregistered_at, reason, seen_at) VALUES
                    (1, 'aa', now(), 'BadDeviceToken', now()), (1, 'bb', now(), 'BadDeviceToken', now() - interval '1 hour')
                """
            )
            #expect(await client.call("feedback", "shop").entries.isEmpty)
            // The first is judged when all workers have written their counts.
            #expect(
                try await shop.database.rows("SELECT token FROM carillon.feedback WHERE read_at IS NULL") == ["(aa)"]
            )
        }
    }
}
