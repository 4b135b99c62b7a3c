import ApplePush
import CarillonPostgres
import TestSupport
import Testing

@testable import Carillon
@testable import CarillonPushQueue

@Suite struct WorkerMetricsTests {
    @Test func `a worker that has done nothing yet has every family`() {
        var metrics = ProgramMetrics(traffic: Traffic(), logLinesLost: 7, version: "1.2.3").measurements
        metrics.merge(WorkerMetrics(counters: WorkerCounters(), reading: .init()).measurements)
        let text = metrics.text
        #expect(text.contains("carillon_build_info{version=\"1.2.3\"} 1\n"))
        for family in [
            "pushes_total", "retries_total", "unknown_outcomes_total", "claims_total", "stale_settlements_total",
            "takeovers_total", "database_errors_total", "in_flight_pushes", "database_up", "ready_jobs",
            "oldest_ready_job_age_seconds", "credential_expiry_seconds", "connections", "enqueue_to_claim_seconds",
            "send_to_answer_seconds", "reaped_tokens_total", "feedback_handled_total", "feedback_pass_seconds",
            "feedback_pass_errors_total", "breakers_opened_total", "workers",
        ] {
            #expect(text.contains("# TYPE carillon_\(family) "))
        }
        #expect(text.contains("carillon_log_lines_lost_total 7\n"))
    }

    /// Prometheus refuses all metrics of a worker if one series occurs twice.
    @Test func `apps whose labels are equal have one series, with the sum`() throws {
        var counters = WorkerCounters()
        // An app that was removed and added again, one named like the id of an app without a name, and one like app 0, which
        // stands for further ones without a name.
        counters.names = [1: "acme", 2: "acme", 3: "7", 4: "0"]
        for app: Int32 in [0, 1, 2, 3, 4, 7] {
            counters.apps[app] = Settlement.Tally(sent: 1, expired: 1, superseded: 1, returned: 1, unknown: 1)
            for reason in ["Unregistered", "ExpiredToken"] {
                let outcome = WorkerCounters.OutcomeKey(app: app, status: 410, reason: reason)
                counters.failures[outcome] = 1
                counters.retries[outcome] = 1
            }
        }
        let text = WorkerMetrics(counters: counters, reading: .init()).measurements.text
        let series = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
            $0[..<($0.lastIndex(of: " ") ?? $0.endIndex)]
        }
        #expect(Set(series).count == series.count)
        for app in ["acme", "0", "7"] {
            for labels in [
                "status=\"200\",reason=\"\"", "status=\"0\",reason=\"Expired\"", "status=\"0\",reason=\"Superseded\"",
                "status=\"410\",reason=\"Unregistered\"", "status=\"410\",reason=\"ExpiredToken\"",
            ] {
                #expect(text.contains("carillon_pushes_total{app=\"\(app)\",\(labels)} 2\n"), "\(text)")
            }
            #expect(text.contains("carillon_retries_total{app=\"\(app)\",status=\"410\",reason=\"Unregistered\"} 2\n"))
            #expect(text.contains("carillon_returned_pushes_total{app=\"\(app)\"} 2\n"))
            #expect(text.contains("carillon_unknown_outcomes_total{app=\"\(app)\"} 2\n"))
        }
    }

    @Test func `the rows in a default partition come with whether their number is exact`() async throws {
        try await TestDatabase.with(.schema) { database in
            try await database.run(
                """
                INSERT INTO carillon.results (message_id, app_id, finished_at)
                SELECT n, 1, '2001-01-01Z' FROM generate_series(1, 1001) n;
                INSERT INTO carillon.failures (message_id, app_id, token, reason, failed_at)
                SELECT n, 1, 'aa', 'x', '2001-01-01Z' FROM generate_series(1, 1000) n
                """
            )
            let reading = try await DatabaseGauges.Reading(from: database.connection)
            let metrics = WorkerMetrics(counters: WorkerCounters(), reading: reading).measurements
            for sample in [
                "rows_exact{table=\"results\"} 0", "rows{table=\"failures\"} 1000", "rows_exact{table=\"failures\"} 1",
                "rows{table=\"failed_messages\"} 0", "rows_exact{table=\"failed_messages\"} 1",
            ] {
                #expect(metrics.text.contains("carillon_default_partition_\(sample)\n"), "\(metrics.text)")
            }
        }
    }
}
