import ApplePush
import ApplePushSimulator
import Synchronization
import Testing

/// Counts for somebody's metrics.
final class Counters: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    func add(_ number: Int, to name: String) { counts.withLock { $0[name, default: 0] += number } }
    func observe(_ duration: Duration, in name: String) { add(1, to: name) }
    func count(_ name: String) -> Int { counts.withLock { $0[name] ?? 0 } }
}

struct Watch: APNs.Observer {
    let counters: Counters
    let log: @Sendable (String) -> Void

    func connectionOpened(to gateway: Gateway) { counters.add(1, to: "connections_opened") }

    func connectionEnded(_ end: APNs.EndedConnection) {
        counters.add(1, to: "connections_ended_\(end.reason)")
        if let error = end.error { log("\(error) (\(end.answered) pushes were answered)") }
    }

    func deliveryEnded(_ delivery: APNs.EndedDelivery) {
        for outcome in delivery.outcomes {
            let isRejected = outcome.verdict == .rejected
            counters.add(1, to: isRejected ? delivery.outcomes.text(of: outcome.reason) : "\(outcome.verdict)")
        }
        counters.observe(delivery.duration, in: "delivery_seconds")
    }
}

/// Logs, metrics and single connections.
@Suite struct ServerExampleTests {
    private let app = App()

    private func report(_ text: String) { app.report(text) }

    @Test func `an observer writes logs and metrics`() async throws {
        let counters = Counters()
        let log: @Sendable (String) -> Void = { print($0) }

        try await Test.withSimulator(SimulatorConfiguration()) { _, gateway in
            var configuration = HTTP2Configuration()
            configuration.observer = Watch(counters: counters, log: log)
            let session = APNs.Session(backend: HTTP2Backend(configuration))

            let apns = APNs(session.connection(to: gateway, credential: try Test.credential()))
            let token = String(repeating: "a", count: 64)
            _ = try await apns.send(try APNs.Message(tokens: [token], alert: "Hello", topic: "org.example.app"))
            await session.shutdown()
        }
        #expect(counters.count("connections_opened") == 1 && counters.count("connections_ended_shutdown") == 1)
        #expect(counters.count("accepted") == 1 && counters.count("delivery_seconds") == 1)
    }

    @Test func `a single connection is prepared and sends a batch`() async throws {
        let token = Array(String(repeating: "a", count: 64).utf8)
        let (payload, topic, none) = (Array("{}".utf8), Array("org.example.app".utf8), [UInt8]())
        let credential = try Test.credential()
        var batch = PushBatch()
        let heading = batch.addHeading(
            payload: payload.span.bytes,
            topic: topic.span.bytes,
            collapseID: none.span.bytes
        )
        batch.addPush(token: token.span.bytes, heading: heading, id: .random())
        try await Test.withSimulator(SimulatorConfiguration()) { _, gateway in
            var configuration = HTTP2Configuration()
            configuration.isSingleConnection = true
            let session = APNs.Session(backend: HTTP2Backend(configuration))
            let connection = session.connection(to: gateway, credential: credential)
            await connection.prepare()

            let outcomes = await connection.deliver(batch)
            switch outcomes.unsentReason?.code {
            case .blocked: report("all streams are in use: send it on another connection, or later")
            case .closed: report("the connection has ended: make another")
            case .timedOut: report("it took no push in time")
            case let code?: report("no connection: \(code)")
            case nil: report("everything was sent")
            }

            await session.shutdown()
        }
        #expect(app.reports == ["everything was sent"])
    }
}
