import ApplePush
import ApplePushSimulator
import CarillonTLS
import TestSupport
import Testing

/// Channels and what is published to them, against the simulator.
@Suite struct APNsChannelTests {
    private static let app = "org.example.app"

    private func with(
        _ change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        backend: (inout HTTP2Configuration) -> Void = { _ in },
        token: Bool = false,
        _ test: (APNsSimulator, APNs.Channels, APNs) async throws -> Void
    ) async throws {
        try await APNsSimulator.with {
            // A test stops it and starts it again.
            $0.port = ReservedPort.choose()
            $0.channelPort = ReservedPort.choose()
            $0.recordsRequests = true
            try change(&$0)
        } _: { simulator in
            let port = try #require(simulator.channelPort)
            let trust = Gateway.Trust.pem(simulator.rootPEM)
            let issued = try simulator.issueCertificate(topics: [Self.app, Self.app + ".push-type.liveactivity"])
            let credential =
                token
                ? try TestCredential.providerToken()
                : try Credential(certificate: issued.certificate, privateKey: issued.privateKey)
            try await withBackend(backend) { backend in
                let session = Session(backend: backend)
                func connection(_ port: UInt16) -> APNs.Connection {
                    session.connection(to: Gateway(host: "localhost", port: port, trust: trust), credential: credential)
                }
                let channels = APNs.Channels(of: Self.app, at: connection(port))
                try await test(simulator, channels, APNs(connection(simulator.port)))
            }
        }
    }

    private func update(_ expiry: APNs.Expiry? = nil) throws -> Message {
        try Message(
            tokens: [],
            aps: ["event": "update", "timestamp": 1, "content-state": ["score": 1]],
            pushType: .liveActivity,
            priority: .conservesPower,
            expiry: expiry,
            topic: Self.app
        )
    }

    private func error(_ body: () async throws(ChannelError) -> Void) async -> ChannelError? {
        do throws(ChannelError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [false, true])
    func `a channel is made, read, listed, published to and removed, on one connection`(token: Bool) async throws {
        try await with(token: token) { simulator, channels, apns in
            let stores = try await channels.create(.lastMessage)
            let plain = try await channels.create(.nothing)
            #expect(simulator.channels(of: Self.app) == [stores, plain].map(\.description))
            #expect(try await channels.read(stores) == .lastMessage)
            #expect(try await channels.read(plain) == .nothing)
            #expect(try await channels.list() == [stores, plain])
            for (channel, expiry) in [(stores, APNs.Expiry.after(.seconds(60))), (plain, nil)] {
                let push = try await apns.publish(try update(expiry), to: channel)
                #expect(push.isAccepted && push.token == channel.description)
            }
            try await channels.remove(plain)
            #expect(try await channels.list() == [stores])
            let requests = await simulator.receivedRequests()
            let published = requests.filter { $0.channelAction == "broadcast" }
            #expect(published.map(\.channel) == [stores.description, plain.description])
            #expect(published.last?.expiration == "0" && published.first?.expiration?.count == 10)
            #expect(published.allSatisfy { $0.topic == nil && $0.pushType == "liveactivity" && $0.priority == "5" })
            #expect(Set(requests.map(\.connection)).count == 2, "one for each service")
        }
    }

    @Test func `a refusal for a reason that is in no table is told with its words`() async throws {
        try await with({ $0.answers = [try AnswerRule(parsing: "create=400:SomethingNew")] }) { _, channels, _ in
            let create = await error { () throws(ChannelError) in _ = try await channels.create(.nothing) }
            #expect(create?.code == .refused && create?.reason == "SomethingNew" && create?.isRetryable == false)
        }
    }

    /// Apple's page has one name, and its sandbox answered with the other.
    @Test(arguments: ["FeatureNotEnabled", "BroadcastFeatureNotEnabled"])
    func `an app without the capability is told so, whichever name the reason has`(name: String) async throws {
        let rules = ["create=400:\(name)", "broadcast=400:\(name)"]
        try await with({ $0.answers = try rules.map { try AnswerRule(parsing: $0) } }) { simulator, channels, apns in
            let create = await error { () throws(ChannelError) in _ = try await channels.create(.nothing) }
            #expect(create?.code == .refused && create?.reason == name && create?.isRetryable == false)
            #expect(create?.message.contains("Enable the capability Broadcast") == true)
            let channel = ChannelID(try simulator.addChannel(to: Self.app))
            let push = try await apns.publish(try update(), to: channel)
            #expect(push.reason == name && !push.isRetryable && push.outcome.action == .failMessage)
        }
    }

    @Test func `a broadcast may have the priority 1, and its unique id is kept in production too`() async throws {
        try await with { simulator, channels, apns in
            let channel = try await channels.create(.nothing)
            let push = try await apns.publish(try update(), to: channel, priority: .low)
            #expect(push.isAccepted && push.uniqueID != nil)
            let usual = try await apns.publish(try update(), to: channel)
            #expect(usual.isAccepted && usual.uniqueID != nil && usual.uniqueID != push.uniqueID)
            let alert = try await apns.send(
                Message(tokens: [String(repeating: "ab", count: 32)], alert: "Hi", topic: Self.app)
            )
            #expect(alert.pushes.map(\.uniqueID) == [nil])
            let priorities = await simulator.receivedRequests().filter { $0.channelAction == "broadcast" }.map(
                \.priority
            )
            #expect(priorities == ["1", "5"])
        }
    }

    @Test func `refusals are told with their reason, and say what to do`() async throws {
        let rule = try AnswerRule(parsing: "create=400:BroadcastFeatureNotEnabled")
        try await with({ $0.answers = [rule, try AnswerRule(parsing: "list=503+9")] }) { simulator, channels, apns in
            let gone = ChannelID(try simulator.addChannel(to: Self.app))
            simulator.removeChannel(gone.description, of: Self.app)
            let create = await error { () throws(ChannelError) in _ = try await channels.create(.nothing) }
            #expect(create?.code == .refused && create?.reason == "BroadcastFeatureNotEnabled")
            #expect(create?.isRetryable == false && create?.message.contains("capability") == true)
            let list = await error { () throws(ChannelError) in _ = try await channels.list() }
            #expect(list?.status == 503 && list?.isRetryable == true && list?.retryAfter == 9)
            let read = await error { () throws(ChannelError) in _ = try await channels.read(gone) }
            #expect(read?.reason == "ChannelNotRegistered")
            let remove = await error { () throws(ChannelError) in try await channels.remove(gone) }
            #expect(remove?.status == 404 && remove?.reason == "BadPath")
            let push = try await apns.publish(try update(), to: gone)
            #expect(push.reason == "ChannelNotRegistered" && !push.isDead && !push.isRetryable)
            #expect(push.outcome.action == .failMessage)
        }
    }

    @Test(arguments: ["create=silence", "create=reset"])
    func `a request without an answer may have been carried out`(rule: String) async throws {
        try await with(
            { $0.answers = [try AnswerRule(parsing: rule)] },
            backend: { $0.requestTimeout = .seconds(3) }
        ) { simulator, channels, _ in
            let error = await error { () throws(ChannelError) in _ = try await channels.create(.nothing) }
            #expect(error?.code == .unknown && error?.isRetryable == true)
            try await eventually { simulator.channels(of: Self.app).count == 1 }
        }
    }

    @Test func `a service that closes an idle connection costs no request`() async throws {
        try await with { simulator, channels, _ in
            let first = try await channels.create(.nothing)
            await simulator.stop()
            let unsent = await error { () throws(ChannelError) in _ = try await channels.list() }
            #expect(unsent?.code == .unsent)
            try await simulator.start()
            #expect(try await channels.list() == [first])
        }
    }

    @Test func `publishing to several channels and pushing to devices share a connection`() async throws {
        try await with { simulator, channels, apns in
            var made: [ChannelID] = []
            for _ in 0..<20 { made.append(try await channels.create(.nothing)) }
            let message = try update()
            let alert = try Message(
                tokens: (100..<150).map { String(repeating: "ab", count: 31) + String(String($0).suffix(2)) },
                alert: "Hi",
                topic: Self.app
            )
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for channel in made { group.addTask { try await apns.publish(message, to: channel).isAccepted } }
                group.addTask { try await apns.send(alert).accepted == 50 }
                for try await isAccepted in group { #expect(isAccepted) }
            }
            let broadcasts = await simulator.receivedRequests().filter { $0.channelAction == "broadcast" }
            #expect(Set(broadcasts.compactMap(\.channel)) == Set(made.map(\.description)))
            #expect(Set(broadcasts.map(\.apnsID)).count == 20)
        }
    }

    @Test func `only updates of Live Activities are published`() async throws {
        try await with { _, _, apns in
            let error = await #expect(throws: PushError.self) {
                _ = try await apns.publish(try Message(tokens: [], alert: "Hi", topic: Self.app), to: ChannelID("x"))
            }
            #expect(error?.code == .invalidMessage)
        }
        #expect(PushType(name: "channel") == nil && !PushType.all.contains(.channel))
    }
}
