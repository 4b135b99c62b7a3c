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

    @Test func `an alert with three texts`() throws {
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

    @Test func `a badge and a sound`() throws {
        let message = try Message(tokens: ["a1"], badge: 9, sound: "bingbong.aiff", extra: ["messageID": "ABCDEFGHIJ"])
        try expect(message, writes: #"{"aps":{"badge":9,"sound":"bingbong.aiff"},"messageID":"ABCDEFGHIJ"}"#)
    }

    @Test func `a localized alert`() throws {
        let message = try Message(
            tokens: ["a1"],
            alert: .init(body: .localized("GAME_PLAY_REQUEST_FORMAT", "Shelly", "Rick"))
        )
        try expect(
            message,
            writes: #"{"aps":{"alert":{"loc-key":"GAME_PLAY_REQUEST_FORMAT","loc-args":["Shelly","Rick"]}}}"#
        )
    }

    @Test func `a background update`() throws {
        let message = try Message(
            tokens: ["a1"],
            contentAvailable: true,
            extra: ["acme1": "bar", "acme2": 42],
            pushType: .background
        )
        try expect(message, writes: #"{"aps":{"content-available":1},"acme1":"bar","acme2":42}"#)
    }

    @Test func `a notification that an extension changes`() throws {
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

    @Test func `a critical alert at full volume`() throws {
        let message = try Message(
            tokens: ["a1"],
            alert: "Evacuate",
            sound: .critical(),
            interruptionLevel: .critical
        )
        try expect(
            message,
            writes: """
                {"aps": {"alert": "Evacuate", "interruption-level": "critical",
                "sound": {"critical": 1, "name": "default", "volume": 1.0}}}
                """
        )
    }

    @Test func `a time-sensitive notification with all that decides where it is shown`() throws {
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

    @Test func `an incoming call`() throws {
        let message = try Message(
            tokens: ["a1"],
            extra: ["call": ["id": "9F2A", "video": false]],
            pushType: .voip,
            expiry: .once
        )
        try expect(message, writes: #"{"aps":{},"call":{"id":"9F2A","video":false}}"#)
    }
}
