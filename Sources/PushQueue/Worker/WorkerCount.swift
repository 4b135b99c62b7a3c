/// A number that a worker counts for all its apps together, which is a metric without labels.
package enum WorkerCount: Int, CaseIterable, Sendable {
    case claims, jobs, stale, unrecorded, takeovers, databaseErrors, feedbackHandled, feedbackFaults, inFlight

    var metric: CountedMetric {
        switch self {
        case .claims: named("carillon_claims_total", "Claims that returned at least one job.")
        case .jobs: named("carillon_claimed_jobs_total", "Jobs claimed.")
        case .stale:
            named(
                "carillon_stale_settlements_total",
                "Settlements that wrote nothing, because another worker had taken over the claim."
            )
        case .unrecorded: named("carillon_unrecorded_jobs_total", "Jobs whose outcome PostgreSQL refused to record.")
        case .takeovers: named("carillon_takeovers_total", "Claims taken over from dead workers.")
        case .databaseErrors: named("carillon_database_errors_total", "Statements and connections that failed.")
        case .feedbackHandled:
            named(
                "carillon_feedback_handled_total",
                "Reports of dead tokens (rows of carillon.feedback) that this worker's feedback passes have handled."
            )
        case .feedbackFaults:
            named("carillon_feedback_pass_errors_total", "Errors in watched tables during feedback passes.")
        case .inFlight: named("carillon_in_flight_pushes", "Pushes claimed, or about to be, and not settled yet.")
        }
    }

    private func named(_ name: String, _ help: String) -> CountedMetric {
        CountedMetric(name, help) { .count($0[self]) }
    }
}
