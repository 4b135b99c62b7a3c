import ApplePush
import FoundationEssentials
import Testing

@Suite struct MessageFieldTests {
    private func payload(_ message: Message) throws -> String {
        String(decoding: try message.payloadBytes(), as: UTF8.self)
    }

    private func changeAll(of message: inout Message) {
        message.alert = "Hello"
        message.badge = 3
        message.sound = .default
        message.contentAvailable = true
        message.mutableContent = true
        message.category = "c"
        message.threadID = "t"
        message.interruptionLevel = .passive
        message.relevanceScore = 0.5
        message.targetContentID = "w"
        message.filterCriteria = "f"
        message.staleDate = Date(timeIntervalSince1970: 9)
        message.extra["id"] = 42
    }

    @Test func `a field that is set has that value, and nil removes it`() throws {
        var message = try Message(tokens: ["a1"])
        changeAll(of: &message)
        let built = try Message(
            tokens: ["a1"],
            alert: "Hello",
            badge: 3,
            sound: "default",
            contentAvailable: true,
            mutableContent: true,
            category: "c",
            threadID: "t",
            interruptionLevel: .passive,
            relevanceScore: 0.5,
            targetContentID: "w",
            filterCriteria: "f",
            staleDate: Date(timeIntervalSince1970: 9),
            extra: ["id": 42]
        )
        #expect(try payload(message) == payload(built))
        #expect(message.alert == "Hello" && message.badge == 3 && message.sound == .default)
        #expect(message.contentAvailable && message.mutableContent)
        #expect(message.category == "c" && message.threadID == "t")
        #expect(message.interruptionLevel == .passive && message.relevanceScore == 0.5)
        #expect(message.targetContentID == "w" && message.filterCriteria == "f")
        #expect(message.staleDate == Date(timeIntervalSince1970: 9))
        message.alert = nil
        message.badge = nil
        message.contentAvailable = false
        #expect(message.alert == nil && message.badge == nil && !message.contentAvailable)
        message.aps = [:]
        message.extra = [:]
        #expect(try payload(message) == #"{"aps":{}}"#)
    }

    @Test func `every field can be decoded by its name`() throws {
        var expected = try Message(tokens: ["a1"])
        changeAll(of: &expected)
        let text = """
            {"tokens": ["a1"], "alert": "Hello", "badge": 3, "sound": "default", "content_available": true,
            "mutable_content": true, "category": "c", "thread_id": "t", "interruption_level": "passive",
            "relevance_score": 0.5, "target_content_id": "w", "filter_criteria": "f", "stale_date": 9,
            "extra": {"id": 42}, "id": "\(expected.id)"}
            """
        #expect(try JSONDecoder().decode(Message.self, from: Data(text.utf8)) == expected)
    }

    @Test func `a field may be set in a given payload, which is then written anew and keeps the rest`() throws {
        var message = try Message(tokens: [], payload: #"{ "z": 18446744073709551615, "aps" : {"x": [1.5]} }"#)
        message.badge = 1
        #expect(try payload(message) == #"{"aps":{"badge":1,"x":[1.5]},"z":18446744073709551615}"#)
    }

    @Test(arguments: ["no JSON", "[]", #"{"aps":7}"#])
    func `a given payload that has no fields is sent as it is, until one is set`(text: String) throws {
        var message = try Message(tokens: ["a1"], payload: text)
        #expect(try payload(message) == text)
        message.badge = 1
        let error = #expect(throws: PushError.self) { try message.payloadBytes() }
        #expect(error?.code == .invalidMessage)
        #expect(throws: PushError.self) { try JSONEncoder().encode(message) }
    }

    @Test func `a changed message is refused for the same reasons as a new one`() async throws {
        let connection = Session(backend: RecordedBackend())
            .connection(to: .production, credential: try TestCredential.providerToken())
        var grouped = try Message(tokens: ["a1"], alert: "Hello")
        grouped.collapseID = String(repeating: "x", count: 65)
        var doubled = try Message(tokens: ["a1"], alert: "Hello")
        doubled.extra["aps"] = [:]
        for message in [grouped, doubled] {
            let error = await #expect(throws: PushError.self) { try await APNs(connection).send(message) }
            #expect(error?.code == .invalidMessage)
        }
        #expect(throws: PushError.self) { try doubled.payloadBytes() }
        #expect(throws: PushError.self) { try JSONEncoder().encode(doubled) }
    }

    @Test func `a message with another identity has other pushes`() async throws {
        let backend = RecordedBackend()
        let apns = APNs(
            Session(backend: backend).connection(to: .production, credential: try TestCredential.providerToken())
        )
        let message = try Message(tokens: ["a1"], alert: "Hello")
        var copy = message
        copy.id = .random()
        for message in [message, message, copy] { _ = try await apns.send(message) }
        let ids = backend.sent.map(\.id)
        #expect(ids[0] == ids[1] && ids[1] != ids[2])
    }
}
