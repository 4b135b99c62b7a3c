import CarillonPushRules
import Testing

@testable import ApplePushSimulator

@Suite struct RequestCheckTests {
    private static let id = "123e4567-e89b-12d3-a456-426614174000"

    private func refusal(
        _ request: SampleRequest,
        credential: ClientCredential = .providerToken,
        topics: [String] = []
    ) -> APNsRefusal? {
        var check = RequestCheck(topics: topics)
        return request.refusal(by: &check, credential: credential)
    }

    @Test func `a plain push passes`() {
        #expect(refusal(SampleRequest()) == nil)
    }

    @Test func `a push with every field passes`() {
        let request = SampleRequest([
            "apns-id": Self.id, "apns-push-type": "alert", "apns-priority": "10", "apns-expiration": "1700000000",
            "apns-collapse-id": String(repeating: "c", count: 64), "content-type": "application/json",
        ])
        #expect(refusal(request) == nil)
    }

    static let malformed: [(SampleRequest, APNsRefusal)] = [
        (SampleRequest(method: "GET"), .methodNotAllowed),
        (SampleRequest(method: "post"), .methodNotAllowed),
        (SampleRequest(path: "/"), .badPath),
        (SampleRequest(path: "/2/device/\(SampleRequest.token)"), .badPath),
        (SampleRequest(path: "/3/devices/\(SampleRequest.token)"), .badPath),
        (SampleRequest(path: "/3/device"), .missingDeviceToken),
        (SampleRequest(path: "/3/device/"), .missingDeviceToken),
        (SampleRequest(path: "/3/device/\(SampleRequest.token)a"), .badDeviceToken),
        (SampleRequest(path: "/3/device/\(SampleRequest.token)/x"), .badDeviceToken),
        (SampleRequest(path: "/3/device/" + String(repeating: "zz", count: 32)), .badDeviceToken),
        (SampleRequest(path: "/3/device/" + String(repeating: "ab", count: 31)), .badDeviceToken),
        (SampleRequest(path: "/3/device/" + String(repeating: "ab", count: 101)), .badDeviceToken),
        (SampleRequest(["apns-id": id, "apns-id": id]), .duplicateHeaders),
        (SampleRequest(["apns-topic": "com.example.app"]), .duplicateHeaders),
        (SampleRequest(["apns-id": "123E4567-E89B-12D3-A456-426614174000"]), .badMessageID),
        (SampleRequest(["apns-id": "123e4567e89b12d3a456426614174000"]), .badMessageID),
        (SampleRequest(["apns-id": "123e4567-e89b-12d3-a456-42661417400g"]), .badMessageID),
        (SampleRequest(["apns-id": ""]), .badMessageID),
        (SampleRequest(["apns-expiration": "-1"]), .badExpirationDate),
        (SampleRequest(["apns-expiration": "1.5"]), .badExpirationDate),
        (SampleRequest(["apns-expiration": "soon"]), .badExpirationDate),
        (SampleRequest(["apns-expiration": ""]), .badExpirationDate),
        (SampleRequest(["apns-priority": "7"]), .badPriority),
        (SampleRequest(["apns-priority": "high"]), .badPriority),
        (SampleRequest(["apns-push-type": "background", "apns-priority": "10"]), .badPriority),
        (SampleRequest(["apns-push-type": "background", "apns-priority": "1"]), .badPriority),
        // Apple reads a missing one as 10.
        (SampleRequest(["apns-push-type": "background"]), .badDefaultPriority),
        (SampleRequest(["apns-push-type": "Alert"]), .invalidPushType),
        (SampleRequest(["apns-push-type": ""]), .invalidPushType),
        (SampleRequest(["apns-collapse-id": String(repeating: "c", count: 65)]), .badCollapseID),
        (SampleRequest(["apns-collapse-id": String(repeating: "ü", count: 33)]), .badCollapseID),
        (SampleRequest(["apns-collapse-id": ""]), .badCollapseID),
        (SampleRequest(topic: nil), .missingTopic),
        (SampleRequest(topic: ""), .badTopic),
        (SampleRequest(topic: "com.example app"), .badTopic),
        (SampleRequest().with(payload: ""), .payloadEmpty),
        (SampleRequest().with(payload: "[1]"), .payloadEmpty),
        (SampleRequest().with(payload: #"{"aps":"#), .payloadEmpty),
        (SampleRequest().with(payload: sized(4097)), .payloadTooLarge),
        (SampleRequest(["apns-push-type": "alert"]).with(payload: sized(5120)), .payloadTooLarge),
        (voip.with(payload: sized(5121)), .payloadTooLarge),
    ]

    private static let voip = SampleRequest(topic: "com.example.app.voip", ["apns-push-type": "voip"])

    private static func sized(_ count: Int) -> String {
        #"{"a":""# + String(repeating: "x", count: count - 8) + #""}"#
    }

    @Test(arguments: malformed.indices)
    func `malformed values are refused with Apple's reasons`(index: Int) {
        let (request, expected) = Self.malformed[index]
        #expect(refusal(request) == expected)
    }

    @Test func `the limits of the payload are exact`() {
        #expect(refusal(SampleRequest().with(payload: Self.sized(4096))) == nil)
        #expect(refusal(Self.voip.with(payload: Self.sized(5120))) == nil)
        #expect(refusal(SampleRequest(topic: "com.example.app.voip").with(payload: Self.sized(5120))) == nil)
    }

    @Test(arguments: PushTypeRules.all.map { ($0.name.description, $0.topicSuffix.description) })
    func `each push type has its topic's suffix`(type: String, suffix: String) {
        let fields: KeyValuePairs = ["apns-push-type": type, "apns-priority": "5"]
        #expect(refusal(SampleRequest(topic: "com.example.app" + suffix, fields)) == nil)
        let own = ["com.example.app"]
        #expect(refusal(SampleRequest(topic: "com.example.app" + suffix, fields), topics: own) == nil)
        #expect(refusal(SampleRequest(topic: "com.other.app" + suffix, fields), topics: own) == .topicDisallowed)
        if !suffix.isEmpty {
            #expect(refusal(SampleRequest(topic: "com.example.app", fields)) == .topicDisallowed)
            #expect(refusal(SampleRequest(topic: suffix, fields)) == .topicDisallowed)
        }
    }

    @Test func `a push type that is not known is accepted on request only, to any topic, and checked otherwise`() {
        let fields: KeyValuePairs = ["apns-push-type": "spatial"]
        let known = SampleRequest(topic: "com.example.app.push-type.spatial", fields)
        func refusal(_ request: SampleRequest, topics: [String] = []) -> APNsRefusal? {
            var check = RequestCheck(topics: topics, allowsUnknownTypes: true)
            return request.refusal(by: &check, credential: .providerToken)
        }
        #expect(self.refusal(known) == .invalidPushType)
        #expect(refusal(known) == nil)
        #expect(refusal(SampleRequest(topic: "com.example.app.voip", fields)) == nil)
        #expect(refusal(known, topics: ["com.example.app"]) == nil)
        #expect(refusal(known, topics: ["com.example"]) == .topicDisallowed)
        #expect(refusal(SampleRequest(topic: nil, fields)) == .missingTopic)
        #expect(refusal(SampleRequest(["apns-push-type": "spatial", "apns-priority": "7"])) == .badPriority)
        #expect(refusal(known.with(payload: Self.sized(8_192))) == nil)
        #expect(refusal(known.with(payload: Self.sized(8_193))) == .payloadTooLarge)
        for name in ["", "Spatial", "spa tial", "spatial_", String(repeating: "s", count: 65)] {
            #expect(refusal(SampleRequest(["apns-push-type": name])) == .invalidPushType, "\(name)")
        }
    }

    @Test func `a push type that does not fit the topic is refused, and a missing one is accepted`() {
        let endings = PushTypeRules.all.filter { $0.topicSuffix.utf8CodeUnitCount > 0 }
        #expect(!endings.isEmpty)
        for ending in endings {
            let topic = "com.example.app" + ending.topicSuffix.description
            for rule in PushTypeRules.all where rule.name.description != ending.name.description {
                let fields: KeyValuePairs = ["apns-push-type": rule.name.description, "apns-priority": "5"]
                #expect(refusal(SampleRequest(topic: topic, fields)) == .invalidPushType, "\(rule.name) to \(topic)")
                let certificate = ClientCredential.certificate(.init(topics: [topic]))
                #expect(refusal(SampleRequest(topic: nil, fields), credential: certificate) == .invalidPushType)
            }
            #expect(refusal(SampleRequest(topic: topic)) == nil)
            #expect(refusal(SampleRequest(topic: topic), topics: ["com.example.app"]) == nil)
        }
    }

    @Test func `a certificate pushes to its own topics only`() {
        let both = ClientCredential.certificate(.init(topics: ["com.example.app", "com.example.app.voip"]))
        #expect(refusal(SampleRequest(), credential: both) == nil)
        #expect(refusal(Self.voip, credential: both) == nil)
        #expect(refusal(SampleRequest(topic: "com.example.other"), credential: both) == .topicDisallowed)
        let activity = SampleRequest(
            topic: "com.example.app.push-type.liveactivity",
            ["apns-push-type": "liveactivity"]
        )
        #expect(refusal(activity, credential: both) == .topicDisallowed)
        #expect(refusal(SampleRequest(topic: nil), credential: both) == .missingTopic)
    }

    @Test func `the topic may be left out where the certificate has one`() {
        let one = ClientCredential.certificate(.init(topics: ["com.example.app"]))
        #expect(refusal(SampleRequest(topic: nil), credential: one) == nil)
        #expect(refusal(SampleRequest(topic: nil, ["apns-push-type": "voip"]), credential: one) == .topicDisallowed)
    }

    @Test func `a certificate without topics pushes to any topic, which each request must name`() {
        let any = ClientCredential.certificate(.init(topics: []))
        #expect(refusal(SampleRequest(), credential: any) == nil)
        #expect(refusal(SampleRequest(topic: nil), credential: any) == .missingTopic)
    }

    @Test func `location queries need a provider token`() {
        let topic = "com.example.app.location-query"
        let certificate = ClientCredential.certificate(.init(topics: [topic]))
        let request = SampleRequest(topic: topic, ["apns-push-type": "location"])
        #expect(refusal(request, credential: certificate) == .topicDisallowed)
        #expect(refusal(request) == nil)
    }

    @Test func `device management and passes need the certificate of their topic`() {
        let (management, pass) = (
            "com.apple.mgmt.External.18a16429-886b-41f1-9c30-2bd04ae4fc37", "pass.com.example.boarding"
        )
        let wakeUp = SampleRequest(topic: management, ["apns-push-type": "mdm"]).with(payload: #"{"mdm":"magic"}"#)
        let update = SampleRequest(topic: pass).with(payload: "{}")
        let certificates = [management, pass].map { ClientCredential.certificate(.init(topics: [$0])) }
        #expect(
            refusal(wakeUp, credential: certificates[0]) == nil && refusal(update, credential: certificates[1]) == nil
        )
        #expect(refusal(wakeUp, credential: certificates[1]) == .topicDisallowed)
        #expect(refusal(update, credential: certificates[0]) == .topicDisallowed)
        #expect(refusal(update.with(payload: ""), credential: certificates[1]) == .payloadEmpty)
        // The topic of a certificate for device management is no bundle ID of a team.
        #expect(refusal(wakeUp) == .topicOfCertificate)
    }

    @Test func `a bad payload after a good one is still refused`() {
        var check = RequestCheck(topics: [])
        #expect(SampleRequest().refusal(by: &check) == nil)
        #expect(SampleRequest().with(payload: "{]").refusal(by: &check) == .payloadEmpty)
        #expect(SampleRequest().refusal(by: &check) == nil)
    }

    @Test func `statuses are those of Apple's table`() {
        for refusal in APNsRefusal.allCases {
            #expect([400, 403, 404, 405, 413, 429, 431].contains(refusal.status))
        }
        let body = GatewayAnswer(.badDeviceToken).body(now: 0)
        #expect(String(decoding: body, as: UTF8.self) == #"{"reason":"BadDeviceToken"}"#)
    }
}
