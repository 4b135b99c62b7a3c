import IO
import PushQueue

/// The metrics of one worker, for Prometheus.
struct WorkerMetrics {
    let counters: WorkerCounters
    /// Empty while they cannot be read from the database.
    let apps: [AppStatus]
    /// Nil while it cannot be read.
    var maintenance: MaintenanceStatus?
    /// The database it is about, if there are several.
    var database: String?

    var measurements: MetricsText {
        var metrics = MetricsText(label: database.map { ("database", $0) })
        addPushes(to: &metrics)
        addTimes(to: &metrics)
        addWork(to: &metrics)
        addFeedback(to: &metrics)
        addState(to: &metrics)
        addQueues(to: &metrics)
        addMaintenance(to: &metrics)
        return metrics
    }

    private func addPushes(to metrics: inout MetricsText) {
        let apps = counters.apps.sorted { $0.key < $1.key }
        metrics.begin(
            "carillon_pushes_total",
            .counter,
            "Pushes that ended, by status and reason; status 0: not answered by the gateway."
        )
        for (app, pushes) in apps {
            metrics.add(pushes.sent, ["app": name(of: app), "status": "200", "reason": ""])
            if pushes.expired > 0 {
                metrics.add(pushes.expired, ["app": name(of: app), "status": "0", "reason": "Expired"])
            }
        }
        addReasons(counters.failures, to: &metrics)
        metrics.begin(
            "carillon_retries_total",
            .counter,
            "Attempts that were followed by a retry, by status and reason; status 0: not answered by the gateway."
        )
        addReasons(counters.retries, to: &metrics)
        metrics.begin(
            "carillon_returned_total",
            .counter,
            "Pushes returned to the queue without counting as an attempt."
        )
        for (app, pushes) in apps { metrics.add(pushes.returned, ["app": name(of: app)]) }
        metrics.begin("carillon_unknown_outcomes_total", .counter, "Attempts whose outcome is unknown.")
        for (app, pushes) in apps { metrics.add(pushes.unknown, ["app": name(of: app)]) }
    }

    private func addReasons(_ counts: [WorkerCounters.Failure: Int], to metrics: inout MetricsText) {
        let counts = counts.sorted {
            ($0.key.app, $0.key.status, $0.key.reason) < ($1.key.app, $1.key.status, $1.key.reason)
        }
        for (failure, count) in counts {
            metrics.add(
                count,
                ["app": name(of: failure.app), "status": String(failure.status), "reason": failure.reason]
            )
        }
    }

    private func addTimes(to metrics: inout MetricsText) {
        metrics.begin(
            "carillon_enqueue_to_claim_seconds",
            .histogram,
            "Time from enqueueing a job to its first claim, by the database's clock."
        )
        metrics.add(counters.waits)
    }

    private func addWork(to metrics: inout MetricsText) {
        metrics.begin("carillon_claims_total", .counter, "Claims that were not empty.")
        metrics.add(counters.claims)
        metrics.begin("carillon_jobs_total", .counter, "Jobs claimed.")
        metrics.add(counters.jobs)
        metrics.begin(
            "carillon_stale_results_total",
            .counter,
            "Claims settled too late, after another worker had taken them over."
        )
        metrics.add(counters.stale)
        metrics.begin(
            "carillon_unrecorded_jobs_total",
            .counter,
            "Jobs whose outcome PostgreSQL refused to record."
        )
        metrics.add(counters.unrecorded)
        metrics.begin("carillon_takeovers_total", .counter, "Claims taken over from dead workers.")
        metrics.add(counters.takeovers)
        metrics.begin("carillon_database_errors_total", .counter, "Statements and connections that failed.")
        metrics.add(counters.databaseErrors)
    }

    private func addFeedback(to metrics: inout MetricsText) {
        metrics.begin(
            "carillon_reaped_tokens_total",
            .counter,
            "Tokens deleted by this worker's feedback passes, in any table."
        )
        for (app, count) in counters.reaped.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["app": app]) }
        metrics.begin(
            "carillon_feedback_handled_total",
            .counter,
            "Rows of feedback handled by this worker's feedback passes."
        )
        metrics.add(counters.feedbackHandled)
        metrics.begin(
            "carillon_feedback_pass_seconds",
            .histogram,
            "Duration of this worker's feedback passes, including pauses."
        )
        metrics.add(counters.feedbackPasses)
        metrics.begin(
            "carillon_feedback_pass_errors_total",
            .counter,
            "Watched tables that a feedback pass could not reap."
        )
        metrics.add(counters.feedbackFaults)
        metrics.begin(
            "carillon_breakers_opened_total",
            .counter,
            "Times that this worker paused an app because most of its pushes failed as BadDeviceToken."
        )
        for (app, count) in counters.breakers.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["app": app]) }
    }

    private func addState(to metrics: inout MetricsText) {
        metrics.begin("carillon_in_flight_pushes", .gauge, "Pushes handed to a connection and not settled yet.")
        metrics.add(counters.inFlight)
        metrics.begin("carillon_database_up", .gauge, "1 if the worker's database is connected and answers.")
        switch counters.readiness(at: .now) {
        case .ready, .leaseUnproven: metrics.add(1)
        case .disconnected, .silent: metrics.add(0)
        }
        metrics.begin(
            "carillon_app_held",
            .gauge,
            "Apps that cannot send at the moment, by the kind of trouble."
        )
        for (app, trouble) in counters.troubles.sorted(by: { $0.key < $1.key }) {
            metrics.add(1, ["app": name(of: app), "kind": "\(trouble.kind)"])
        }
    }

    private func addQueues(to metrics: inout MetricsText) {
        metrics.begin(
            "carillon_queue_jobs",
            .gauge,
            "Jobs waiting to be claimed, by app; an estimate when there are many."
        )
        for app in apps { metrics.add(app.depth, ["app": app.name]) }
        metrics.begin("carillon_scheduled_jobs", .gauge, "Jobs scheduled for later, by app.")
        for app in apps { metrics.add(app.scheduled, ["app": app.name]) }
        metrics.begin("carillon_queue_oldest_age_seconds", .gauge, "Seconds that the oldest due job has waited.")
        for app in apps { metrics.add(app.oldestAge ?? 0, ["app": app.name]) }
        metrics.begin("carillon_credential_expiry_seconds", .gauge, "Seconds until the app's certificate expires.")
        for app in apps {
            if let seconds = app.credentialExpiresIn { metrics.add(seconds, ["app": app.name]) }
        }
    }

    private func addMaintenance(to metrics: inout MetricsText) {
        guard let maintenance else { return }
        metrics.begin(
            "carillon_default_partition_rows",
            .gauge,
            "Rows in default partitions, because there was none for their day; an estimate when there are many."
        )
        for partition in maintenance.defaultPartitions { metrics.add(partition.rows, ["table": partition.table]) }
        metrics.begin(
            "carillon_maintenance_age_seconds",
            .gauge,
            "Seconds since a step of maintenance last succeeded."
        )
        for step in maintenance.steps { metrics.add(step.secondsSinceSuccess, ["step": step.name]) }
        metrics.begin(
            "carillon_maintenance_failing",
            .gauge,
            "1 if the step of maintenance failed the last time; the view carillon.maintenance shows why."
        )
        for step in maintenance.steps { metrics.add(step.isFailing ? 1 : 0, ["step": step.name]) }
    }

    private func name(of app: Int32) -> String { counters.names[app] ?? String(app) }
}
