import ApplePush
import FoundationEssentials
import Testing

/// Pushes to remote media sessions (iOS 27), as Apple's article "Publishing remote media sessions" has them.
@Suite struct MediaSessionTests {
    private struct Station: Encodable {
        var id = "radio 7"
        var title: String?
    }

    private static func json(_ message: Message) throws -> APNs.JSON {
        try JSONDecoder().decode(APNs.JSON.self, from: Data(try message.payloadBytes()))
    }

    @Test func `a start, an update and an end have their event, their time and the attributes`() async throws {
        let sessions: [(APNs.MediaSession, String, APNs.JSON)] = [
            (try .start(Station(title: "News")), "start", ["id": "radio 7", "title": "News"]),
            (try .update(Station(title: "Weather")), "update", ["id": "radio 7", "title": "Weather"]),
            (try .end(Station()), "end", ["id": "radio 7"]), (try .end(["id": 7]), "end", ["id": 7]),
        ]
        let backend = RecordedBackend()
        let apns = try APNs(backend, to: .production, with: TestCredential.providerToken())
        for (session, event, attributes) in sessions {
            let message = try Message(
                tokens: ["a1"],
                mediaSession: session,
                timestamp: Date(timeIntervalSince1970: 1_234),
                topic: "com.example.app"
            )
            #expect(
                try Self.json(message) == [
                    "aps": ["timestamp": 1234, "event": .string(event), "attributes": attributes]
                ]
            )
            #expect(message.pushType == .nowPlaying && message.priority == nil)
            #expect(try await apns.send(message).accepted == 1)
        }
        #expect(Set(backend.sent.map(\.topic)) == ["com.example.app.push-type.nowplaying"])
        #expect(Set(backend.sent.map(\.pushType.name)) == ["nowplaying"])
    }

    @Test func `attributes without an id are an error`() {
        let wrong: [APNs.JSON] = [
            [:], ["title": "News"], ["id": nil], ["id": ""], ["id": true], ["id": ["a"]], "radio", 7, ["radio"],
        ]
        for attributes in wrong {
            for error in [
                #expect(throws: PushError.self, performing: { try APNs.MediaSession.start(attributes) }),
                #expect(throws: PushError.self, performing: { try APNs.MediaSession.update(attributes) }),
                #expect(throws: PushError.self, performing: { try APNs.MediaSession.end(attributes) }),
            ] { #expect(error?.code == .invalidMessage, "\(attributes)") }
        }
    }
}
