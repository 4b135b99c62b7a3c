import ApplePush
import ApplePushSimulator
import CarillonTLS
import TestSupport
import Testing

/// The examples of the documentation, line by line. `DocumentedExamples` finds those that are missing here.
@Suite struct DocumentationTests {
    private static let p8 = (try? SigningKey.generate().pem) ?? ""
    private let p8 = Self.p8

    private final class Log {
        var forgotten: [String] = []
        var later: [Message] = []
        var reports: [String] = []
    }

    private let log = Log()

    private func forget(_ token: String, unlessRegisteredAfter timestamp: Int64?) { log.forgotten.append(token) }
    private func later(_ message: Message, after seconds: Int = 0) { log.later.append(message) }
    private func report(_ text: String) { log.reports.append(text) }
    private func warn(before expiry: Int64) { log.reports.append("\(expiry)") }

    @Test(arguments: [
        "Sources/ApplePush/ApplePush.docc", "Sources/Simulator/Simulator.docc", "README.md", "docs/simulator.md",
    ])
    func `every example of the documentation compiles`(page: String) throws {
        let examples = try DocumentedExamples(in: page)
        #expect(examples.all.isEmpty == (page == "docs/simulator.md"))
        #expect(try examples.missing(from: #filePath) == [])
    }

    @Test func `the example of the overview does what it says`() async throws {
        let tokens = ["a1b2", "c3d4", "e5f6"]
        let backend = RecordedBackend { token in
            switch token {
            case "c3d4": .rejected(410, "Unregistered", timestamp: 1_700_000_000_000)
            case "e5f6": .rejected(503, "ServiceUnavailable")
            default: .delivered
            }
        }
        func Session() -> ApplePush.Session { ApplePush.Session(backend: backend) }

        let session = Session()
        let credential = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
        let apns = APNs(session.connection(to: .production, credential: credential))

        let message = try Message(
            tokens: tokens,
            alert: ["title": "Dinner", "body": "The soup is ready."],
            badge: 1,
            extra: ["table": 7],
            expiry: .after(.seconds(3600)),
            topic: "org.example.app"
        )
        let result = try await apns.send(message)

        for (token, failure) in result.failed { print("\(token): \(failure.reason)") }
        for dead in result.feedback { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
        if let retry = result.retry() { later(retry) }

        await session.shutdown()

        #expect(log.forgotten == ["c3d4"])
        #expect(log.later.map(\.tokens) == [["e5f6"]])
        #expect(backend.sent.count == 3)
    }

    @Test func `the example of the README does what it says`() async throws {
        let tokens = ["a1b2", "c3d4", "e5f6"]
        let backend = RecordedBackend { token in
            token == "c3d4" ? .rejected(410, "Unregistered", timestamp: 1_700_000_000_000) : .unknown
        }
        func Session() -> ApplePush.Session { ApplePush.Session(backend: backend) }

        let session = Session()
        let credential = try Credential(signingKey: p8, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        let apns = APNs(session.connection(to: .production, credential: credential))

        let message = try Message(tokens: tokens, alert: "Your table is ready", badge: 1, topic: "com.example.acme")
        let result = try await apns.send(message)

        for (token, failure) in result.failed { print("\(token): \(failure.reason)") }
        if let retry = result.retry() { later(retry) }  // the tokens to retry, under the same apns-ids

        await session.shutdown()

        #expect(result.failed.map(\.key) == ["c3d4"])
        #expect(log.later.map(\.tokens) == [["a1b2", "e5f6"]])
    }

    @Test func `the examples about outcomes do what they say`() async throws {
        let backend = RecordedBackend(feedback: [Feedback(token: "f00d", timestamp: 1_700_000_000_000)]) { token in
            switch token {
            case "c3d4": .rejected(410, "Unregistered", timestamp: 1_700_000_000_000)
            case "e5f6": .safe
            case "abcd": .unknown
            default: .delivered
            }
        }
        let session = Session(backend: backend)
        let credential = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
        let message = try Message(tokens: ["a1b2", "c3d4", "e5f6", "abcd"], alert: "Hello", topic: "org.example.app")
        try await outcomes(of: message, APNs(session.connection(to: .production, credential: credential)))
        #expect(log.forgotten == ["c3d4"])
        #expect(log.reports.contains { $0.contains("OutcomeUnknown") })
        #expect(log.later.map(\.tokens) == [["e5f6", "abcd"], ["e5f6"]])

        let service = APNs(session.newConnection(to: .feedback, credential: credential))
        let list = try await service.feedback()
        for await dead in list { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
        if let failure = await list.failure { report(failure.message) }

        #expect(log.forgotten == ["c3d4", "f00d"])
    }

    private func outcomes(of message: Message, _ apns: APNs) async throws {
        let result: APNs.Result
        do {
            result = try await apns.send(message)
        } catch {
            // Nothing was sent: there is no connection, or the message is malformed.
            report("\(error.code): \(error.message)")
            return later(message)
        }
        for dead in result.feedback { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
        for problem in result.errors { report("\(problem.status) \(problem.reason)") }
        if let retry = result.retry() { later(retry, after: result.retryAfter ?? 10) }

        var retry = message
        retry.tokens = result.unsent

        later(retry)
    }

    @Test func `the examples about credentials do what they say`() async throws {
        let issued = try APNsSimulator(SimulatorConfiguration()).issueCertificate(topics: ["org.example.app"])
        let (pem, key, passphrase, root) = (issued.certificate, issued.privateKey, "secret", issued.certificate)

        let byKey = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
        let byCertificate = try Credential(certificate: pem, privateKey: key, passphrase: passphrase)

        if let expiry = byCertificate.facts.notAfter { warn(before: expiry) }
        let topics = byCertificate.facts.topics

        let (session, old) = (Session(backend: RecordedBackend()), byKey)

        await session.outdate(credential: old)

        let gateway = Gateway(host: "localhost", port: 2197, trust: .pem(root))

        #expect(topics == ["org.example.app"] && log.reports.count == 1)
        #expect(gateway.description.contains("localhost:2197"))
    }

    @Test func `the example about tests does what it says`() async throws {
        let credential = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")

        let backend = RecordedBackend { token in
            token == "dead" ? .rejected(410, "Unregistered", timestamp: 1_700_000_000_000) : .delivered
        }
        let session = Session(backend: backend)
        let apns = APNs(session.connection(to: .sandbox, credential: credential))

        let message = try Message(tokens: ["beef", "dead"], alert: "Hello", topic: "org.example.app")
        let result = try await apns.send(message)

        #expect(result.delivered == 1)
        #expect(result.feedback.map(\.token) == ["dead"])
        #expect(backend.sent.map(\.payload) == Array(repeating: #"{"aps":{"alert":"Hello"}}"#, count: 2))
    }

    @Test func `the examples about many pushes do what they say`() async throws {
        let orders = [(number: 7, token: "a1b2"), (number: 8, token: "c3d4")]
        let (topic, none) = (Array("org.example.app".utf8), [UInt8]())
        let credential = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
        let backend = RecordedBackend { $0 == "a1b2" ? .delivered : .rejected(400, "BadDeviceToken") }
        let connection = Session(backend: backend).connection(to: .production, credential: credential)

        var batch = PushBatch()
        for order in orders {
            let payload = Array(#"{"aps":{"alert":"Order \#(order.number) is ready."}}"#.utf8)
            let heading = batch.addHeading(
                payload: payload.span.bytes,
                topic: topic.span.bytes,
                collapseID: none.span.bytes
            )
            let token = Array(order.token.utf8)
            batch.addPush(token: token.span.bytes, heading: heading, id: .random())
        }
        let outcomes = await connection.deliver(batch)
        for (order, outcome) in zip(orders, outcomes) where outcome.verdict != .delivered {
            report("order \(order.number): \(outcomes.text(of: outcome.reason))")
        }

        #expect(log.reports == ["order 8: BadDeviceToken"])

        var configuration = HTTP2Configuration()
        configuration.connections = 8
        configuration.requestTimeout = .seconds(5)
        let session = Session(backend: HTTP2Backend(configuration))

        await session.shutdown()
    }

    @Test func `the examples of the simulator do what they say`() async throws {
        var configuration = SimulatorConfiguration()
        configuration.answers = [try AnswerRule(parsing: "dead=410:Unregistered")]
        configuration.recordsDeliveries = true
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()

        let gateway = Gateway(host: "localhost", port: simulator.port, trust: .pem(simulator.rootPEM))
        let credential = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
        let session = Session()
        let apns = APNs(session.connection(to: gateway, credential: credential))
        let tokens = ["beef", "dead"].map { $0 + String(repeating: "0", count: 60) }
        let result = try await apns.send(try Message(tokens: tokens, alert: "Hello", topic: "org.example.app"))

        #expect(result.feedback.map(\.token) == [tokens[1]])
        #expect(await simulator.deliveries().map(\.status) == [200, 410])

        await session.shutdown()
        await simulator.stop()
    }

    @Test func `the examples of the simulator's configuration compile`() async throws {
        struct Sender { func kill() {} }
        let sender = Sender()
        var configuration = SimulatorConfiguration()

        configuration.answers = [
            try AnswerRule(prefix: "dead", status: 410),
            try AnswerRule(prefix: "429", status: 429, retryAfter: 2, times: 1),
            try AnswerRule(prefix: "5f", action: .silence),
        ]

        configuration.delay = .milliseconds(20)
        configuration.distance = .milliseconds(150)
        configuration.goAwayAfter = 100
        configuration.resetAfter = 500

        configuration.observer = { event in
            if case .answered(let delivery) = event, delivery.token.hasPrefix("dead") { sender.kill() }
        }

        let simulator = try APNsSimulator(configuration)

        let issued = try simulator.issueCertificate(topics: ["org.example.app"])
        let credential = try Credential(certificate: issued.certificate, privateKey: issued.privateKey)

        #expect(credential.facts.topics == ["org.example.app"])
    }

    @Test func `the example of the binary protocol does what it says`() async throws {
        var settings = SimulatorConfiguration()
        settings.binaryPort = 0
        let simulator = try APNsSimulator(settings)
        try await simulator.start()
        let issued = try simulator.issueCertificate(topics: ["org.example.app"])
        let credential = try Credential(certificate: issued.certificate, privateKey: issued.privateKey)
        let port = try #require(simulator.binaryPort)
        let rootPEM = simulator.rootPEM
        let tokens = [String(repeating: "ab", count: 32), "abab"]

        var configuration = BinaryConfiguration()
        configuration.format = .frames
        configuration.quietPeriod = .seconds(2)
        let session = Session(backend: BinaryBackend(configuration))
        let gateway = Gateway(host: "localhost", port: port, trust: .pem(rootPEM))
        let apns = APNs(session.connection(to: gateway, credential: credential))

        let result = try await apns.send(try Message(tokens: tokens, alert: "Hello"))

        #expect(result.delivered == 1)
        #expect(result.failed["abab"]?.reason == "BadDeviceToken")
        await session.shutdown()
        await simulator.stop()
    }
}
