extension CountedMetric {
    package static let all: [Self] = [
        Self(
            "carillon_pushes_total",
            """
            Pushes that ended in this worker's claims, except cancelled ones, by status and reason. The status is 0 if there was \
            no answer. An app's reasons after the first 64 count as OtherReasons, with status 0.
            """
        ) { .byReason($0.ended) },
        Self(
            "carillon_retries_total",
            "Attempts that led to a retry, by status and reason, as in carillon_pushes_total."
        ) { .byReason($0.retries) },
        Self("carillon_returned_pushes_total", "Pushes returned to the queue without counting as an attempt.") {
            .byApp($0.counts(\.returned))
        },
        Self("carillon_unknown_outcomes_total", "Attempts whose outcome is unknown.") { .byApp($0.counts(\.unknown)) },
        Self(
            "carillon_enqueue_to_claim_seconds",
            "Time from enqueueing a job to its first claim, by the database's clock."
        ) { .durations($0.waits) },
        Self("carillon_claims_total", "Claims that returned at least one job.") { .count($0.claims) },
        Self("carillon_claimed_jobs_total", "Jobs claimed.") { .count($0.jobs) },
        Self(
            "carillon_stale_settlements_total",
            "Settlements that wrote nothing, because another worker had taken over the claim."
        ) { .count($0.stale) },
        Self("carillon_unrecorded_jobs_total", "Jobs whose outcome PostgreSQL refused to record.") {
            .count($0.unrecorded)
        },
        Self("carillon_takeovers_total", "Claims taken over from dead workers.") { .count($0.takeovers) },
        Self("carillon_database_errors_total", "Statements and connections that failed.") { .count($0.databaseErrors) },
        Self("carillon_reaped_tokens_total", "Tokens deleted by this worker's feedback passes, in any table.") {
            .byApp($0.reaped)
        },
        Self(
            "carillon_feedback_handled_total",
            "Reports of dead tokens (rows of carillon.feedback) that this worker's feedback passes have handled."
        ) { .count($0.feedbackHandled) },
        Self("carillon_feedback_pass_seconds", "Duration of this worker's feedback passes, including pauses.") {
            .durations($0.feedbackPasses)
        },
        Self("carillon_feedback_pass_errors_total", "Errors in watched tables during feedback passes.") {
            .count($0.feedbackFaults)
        },
        Self(
            "carillon_breakers_opened_total",
            """
            Number of times that this worker paused an app because most of its pushes failed as BadDeviceToken or because of their topic.
            """
        ) { .byApp($0.breakers) },
        Self("carillon_in_flight_pushes", "Pushes claimed, or about to be, and not settled yet.") {
            .count($0.inFlight)
        },
    ]
}
