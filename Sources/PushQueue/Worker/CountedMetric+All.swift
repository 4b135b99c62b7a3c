extension CountedMetric {
    /// One line for each property, in the order of the page.
    package static let all = [
        Self(
            "carillon_enqueue_to_claim_seconds",
            "Time from enqueueing a job to its first claim, by the database's clock.",
            \.waits
        ),
        Self("carillon_claims_total", "Claims that returned at least one job.", \.claims),
        Self("carillon_claimed_jobs_total", "Jobs claimed.", \.jobs),
        Self(
            "carillon_stale_settlements_total",
            "Settlements that wrote nothing, because another worker had taken over the claim.",
            \.stale
        ),
        Self("carillon_unrecorded_jobs_total", "Jobs whose outcome PostgreSQL refused to record.", \.unrecorded),
        Self("carillon_takeovers_total", "Claims taken over from dead workers.", \.takeovers),
        Self("carillon_database_errors_total", "Statements and connections that failed.", \.databaseErrors),
        Self(
            "carillon_reaped_tokens_total",
            "Tokens deleted by this worker's feedback passes, in any table.",
            byApp: \.reaped
        ),
        Self(
            "carillon_feedback_handled_total",
            "Reports of dead tokens (rows of carillon.feedback) that this worker's feedback passes have handled.",
            \.feedbackHandled
        ),
        Self(
            "carillon_feedback_pass_seconds",
            "Duration of this worker's feedback passes, including pauses.",
            \.feedbackPasses
        ),
        Self(
            "carillon_feedback_pass_errors_total",
            "Errors in watched tables during feedback passes.",
            \.feedbackFaults
        ),
        Self(
            "carillon_breakers_opened_total",
            """
            Number of times that this worker paused an app because most of its pushes failed as BadDeviceToken or because of their topic.
            """,
            byApp: \.breakers
        ),
        Self("carillon_in_flight_pushes", "Pushes claimed, or about to be, and not settled yet.", \.inFlight),
    ]
}
