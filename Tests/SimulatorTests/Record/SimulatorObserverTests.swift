import CarillonIO
import TestSupport
import Testing

@testable import ApplePushSimulator

@Suite struct SimulatorObserverTests {
    @Test(arguments: [Duration.zero, .milliseconds(20)])
    func `the observer is called when a request is received and when it is answered`(delay: Duration) async throws {
        let events = Guarded<[SimulatorEvent]>([])
        try await TestSimulator.with {
            $0.answers = [try AnswerRule(parsing: "dead=410:Unregistered"), try AnswerRule(parsing: "51=reset")]
            $0.delay = delay
            $0.observer = { event in events.withLock { $0.append(event) } }
        } _: { simulator, _, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            _ = try await client.send(["aa", "dead", "51"].map { SampleRequest(tokenPrefix: $0) })
            // The client may read an answer before the observer is called.
            try await loop.eventually("two were answered") { events.withLock { $0.count } == 5 }
            #expect(await simulator.receivedRequests().isEmpty)
        }
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
    }

    @Test func `requests to device tokens without the prefix are only counted`() async throws {
        let told = Guarded(0)
        try await TestSimulator.with {
            $0.recordsRequests = true
            $0.recordedPrefix = "5e"
            $0.observer = { _ in told.withLock { $0 += 1 } }
        } _: { simulator, _, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            _ = try await client.send(["aa", "5e", "5f"].map { SampleRequest(tokenPrefix: $0) })
            try await loop.eventually("one was answered") { told.withLock { $0 } == 2 }
            #expect(await simulator.receivedRequests().map { $0.token.prefix(2) } == ["5e"])
            #expect(await simulator.statistics().delivered == 3)
        }
    }
}
