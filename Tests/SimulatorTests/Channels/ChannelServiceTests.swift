import CarillonIO
import CarillonTLS
import FoundationEssentials
import TestSupport
import Testing

@testable import ApplePushSimulator

/// Channels and broadcasts, as Apple's pages and the answers seen live have them.
@Suite struct ChannelServiceTests {
    private static let app = "com.example.app"
    private static let channels = "/1/apps/\(app)/channels"
    private static let broadcasts = "/4/broadcasts/apps/\(app)"
    private static let policy1 = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    private static let update = #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#

    private func manage(
        _ change: @escaping (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (APNsSimulator, SimulatorClient, SimulatorClient) async throws -> Void
    ) async throws {
        try await TestSimulator.with {
            $0.channelPort = 0
            $0.recordsRequests = true
            try change(&$0)
        } _: { simulator, _, loop in
            let certificate = try simulator.issueCertificate(topics: [Self.app])
            let fields = ["apns-channel-id", "apns-request-id"]
            func connect(_ port: UInt16?) async throws -> SimulatorClient {
                try await SimulatorClient.connect(
                    to: simulator,
                    certificate: certificate,
                    port: port,
                    keeping: fields,
                    on: loop
                )
            }
            try await body(simulator, connect(simulator.channelPort), connect(nil))
        }
    }

    private func request(
        _ method: String,
        _ path: String = channels,
        _ fields: KeyValuePairs<String, String> = [:],
        body: String = ""
    ) -> SampleRequest {
        SampleRequest(method: method, path: path, topic: nil, fields).with(payload: body)
    }

    /// A good broadcast, with one field changed, or left out where the value is nil.
    private func broadcast(to channel: String, _ change: (String, String?)? = nil, body: String = update)
        -> SampleRequest
    {
        var fields = [
            ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-expiration", "0"),
            ("apns-priority", "5"),
        ]
        if let (name, value) = change {
            fields.removeAll { $0.0 == name }
            if let value { fields.append((name, value)) }
        }
        var request = self.request("POST", Self.broadcasts, body: body)
        for (name, value) in fields { request.fields.append((name: name, value: value)) }
        return request
    }

    private func reason(_ answer: SimulatorClient.Answer) -> String { "\(answer.status) \(answer.body)" }

    private func refusal(_ status: Int, _ reason: String) -> String { #"\#(status) {"reason":"\#(reason)"}"# }

    @Test func `a channel is created, read, listed, used and removed`() async throws {
        try await manage { simulator, channels, gateway in
            let id = "123e4567-e89b-12d3-a456-426614174000"
            let made = try await channels.send([
                request("POST", Self.channels, ["apns-request-id": id], body: Self.policy1)
            ])[0]
            // The first kept field is the channel's id, the second the request's.
            let channel = made.id
            #expect(made.status == 201 && made.body.isEmpty && made.uniqueID == id)
            #expect(Data(base64Encoded: channel)?.count == 16)
            let field: KeyValuePairs = ["apns-channel-id": channel]
            let read = try await channels.send([request("GET", Self.channels, field)])[0]
            #expect(read.status == 200 && read.body == Self.policy1)
            let all = request("GET", "/1/apps/\(Self.app)/all-channels")
            #expect(try await channels.send([all])[0].body == #"{"channels":["\#(channel)"]}"#)
            #expect(
                try await gateway.send([broadcast(to: channel, ("apns-expiration", "1900000000"))])[0].status == 200
            )
            #expect(try await channels.send([request("DELETE", Self.channels, field)])[0].status == 204)
            #expect(try await channels.send([all])[0].body == #"{"channels":[]}"#)
            #expect(simulator.channels(of: Self.app).isEmpty)
            let statistics = await simulator.statistics()
            #expect(statistics.broadcasts == 1 && statistics.delivered == 1)
            #expect(statistics.channelRequests == 5 && statistics.requests == 6 && statistics.channels == 0)
            #expect(statistics.byStatus == ["200": 4, "201": 1, "204": 1])
            let deliveries = await simulator.receivedRequests()
            #expect(deliveries.map(\.channelAction) == ["create", "read", "list", "broadcast", "remove", "list"])
            #expect(deliveries.map(\.channel) == [channel, channel, nil, channel, channel, nil])
        }
    }

    @Test func `removed and unknown channels have different reasons, as seen live`() async throws {
        try await manage { simulator, channels, gateway in
            let removed = try simulator.addChannel(to: Self.app)
            #expect(simulator.removeChannel(removed, of: Self.app))
            let never = "AAAAAAAAAAAAAAAAAAAAAA=="
            for (channel, expected) in [(removed, "ChannelNotRegistered"), (never, "BadChannelId")] {
                let field: KeyValuePairs = ["apns-channel-id": channel]
                let read = try await channels.send([request("GET", Self.channels, field)])[0]
                #expect(reason(read) == refusal(400, expected))
                #expect(reason(try await gateway.send([broadcast(to: channel)])[0]) == refusal(400, expected))
                let remove = try await channels.send([request("DELETE", Self.channels, field)])[0]
                #expect(reason(remove) == refusal(404, "BadPath"))
            }
        }
    }

    @Test func `each wrong request has its reason`() async throws {
        try await manage { simulator, channels, gateway in
            let stores = try simulator.addChannel(to: Self.app, storesMessages: true)
            let plain = try simulator.addChannel(to: Self.app)
            let long = #"{"aps":{"event":"update"},"x":"\#(String(repeating: "x", count: 5120))"}"#
            let atChannels: [(SampleRequest, Int, String)] = [
                (request("PUT"), 405, "MethodNotAllowed"),
                (request("POST", "/1/apps/\(Self.app)/all-channels"), 405, "MethodNotAllowed"),
                (request("GET", "/1/apps/\(Self.app)"), 404, "BadPath"),
                (request("GET", "/1/apps//channels"), 404, "BadPath"),
                (request("GET", Self.channels + "?all"), 400, "BadRequestParams"),
                (request("POST", Self.broadcasts, body: Self.update), 404, "BadPath"),
                (request("GET", Self.channels, ["apns-request-id": "1"]), 400, "BadMessageId"),
                (request("GET", Self.channels), 400, "MissingChannelId"),
                (request("DELETE", Self.channels, ["apns-channel-id": ""]), 400, "MissingChannelId"),
                (request("GET", "/1/apps/com.example.other/channels"), 403, "TopicMismatch"),
                (request("POST"), 400, "PayloadEmpty"),
                (request("POST", body: "[]"), 400, "BadRequestPayload"),
                (request("POST", body: #"{"message-storage-policy":0}"#), 400, "MissingPushType"),
                (request("POST", body: #"{"message-storage-policy":0,"push-type":"alert"}"#), 400, "InvalidPushType"),
                (request("POST", body: #"{"push-type":"LiveActivity"}"#), 400, "MissingChannelQueueSize"),
                (
                    request("POST", body: #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#), 400,
                    "BadRequestPayload"
                ),
            ]
            for (request, status, name) in atChannels {
                #expect(reason(try await channels.send([request])[0]) == refusal(status, name))
            }
            let atGateway: [(SampleRequest, Int, String)] = [
                (broadcast(to: plain, ("apns-channel-id", nil)), 400, "MissingChannelId"),
                (broadcast(to: plain, ("apns-push-type", nil)), 400, "MissingPushType"),
                (broadcast(to: plain, ("apns-push-type", "alert")), 400, "InvalidPushType"),
                (broadcast(to: plain, ("apns-expiration", nil)), 400, "BadExpirationDate"),
                (broadcast(to: plain, ("apns-expiration", "soon")), 400, "BadExpirationDate"),
                (broadcast(to: plain, ("apns-expiration", "1900000000")), 400, "BadExpirationDate"),
                (broadcast(to: plain, ("apns-priority", "7")), 400, "BadPriority"),
                (broadcast(to: plain, ("apns-request-id", "1")), 400, "BadMessageId"),
                (broadcast(to: plain, body: ""), 400, "PayloadEmpty"),
                (broadcast(to: plain, body: "{"), 400, "BadRequestPayload"),
                (broadcast(to: plain, body: #"{"aps":{"event":"start"}}"#), 400, "BadRequestPayload"),
                (broadcast(to: plain, body: long), 413, "PayloadTooLarge"),
                (request("POST", Self.channels, body: Self.policy1), 404, "BadPath"),
                (request("GET", Self.broadcasts), 405, "MethodNotAllowed"),
            ]
            for (request, status, name) in atGateway {
                #expect(reason(try await gateway.send([request])[0]) == refusal(status, name))
            }
            #expect(try await gateway.send([broadcast(to: stores)])[0].status == 200)
        }
    }

    @Test func `a broadcast may have 5,120 bytes, and no more`() async throws {
        try await manage { simulator, _, gateway in
            let channel = try simulator.addChannel(to: Self.app)
            for (size, expected) in [(5_120, "200 "), (5_121, refusal(413, "PayloadTooLarge"))] {
                let start = #"{"aps":{"event":"update"},"x":""#
                let body = start + String(repeating: "x", count: size - start.utf8.count - 2) + #""}"#
                #expect(reason(try await gateway.send([broadcast(to: channel, body: body)])[0]) == expected)
            }
        }
    }

    @Test func `a channel is known to its own app only`() async throws {
        let other = "com.example.other"
        try await TestSimulator.with {
            $0.channelPort = 0
        } _: { simulator, _, loop in
            let certificate = try simulator.issueCertificate(topics: [Self.app, other])
            let channel = try simulator.addChannel(to: Self.app)
            func answer(_ request: SampleRequest, at port: UInt16?) async throws -> String {
                let client = try await SimulatorClient.connect(
                    to: simulator,
                    certificate: certificate,
                    port: port,
                    on: loop
                )
                return reason(try await client.send([request])[0])
            }
            let (port, path) = (simulator.channelPort, "/1/apps/\(other)/")
            let read = request("GET", path + "channels", ["apns-channel-id": channel])
            #expect(try await answer(read, at: port) == refusal(400, "BadChannelId"))
            #expect(try await answer(request("GET", path + "all-channels"), at: port) == #"200 {"channels":[]}"#)
            var update = broadcast(to: channel)
            update.fields = update.fields.map {
                $0.name == ":path" ? (name: ":path", value: "/4/broadcasts/apps/\(other)") : $0
            }
            #expect(try await answer(update, at: nil) == refusal(400, "BadChannelId"))
            #expect(try await answer(broadcast(to: channel), at: nil) == "200 ")
        }
    }

    @Test func `a broadcast has any of the priorities 10, 5 and 1, or none, and may end with an alert`() async throws {
        try await manage { simulator, _, gateway in
            let channel = try simulator.addChannel(to: Self.app)
            for priority in ["10", "5", "1", nil] {
                let answer = try await gateway.send([broadcast(to: channel, ("apns-priority", priority))])[0]
                #expect(reason(answer) == "200 ", "\(priority ?? "none")")
            }
            let end = #"{"aps":{"timestamp":2,"event":"end","content-state":{},"alert":{"title":"Over"}}}"#
            let answer = try await gateway.send([broadcast(to: channel, ("apns-priority", "10"), body: end)])[0]
            #expect(reason(answer) == "200 ")
        }
    }

    @Test(arguments: SimulatorConfiguration.Environment.allCases)
    func `an accepted broadcast is answered with an apns-unique-id in both environments`(
        environment: SimulatorConfiguration.Environment
    ) async throws {
        try await TestSimulator.with {
            $0.environment = environment
            $0.answers = [try AnswerRule(parsing: "broadcast=500*1")]
        } _: { simulator, _, loop in
            let channel = try simulator.addChannel(to: Self.app)
            let client = try await SimulatorClient.connect(
                to: simulator,
                certificate: simulator.issueCertificate(topics: [Self.app]),
                keeping: ["apns-request-id", "apns-unique-id"],
                on: loop
            )
            let isSandbox = environment == .sandbox
            let refused = try await client.send([broadcast(to: channel)])[0]
            #expect(refused.status == 500 && refused.uniqueID.isEmpty != isSandbox)
            let accepted = try await client.send([broadcast(to: channel)])[0]
            #expect(accepted.status == 200 && accepted.uniqueID.count == 36)
            let push = try await client.send([SampleRequest()])[0]
            #expect(push.status == 200 && push.uniqueID.isEmpty != isSandbox)
        }
    }

    @Test func `an answer rule names what it is for, and a lost answer does not undo the request`() async throws {
        let rules = ["broadcast=400:BroadcastFeatureNotEnabled*1", "create=silence", "list=503:ServiceUnavailable+7"]
        try await manage {
            $0.answers = try rules.map { try AnswerRule(parsing: $0) }
            #expect($0.answers.allSatisfy { $0.oddity == nil })
        } _: { simulator, channels, gateway in
            let channel = try simulator.addChannel(to: Self.app)
            let answers = try await gateway.send([broadcast(to: channel), broadcast(to: channel)])
            #expect(answers.map(reason) == [refusal(400, "BroadcastFeatureNotEnabled"), "200 "])
            // A push to a device token is none of these.
            #expect(try await gateway.send([SampleRequest()])[0].status == 200)
            _ = try await channels.submit(request("POST", body: Self.policy1))
            let list = try await channels.send([request("GET", "/1/apps/\(Self.app)/all-channels")])[0]
            #expect(reason(list) == refusal(503, "ServiceUnavailable") && list.retryAfter == 7)
            #expect(simulator.channels(of: Self.app).count == 2)
        }
    }

    @Test func `a provider token is checked on both ports, and one may name the apps`() async throws {
        try await TestSimulator.with {
            $0.channelPort = 0
            $0.topics = [Self.app]
        } _: { simulator, _, loop in
            let channel = try simulator.addChannel(to: Self.app)
            let provider = try TestProvider()
            let channelPort = try #require(simulator.channelPort)
            for port in [simulator.port, channelPort] {
                let client = try await SimulatorClient.connect(to: simulator, port: port, on: loop)
                func ask(_ app: String, _ authorization: String?) async throws -> String {
                    let isGateway = port == simulator.port
                    var sample =
                        isGateway ? broadcast(to: channel) : request("GET", Self.channels, ["apns-channel-id": channel])
                    let path = isGateway ? "/4/broadcasts/apps/\(app)" : "/1/apps/\(app)/channels"
                    sample.fields = sample.fields.map { $0.name == ":path" ? (name: ":path", value: path) : $0 }
                    return reason(try await client.send([sample], authorization: authorization)[0])
                }
                let good = provider.authorization(issuedAt: WallClock.seconds)
                #expect(try await ask(Self.app, nil) == refusal(403, "MissingProviderToken"))
                #expect(try await ask(Self.app, good).hasPrefix("200"))
                #expect(try await ask("com.example.other", good) == refusal(400, "TopicDisallowed"))
            }
        }
    }

    @Test func `an app has ten thousand channels at most, and all of them are listed`() async throws {
        try await manage { simulator, channels, _ in
            var made: [String] = []
            for _ in 0..<10_000 { try made.append(simulator.addChannel(to: Self.app)) }
            let answer = try await channels.send([request("POST", body: Self.policy1)])[0]
            #expect(reason(answer) == refusal(400, "CannotCreateChannelConfig"))
            let all = try await channels.send([request("GET", "/1/apps/\(Self.app)/all-channels")])[0]
            struct List: Decodable { let channels: [String] }
            #expect(try JSONDecoder().decode(List.self, from: Data(all.body.utf8)).channels == made)
        }
    }

    @Test func `channels outlive a restart of the simulator`() async throws {
        try await manage { simulator, _, _ in
            let port = simulator.channelPort
            let channel = try simulator.addChannel(to: Self.app)
            await simulator.stop()
            try await simulator.start()
            #expect(simulator.channels(of: Self.app) == [channel] && simulator.channelPort == port)
        }
    }
}
