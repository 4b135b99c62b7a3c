import PushQueue
import Testing

@testable import Carillon

@Suite struct WorkerMetricsTests {
    @Test func `a worker that has done nothing yet has every family`() {
        let text = WorkerMetrics(counters: WorkerCounters(), version: "1.2.3").text
        #expect(text.contains("carillon_build_info{version=\"1.2.3\"} 1\n"))
        for family in [
            "pushes_total", "retries_total", "unknown_outcomes_total", "claims_total", "stale_results_total",
            "takeovers_total", "database_errors_total", "in_flight_pushes", "database_up",
        ] {
            #expect(text.contains("# TYPE carillon_\(family) "))
        }
    }
}
