@testable import CarillonPushQueue

/// How workers sleep, and who notifies them.
extension ModelDatabase {
    /// Whether transactions that bring work notify the workers.
    var isNotifying: Bool { asleepUntil > now }

    /// The numbers of rows that bring work, and the version of the apps.
    var arrivals: (messages: Int, scheduled: Int, apps: Int64) {
        (tables.messages.count, tables.scheduled.count, fingerprint[1])
    }

    /// Whether a table has got rows since then, or an app has changed.
    func hasGrown(since before: (messages: Int, scheduled: Int, apps: Int64)) -> Bool {
        tables.messages.count > before.messages || tables.scheduled.count > before.scheduled
            || fingerprint[1] != before.apps
    }

    private func isAnotherAwake(but worker: Int64) -> Bool {
        tables.workers.contains { $0.key != worker && !$0.value.isAsleep }
    }

    /// The heartbeat with which a worker wakes. Returns nil if it was declared dead.
    mutating func wake(_ worker: Int64, lease: Int64) -> Int? {
        let now = self.now
        return changeForNow { $0.renew(worker, lease: lease, isAsleep: false, at: now) }
    }

    /// Clears the flag, so that transactions do not notify. Returns whether it was set.
    mutating func clearAsleep() -> Bool {
        defer { asleepUntil = 0 }
        return asleepUntil > 0
    }

    /// `carillon.fall_asleep`.
    /// - Parameter known: What the worker knows of the apps.
    mutating func fallAsleep(
        _ worker: Int64,
        lease: Int64,
        waitsFor: [String]?,
        knowing known: [Int64],
        skipping skipped: Set<Int32>,
        tasks: [MaintenanceTask.Name],
        _ interval: Int64
    ) -> SleepRows {
        var answer = SleepRows()
        let wasAsleep = tables.workers[worker]?.isAsleep ?? false
        if !wasAsleep {
            answer.hasWork = hasWork(for: worker, knowing: known, skipping: skipped, tasks, interval)
            if answer.hasWork { return answer }
        }
        let now = self.now
        answer.isAlive = changeForNow { $0.renew(worker, lease: lease, isAsleep: true, at: now) } != nil
        guard answer.isAlive == true else { return answer }
        answer.othersAreAwake = isAnotherAwake(but: worker)
        if answer.othersAreAwake {
            answer.holders = nil
        } else {
            answer.holders = (isNotifying ? waitsFor : nil)?.filter(holders.contains) ?? holders.sorted()
            asleepUntil = now + 90_000_000
        }
        answer.hasWork = hasWork(for: worker, knowing: known, skipping: skipped, tasks, interval)
        answer.dueIn = dueTime(tasks, interval).map { .microseconds(max(0, $0 - now)) }
        answer.others = heartbeats(butOf: worker)
        return answer
    }

    private func hasWork(
        for worker: Int64,
        knowing known: [Int64],
        skipping skipped: Set<Int32>,
        _ tasks: [MaintenanceTask.Name],
        _ interval: Int64
    ) -> Bool {
        if let due = dueTime(tasks, interval), due <= now { return true }
        return fingerprint != known || tables.inflight.values.contains { $0.worker == worker } || hasOrphans
            || tables.messages.values.contains { !skipped.contains($0.app) && !paused.contains($0.app) }
    }

    /// When the next job or task is due.
    private func dueTime(_ tasks: [MaintenanceTask.Name], _ interval: Int64) -> Int64? {
        let times = tasks.compactMap { dueTime(of: $0, every: interval) }
        return (times + Array(tables.dates.values)).min()
    }

    /// When a worker that has not begun the task may take it; nil while another one does it.
    private func dueTime(of task: MaintenanceTask.Name, every interval: Int64) -> Int64? {
        let row = tables.fleetTasks[task] ?? ModelFleetTask()
        if let holder = row.heldBy { return tables.workers[holder] == nil ? now : nil }
        let began = row.nextRun - row.every
        return began > now ? now : min(row.nextRun, began + interval)
    }
}
