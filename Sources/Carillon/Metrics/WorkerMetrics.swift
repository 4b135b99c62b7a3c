import CarillonIO
import CarillonPushQueue
import CarillonSchema
import CarillonWebhooks

struct WorkerMetrics {
    let counters: WorkerCounters
    /// Empty while the database cannot be read.
    let reading: DatabaseGauges.Reading
    /// The database it is about, if there are several.
    var database: String?
    var webhooks = WebhookCounts()

    var measurements: MetricsText {
        var metrics = MetricsText(label: database.map { ("database", $0) })
        for metric in CountedMetric.all { add(metric, to: &metrics) }
        addState(to: &metrics)
        addQueues(to: &metrics)
        addWorkers(to: &metrics)
        addMaintenance(to: &metrics)
        addWebhooks(to: &metrics)
        return metrics
    }

    private func add(_ metric: CountedMetric, to metrics: inout MetricsText) {
        switch metric.value(counters) {
        case .count(let count): metrics.add(metric.name, metric.help, count)
        case .durations(let durations): metrics.add(metric.name, metric.help, durations)
        case .byApp(let counts):
            metrics.begin(metric.name, metric.help)
            for (app, count) in counts.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["app": app]) }
        case .byReason(let counts):
            metrics.begin(metric.name, metric.help)
            // An app that was removed and added again has two ids, and one name. Prometheus refuses a series that occurs twice.
            let sums = Dictionary(
                counts.map { ([counters.name(of: $0.key.app), String($0.key.status), $0.key.reason], $0.value) },
                uniquingKeysWith: +
            )
            for (labels, sum) in sums.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                metrics.add(sum, ["app": labels[0], "status": labels[1], "reason": labels[2]])
            }
        }
    }

    private func addState(to metrics: inout MetricsText) {
        metrics.begin("carillon_database_up", "1 if the worker's database is connected and answers.")
        switch counters.readiness(at: .now) {
        case .ready, .leaseUnproven: metrics.add(1)
        case .disconnected, .silent: metrics.add(0)
        }
    }

    private func addQueues(to metrics: inout MetricsText) {
        metrics.begin("carillon_app_held", "1 for each app that cannot send now, by the kind of hold.")
        for app in reading.apps {
            if let kind = app.holdKind { metrics.add(1, ["app": app.name, "kind": kind]) }
        }
        metrics.begin("carillon_ready_jobs", "Jobs ready to be claimed, by app; an estimate when there are many.")
        for app in reading.apps { metrics.add(app.ready.value, ["app": app.name]) }
        metrics.begin(
            "carillon_ready_jobs_exact",
            "1 if carillon_ready_jobs is exact for the app, 0 if it is a lower bound or an estimate."
        )
        for app in reading.apps { metrics.add(app.ready.precision == .exact ? 1 : 0, ["app": app.name]) }
        metrics.begin("carillon_scheduled_jobs", "Jobs scheduled for later, including retries, by app.")
        for app in reading.apps { metrics.add(app.scheduled.value, ["app": app.name]) }
        metrics.begin("carillon_oldest_ready_job_age_seconds", "Seconds that the oldest ready job has waited, by app.")
        for app in reading.apps { metrics.add(app.oldestAge ?? 0, ["app": app.name]) }
        metrics.begin("carillon_credential_expiry_seconds", "Seconds until the app's certificate expires.")
        for app in reading.apps {
            if let seconds = app.credentialExpiresIn { metrics.add(seconds, ["app": app.name]) }
        }
    }

    private func addWebhooks(to metrics: inout MetricsText) {
        let counts = webhooks.byName.sorted { $0.key < $1.key }
        metrics.begin(
            "carillon_webhook_batches_total",
            "Attempts to post a batch to a webhook, by outcome: accepted or failed."
        )
        for (name, counts) in counts {
            metrics.add(counts.accepted, ["webhook": name, "outcome": "accepted"])
            metrics.add(counts.failed, ["webhook": name, "outcome": "failed"])
        }
        metrics.begin("carillon_webhook_events_total", "Events that the receivers of webhooks have accepted.")
        for (name, counts) in counts { metrics.add(counts.events, ["webhook": name]) }
        metrics.begin("carillon_webhook_waiting_events", "Events that the receiver has not accepted yet, by webhook.")
        for webhook in reading.webhooks { metrics.add(webhook.events, ["webhook": webhook.name]) }
        metrics.begin("carillon_webhook_lag_seconds", "Seconds that the oldest of these events has waited, by webhook.")
        for webhook in reading.webhooks { metrics.add(webhook.lagSeconds ?? 0, ["webhook": webhook.name]) }
        metrics.begin("carillon_webhook_paused", "1 if the webhook is paused, otherwise 0.")
        for webhook in reading.webhooks { metrics.add(webhook.state == .paused ? 1 : 0, ["webhook": webhook.name]) }
    }

    private func addWorkers(to metrics: inout MetricsText) {
        metrics.begin(
            "carillon_workers",
            "Workers of the fleet, by state: alive, asleep (there is nothing to do), silent (two heartbeats are missing) or stuck."
        )
        guard !reading.workers.isEmpty else { return }
        for state in WorkerRecord.State.allCases {
            metrics.add(reading.workers.count { $0.state == state }, ["state": state.rawValue])
        }
    }

    private func addMaintenance(to metrics: inout MetricsText) {
        guard let maintenance = reading.maintenance else { return }
        metrics.begin(
            "carillon_default_partition_rows",
            "Rows in a default partition because no partition existed for their day; an estimate when there are many."
        )
        for partition in maintenance.defaultPartitions { metrics.add(partition.rows, ["table": partition.table]) }
        metrics.begin(
            "carillon_default_partition_rows_exact",
            "1 if carillon_default_partition_rows is exact for the table, 0 if it is a lower bound or an estimate."
        )
        for partition in maintenance.defaultPartitions {
            metrics.add(partition.rowsPrecision == .exact ? 1 : 0, ["table": partition.table])
        }
        metrics.begin("carillon_maintenance_age_seconds", "Seconds since the maintenance step last succeeded.")
        for step in maintenance.steps { metrics.add(step.secondsSinceSuccess, ["step": step.step]) }
        metrics.begin(
            "carillon_maintenance_failing",
            "1 if the maintenance step failed when it last ran; the table carillon.maintenance shows why."
        )
        for step in maintenance.steps { metrics.add(step.isFailing ? 1 : 0, ["step": step.step]) }
    }
}
