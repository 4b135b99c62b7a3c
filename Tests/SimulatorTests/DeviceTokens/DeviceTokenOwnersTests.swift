import CarillonPushRules
import Testing

@testable import ApplePushSimulator

@Suite struct DeviceTokenOwnersTests {
    private func judge(_ change: (inout SimulatorConfiguration) throws -> Void = { _ in }) rethrows -> Judge {
        var configuration = SimulatorConfiguration()
        try change(&configuration)
        return Judge(configuration, channels: ChannelTable())
    }

    private func refusal(
        _ judge: inout Judge,
        topic: String?,
        type: String? = nil,
        token: String = SampleRequest.token,
        certificate: [String] = []
    ) -> APNsRefusal? {
        let fields: KeyValuePairs = type.map { ["apns-push-type": $0, "apns-priority": "5"] } ?? [:]
        let (head, bytes) = SampleRequest(path: "/3/device/\(token)", topic: topic, fields).flat
        let payload = Array("{}".utf8)
        var connection = AuthenticationState(credential: .certificate(.init(topics: certificate)), service: .pushes)
        let judgement = judge.judgement(on: head, in: bytes.span, payload: payload.span, from: &connection, now: 0)
        if case .refused(let refusal) = judgement { return refusal }
        return nil
    }

    @Test func `a device token belongs to the app of its first accepted push`() {
        var judge = Judge(SimulatorConfiguration(), channels: ChannelTable())
        #expect(refusal(&judge, topic: "org.example.one") == nil)
        #expect(refusal(&judge, topic: "org.example.two") == .deviceTokenNotForTopic)
        #expect(
            refusal(&judge, topic: "org.example.two", token: SampleRequest.token.uppercased())
                == .deviceTokenNotForTopic
        )
        #expect(refusal(&judge, topic: "org.example.one", token: SampleRequest.token.uppercased()) == nil)
        let other = String(repeating: "fedcba9876543210", count: 4)
        #expect(refusal(&judge, topic: "org.example.two", token: other) == nil)
        #expect(refusal(&judge, topic: "org.example.one", token: other) == .deviceTokenNotForTopic)
    }

    @Test func `topics with the suffixes of push types belong to one app`() {
        for types in [true, false] {
            var judge = Judge(SimulatorConfiguration(), channels: ChannelTable())
            for rule in PushTypeRules.all where !rule.needsProviderToken {
                let topic = "org.example.one" + rule.topicSuffix.description
                #expect(refusal(&judge, topic: topic, type: types ? rule.name.description : nil) == nil, "\(rule.name)")
            }
            #expect(refusal(&judge, topic: nil, certificate: ["org.example.one"]) == nil)
            #expect(refusal(&judge, topic: nil, certificate: ["org.example.two"]) == .deviceTokenNotForTopic)
        }
    }

    @Test func `a push that is not accepted gives its device token no owner`() throws {
        var judge = try judge { $0.answers = [try AnswerRule(parsing: "0123=429:TooManyRequests*1")] }
        #expect(refusal(&judge, topic: "org.example.one") == nil)
        #expect(refusal(&judge, topic: "org.example.two") == nil)
        #expect(refusal(&judge, topic: "org.example.one") == .deviceTokenNotForTopic)
    }

    @Test func `a push whose type does not fit its topic gives its device token no owner`() {
        var judge = Judge(SimulatorConfiguration(), channels: ChannelTable())
        for type in ["alert", "background"] {
            #expect(refusal(&judge, topic: "org.example.one.voip", type: type) == .invalidPushType)
        }
        #expect(refusal(&judge, topic: nil, type: "alert", certificate: ["org.example.one.voip"]) == .invalidPushType)
        #expect(refusal(&judge, topic: "org.example.one.voip", type: "voip") == nil)
        #expect(refusal(&judge, topic: "org.example.one.voip") == nil)
        #expect(refusal(&judge, topic: "org.example.one", type: "alert") == nil)
    }

    @Test func `device tokens have no owners when that is turned off`() {
        var judge = judge { $0.bindsTokens = false }
        #expect(refusal(&judge, topic: "org.example.one") == nil)
        #expect(refusal(&judge, topic: "org.example.two") == nil)
    }

    @Test func `the most recently used device tokens are remembered, up to a limit`() {
        var owners = DeviceTokenOwners(sets: 128)
        func key(_ number: Int) -> UInt64 {
            let digits = Array(String(number, radix: 16).utf8)
            return owners.key(of: digits.span)
        }
        let keys = (0..<10_000).map(key)
        #expect(Set(keys).count == 10_000)
        for (number, key) in keys.enumerated() {
            #expect(owners.owner(of: key) == nil)
            owners.set(key, to: UInt16(number))
            // One that is used again and again is never replaced.
            #expect(owners.owner(of: keys[1]) == (number == 0 ? nil : 1))
        }
        #expect(keys[9_900...].enumerated().allSatisfy { owners.owner(of: $1) == UInt16(9_900 + $0) })
        #expect(owners.owner(of: keys[5_000]) == nil)
        let known = keys.count { owners.owner(of: $0) != nil }
        #expect(known <= 1_024)
    }
}
