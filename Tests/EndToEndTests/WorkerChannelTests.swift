import ApplePush
import ApplePushSimulator
import CarillonPostgres
import CarillonPushQueue
import Synchronization
import TestSupport
import Testing

/// Channels and what is published to them, on their way from SQL to the gateway.
@Suite struct WorkerChannelTests {
    private struct ChannelBackend: DelayingBackend {
        static let channel = ChannelID("QUJDREVGR0hJSktMTU5PUA==")

        let recorded = RecordedBackend()
        typealias Answer = @Sendable (ChannelRequest) async throws(ChannelError) -> ChannelRequest.Answer
        let answer: Answer

        /// Without answers, it makes every channel that is asked for, with the same id.
        init(_ answer: @escaping Answer = { _ in .created(channel) }) { self.answer = answer }

        func deliver(
            _ batch: consuming PushBatch,
            to gateway: Gateway,
            with credential: Credential,
            terms: DeliveryTerms
        ) async -> Delivered {
            await recorded.deliver(batch, to: gateway, with: credential, terms: terms)
        }

        func manage(
            _ request: ChannelRequest,
            at gateway: Gateway,
            with credential: Credential
        ) async throws(ChannelError) -> ChannelRequest.Answer {
            try await answer(request)
        }

        func shutdown() async { await recorded.shutdown() }
    }

    private static func withChannel(_ body: (TestQueue) async throws -> Void) async throws {
        try await TestQueue.with { queue in
            _ = try await queue.database.value("carillon.record_channel('app', 'QUJDREVGR0hJSktMTU5PUA==', 0, 'match')")
            try await body(queue)
        }
    }

    /// Channels at a simulator of production: one that stores nothing, and one that stores the last message.
    private static func withSimulator(
        _ rules: [String] = [],
        _ body: (TestQueue, APNsSimulator) async throws -> Void
    ) async throws {
        try await TestQueue.with(simulator: { $0.answers = try rules.map { try AnswerRule(parsing: $0) } }) {
            queue,
            simulator in
            for (reference, policy) in [("plain", 0), ("stored", 1)] {
                let id = try simulator.addChannel(to: "org.example.app", storesMessages: policy == 1)
                try await queue.database.run(
                    "SELECT carillon.record_channel('app', '\(id)', \(policy), '\(reference)')"
                )
            }
            try await body(queue, simulator)
        }
    }

    @Test
    func `a broadcast has the priority and the expiry that Apple takes, and its unique id is kept`() async throws {
        try await Self.withSimulator { queue, simulator in
            try await queue.database.run(
                """
                UPDATE carillon.apps SET keep_unique_ids = true;
                SELECT carillon.publish('app', 'plain', '{"home": 1}', priority => 1, reference => 'low');
                SELECT carillon.publish('app', 'stored', '{"home": 1}', reference => 'stored')
                """
            )
            let backend = HTTP2Backend(.longTimeouts)
            try await queue.drain(backend)
            try await queue.database.run(
                "SELECT carillon.publish('app', 'plain', event => 'end', alert => 'Over', reference => 'end')"
            )
            try await queue.drain(backend)
            await backend.shutdown()
            let requests = await simulator.receivedRequests()
            #expect(requests.allSatisfy { $0.channelAction == "broadcast" && $0.status == 200 && $0.topic == nil })
            func request(_ priority: String) -> [ReceivedRequest] { requests.filter { $0.priority == priority } }
            // A broadcast without apns-expiration would be refused.
            #expect(request("1").map(\.expiration) == ["0"] && request("10").map(\.expiration) == ["0"])
            let stored = try #require(request("5").first?.expiration.flatMap { Int($0) })
            let now = try await queue.database.number("extract(epoch FROM now())")
            #expect((now + 7 * 3600)...(now + 9 * 3600) ~= stored)
            #expect(
                try await queue.database.rows(
                    """
                    SELECT r.reference, carillon.token_text(s.key) = c.channel_id FROM carillon.results r
                    CROSS JOIN LATERAL jsonb_each_text(r.apns_unique_ids) AS s
                    JOIN carillon.channels c ON c.reference = CASE r.reference WHEN 'stored' THEN 'stored' ELSE 'plain' END
                    ORDER BY 1
                    """
                ) == ["(end,t)", "(low,t)", "(stored,t)"]
            )
        }
    }

    @Test(arguments: ["FeatureNotEnabled", "BroadcastFeatureNotEnabled"])
    func `an app without the capability keeps its channels, and its messages fail with Apple's reason`(
        name: String
    ) async throws {
        try await Self.withSimulator(["broadcast=400:\(name)"]) { queue, _ in
            try await queue.database.run("SELECT carillon.publish('app', 'plain', '{}')")
            let backend = HTTP2Backend(.longTimeouts)
            try await queue.drain(backend)
            await backend.shutdown()
            #expect(
                try await queue.database.rows("SELECT status, reason, attempt FROM carillon.failures") == [
                    "(400,\(name),1)"
                ]
            )
            #expect(
                try await queue.database.number("SELECT count(*) FROM carillon.channels WHERE state = 'ready'") == 2
            )
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.held_apps") == 0)
        }
    }

    @Test(.queue) func `a worker with once makes the channels that were requested`() async throws {
        try await queue.database.run("UPDATE carillon.apps SET channel_gateway = 'localhost:2'")
        _ = try await queue.database.value("carillon.request_channel('app', 0, 'match')")
        try await queue.drain(ChannelBackend())
        #expect(try await queue.database.value("carillon.channel('match')") == "QUJDREVGR0hJSktMTU5PUA==")
    }

    /// Two apps, of which the first one's channel is asked about first.
    private static func withTwoApps(_ body: (TestQueue) async throws -> Void) async throws {
        try await TestQueue.with { queue in
            try await queue.addApp("other", topic: "com.example.acme")
            try await queue.database.run("UPDATE carillon.apps SET channel_gateway = 'localhost:2'")
            try await body(queue)
        }
    }

    private static let states = "SELECT app_id, state FROM carillon.channels ORDER BY app_id"

    @Test(arguments: ["an id", "a\0b", "é", String(repeating: "a", count: 256)])
    func `an id of a channel that PostgreSQL refuses stops the channels of no other app`(id: String) async throws {
        try await Self.withTwoApps { queue in
            _ = try await queue.database.value("carillon.request_channel('app', 0, 'match')")
            _ = try await queue.database.value("carillon.request_channel('other', 0, 'match')")
            try await queue.drain(
                ChannelBackend { .created($0.app == "org.example.app" ? ChannelID(id) : ChannelBackend.channel) }
            )
            #expect(try await queue.database.rows(Self.states) == ["(1,failed)", "(2,ready)"])
            let error = try await queue.database.value("SELECT last_error FROM carillon.channels WHERE app_id = 1")
            #expect(error?.contains("PostgreSQL refuses to record") == true, "\(error ?? "")")
        }
    }

    @Test
    func `an app that is removed while Apple creates its channel stops the channels of no other app`() async throws {
        try await Self.withTwoApps { queue in
            _ = try await queue.database.value("carillon.request_channel('app', 0, 'match')")
            _ = try await queue.database.value("carillon.request_channel('other', 0, 'match')")
            let removal = "DELETE FROM carillon.channels WHERE app_id = 1; DELETE FROM carillon.apps WHERE id = 1"
            try await queue.drain(
                ChannelBackend { request in
                    if request.app == "org.example.app" { try? await queue.database.run(removal) }
                    return .created(ChannelBackend.channel)
                }
            )
            #expect(try await queue.database.rows(Self.states) == ["(2,ready)"])
        }
    }

    private static func request(_ references: String..., of app: String, in queue: TestQueue) async throws {
        for reference in references {
            _ = try await queue.database.value("carillon.request_channel('\(app)', 0, '\(reference)')")
        }
    }

    @Test func `an app with many requests for channels waits for its turn after each`() async throws {
        try await Self.withTwoApps { queue in
            try await Self.request("a", "b", "c", of: "app", in: queue)
            try await Self.request("match", of: "other", in: queue)
            let asked = Mutex<[String]>([])
            try await queue.drain(
                ChannelBackend { request in
                    let number = asked.withLock {
                        $0.append(request.app)
                        return $0.count
                    }
                    return .created(ChannelID("QUJD\(number)"))
                }
            )
            #expect(
                asked.withLock { $0 } == ["org.example.app", "com.example.acme"] + [
                    "org.example.app", "org.example.app",
                ]
            )
            #expect(
                try await queue.database.number("SELECT count(*) FROM carillon.channels WHERE state = 'ready'") == 4
            )
        }
    }

    @Test func `an app whose channel service did not answer is not asked again before the others`() async throws {
        try await Self.withTwoApps { queue in
            try await Self.request("a", "b", of: "app", in: queue)
            try await Self.request("a", "b", of: "other", in: queue)
            let asked = Mutex<[String]>([])
            try await queue.drain(
                ChannelBackend { request throws(ChannelError) in
                    let number = asked.withLock {
                        $0.append(request.app)
                        return $0.count
                    }
                    if request.app == "org.example.app" { throw ChannelError(.unknown, "It did not answer.") }
                    // As if it had taken longer than the wait until the next attempt.
                    try? await queue.database.run(
                        "UPDATE carillon.channels SET next_attempt_at = '2026-01-01' WHERE app_id = 1"
                    )
                    return .created(ChannelID("QUJD\(number)"))
                }
            )
            #expect(asked.withLock { $0.prefix(3) } == ["org.example.app", "com.example.acme", "com.example.acme"])
        }
    }

    @Test(.queue) func `of channel services that never answer, one at most is asked before the channels of other apps`()
        async throws
    {
        try await RawGateway.with { line in
            try await line.greet()
            while try await line.nextRequest() != nil {}
        } test: { silent, port in
            try await APNsSimulator.with {
                $0.channelPort = 0
            } _: { simulator in
                let channelPort = try #require(simulator.channelPort)
                for name in ["a", "b", "c", "d", "e"] {
                    try await queue.database.connection.addApp(
                        name,
                        topic: "org.example.\(name)",
                        to: simulator,
                        root: silent.rootPEM
                    )
                    try await queue.database.run(
                        "UPDATE carillon.apps SET channel_gateway = 'localhost:\(port)' WHERE name = '\(name)'"
                    )
                    try await Self.request("one", "two", "three", of: name, in: queue)
                }
                try await queue.database.connection.addApp("live", topic: "org.example.live", to: simulator)
                try await queue.database.run(
                    "UPDATE carillon.apps SET channel_gateway = 'localhost:\(channelPort)' WHERE name = 'live'"
                )
                // Enough for the simulator to answer, on a busy machine too.
                var configuration = HTTP2Configuration.longTimeouts
                configuration.requestTimeout = .seconds(4)
                let backend = HTTP2Backend(configuration)
                let worker = queue.worker(backend)
                _ = try await queue.running(worker) {
                    try await queue.loop.eventually("each was asked") {
                        try await queue.database.number(
                            "SELECT count(DISTINCT c.app_id) FROM carillon.channels c WHERE c.last_error IS NOT NULL"
                        ) == 5
                    }
                    let attempts = "SELECT sum(c.attempts) FROM carillon.channels c WHERE c.reference <> 'match'"
                    let before = try await queue.database.number(attempts)
                    try await queue.database.run(
                        """
                            UPDATE carillon.channels SET next_attempt_at = '2026-01-01';
                        SELECT carillon.request_channel('live', 0, 'match')
                        """
                    )
                    try await queue.loop.eventually("the channel of the other app is ready") {
                        try await queue.database.value("carillon.channel('match', 'live')") != nil
                    }
                    let asked = try await queue.database.number(attempts) - before
                    // The second may have begun since.
                    #expect(asked <= 2, "\(asked) requests of apps that get no answer came first")
                    worker.drain()
                }
                await backend.shutdown()
            }
        }
    }

    @Test func `a list of channels that PostgreSQL refuses stops the comparison of no other app`() async throws {
        try await Self.withTwoApps { queue in
            for app in ["app", "other"] {
                _ = try await queue.database.value("carillon.record_channel('\(app)', 'QUJDRA==', 0, 'match')")
            }
            let isDue = "UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'channel_lists'"
            try await queue.database.run(isDue)
            let backend = ChannelBackend { .list($0.app == "org.example.app" ? [ChannelID("a\0b")] : []) }
            let worker = queue.worker(backend) { $0.lease = .milliseconds(600) }
            _ = try await queue.running(worker) {
                try await queue.loop.eventually("the other app was compared") {
                    try await queue.database.rows(Self.states) == ["(1,ready)", "(2,missing)"]
                }
                worker.drain()
            }
        }
    }

    @Test func `of several messages to a channel only the newest is sent, and with the time of sending`() async throws {
        try await Self.withChannel { queue in
            for score in 1...5 {
                _ = try await queue.database.value("carillon.publish('app', 'match', '{\"score\": \(score)}')")
            }
            let backend = RecordedBackend()
            let summary = try await queue.drain(backend)
            #expect(backend.sent.map(\.pushType) == [.channel])
            let payload = try #require(backend.sent.first?.payload)
            let found = try #require(
                payload.wholeMatch(of: #/{"aps":{"timestamp":(\d+),"event":"update","content-state":{"score":5}}}/#)
            )
            let now = try await queue.database.number("extract(epoch FROM now())")
            #expect((now - 600)...(now + 60) ~= Int(found.output.1) ?? 0)
            #expect(summary.counters.total.superseded == 4)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.updates") == 0)
        }
    }

    @Test func `a retry to a channel is not sent after a newer message, and one to another channel is`() async throws {
        try await Self.withChannel { queue in
            _ = try await queue.database.value("carillon.record_channel('app', 'WlhDVkJOTUFTREZHSEpLTA==', 0, 'other')")
            for channel in ["match", "other"] {
                _ = try await queue.database.value("carillon.publish('app', '\(channel)', '{\"score\": 1}')")
            }
            try await queue.drain(RecordedBackend { _ in .rejected(503, "ServiceUnavailable") })
            _ = try await queue.database.value("carillon.publish('app', 'match', '{\"score\": 2}')")
            let backend = RecordedBackend()
            try await queue.drain(backend)
            try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
            try await queue.drain(backend)
            let scores = backend.sent.map { $0.payload.contains(#""score":1"#) ? 1 : 2 }
            #expect(scores == [2, 1])
            #expect(Set(backend.sent.map(\.token)).count == 2)
        }
    }

    @Test(arguments: ["ChannelNotRegistered", "BadChannelId"])
    func `a channel that Apple does not know is missing as soon as a push to it fails`(reason: String) async throws {
        try await Self.withChannel { queue in
            let states = "SELECT reference, state FROM carillon.channels ORDER BY reference"
            _ = try await queue.database.value("carillon.record_channel('app', 'WlhDVkJOTUFTREZHSEpLTA==', 0, 'other')")
            _ = try await queue.database.value("carillon.publish('app', 'match', '{}')")
            try await queue.drain(RecordedBackend { _ in .rejected(400, reason) })
            #expect(try await queue.database.rows(states) == ["(match,missing)", "(other,ready)"])
            let error = await queue.database.refusal(ofValue: "carillon.publish('app', 'match', '{}')")
            #expect(error?.message.contains("missing: Apple answered \(reason).") == true)
            // A device token with the same refusal concerns no channel.
            _ = try await queue.database.value("carillon.enqueue('app', '{aa}', 'x')")
            try await queue.drain(RecordedBackend { _ in .rejected(400, reason) })
            #expect(try await queue.database.rows(states) == ["(match,missing)", "(other,ready)"])
        }
    }

    @Test func `a settlement does not wait for a session that has locked the channel`() async throws {
        try await Self.withChannel { queue in
            _ = try await queue.database.value("carillon.publish('app', 'match', '{}')")
            try await queue.database.session { other in
                try await other.run("BEGIN; SELECT FROM carillon.channels FOR UPDATE")
                try await queue.drain(RecordedBackend { _ in .rejected(400, "ChannelNotRegistered") })
                #expect(try await queue.database.number("SELECT count(*) FROM carillon.failures") == 1)
                try await other.run("COMMIT")
            }
            #expect(try await queue.database.value("SELECT state FROM carillon.channels") == "ready")
        }
    }
}
