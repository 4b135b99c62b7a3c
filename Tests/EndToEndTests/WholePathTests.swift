import ApplePush
import ApplePushSimulator
import CarillonPushQueue
import TestSupport
import Testing

/// The whole way: PostgreSQL, worker, TLS, HTTP/2, the simulator, and back.
@Suite struct WholePathTests {
    private func with(
        _ change: (inout SimulatorConfiguration) -> Void = { _ in },
        _ test: (APNsSimulator, TestQueue) async throws -> Void
    ) async throws {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            change(&$0)
        } _: { simulator in
            try await TestQueue.with { try await test(simulator, $0) }
        }
    }

    private func addApp(_ queue: TestQueue, _ name: String, at simulator: APNsSimulator) async throws {
        let topic = "org.example.\(name)"
        let issued = try simulator.issueCertificate(topics: [topic])
        try await queue.addApp(
            name,
            topic: topic,
            gateway: "localhost:\(simulator.port)",
            authority: simulator.rootPEM,
            credential: issued.certificate + issued.privateKey
        )
    }

    @Test func `every token of every row arrives exactly once`() async throws {
        try await with { simulator, queue in
            try await addApp(queue, "wire", at: simulator)
            try await queue.fill(app: 2, rows: 1500, tokens: 1)
            try await queue.fill(app: 2, rows: 3, tokens: 1000, prefix: "b")
            let backend = HTTP2Backend(.longTimeouts)
            let report = try await queue.drain(backend)
            await backend.shutdown()
            #expect(report.isClean)
            #expect(report.counters.total.sent == 4500)
            let deliveries = await simulator.receivedRequests()
            #expect(deliveries.count == 4500)
            #expect(Set(deliveries.map(\.token)).count == 4500)
            #expect(Set(deliveries.map(\.apnsID)).count == 4500)
            #expect(deliveries.allSatisfy { $0.status == 200 && $0.topic == "org.example.wire" })
            #expect(try await queue.database.number("SELECT sum(sent) FROM carillon.results") == 4500)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 1503)
        }
    }

    @Test func `dead, throttled and good tokens end as they should, over the wire`() async throws {
        let rules = try [
            AnswerRule(parsing: "dead=410:Unregistered:1700000000000"), AnswerRule(parsing: "ba=400:BadDeviceToken"),
            AnswerRule(parsing: "c=429:TooManyRequests*1"),
        ]
        try await with({ $0.answers = rules }) { simulator, queue in
            try await addApp(queue, "wire", at: simulator)
            for prefix in ["dead", "ba", "c", "d"] {
                try await queue.fill(app: 2, rows: 20, tokens: 2, prefix: prefix)
            }
            let backend = HTTP2Backend(.longTimeouts)
            try await queue.drain(backend)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.scheduled") == 20)
            try await queue.database.run("UPDATE carillon.scheduled SET run_at = now()")
            try await queue.drain(backend)
            await backend.shutdown()
            #expect(
                try await queue.database.rows(
                    "SELECT sum(sent), sum(failed), count(*), max(attempts) FROM carillon.results"
                )
                    == ["(80,80,80,2)"]
            )
            #expect(
                try await queue.database.rows(
                    """
                    SELECT status, reason, count(*), count(DISTINCT apns_id), min(extract(epoch FROM unregistered_at))::bigint
                    FROM carillon.failures GROUP BY 1, 2 ORDER BY 1
                    """
                ) == ["(400,BadDeviceToken,40,40,)", "(410,Unregistered,40,40,1700000000)"]
            )
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.feedback") == 40)
            // A push that was throttled came again as the same push.
            let throttled = await simulator.receivedRequests().filter { $0.token.hasPrefix("c") }
            #expect(throttled.count == 80)
            #expect(Set(throttled.map(\.apnsID)).count == 40)
        }
    }

    @Test func `a gateway that nobody answers at costs no push, and is found when it comes back`() async throws {
        try await with { simulator, queue in
            try await addApp(queue, "wire", at: simulator)
            try await queue.database.run("UPDATE carillon.apps SET gateway = 'localhost:1' WHERE id = 2")
            try await queue.fill(app: 2, rows: 10, tokens: 3)
            let backend = HTTP2Backend(.longTimeouts)
            let report = try await queue.drain(backend)
            #expect(report.holds.map(\.name) == ["wire"])
            #expect(report.counters.total.sent == 0)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.messages WHERE attempt = 1") == 10)
            #expect(
                try await queue.database.number(
                    "SELECT count(*) FROM carillon.holds WHERE app_id = 2 AND kind = 'connection'"
                )
                    == 1
            )
            try await queue.database.run(
                "UPDATE carillon.apps SET gateway = 'localhost:\(simulator.port)' WHERE id = 2"
            )
            #expect(try await queue.drain(backend).counters.total.sent == 30)
            await backend.shutdown()
        }
    }
}
