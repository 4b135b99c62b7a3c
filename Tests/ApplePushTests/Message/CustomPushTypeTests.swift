import FoundationEssentials
import Testing

@testable import ApplePush

@Suite struct CustomPushTypeTests {
    @Test func `a custom type is sent with its name, its topic and its priority`() async throws {
        let type = try PushType(custom: "spatial", topicSuffix: ".push-type.x", payloadLimit: 8192, defaultPriority: 5)
        #expect((type.name, type.topicSuffix, type.payloadLimit) == ("spatial", ".push-type.x", 8192))
        let backend = RecordedBackend()
        let apns = try APNs(backend, to: .production, with: TestCredential.providerToken())
        _ = try await apns.send(Message(tokens: ["a1"], pushType: type, topic: "com.example.app"))
        let sent = try #require(backend.sent.first)
        #expect((sent.pushType.name, sent.topic, sent.priority) == ("spatial", "com.example.app.push-type.x", 5))
    }

    @Test func `equal arguments make equal types, and Apple's own stay Apple's`() throws {
        let type = try PushType(custom: "equal", topicSuffix: ".a")
        #expect(try PushType(custom: "equal", topicSuffix: ".a") == type)
        #expect(try PushType(custom: "equal", topicSuffix: ".b") != type)
        #expect(try PushType(custom: "voip", topicSuffix: ".voip", payloadLimit: 5120) == .voip)
        #expect(type.isCustom && !PushType.voip.isCustom)
        #expect(PushType(name: "equal") == nil)
        #expect(!PushType.all.contains(type))
    }

    @Test func `a message of a custom type can be decoded by a process that does not know it`() throws {
        let type = try PushType(custom: "stored", topicSuffix: ".s", payloadLimit: 9, defaultPriority: .low)
        let message = try Message(tokens: ["a1"], pushType: type)
        let data = try JSONEncoder().encode(message)
        #expect(try JSONDecoder().decode(Message.self, from: data) == message)
        let fields = #"{"name":"decoded","topic_suffix":".d","payload_limit":10}"#
        let decoded = try JSONDecoder().decode(PushType.self, from: Data(fields.utf8))
        #expect((decoded.name, decoded.topicSuffix, decoded.payloadLimit) == ("decoded", ".d", 10))
        #expect(decoded.defaultPriority == nil)
        #expect(try JSONEncoder().encode(PushType.voip) == Data(#""voip""#.utf8))
    }

    @Test(arguments: ["", "two words", "line\nbreak", "Spatial", "größe", "a_b", String(repeating: "x", count: 65)])
    func `a name that no push type can have is an error`(name: String) {
        let error = #expect(throws: PushError.self) { try PushType(custom: name) }
        #expect(error?.code == .invalidMessage)
    }

    @Test(arguments: ["voip", ".a b", ".a\r\n", "." + String(repeating: "x", count: 128)])
    func `a suffix that a topic cannot contain is an error`(suffix: String) {
        #expect(throws: PushError.self) { try PushType(custom: "suffix", topicSuffix: suffix) }
        #expect(throws: PushError.self) { try PushType(custom: "suffix", payloadLimit: 0) }
    }

    @Test func `a process can have any number of custom types`() throws {
        let types = try (0..<1_000).map { try PushType(custom: "t\($0)", topicSuffix: ".t") }
        #expect(Set(types).count == types.count)
        #expect(types.map(\.name) == (0..<1_000).map { "t\($0)" })
    }

    @Test func `a message may name a type that the library does not know, together with its topic`() async throws {
        let text = #"{"tokens":["a1"],"alert":"x","push_type":"spatial","topic":"com.example.app.spatial"}"#
        let message = try JSONDecoder().decode(Message.self, from: Data(text.utf8))
        #expect(message.pushType.isCustom)
        let backend = RecordedBackend()
        let apns = try APNs(backend, to: .production, with: TestCredential.providerToken())
        #expect(try await apns.send(message).accepted == 1)
        let sent = try #require(backend.sent.first)
        #expect((sent.pushType.name, sent.topic) == ("spatial", "com.example.app.spatial"))
        for wrong in [
            #"{"tokens":["a1"],"alert":"x","push_type":"spatial"}"#,
            #"{"tokens":["a1"],"alert":"x","push_type":"spatial","topic":null}"#,
            #"{"tokens":["a1"],"alert":"x","push_type":"Spatial","topic":"com.example.app"}"#,
            #"{"tokens":["a1"],"alert":"x","push_type":"spatial\r\nx: y","topic":"com.example.app"}"#,
            #"{"tokens":["a1"],"alert":"x","push_type":"channel","topic":"com.example.app"}"#,
        ] {
            #expect(throws: DecodingError.self, "\(wrong)") {
                try JSONDecoder().decode(Message.self, from: Data(wrong.utf8))
            }
        }
    }

    @Test func `the queue stores the name of a type, and limits its payload to what a claim keeps`() throws {
        let type = try #require(PushType(unknown: "spatial"))
        #expect((type.name, type.topicSuffix, type.payloadLimit) == ("spatial", "", 8_192))
        #expect(type.allows(priority: 1) && !type.allows(priority: 7) && !type.isUpdate)
        #expect(PushType(unknown: "Spatial") == nil && PushType(stored: "spatial") == nil)
        #expect(PushType.liveActivity.isUpdate && PushType.channel.isUpdate && !PushType.alert.isUpdate)
    }
}
