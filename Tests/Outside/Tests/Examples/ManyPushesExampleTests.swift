import ApplePush
import Testing

/// Many tokens, and a payload of its own for each device.
@Suite struct ManyPushesExampleTests {
    private let app = App()

    private func forget(_ token: String, unlessRegisteredAfter timestamp: Int64?) {
        app.forget(token, unlessRegisteredAfter: timestamp)
    }
    private func later(_ token: String) { app.later(token) }
    private func report(_ text: String) { app.report(text) }

    @Test func `tokens are read while they are sent`() async throws {
        let backend = RecordedBackend { token in
            token.hasSuffix("00") ? .rejected(410, "Unregistered") : token.hasSuffix("ff") ? .safe : .accepted
        }
        let apns = APNs(APNs.Session(backend: backend).connection(to: .production, credential: try Test.credential()))
        let message = try APNs.Message(tokens: [], alert: "Hello", topic: "org.example.app")
        let tokens = (0x1000..<0x2000).lazy.map { String($0, radix: 16) }

        for try await push in apns.send(message, to: tokens) where !push.isAccepted {
            if push.isDead { forget(push.token, unlessRegisteredAfter: push.outcome.timestamp) }
            if push.isRetryable { later(push.token) }
        }

        #expect(app.forgotten == tokens.filter { $0.hasSuffix("00") })
        #expect(app.retries.map { $0[0] } == tokens.filter { $0.hasSuffix("ff") })
    }

    @Test func `each device gets its own payload`() async throws {
        let orders = [(number: 7, token: "a1b2"), (number: 8, token: "c3d4")]
        let backend = RecordedBackend { $0 == "a1b2" ? .accepted : .rejected(400, "BadDeviceToken") }
        let connection = APNs.Session(backend: backend).connection(to: .production, credential: try Test.credential())

        let topic = Array("com.example.restaurant".utf8)
        let noCollapseID: [UInt8] = []
        var batch = PushBatch()
        for order in orders {
            let payload = Array(#"{"aps":{"alert":"Order \#(order.number) is ready."}}"#.utf8)
            let heading = batch.addHeading(
                payload: payload.span.bytes,
                topic: topic.span.bytes,
                collapseID: noCollapseID.span.bytes
            )
            let token = Array(order.token.utf8)
            batch.addPush(token: token.span.bytes, heading: heading, id: .random())
        }
        let outcomes = await connection.deliver(batch)
        for (order, outcome) in zip(orders, outcomes) where outcome.verdict != .accepted {
            report("order \(order.number): \(outcomes.text(of: outcome.reason))")
        }

        #expect(app.reports == ["order 8: BadDeviceToken"])

        var configuration = HTTP2Configuration()
        configuration.connections = 8
        configuration.requestTimeout = .seconds(5)
        let session = APNs.Session(backend: HTTP2Backend(configuration))

        await session.shutdown()
    }
}
