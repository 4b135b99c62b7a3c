import CarillonPostgres
import TestSupport
import Testing

@testable import ApplePush
@testable import Carillon
@testable import CarillonPushQueue
@testable import CarillonWebhooks

/// docs/metrics.md.
@Suite struct MetricsPageTests {
    @Test func `the page lists every metric with its labels`() async throws {
        try await TestDatabase.with(.schema) { database in
            try await database.run(
                """
                INSERT INTO carillon.certificates (name, certificate, not_after)
                VALUES ('acme', 'PEM', now() + interval '90 days');
                INSERT INTO carillon.apps (name, certificate_id) SELECT 'acme', id FROM carillon.certificates;
                INSERT INTO carillon.holds (app_id, kind, reason) SELECT id, 'credential', 'Expired.' FROM carillon.apps;
                INSERT INTO carillon.workers (name, lease_until) VALUES ('new', now());
                SELECT carillon.add_webhook('crm', 'acme', 'https://a.example/')
                """
            )
            var webhooks = WebhookCounts()
            webhooks.count("crm") { $0.accepted += 1 }
            let worker = WorkerMetrics(
                counters: Self.counters,
                reading: try await DatabaseGauges.Reading(from: database.connection),
                webhooks: webhooks
            )
            var traffic = Traffic()
            traffic.ends = ["idle": 1]
            var metrics = ProgramMetrics(traffic: traffic, logLinesLost: 0, version: "0").measurements
            metrics.merge(worker.measurements)
            let reference = MetricsReference(exposition: metrics.text)
            #expect(reference.unsampled(in: metrics.text) == [])
            let page = try Self.page.text
            let mark = try #require(page.firstRange(of: MetricsReference.mark))
            try Self.page.expect(reference.text + page[mark.lowerBound...])
        }
    }

    @Test func `the alerts name metrics that exist`() throws {
        let page = try Self.page.text
        let alerts = try #require(page.split(separator: "```yaml\n").dropFirst().first?.split(separator: "\n```").first)
        let names = Set(alerts.matches(of: #/carillon_[a-z_]+/#).map { String($0.output) })
        #expect(names.count >= 8)
        for name in names { #expect(page.contains("| `\(name)` |"), "\(name)") }
    }

    @Test func `the page explains each kind of hold`() throws {
        #expect(try Self.values(of: "kind") == Set(Hold.Kind.allCases.map(\.rawValue)))
    }

    @Test func `the page explains each end of a connection`() throws {
        var ends: Set<String> = []
        for file in ["Pool/ConnectionEnd", "HTTP2Backend/ConnectionEnd+HTTP2", "Legacy/ConnectionEnd+Binary"] {
            let text = try GeneratedPage("Sources/ApplePush/\(file).swift").text
            let names = text.matches(of: #/(?:Self\(|ours\(|fault\(|static let [a-z]+ = )"([a-z0-9_]+)"/#)
            ends.formUnion(names.map { String($0.output.1) })
        }
        #expect(ends.count > 15)
        #expect(try Self.values(of: "end") == ends)
    }

    private static let page = GeneratedPage("docs/metrics.md")

    /// The values of a label in the table that the page has for it.
    private static func values(of label: String) throws -> Set<String> {
        let table = try #require(page.text.split(separator: "| `\(label)` |").last?.split(separator: "\n\n").first)
        return Set(
            table.matches(of: #/\n\| (`[^|]*`) \|/#).flatMap { row in
                row.output.1.matches(of: #/`([a-z0-9_]+)`/#).map { String($0.output.1) }
            }
        )
    }

    /// A property that is new has a line in the table of metrics, or is named here.
    @Test func `every counter of a worker is a metric or the part of one`() throws {
        // For labels, bounds, `carillon_database_up`, `/readyz` and the exit status; `plain` has those of `WorkerCount`.
        let others: Set = [
            "names", "reasons", "isConnected", "answeredAt", "leaseEnd", "asleepSince", "hasGivenUp", "plain",
        ]
        let counted = Set(Mirror(reflecting: WorkerCounters()).children.compactMap(\.label)).subtracting(others)
        let text = try GeneratedPage("Sources/PushQueue/Worker/WorkerCounters.swift").text
        let lines = text.matches(of: #/\{\s+\.(?:byReason|byApp|durations)\(\$0\.([A-Za-z]+)/#)
        let metrics = Set(lines.map { String($0.output.1) })
        // `ended` and `counts` are made of `failures` and `apps`.
        #expect(metrics == counted.subtracting(["failures", "apps"]).union(["ended", "counts"]))
    }

    /// One of everything that has labels.
    private static var counters: WorkerCounters {
        var counters = WorkerCounters()
        let failure = WorkerCounters.OutcomeKey(app: 1, status: 410, reason: "Unregistered")
        counters.apps = [1: Settlement.Tally()]
        counters.failures = [failure: 1]
        counters.retries = [failure: 1]
        counters.reaped = ["acme": 1]
        counters.breakers = ["acme": 1]
        return counters
    }
}
