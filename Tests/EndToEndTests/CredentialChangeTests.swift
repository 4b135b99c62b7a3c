import ApplePush
import ApplePushSimulator
import CarillonPushQueue
import TestSupport
import Testing

/// Credentials that are replaced while their pushes are on their way.
@Suite struct CredentialChangeTests {
    private static let topic = "org.example.change"

    @Test func `a delivery that reaches the backend after its credential was replaced leaves no connection open`()
        async throws
    {
        try await APNsSimulator.with { simulator in
            try await TestQueue.with { queue in
                let old = try simulator.issueCertificate(topics: [Self.topic])
                try await queue.addApp(
                    "change",
                    topic: Self.topic,
                    gateway: "localhost:\(simulator.port)",
                    authority: simulator.rootPEM,
                    credential: old.certificate + old.privateKey
                )
                try await queue.database.run(
                    """
                    SELECT carillon.enqueue('change', ARRAY[repeat('ab', 32)], '{"aps":{"alert":"Hi"}}')
                    """
                )
                let backend = GatedHTTP2Backend()
                let worker = queue.worker(backend)
                let report = try await queue.running(worker) {
                    for await _ in backend.arrivals { break }
                    let new = try simulator.issueCertificate(topics: [Self.topic])
                    try await queue.database.run(
                        """
                        UPDATE carillon.certificates SET certificate = '\(new.certificate + new.privateKey)'
                        WHERE name = 'change'
                        """
                    )
                    try await queue.loop.eventually("the connection was closed again") {
                        let statistics = await simulator.statistics()
                        return statistics.connections == 1 && statistics.openConnections == 0
                    }
                    worker.drain()
                }
                await backend.shutdown()
                #expect(report.counters.total.sent == 1)
            }
        }
    }
}
