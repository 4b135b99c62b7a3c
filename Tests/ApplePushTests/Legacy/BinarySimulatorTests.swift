import ApplePush
import ApplePushSimulator
import TestSupport
import Testing

/// The binary protocol with the simulator's gateway, which is as strict as Apple's was.
@Suite struct BinarySimulatorTests {
    private static func with(
        simulator configure: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ test: (APNsSimulator, APNs) async throws -> Void
    ) async throws {
        try await APNsSimulator.with {
            $0.binaryPort = 0
            $0.feedbackPort = 0
            $0.recordsRequests = true
            try configure(&$0)
        } _: { simulator in
            let session = Session(backend: BinaryBackend(.provenByErrors))
            try await attempt {
                let port = try #require(simulator.binaryPort)
                let gateway = simulator.gateway(port: port)
                let connection = session.connection(to: gateway, credential: try simulator.credential())
                try await test(simulator, APNs(connection))
            } finally: {
                await session.shutdown()
            }
        }
    }

    @Test func `a message arrives with all that the protocol can say`() async throws {
        try await Self.with { simulator, apns in
            let message = try Message(
                tokens: [token(1, prefix: "aa")],
                alert: "Hello",
                badge: 0,
                priority: 5,
                expiry: .at(1_700_000_000)
            )
            let result = try await apns.send(message)
            #expect(result.failed.isEmpty && !result.needsRetry)
            let delivery = try #require(await simulator.receivedRequests().first)
            #expect(delivery.token == token(1, prefix: "aa"))
            #expect(delivery.priority == "5")
            #expect(delivery.expiration == "1700000000")
            #expect(String(decoding: delivery.payload, as: UTF8.self) == #"{"aps":{"alert":"Hello","badge":0}}"#)
        }
    }

    /// However busy it is, its silence counts for nothing: it is known by the TLS handshake.
    @Test func `a gateway that speaks HTTP/2 gets nothing`() async throws {
        try await Self.with { simulator, _ in
            // Enough for a handshake on a busy machine.
            var limits = BinaryConfiguration.provenByErrors
            limits.waitingTimeout = .seconds(5)
            let session = Session(backend: BinaryBackend(limits))
            let message = try Message(tokens: [token(1, prefix: "aa")], alert: "Hello")
            let apns = APNs(session.connection(to: simulator.gateway(), credential: try simulator.credential()))
            let error = await #expect(throws: PushError.self) { try await apns.send(message) }
            #expect(error?.message.contains("speaks HTTP/2, not the binary protocol") == true)
            await session.shutdown()
        }
    }

    @Test func `a dead token is accepted, and listed by the feedback service`() async throws {
        try await Self.with(simulator: {
            $0.answers = [try AnswerRule(parsing: "dd=410")]
        }) { simulator, apns in
            let tokens = [token(1, prefix: "dd"), token(2, prefix: "aa")]
            let result = try await apns.send(try Message(tokens: tokens, alert: "Hello"))
            #expect(result.failed.isEmpty)
            #expect(await simulator.statistics().deadTokensWaiting == 1)
            #expect(await simulator.statistics().connections == 1)
        }
    }

    @Test func `the log has the status as over HTTP/2, and the number of the protocol beside it`() async throws {
        try await TemporaryFolder.with { folder in
            try await Self.with(simulator: {
                $0.logFile = folder.file("log")
                $0.answers = [try AnswerRule(parsing: "dd=410"), try AnswerRule(parsing: "bb=400:BadDeviceToken")]
            }) { simulator, apns in
                for token in [token(1, prefix: "dd"), token(2, prefix: "bb")] {
                    _ = try await apns.send(try Message(tokens: [token], alert: "Hello"))
                }
                let text = APNs.Alert(String(repeating: "x", count: 2048))
                _ = try await apns.send(try Message(tokens: [token(3, prefix: "aa")], alert: text))
            }
            let log = try folder.read("log")
            for part in [
                #""status":410,"reason":"Unregistered","#, #""status":400,"binary_status":8,"reason":"BadDeviceToken""#,
                #""status":413,"binary_status":7,"reason":"PayloadTooLarge","#, "command 2 takes at most 2048",
            ] { #expect(log.contains(part), "\(log)") }
        }
    }

    @Test func `a gateway that shuts down every hundred pushes loses and repeats none`() async throws {
        try await Self.with(simulator: { $0.goAwayAfter = 100 }) { simulator, apns in
            let tokens = (0..<450).map { token($0, prefix: "aa") }
            let result = try await apns.send(try Message(tokens: tokens, alert: "Hello"))
            #expect(result.failed.isEmpty && !result.needsRetry)
            #expect(await simulator.receivedRequests().map(\.token).filter { !$0.isEmpty } == tokens)
            #expect(await simulator.statistics().goAways == 4)
        }
    }

    @Test func `a token of the wrong size, and a payload that is too large, are refused one by one`() async throws {
        try await Self.with { _, apns in
            let short = try await apns.send(try Message(tokens: ["aabb", token(1, prefix: "aa")], alert: "Hello"))
            #expect(short.failed.mapValues(\.status) == ["aabb": 5])
            let text = APNs.Alert(String(repeating: "x", count: 2048))
            let large = try await apns.send(try Message(tokens: [token(1, prefix: "aa")], alert: text))
            #expect(large.errors.map(\.status) == [7])
            #expect(large.errors.map(\.reason) == ["PayloadTooLarge"])
        }
    }

    @Test func `a device token of another app is refused`() async throws {
        try await Self.with { simulator, apns in
            let token = token(1, prefix: "aa")
            #expect(try await apns.send(try Message(tokens: [token], alert: "Hello")).failed.isEmpty)
            let credential = try simulator.credential(topics: ["org.example.other"])
            let session = Session(backend: BinaryBackend(.provenByErrors))
            let port = try #require(simulator.binaryPort)
            let gateway = simulator.gateway(port: port)
            let other = APNs(session.connection(to: gateway, credential: credential))
            let result = try await other.send(try Message(tokens: [token], alert: "Hello"))
            #expect(result.failed[token]?.status == 8)
            await session.shutdown()
        }
    }
}
