import CarillonHTTP2
import CarillonIO
import CarillonTLS
import FoundationEssentials
import TestSupport
import Testing

@testable import ApplePushSimulator

/// The whole simulator over real sockets.
@Suite struct SimulatorTests {
    private static let id = "123e4567-e89b-12d3-a456-426614174000"

    /// A running simulator that keeps what it receives, and a loop for clients.
    private func withSimulator(
        _ change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (APNsSimulator, EventLoop) async throws -> Void
    ) async throws {
        try await TestSimulator.with {
            $0.recordsRequests = true
            try change(&$0)
        } _: { simulator, _, loop in
            try await body(simulator, loop)
        }
    }

    private var now: Int64 { Int64(Date().timeIntervalSince1970) }

    @Test func `a push with a provider token is accepted, and its apns-id echoed`() async throws {
        try await withSimulator { simulator, loop in
            let provider = try TestProvider()
            let client = try await SimulatorClient.connect(to: simulator, on: loop)
            let request = SampleRequest(["apns-id": Self.id, "apns-push-type": "alert"])
            let answers = try await client.send([request], authorization: provider.authorization(issuedAt: now))
            #expect(answers == [SimulatorClient.Answer(status: 200, id: Self.id)])
            let delivery = try #require(await simulator.receivedRequests().first)
            #expect(delivery.apnsID == Self.id)
            #expect(delivery.token == SampleRequest.token)
            #expect(delivery.topic == "com.example.app")
            #expect(delivery.pushType == "alert")
            #expect(delivery.payload == request.payload)
            #expect(delivery.status == 200)
        }
    }

    @Test func `an apns-id is made for a request without one`() async throws {
        try await withSimulator { simulator, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let answers = try await client.send([SampleRequest(), SampleRequest()])
            #expect(answers.map(\.status) == [200, 200])
            #expect(Set(answers.map(\.id)).count == 2)
            let areGood = answers.allSatisfy { $0.id.count == 36 && $0.uniqueID.isEmpty }
            #expect(areGood)
        }
    }

    @Test func `the sandbox answers with an apns-unique-id`() async throws {
        try await withSimulator {
            $0.environment = .sandbox
        } _: { simulator, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let answer = try #require(try await client.send([SampleRequest(["apns-id": Self.id])]).first)
            #expect(answer.status == 200)
            #expect(answer.id == Self.id)
            #expect(answer.uniqueID.count == 36)
        }
    }

    @Test func `refusals carry Apple's body`() async throws {
        try await withSimulator { simulator, loop in
            let client = try await SimulatorClient.connect(to: simulator, on: loop)
            let first = try await client.send([SampleRequest(["apns-id": Self.id])])
            #expect(
                first == [SimulatorClient.Answer(status: 403, id: Self.id, body: #"{"reason":"MissingProviderToken"}"#)]
            )
            let token = try TestProvider().authorization(issuedAt: now)
            let spoilt = [SampleRequest(method: "GET"), SampleRequest(path: "/"), SampleRequest(["apns-id": "X"])]
            let answers = try await client.send(spoilt, authorization: token)
            #expect(answers.map(\.status) == [405, 404, 400])
            #expect(
                answers.map(\.body)
                    == ["MethodNotAllowed", "BadPath", "BadMessageId"].map { #"{"reason":"\#($0)"}"# }
            )
        }
    }

    @Test func `a connection has one stream until its first good token, and a thousand afterwards`() async throws {
        try await withSimulator { simulator, loop in
            let client = try await SimulatorClient.connect(to: simulator, on: loop)
            _ = try await client.send([SampleRequest()])
            #expect(await client.allowances == [1])
            let token = try TestProvider().authorization(issuedAt: now)
            let answers = try await client.send(SampleRequest.many(3000), authorization: token)
            #expect(answers.count == 3000)
            let areGood = answers.allSatisfy { $0.status == 200 }
            #expect(areGood)
            #expect(await client.allowances == [1, 1000])
            let statistics = await simulator.statistics()
            #expect(statistics.requests == 3001)
            #expect(statistics.delivered == 3000)
            #expect(statistics.byReason == ["MissingProviderToken": 1])
            #expect(statistics.providerTokens == 1)
            #expect(statistics.openConnections == 1)
        }
    }

    @Test func `with a certificate there are a thousand streams at once`() async throws {
        try await withSimulator { simulator, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            #expect(await client.allowances == [1000])
            let answers = try await client.send([SampleRequest(), SampleRequest(topic: "com.example.other")])
            #expect(answers.map(\.status) == [200, 400])
        }
    }

    @Test func `streams may be limited from the start`() async throws {
        try await withSimulator {
            $0.maximumStreams = 7
        } _: { simulator, loop in
            let client = try await SimulatorClient.connect(to: simulator, on: loop)
            let token = try TestProvider().authorization(issuedAt: now)
            let answers = try await client.send(SampleRequest.many(100), authorization: token)
            let areGood = answers.allSatisfy { $0.status == 200 }
            #expect(areGood)
            #expect(await client.allowances == [7])
        }
    }

    @Test func `a self-signed certificate is accepted with its topics`() async throws {
        try await withSimulator { simulator, loop in
            let own = try CertificateAuthority(name: "Somebody").issue(commonName: "self-made", topics: ["com.own.app"])
            let certificate = IssuedCertificate(certificate: own.certificatePEM, privateKey: own.privateKeyPEM)
            let client = try await SimulatorClient.connect(to: simulator, certificate: certificate, on: loop)
            let answers = try await client.send([SampleRequest(topic: "com.own.app"), SampleRequest()])
            #expect(answers.map(\.status) == [200, 400])
            #expect(answers.last?.body == #"{"reason":"TopicDisallowed"}"#)
        }
    }

    @Test func `a certificate of the other environment is refused`() async throws {
        try await withSimulator { simulator, loop in
            let certificate = try simulator.issueCertificate(topics: ["com.example.app"], environments: [.sandbox])
            let client = try await SimulatorClient.connect(to: simulator, certificate: certificate, on: loop)
            let answers = try await client.send([SampleRequest()])
            #expect(answers.map(\.status) == [403])
            #expect(answers.map(\.body) == [#"{"reason":"BadCertificateEnvironment"}"#])
        }
    }

    @Test func `rules answer by token prefix`() async throws {
        let rules = ["0123=410:Unregistered:1700000000123", "ab=429+30*1", "cd=503:Shutdown", "ef=silence", "ee=reset"]
        try await withSimulator {
            $0.answers = try rules.map { try AnswerRule(parsing: $0) }
        } _: { simulator, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let answers = try await client.send(
                ["0123", "ab", "ab", "cd", "ee", "00"].map { SampleRequest(tokenPrefix: $0) }
            )
            #expect(answers.map(\.status) == [410, 429, 200, 503, 0, 200])
            #expect(answers[0].body == #"{"reason":"Unregistered","timestamp":1700000000123}"#)
            #expect(answers[1].body == #"{"reason":"TooManyRequests"}"#)
            #expect(answers[1].retryAfter == 30)
            #expect(answers[2].body == "")
            #expect(answers[4].ending == .internalError)
            _ = try await client.submit(SampleRequest(tokenPrefix: "ef"), authorization: nil)
            _ = try await client.send([SampleRequest(tokenPrefix: "00")])
            let statistics = await simulator.statistics()
            #expect(statistics.requests == 8)
            #expect(statistics.unanswered == 2)
            #expect(statistics.byReason == ["Unregistered": 1, "TooManyRequests": 1, "Shutdown": 1])
        }
    }

    @Test func `GOAWAY after so many requests leaves the rest surely unprocessed`() async throws {
        try await withSimulator {
            $0.goAwayAfter = 10
        } _: { simulator, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let answers = try await client.send(SampleRequest.many(50))
            #expect(await client.goAway == .noError)
            // Its last stream is that of the tenth request.
            #expect(answers.count > 10)
            #expect(answers.prefix(10).allSatisfy { $0.status == 200 })
            #expect(answers.dropFirst(10).allSatisfy { $0.isSurelyUnprocessed })
            try await client.waitForClose()
            #expect(await simulator.receivedRequests().count == 10)
            #expect(await simulator.statistics().goAways == 1)
        }
    }

    @Test func `a connection is reset after so many requests`() async throws {
        try await withSimulator {
            $0.resetAfter = 5
        } _: { simulator, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let answers = try await client.send(SampleRequest.many(5))
            #expect(answers.count == 5)
            #expect(answers.last?.ending != nil)
            #expect(await client.isClosed)
            let deliveries = await simulator.receivedRequests()
            #expect(deliveries.count == 5)
            #expect(deliveries.last?.status == nil)
            #expect(await simulator.statistics().resets == 1)
        }
    }

    @Test func `answers are held back by the delay`() async throws {
        try await withSimulator {
            $0.delay = .milliseconds(50)
        } _: { simulator, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let start = MonotonicInstant.now
            let answers = try await client.send(SampleRequest.many(100))
            let areGood = answers.allSatisfy { $0.status == 200 }
            #expect(areGood)
            #expect(MonotonicInstant.now - start >= .milliseconds(50))
        }
    }

    @Test func `the log has a line for each request by the time of its answer`() async throws {
        try await TemporaryFolder.with { folder in
            try await withSimulator {
                $0.logFile = folder.file("log")
            } _: { simulator, loop in
                let client = try await SimulatorClient.certified(by: simulator, on: loop)
                let answers = try await client.send(SampleRequest.many(100))
                let lines = try RequestLine.all(in: Array(folder.read("log").utf8))
                #expect(lines.count == 100)
                #expect(Set(lines.compactMap(\.apns_id)) == Set(answers.map(\.id)))
                #expect(Set(lines.compactMap(\.token)).count == 100)
                let areGood = lines.allSatisfy { $0.status == 200 && $0.payload == #"{"aps":{"alert":"Hello"}}"# }
                #expect(areGood)
                #expect(Set(lines.compactMap(\.sha256)).count == 1)
            }
        }
    }

    @Test func `hundreds of 4 KB payloads pass, and larger ones are refused`() async throws {
        try await withSimulator { simulator, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let whole = #"{"a":""# + String(repeating: "x", count: 4088) + #""}"#
            let answers = try await client.send(SampleRequest.many(300).map { $0.with(payload: whole) })
            let areGood = answers.allSatisfy { $0.status == 200 }
            #expect(areGood)
            let huge = String(repeating: "x", count: 200_000)
            let refused = try await client.send([SampleRequest().with(payload: huge)])
            #expect(refused.map(\.body) == [#"{"reason":"PayloadTooLarge"}"#])
            #expect(await simulator.statistics().payloadBytes == 300 * 4096 + 200_000)
        }
    }

    @Test func `a simulator can be stopped and started again with the same root and port`() async throws {
        try await withSimulator { simulator, loop in
            let certificate = try simulator.issueCertificate(topics: ["com.example.app"])
            let first = try await SimulatorClient.connect(to: simulator, certificate: certificate, on: loop)
            _ = try await first.send([SampleRequest()])
            let port = simulator.port
            await simulator.stop()
            try await first.waitForClose()
            #expect(await simulator.statistics().delivered == 1)
            #expect(await simulator.receivedRequests().count == 1)
            try await simulator.start()
            #expect(simulator.port == port)
            let second = try await SimulatorClient.connect(to: simulator, certificate: certificate, on: loop)
            #expect(try await second.send([SampleRequest()]).map(\.status) == [200])
            #expect(await simulator.statistics().delivered == 1)
        }
    }

    @Test func `a port in use is an error`() async throws {
        try await withSimulator { simulator, _ in
            var configuration = SimulatorConfiguration()
            configuration.port = simulator.port
            let second = try APNsSimulator(configuration)
            let error = await #expect(throws: SimulatorError.self) { try await second.start() }
            #expect(error?.code == .unavailable)
            #expect(error?.message.contains("\(simulator.port)") == true)
        }
    }

    @Test func `a log that cannot be opened is an error`() async throws {
        var configuration = SimulatorConfiguration()
        configuration.logFile = "/nowhere/at/all/log"
        let simulator = try APNsSimulator(configuration)
        let error = await #expect(throws: SimulatorError.self) { try await simulator.start() }
        #expect(error?.message.contains("/nowhere/at/all/log") == true)
    }

    @Test func `settings out of range are refused`() {
        for change in [
            { $0.goAwayAfter = 0 }, { $0.resetAfter = -1 }, { $0.delay = .seconds(-1) }, { $0.serverNames = [] },
        ]
            as [(inout SimulatorConfiguration) -> Void]
        {
            var configuration = SimulatorConfiguration()
            change(&configuration)
            let error = #expect(throws: SimulatorError.self) { try APNsSimulator(configuration) }
            #expect(error?.code == .badConfiguration)
        }
    }

    @Test func `a client that does not speak TLS, or sends nothing, does not affect others`() async throws {
        try await withSimulator { simulator, loop in
            let rude = try await TCP.connect(host: "127.0.0.1", port: simulator.port, timeout: .seconds(30), on: loop)
            let text = Array("GET / HTTP/1.1\r\n\r\n".utf8)
            _ = try rude.write(text.span.bytes)
            let silent = try await TCP.connect(host: "127.0.0.1", port: simulator.port, timeout: .seconds(30), on: loop)
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            #expect(try await client.send([SampleRequest()]).map(\.status) == [200])
            _ = silent.descriptor
        }
    }
}
