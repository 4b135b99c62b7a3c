import ApplePush
import Testing

/// What Apple forbids for a push type is an error before anything is sent.
@Suite struct MessageRulesTests {
    private static func error(_ message: () throws -> Message) -> PushError? {
        #expect(throws: PushError.self) { _ = try message() }
    }

    @Test func `a priority that the push type may not have is an error that names the others`() throws {
        for priority in [APNs.Priority.immediate, .low, 7] {
            let error = Self.error {
                try Message(tokens: [], contentAvailable: true, pushType: .background, priority: priority)
            }
            #expect(error?.code == .invalidMessage)
            #expect(error?.message.contains("type background have the priority 5, not \(priority.rawValue)") == true)
        }
        let activity = Self.error { try Message(tokens: [], alert: "x", pushType: .liveActivity, priority: .low) }
        #expect(activity?.message.contains("10 or 5, not 1") == true)
        #expect(try Message(tokens: [], alert: "x", priority: .low).priority == .low)
        let custom = try PushType(custom: "rules", topicSuffix: ".rules")
        #expect(try Message(tokens: [], alert: "x", pushType: custom, priority: 7).priority == 7)
    }

    @Test func `a background push has no alert, badge or sound`() throws {
        let errors = [
            Self.error { try Message(tokens: [], alert: "x", pushType: .background) },
            Self.error { try Message(tokens: [], badge: 1, pushType: .background) },
            Self.error { try Message(tokens: [], sound: .default, pushType: .background) },
            Self.error { try Message(tokens: [], payload: #"{"aps":{"sound":"x"}}"#, pushType: .background) },
        ]
        for (error, member) in zip(errors, ["alert", "badge", "sound", "sound"]) {
            #expect(error?.message.contains("has no \(member)") == true, "\(error?.message ?? "")")
        }
        let payload = #"{"aps":{"content-available":1,"alert":null}}"#
        #expect(try Message(tokens: [], payload: payload, pushType: .background).contentAvailable)
    }

    @Test func `an expiry before 1970 is an error`() {
        #expect(Self.error { try Message(tokens: [], alert: "x", expiry: .at(-1)) }?.code == .invalidMessage)
    }

    @Test func `a payload that is larger than the push type allows is not sent`() async throws {
        let backend = RecordedBackend()
        let apns = try APNs(backend, to: .production, with: TestCredential.providerToken())
        for (type, limit) in [(PushType.alert, 4096), (.voip, 5120)] {
            for size in [limit, limit + 1] {
                let payload = #"{"a":""# + String(repeating: "x", count: size - 8) + #""}"#
                let message = try Message(tokens: ["a1"], payload: payload, pushType: type, topic: "org.example.app")
                if size == limit {
                    #expect(try await apns.send(message).accepted == 1)
                    continue
                }
                let error = await #expect(throws: PushError.self) { try await apns.send(message) }
                #expect(
                    error?.message.contains("\(size) bytes; those of the push type \(type) may have \(limit)") == true
                )
            }
        }
        #expect(backend.sent.count == 2)
    }
}
