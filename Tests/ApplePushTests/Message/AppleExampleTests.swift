import ApplePush
import FoundationEssentials
import Testing

/// The payloads that Apple's documentation shows, compared by value.
@Suite struct AppleExampleTests {
    private func expect(_ message: Message, writes text: String, location: SourceLocation = #_sourceLocation) throws {
        let expected = try JSONDecoder().decode(APNs.JSON.self, from: Data(text.utf8))
        let written = try JSONDecoder().decode(APNs.JSON.self, from: Data(try message.payloadBytes()))
        #expect(written == expected, sourceLocation: location)
        let copy = try JSONDecoder().decode(Message.self, from: JSONEncoder().encode(message))
        #expect(copy == message, sourceLocation: location)
    }

    @Test func `an alert may have three texts`() throws {
        let message = try Message(
            tokens: ["a1"],
            alert: .init(title: "Game Request", subtitle: "Five Card Draw", body: "Bob wants to play poker"),
            category: "GAME_INVITATION",
            extra: ["gameID": "12345678"]
        )
        try expect(
            message,
            writes: """
                {"aps": {"alert": {"title": "Game Request", "subtitle": "Five Card Draw", "body": "Bob wants to play poker"},
                "category": "GAME_INVITATION"}, "gameID": "12345678"}
                """
        )
    }

    @Test func `a message may have a badge and a sound without an alert`() throws {
        let message = try Message(tokens: ["a1"], badge: 9, sound: "bingbong.aiff", extra: ["messageID": "ABCDEFGHIJ"])
        try expect(message, writes: #"{"aps":{"badge":9,"sound":"bingbong.aiff"},"messageID":"ABCDEFGHIJ"}"#)
    }

    @Test func `an alert may be localized`() throws {
        let message = try Message(
            tokens: ["a1"],
            alert: .init(body: .localized("GAME_PLAY_REQUEST_FORMAT", "Shelly", "Rick"))
        )
        try expect(
            message,
            writes: #"{"aps":{"alert":{"loc-key":"GAME_PLAY_REQUEST_FORMAT","loc-args":["Shelly","Rick"]}}}"#
        )
    }

    @Test func `a Live Activity is started, updated and ended`() throws {
        struct Adventure: Encodable {
            let currentHealthLevel: Int
            let eventDescription: String
        }
        struct Attributes: Encodable {
            let currentHealthLevel: Int
            let eventDescription: String
        }
        let start = try Message(
            tokens: ["a1"],
            activity: .start(
                attributesType: "AdventureAttributes",
                attributes: Attributes(currentHealthLevel: 100, eventDescription: "Adventure has begun!"),
                state: Adventure(currentHealthLevel: 100, eventDescription: "Adventure has begun!")
            ),
            timestamp: Date(timeIntervalSince1970: 1_234),
            alert: .init(
                title: .localized("%@ is on an adventure!", "Power Panda"),
                body: .localized("%@ found a sword!", "Power Panda")
            ),
            sound: "chime.aiff"
        )
        try expect(
            start,
            writes: """
                {"aps": {"timestamp": 1234, "event": "start",
                "content-state": {"currentHealthLevel": 100, "eventDescription": "Adventure has begun!"},
                "attributes-type": "AdventureAttributes",
                "attributes": {"currentHealthLevel": 100, "eventDescription": "Adventure has begun!"},
                "alert": {"title-loc-key": "%@ is on an adventure!", "title-loc-args": ["Power Panda"],
                "loc-key": "%@ found a sword!", "loc-args": ["Power Panda"]}, "sound": "chime.aiff"}}
                """
        )
        #expect(start.priority == .immediate && start.pushType == .liveActivity)
        let state = Adventure(currentHealthLevel: 0, eventDescription: "Adventure over!")
        let update = try Message(
            tokens: ["a1"],
            activity: .update(state: state),
            timestamp: Date(timeIntervalSince1970: 1_234),
            staleDate: Date(timeIntervalSince1970: 1_650),
            relevanceScore: 75
        )
        try expect(
            update,
            writes: """
                {"aps": {"timestamp": 1234, "event": "update", "stale-date": 1650, "relevance-score": 75,
                "content-state": {"currentHealthLevel": 0, "eventDescription": "Adventure over!"}}}
                """
        )
        #expect(update.priority == .conservesPower)
        let end = try Message(
            tokens: ["a1"],
            activity: .end(state: state, dismissal: Date(timeIntervalSince1970: 1_663)),
            timestamp: Date(timeIntervalSince1970: 1_234)
        )
        try expect(
            end,
            writes: """
                {"aps": {"timestamp": 1234, "event": "end", "dismissal-date": 1663,
                "content-state": {"currentHealthLevel": 0, "eventDescription": "Adventure over!"}}}
                """
        )
        let error = #expect(throws: PushError.self) {
            try Message(tokens: ["a1"], activity: .start(attributesType: "A", attributes: state, state: state))
        }
        #expect(error?.message.contains("needs an alert") == true)
    }

    @Test func `a background push says that content is available`() throws {
        let message = try Message(
            tokens: ["a1"],
            contentAvailable: true,
            extra: ["acme1": "bar", "acme2": 42],
            pushType: .background
        )
        try expect(message, writes: #"{"aps":{"content-available":1},"acme1":"bar","acme2":42}"#)
    }

    @Test func `an extension may change a notification`() throws {
        let message = try Message(
            tokens: ["a1"],
            alert: .init(title: "Secret Message!", body: "(Encrypted)"),
            mutableContent: true,
            category: "SECRET"
        )
        try expect(
            message,
            writes: """
                {"aps": {"category": "SECRET", "mutable-content": 1,
                "alert": {"title": "Secret Message!", "body": "(Encrypted)"}}}
                """
        )
    }

    @Test func `a critical alert sounds at full volume`() throws {
        let message = try Message(tokens: ["a1"], alert: "Evacuate", sound: .critical(), interruptionLevel: .critical)
        try expect(
            message,
            writes: """
                {"aps": {"alert": "Evacuate", "interruption-level": "critical",
                "sound": {"critical": 1, "name": "default", "volume": 1.0}}}
                """
        )
    }

    @Test func `a time-sensitive notification says where it is to be shown`() throws {
        let message = try Message(
            tokens: ["a1"],
            alert: "Your car is here",
            threadID: "ride",
            interruptionLevel: .timeSensitive,
            relevanceScore: 1,
            targetContentID: "window-1",
            filterCriteria: "work",
            staleDate: Date(timeIntervalSince1970: 1_700_000_000.9)
        )
        try expect(
            message,
            writes: """
                {"aps": {"alert": "Your car is here", "thread-id": "ride", "interruption-level": "time-sensitive",
                "relevance-score": 1, "target-content-id": "window-1", "filter-criteria": "work",
                "stale-date": 1700000000}}
                """
        )
    }

    @Test func `a VoIP push announces a call`() throws {
        let message = try Message(
            tokens: ["a1"],
            extra: ["call": ["id": "9F2A", "video": false]],
            pushType: .voip,
            expiry: .once
        )
        try expect(message, writes: #"{"aps":{},"call":{"id":"9F2A","video":false}}"#)
    }
}
