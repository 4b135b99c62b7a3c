import ApplePush
import FoundationEssentials
import Testing

@Suite struct MessageTests {
    private func payload(_ message: Message) throws -> String {
        String(decoding: try message.payloadBytes(), as: UTF8.self)
    }

    @Test func `the payload is compact and always the same for the same fields`() throws {
        let message = try Message(
            tokens: ["a1"],
            alert: ["title": "Hello", "body": "World"],
            badge: 3,
            sound: "default",
            contentAvailable: true,
            mutableContent: true,
            category: "greeting",
            threadID: "t1",
            aps: ["interruption-level": "time-sensitive", "relevance-score": 0.5],
            extra: ["id": 42, "tags": ["a", nil, true]]
        )
        let expected =
            #"{"aps":{"alert":{"body":"World","title":"Hello"},"badge":3,"category":"greeting","content-available":1,"#
            + #""interruption-level":"time-sensitive","mutable-content":1,"relevance-score":0.5,"sound":"default","#
            + #""thread-id":"t1"},"id":42,"tags":["a",null,true]}"#
        #expect(try payload(message) == expected)
    }

    @Test func `a badge of zero is sent`() throws {
        #expect(try payload(Message(tokens: [], badge: 0)) == #"{"aps":{"badge":0}}"#)
    }

    @Test func `letters and slashes of every script are sent as they are`() throws {
        let message = try Message(tokens: [], alert: "Grüße 👩‍👩‍👧 https://example.org/\"x\"")
        #expect(try payload(message) == #"{"aps":{"alert":"Grüße 👩‍👩‍👧 https://example.org/\"x\""}}"#)
    }

    @Test func `the app's part of the payload may not contain aps`() {
        let error = #expect(throws: PushError.self) { try Message(tokens: [], extra: ["aps": [:]]) }
        #expect(error?.code == .invalidMessage)
        #expect(error?.message.contains("aps") == true)
    }

    @Test func `a raw payload is sent byte for byte`() throws {
        let text = #"{ "aps" : {"alert":"Hello", "badge": 7}, "z": 1, "a": 2 }"#
        let message = try Message(tokens: ["a1"], payload: text)
        #expect(try payload(message) == text)
        #expect(message.alert == "Hello")
        #expect(message.badge == 7)
        #expect(message.extra == ["z": 1, "a": 2])
    }

    @Test func `a collapse identifier has at most 64 bytes, which are not characters`() throws {
        _ = try Message(tokens: [], collapseID: String(repeating: "x", count: 64))
        for tooLong in [String(repeating: "x", count: 65), String(repeating: "ü", count: 33)] {
            let error = #expect(throws: PushError.self) { try Message(tokens: [], collapseID: tooLong) }
            #expect(error?.code == .invalidMessage)
        }
    }

    @Test func `an expiry is stored as a point in time`() throws {
        #expect(try Message(tokens: [], expiry: .once).expiration == 0)
        #expect(try Message(tokens: [], expiry: .at(1_700_000_000)).expiration == 1_700_000_000)
        #expect(try Message(tokens: []).expiration == nil)
        let now = Int64(Date().timeIntervalSince1970)
        let later = try #require(try Message(tokens: [], expiry: .after(.seconds(86_400))).expiration)
        #expect((now + 86_390...now + 86_410).contains(later))
    }

    @Test func `a message that is encoded and decoded is the same, with its identity`() throws {
        let built = try Message(
            tokens: ["a1", "b2"],
            alert: "Hello",
            badge: 0,
            extra: ["n": [1, 2.5, "three", nil]],
            pushType: .complication,
            priority: 5,
            expiry: .at(1_700_000_000),
            collapseID: "c",
            topic: "org.example.app"
        )
        let raw = try Message(tokens: ["a1"], payload: #"{ "aps": {} }"#)
        for message in [built, raw] {
            let data = try JSONEncoder().encode(message)
            let copy = try JSONDecoder().decode(Message.self, from: data)
            #expect(copy == message)
            #expect(copy.id == message.id)
            #expect(try copy.payloadBytes() == message.payloadBytes())
        }
    }

    @Test func `a message may be decoded from fields or from a payload`() throws {
        let fields = #"{"tokens":["a1"],"alert":"Hello","badge":1,"extra":{"id":1},"push_type":"voip"}"#
        let message = try JSONDecoder().decode(Message.self, from: Data(fields.utf8))
        #expect(try payload(message) == #"{"aps":{"alert":"Hello","badge":1},"id":1}"#)
        #expect(message.pushType == .voip)
        let object = #"{"tokens":["a1"],"payload":{"aps":{"alert":"Hello"},"id":1}}"#
        #expect(try JSONDecoder().decode(Message.self, from: Data(object.utf8)).alert == "Hello")
    }

    @Test(arguments: [
        #"{"tokens":["a1"],"payload":{"aps":{}},"alert":"Hello"}"#,
        #"{"tokens":["a1"],"payload":7}"#,
        #"{"tokens":["a1"],"payload":{"aps":7}}"#,
        #"{"tokens":["a1"],"push_type":"email"}"#,
        #"{"tokens":["a1"],"id":"no uuid"}"#,
        #"{"alert":"Hello"}"#,
    ])
    func `invalid JSON is not decoded as a message`(text: String) {
        #expect(throws: (any Error).self) { try JSONDecoder().decode(Message.self, from: Data(text.utf8)) }
    }
}
