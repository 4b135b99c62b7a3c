import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

@testable import Carillon

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
