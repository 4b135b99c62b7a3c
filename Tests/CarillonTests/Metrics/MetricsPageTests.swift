import Postgres
import TestSupport
import Testing

@testable import ApplePush
@testable import Carillon
@testable import PushQueue

/// docs/metrics.md.
@Suite struct MetricsPageTests {
    @Test func `the page lists every metric with its labels`() async throws {
        try await TestDatabase.with(.schema) { database in
            try await database.run(
                """
                INSERT INTO carillon.certificates (name, certificate, not_after)
                VALUES ('acme', 'PEM', now() + interval '90 days');
                INSERT INTO carillon.apps (name, certificate_id) SELECT 'acme', id FROM carillon.certificates
                """
            )
            let worker = WorkerMetrics(
                counters: Self.counters,
                apps: try await database.connection.values(of: AppStatus.statement),
                maintenance: try await MaintenanceStatus(on: database.connection)
            )
            var traffic = Traffic()
            traffic.ends = ["idle": 1]
            var metrics = ProgramMetrics(traffic: traffic, logLinesLost: 0, version: "0").measurements
            metrics.merge(worker.measurements)
            let reference = MetricsReference(exposition: metrics.text)
            #expect(reference.unsampled(in: metrics.text) == [])
            try GeneratedPage("docs/metrics.md").expect(reference.text)
        }
    }

    /// One of everything that has labels.
    private static var counters: WorkerCounters {
        var counters = WorkerCounters()
        let failure = WorkerCounters.Failure(app: 1, status: 410, reason: "Unregistered")
        counters.apps = [1: WorkerCounters.Pushes()]
        counters.failures = [failure: 1]
        counters.retries = [failure: 1]
        counters.reaped = ["acme": 1]
        counters.breakers = ["acme": 1]
        counters.troubles = [1: Trouble(.credential, "The certificate has expired.")]
        return counters
    }
}
