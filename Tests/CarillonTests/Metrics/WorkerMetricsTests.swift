import ApplePush
import CarillonPushQueue
import Testing

@testable import Carillon

@Suite struct WorkerMetricsTests {
    @Test func `a worker that has done nothing yet has every family`() {
        var metrics = ProgramMetrics(traffic: Traffic(), logLinesLost: 7, version: "1.2.3").measurements
        metrics.merge(WorkerMetrics(counters: WorkerCounters(), apps: []).measurements)
        let text = metrics.text
        #expect(text.contains("carillon_build_info{version=\"1.2.3\"} 1\n"))
        for family in [
            "pushes_total", "retries_total", "unknown_outcomes_total", "claims_total", "stale_settlements_total",
            "takeovers_total", "database_errors_total", "in_flight_pushes", "database_up", "ready_jobs",
            "queue_oldest_age_seconds", "credential_expiry_seconds", "connections", "enqueue_to_claim_seconds",
            "send_to_answer_seconds", "reaped_tokens_total", "feedback_handled_total", "feedback_pass_seconds",
            "feedback_pass_errors_total", "breakers_opened_total", "workers",
        ] {
            #expect(text.contains("# TYPE carillon_\(family) "))
        }
        #expect(text.contains("carillon_log_lines_lost_total 7\n"))
    }
}
