import CarillonIO
import TestSupport
import Testing

@testable import ApplePushSimulator

@Suite struct SimulatorObserverTests {
    @Test(arguments: [Duration.zero, .milliseconds(20)])
    func `the observer is called when a request is received and when it is answered`(delay: Duration) async throws {
        let events = Guarded<[SimulatorEvent]>([])
        var configuration = SimulatorConfiguration()
        configuration.answers = [try AnswerRule(parsing: "dead=410:Unregistered"), try AnswerRule(parsing: "51=reset")]
        configuration.delay = delay
        configuration.observer = { event in events.withLock { $0.append(event) } }
        let simulator = try APNsSimulator(configuration, clock: ManualClock())
        try await simulator.start()
        try await TestLoop.with { loop in
            let certificate = try simulator.issueCertificate(topics: ["com.example.app"])
            let client = try await SimulatorClient.connect(to: simulator, certificate: certificate, on: loop)
            _ = try await client.send(["aa", "dead", "51"].map { SampleRequest(tokenPrefix: $0) })
            // The client may read an answer before the observer is called.
            try await loop.eventually("two were answered") { events.withLock { $0.count } == 5 }
        }
        await simulator.stop()
        var received: [Int?] = []
        var answered: [Int?] = []
        for event in events.withLock({ $0 }) {
            switch event {
            case .received(let delivery): received.append(delivery.status)
            case .answered(let delivery): answered.append(delivery.status)
            }
        }
        #expect(received == [200, 410, nil])
        #expect(answered == [200, 410])
        #expect(await simulator.receivedRequests().isEmpty)
    }

    @Test func `requests to device tokens without the prefix are only counted`() async throws {
        let told = Guarded(0)
        var configuration = SimulatorConfiguration()
        configuration.recordsRequests = true
        configuration.recordedPrefix = "5e"
        configuration.observer = { _ in told.withLock { $0 += 1 } }
        let simulator = try APNsSimulator(configuration, clock: ManualClock())
        try await simulator.start()
        try await TestLoop.with { loop in
            let certificate = try simulator.issueCertificate(topics: ["com.example.app"])
            let client = try await SimulatorClient.connect(to: simulator, certificate: certificate, on: loop)
            _ = try await client.send(["aa", "5e", "5f"].map { SampleRequest(tokenPrefix: $0) })
            try await loop.eventually("one was answered") { told.withLock { $0 } == 2 }
        }
        await simulator.stop()
        #expect(await simulator.receivedRequests().map { $0.token.prefix(2) } == ["5e"])
        #expect(await simulator.statistics().delivered == 3)
    }
}
