import ApplePush
import FoundationEssentials
import Testing

/// The examples of the page about messages, line by line.
@Suite struct MessageExampleTests {
    private final class Log {
        var reports: [String] = []
    }

    private let tokens = ["a1b2"]
    private let log = Log()

    private func report(_ text: String) { log.reports.append(text) }

    private func payload(_ message: APNs.Message) throws -> String {
        String(decoding: try message.payloadBytes(), as: UTF8.self)
    }

    @Test func `the examples about Live Activities do what they say`() throws {
        let (pushToStartTokens, activityTokens) = (["a1b2"], ["c3d4"])

        struct Score: Encodable { let home, away: Int }
        struct Game: Encodable { let teams: [String] }

        let start = try APNs.Message(
            tokens: pushToStartTokens,
            activity: .start(
                attributesType: "Game",
                attributes: Game(teams: ["Reds", "Blues"]),
                state: Score(home: 0, away: 0)
            ),
            alert: .init(title: "Kick-off", body: "Reds against Blues"),
            topic: "com.example.sports"
        )
        let update = try APNs.Message(
            tokens: activityTokens,
            activity: .update(state: Score(home: 1, away: 0)),
            staleDate: Date().addingTimeInterval(600),
            topic: "com.example.sports"
        )
        let end = try APNs.Message(
            tokens: activityTokens,
            activity: .end(state: Score(home: 1, away: 0), dismissal: Date().addingTimeInterval(900)),
            topic: "com.example.sports"
        )

        let messages: [APNs.Message] = [start, update, end]
        let priorities: [APNs.Priority?] = [.immediate, .conservesPower, .conservesPower]
        let state: APNs.JSON = ["home": 1, "away": 0]
        #expect(messages.allSatisfy { $0.pushType == .liveActivity })
        #expect(messages.map(\.priority) == priorities)
        #expect(update.aps["content-state"] == state)
    }

    @Test func `the examples about media sessions do what they say`() throws {
        let (mediaStartTokens, mediaSessionTokens) = (["a1b2"], ["c3d4"])

        struct Station: Encodable {
            var id = "radio-7"
            var title: String?
        }

        let playing = try APNs.Message(
            tokens: mediaStartTokens,
            mediaSession: .start(Station(title: "News at nine")),
            topic: "com.example.radio"
        )
        let next = try APNs.Message(
            tokens: mediaSessionTokens,
            mediaSession: .update(Station(title: "The weather")),
            topic: "com.example.radio"
        )
        let over = try APNs.Message(
            tokens: mediaSessionTokens,
            mediaSession: .end(Station()),
            topic: "com.example.radio"
        )

        let messages = [playing, next, over]
        let events: [APNs.JSON?] = ["start", "update", "end"]
        let named: APNs.JSON = ["id": "radio-7"]
        #expect(messages.allSatisfy { $0.pushType == .nowPlaying && $0.priority == nil })
        #expect(messages.map { $0.aps["event"] } == events)
        #expect(over.aps["attributes"] == named)
    }

    @Test func `the examples about fields do what they say`() throws {
        var message = try APNs.Message(
            tokens: tokens,
            alert: .init(title: .localized("ORDER_READY", "7"), subtitle: "Table 7", body: "The soup is ready."),
            badge: 1,
            sound: "bell.caf",
            interruptionLevel: .timeSensitive,
            relevanceScore: 0.9,
            expiry: .after(seconds: 3600),
            topic: "com.example.restaurant"
        )

        let short = try APNs.Message(tokens: tokens, alert: "The soup is ready.", sound: .default)
        let members = try APNs.Message(tokens: tokens, alert: ["title": "Dinner", "summary-arg": "Table 7"])
        let critical = try APNs.Message(
            tokens: tokens,
            alert: "Fire in the kitchen",
            sound: .critical(name: "siren.caf", volume: 0.8),
            interruptionLevel: .critical
        )

        let name = "Ann"
        let texts = try APNs.Message(
            tokens: tokens,
            alert: .init(title: .plain(name), body: .localized("GREETING", name)),
            sound: .named(name + ".caf"),
            extra: ["guest": .string(name), "seats": .integer(Int64(tokens.count))]
        )
        let plain = try APNs.Message(tokens: tokens, alert: .init(name))

        #expect(try payload(plain) == #"{"aps":{"alert":"Ann"}}"#)
        let written =
            #"{"aps":{"alert":{"loc-args":["Ann"],"loc-key":"GREETING","title":"Ann"},"sound":"Ann.caf"},"guest":"Ann","seats":1}"#
        #expect(try payload(texts) == written)

        message.badge = 2
        message.aps["content-changed"] = true
        message.alert?.subtitle = "Table 8"

        #expect(
            try payload(message)
                == #"{"aps":{"alert":{"body":"The soup is ready.","subtitle":"Table 8","title-loc-args":["7"],"#
                + #""title-loc-key":"ORDER_READY"},"badge":2,"content-changed":true,"#
                + #""interruption-level":"time-sensitive","relevance-score":0.9,"sound":"bell.caf"}}"#
        )
        #expect(try payload(short) == #"{"aps":{"alert":"The soup is ready.","sound":"default"}}"#)
        #expect(try payload(members) == #"{"aps":{"alert":{"summary-arg":"Table 7","title":"Dinner"}}}"#)
        #expect(critical.sound?.isCritical == true)

        let ready = try APNs.Message(tokens: tokens, payload: #"{"aps":{"alert":"The soup is ready."}}"#)

        #expect(ready.alert == "The soup is ready.")

        let size = try message.payloadBytes().count
        if size > message.pushType.payloadLimit { report("\(size) bytes are too many") }

        #expect(log.reports == [])

        let stored = try JSONEncoder().encode(message)
        let restored = try JSONDecoder().decode(APNs.Message.self, from: stored)

        #expect(restored == message)
    }

    @Test func `the examples about the app's data do what they say`() throws {
        struct Order: Encodable {
            let table: Int
            let readyAt: Date
        }

        let order = Order(table: 7, readyAt: Date(timeIntervalSince1970: 1_700_000_000))
        let own = try APNs.Message(tokens: tokens, alert: "Ready", extra: ["kitchen": "east"], userData: order)

        #expect(try payload(own) == #"{"aps":{"alert":"Ready"},"kitchen":"east","readyAt":1700000000,"table":7}"#)

        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        let dated = try APNs.Message(
            tokens: tokens,
            alert: "Ready",
            userData: APNs.JSON(encoding: order, with: encoder)
        )

        #expect(dated.extra == ["readyAt": "2023-11-14T22:13:20Z", "table": 7])
    }

    @Test func `the examples about push types do what they say`() throws {
        let call = try APNs.Message(
            tokens: tokens,
            extra: ["caller": "Ann"],
            pushType: .voip,
            expiry: .once,
            topic: "com.example.phone"
        )

        #expect(call.expiration == 0)

        let custom = try PushType(custom: "spatial", topicSuffix: ".push-type.spatial", payloadLimit: 5120)

        #expect(custom.topic(of: "com.example.phone") == "com.example.phone.push-type.spatial")
    }
}
