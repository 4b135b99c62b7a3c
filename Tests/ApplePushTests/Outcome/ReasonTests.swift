import Testing

@testable import ApplePush

@Suite struct ReasonTests {
    /// Apple's table, with the action of each reason.
    private static let expected: [(String, UInt16, Reason.Action, Bool)] = [
        ("BadCollapseId", 400, .failMessage, false), ("BadDeviceToken", 400, .failToken, false),
        ("BadExpirationDate", 400, .failMessage, false), ("BadMessageId", 400, .failMessage, false),
        ("BadPriority", 400, .failMessage, false), ("BadTopic", 400, .failMessage, false),
        ("DeviceTokenNotForTopic", 400, .failToken, false), ("DuplicateHeaders", 400, .failMessage, false),
        ("IdleTimeout", 400, .replaceConnection, true), ("InvalidPushType", 400, .failMessage, false),
        ("MissingDeviceToken", 400, .failToken, false), ("MissingTopic", 400, .failMessage, false),
        ("PayloadEmpty", 400, .failMessage, false), ("TopicDisallowed", 400, .failTopic, false),
        ("BadCertificate", 403, .holdCredential, true), ("BadCertificateEnvironment", 403, .holdCredential, true),
        ("BadEnvironmentKeyIdInToken", 403, .holdCredential, true),
        ("BadEnvironmentKeyInToken", 403, .holdCredential, true),
        ("ExpiredProviderToken", 403, .renewProviderToken, true), ("Forbidden", 403, .holdCredential, false),
        ("InvalidProviderToken", 403, .holdCredential, true), ("MissingProviderToken", 403, .holdCredential, true),
        ("UnrelatedKeyIdInToken", 403, .replaceConnection, true), ("BadPath", 404, .failMessage, false),
        ("MethodNotAllowed", 405, .failMessage, false), ("ExpiredToken", 410, .deleteToken, false),
        ("Unregistered", 410, .deleteToken, false), ("PayloadTooLarge", 413, .failMessage, false),
        ("TooManyProviderTokenUpdates", 429, .keepProviderToken, true),
        ("TooManyRequests", 429, .retryLater, true), ("InternalServerError", 500, .retryLater, true),
        ("ServiceUnavailable", 503, .retryLater, true), ("Shutdown", 503, .replaceConnection, true),
        ("BadChannelId", 400, .failMessage, false), ("BadRequestParams", 400, .failMessage, false),
        ("BadRequestPayload", 400, .failMessage, false), ("BroadcastFeatureNotEnabled", 400, .failMessage, false),
        ("CannotCreateChannelConfig", 400, .failMessage, false), ("ChannelNotRegistered", 400, .failMessage, false),
        ("FeatureNotEnabled", 400, .failMessage, false), ("MissingChannelId", 400, .failMessage, false),
        ("MissingChannelQueueSize", 400, .failMessage, false), ("MissingPushType", 400, .failMessage, false),
        ("TopicMismatch", 403, .failTopic, false),
    ]

    @Test(arguments: expected)
    func `each reason of Apple's has one action`(name: String, status: UInt16, action: Reason.Action, retry: Bool)
        throws
    {
        let reason = try #require(Reason(name: name))
        #expect(reason.name == name)
        #expect(reason.isKnown)
        #expect(reason.action(status: status) == action)
        #expect(reason.isRetryable(status: status) == retry)
        #expect(Reason.all.contains { $0.reason == reason && $0.status == status })
        #expect((reason == .badDeviceToken) == (name == "BadDeviceToken"))
    }

    @Test func `each reason of the library is in this table`() {
        #expect(Set(Reason.all.compactMap { $0.reason.name }) == Set(Self.expected.map(\.0)))
    }

    @Test(arguments: [
        (400, Reason.Action.failMessage, false), (403, .holdCredential, true), (404, .failMessage, false),
        (410, .deleteToken, false), (418, .failMessage, false), (429, .retryLater, true), (500, .retryLater, true),
        (502, .retryLater, true), (503, .retryLater, true), (301, .failMessage, false),
    ])
    func `an unknown reason has the action of its status`(status: UInt16, action: Reason.Action, retry: Bool) {
        var outcomes = Outcomes(repeating: .accepted, count: 1)
        for reason in [Reason.none, outcomes.reason(named: "BrandNewReason")] {
            #expect(reason.action(status: status) == action)
            #expect(reason.isRetryable(status: status) == retry)
        }
    }

    @Test func `an unknown reason keeps its name`() {
        var outcomes = Outcomes(repeating: .accepted, count: 1)
        let one = outcomes.reason(named: "BrandNewReason")
        let other = outcomes.reason(named: "AnotherNewReason")
        #expect(one != other)
        #expect(one == outcomes.reason(named: "BrandNewReason"))
        #expect(!one.isKnown)
        #expect(outcomes.text(of: one) == "BrandNewReason")
        #expect(outcomes.text(of: other) == "AnotherNewReason")
        #expect(outcomes.text(of: .malformedToken) == "MalformedToken")
    }

    @Test func `a gateway that invents reasons without end uses bounded memory`() {
        var outcomes = Outcomes(repeating: .accepted, count: 1)
        for number in 0..<10_000 { _ = outcomes.reason(named: "Reason\(number)") }
        #expect(outcomes.texts.count == 64)
        #expect(outcomes.text(of: outcomes.reason(named: "One more")) == "OtherReasons")
    }
}
