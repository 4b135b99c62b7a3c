import CarillonIO
import CarillonPushQueue
import CarillonSchema

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
        addWork(to: &metrics)
        addFeedback(to: &metrics)
        addState(to: &metrics)
        addQueues(to: &metrics)
        addMaintenance(to: &metrics)
        return metrics
    }

    private func addPushes(to metrics: inout MetricsText) {
        let apps = counters.apps.sorted { $0.key < $1.key }
        metrics.begin(.pushes)
        for (app, pushes) in apps {
            metrics.add(pushes.sent, ["app": name(of: app), "status": "200", "reason": ""])
            if pushes.expired > 0 {
                metrics.add(pushes.expired, ["app": name(of: app), "status": "0", "reason": "Expired"])
            }
            if pushes.superseded > 0 {
                metrics.add(pushes.superseded, ["app": name(of: app), "status": "0", "reason": "Superseded"])
            }
        }
        addReasons(counters.failures, to: &metrics)
        metrics.begin(.retries)
        addReasons(counters.retries, to: &metrics)
        metrics.begin(.returned)
        for (app, pushes) in apps { metrics.add(pushes.returned, ["app": name(of: app)]) }
        metrics.begin(.unknownOutcomes)
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

    private func addWork(to metrics: inout MetricsText) {
        metrics.add(.enqueueToClaim, counters.waits)
        metrics.add(.claims, counters.claims)
        metrics.add(.jobs, counters.jobs)
        metrics.add(.staleResults, counters.stale)
        metrics.add(.unrecordedJobs, counters.unrecorded)
        metrics.add(.takeovers, counters.takeovers)
        metrics.add(.databaseErrors, counters.databaseErrors)
    }

    private func addFeedback(to metrics: inout MetricsText) {
        metrics.begin(.reapedTokens)
        for (app, count) in counters.reaped.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["app": app]) }
        metrics.add(.feedbackHandled, counters.feedbackHandled)
        metrics.add(.feedbackPass, counters.feedbackPasses)
        metrics.add(.feedbackPassErrors, counters.feedbackFaults)
        metrics.begin(.breakersOpened)
        for (app, count) in counters.breakers.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["app": app]) }
    }

    private func addState(to metrics: inout MetricsText) {
        metrics.add(.inFlightPushes, counters.inFlight)
        metrics.begin(.databaseUp)
        switch counters.readiness(at: .now) {
        case .ready, .leaseUnproven: metrics.add(1)
        case .disconnected, .silent: metrics.add(0)
        }
        metrics.begin(.appHeld)
        for (app, hold) in counters.holds.sorted(by: { $0.key < $1.key }) {
            metrics.add(1, ["app": name(of: app), "kind": "\(hold.kind)"])
        }
    }

    private func addQueues(to metrics: inout MetricsText) {
        metrics.begin(.queueJobs)
        for app in apps { metrics.add(app.depth, ["app": app.name]) }
        metrics.begin(.scheduledJobs)
        for app in apps { metrics.add(app.scheduled, ["app": app.name]) }
        metrics.begin(.queueOldestAge)
        for app in apps { metrics.add(app.oldestAge ?? 0, ["app": app.name]) }
        metrics.begin(.credentialExpiry)
        for app in apps {
            if let seconds = app.credentialExpiresIn { metrics.add(seconds, ["app": app.name]) }
        }
    }

    private func addMaintenance(to metrics: inout MetricsText) {
        guard let maintenance else { return }
        metrics.begin(.defaultPartitionRows)
        for partition in maintenance.defaultPartitions { metrics.add(partition.rows, ["table": partition.table]) }
        metrics.begin(.maintenanceAge)
        for step in maintenance.steps { metrics.add(step.secondsSinceSuccess, ["step": step.step]) }
        metrics.begin(.maintenanceFailing)
        for step in maintenance.steps { metrics.add(step.isFailing ? 1 : 0, ["step": step.step]) }
    }

    private func name(of app: Int32) -> String { counters.names[app] ?? String(app) }
}
